#include "kube/http/beast_connection.hpp"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <sys/socket.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>

#include "base/base64.hpp"

namespace kube {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

/// Detects a vanished peer within half a minute, whether the connection is idle or not.
void enable_keepalive(tcp::socket& socket) {
  const auto set = [&](int level, int option, int value) {
    ::setsockopt(socket.native_handle(), level, option, &value, sizeof value);  // best effort
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
}

bool is_tls_error(const boost::system::error_code& error) {
  return error.category() == asio::error::get_ssl_category();
}

std::string tls_reason(const boost::system::error_code& error) {
  const auto code = static_cast<unsigned long>(error.value());
  std::string text = openssl_reason(code);
  if (ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER || ERR_GET_REASON(code) == SSL_R_HTTP_REQUEST)
    text += " (does the server speak TLS on this port?)";
  return text;
}

}  // namespace

Connection::Connection(const Shared& shared, TlsContext tls, TlsSession known)
    : endpoint_(shared.endpoint),
      buffer_(shared.buffer),
      tls_(std::move(tls)),
      known_(std::move(known)),
      resolver_(shared.io),
      socket_(shared.io),
      timer_(shared.io) {}

void Connection::open(Opened opened) {
  opened_ = std::move(opened);
  resolve();
}

void Connection::start_phase(base::milliseconds limit, const char* name) {
  phase_ = name;
  timer_.expires_after(limit);
  timer_.async_wait([self = shared_from_this(), limit, name](const IoError& error) {
    if (error || self->phase_ != name) return;
    self->finish(base::Error{base::ErrorCode::kTimeout, fmt::format("{}: {} took longer than {} ms",
                                                                    self->endpoint_.text(), name, limit.count())});
    self->close();
  });
}

void Connection::finish(std::optional<base::Error> error) {
  timer_.cancel();
  if (!opened_) return;
  if (!error) phase_ = "sending";
  const Opened opened = std::exchange(opened_, nullptr);
  opened(std::move(error));
}

void Connection::fail(const IoError& error) {
  finish(base::unavailable(fmt::format("{}: {}: {}", endpoint_.text(), phase_, explain(error))));
  close();
}

void Connection::resolve() {
  const Url& target = endpoint_.proxy ? *endpoint_.proxy : endpoint_.server;
  start_phase(endpoint_.options.connect_timeout, "resolving the host name");
  IoError no_literal;
  const auto address = asio::ip::make_address(target.host, no_literal);
  if (!no_literal) return connect(Endpoints::create(tcp::endpoint(address, target.port), target.host, ""));
  resolver_.async_resolve(target.host, std::to_string(target.port),
                          [self = shared_from_this()](const IoError& error, const Endpoints& endpoints) {
                            if (!self->opened_) return;  // the connection already failed or was closed
                            error ? self->fail(error) : self->connect(endpoints);
                          });
}

void Connection::connect(const Endpoints& endpoints) {
  start_phase(endpoint_.options.connect_timeout, endpoint_.proxy ? "connecting to the proxy" : "connecting");
  asio::async_connect(socket_, endpoints, [self = shared_from_this()](const IoError& error, const tcp::endpoint&) {
    if (!self->opened_) return;
    error ? self->fail(error) : self->connected();
  });
}

void Connection::connected() {
  enable_keepalive(socket_);
  IoError ignored;
  socket_.non_blocking(true, ignored);
  if (endpoint_.proxy) return ask_proxy();
  if (tls_) return handshake();
  finish(std::nullopt);
}

void Connection::ask_proxy() {
  start_phase(endpoint_.options.handshake_timeout, "waiting for the proxy");
  const Url& server = endpoint_.server;
  const std::string target =
      fmt::format("{}:{}", server.is_ipv6() ? "[" + server.host + "]" : server.host, server.port);
  proxy_request_ = fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n", target);
  if (!endpoint_.proxy->user_info.empty())
    proxy_request_ += "Proxy-Authorization: Basic " + base::encode_base64(endpoint_.proxy->user_info) + "\r\n";
  proxy_request_ += "\r\n";
  asio::async_write(socket_, asio::buffer(proxy_request_),
                    [self = shared_from_this()](const IoError& error, std::size_t) {
                      if (!self->opened_) return;
                      if (error) return self->fail(error);
                      self->read_proxy_answer(std::make_shared<ResponseReader>(
                          0, [](std::string_view) { return true; }, false));
                    });
}

void Connection::read_proxy_answer(std::shared_ptr<ResponseReader> reader) {
  // Reading blocks is safe: the server sends nothing before the TLS handshake starts, so no byte after the proxy's
  // answer is lost.
  read_plain([self = shared_from_this(), reader](const IoError& error, std::string_view bytes) {
    if (!self->opened_) return;
    if (error) return self->fail(error);
    const auto fed = reader->feed(bytes);
    if (!fed) return self->finish(base::unavailable(self->endpoint_.text() + ": the proxy: " + fed.error().message));
    if (!reader->has_head()) return self->read_proxy_answer(reader);
    self->proxy_answered(*reader);
  });
}

void Connection::proxy_answered(const ResponseReader& reader) {
  const int status = reader.head().status;
  if (status >= 200 && status < 300) return tls_ ? handshake() : finish(std::nullopt);
  const char* hint = status == 407 ? "; set a user and password in proxy-url" : "";
  finish(base::unavailable(fmt::format("{}: the proxy {} rejects the connection: HTTP {}{}", endpoint_.text(),
                                       endpoint_.proxy->authority(), status, hint)));
  close();
}

void Connection::handshake() {
  start_phase(endpoint_.options.handshake_timeout, "TLS handshake");
  stream_.emplace(socket_, tls_.get());
  if (stream_->handle() == nullptr) return finish(base::unavailable("OpenSSL cannot allocate memory for a connection"));
  const auto expected = expect_peer(stream_->handle(), endpoint_.tls_name, endpoint_.verify, &refusal_);
  if (!expected) return finish(expected.error());
  const TlsSession known = std::exchange(known_, nullptr);
  offered_session_ = known != nullptr;
  stream_->handshake(known, [self = shared_from_this()](const IoError& error, std::size_t) {
    if (!self->opened_) return;
    error ? self->fail(error) : self->finish(std::nullopt);
  });
}

void Connection::write(std::string_view bytes, Written written) {
  auto done = [self = shared_from_this(), size = bytes.size(), written = std::move(written)](
                  const IoError& error, std::size_t sent) { written(error, sent == size); };
  if (stream_) return stream_->write(bytes, std::move(done));
  asio::async_write(socket_, asio::buffer(bytes.data(), bytes.size()), std::move(done));
}

void Connection::read(Received received) {
  if (!stream_) return read_plain(std::move(received));
  stream_->read(buffer_,
                [self = shared_from_this(), received = std::move(received)](const IoError& error, std::size_t size) {
                  received(error, {self->buffer_.data(), size});
                });
}

void Connection::read_plain(Received received) {
  socket_.async_wait(
      tcp::socket::wait_read, [self = shared_from_this(), received = std::move(received)](IoError error) mutable {
        std::size_t size = 0;
        if (!error) size = self->socket_.read_some(asio::buffer(self->buffer_.data(), self->buffer_.size()), error);
        if (error == asio::error::would_block) return self->read_plain(std::move(received));
        received(error, {self->buffer_.data(), size});
      });
}

void Connection::close() {
  IoError ignored;
  timer_.cancel();
  resolver_.cancel();
  socket_.close(ignored);
}

bool Connection::is_fresh(std::chrono::steady_clock::time_point now, base::milliseconds keep_alive) const {
  if (!socket_.is_open() || now - used_at_ > keep_alive) return false;
  char byte = 0;
  const auto got = ::recv(const_cast<tcp::socket&>(socket_).native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

std::string Connection::explain(const IoError& error) const {
  if (!refusal_.empty()) return "the server's certificate is not valid: " + refusal_;
  if (is_certificate_alert(error)) return "the server does not accept the client certificate: " + tls_reason(error);
  if (is_tls_error(error)) return tls_reason(error);
  if (error == asio::error::eof || error == asio::ssl::error::stream_truncated)
    return "the server closed the connection";
  if (error == asio::error::host_not_found || error == asio::error::host_not_found_try_again) return "host not found";
  return error.message();
}

bool Connection::is_certificate_alert(const IoError& error) {
  if (!is_tls_error(error)) return false;
  switch (ERR_GET_REASON(static_cast<unsigned long>(error.value()))) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:  // an authority of the same name with another key
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA: return true;
    default: return false;
  }
}

}  // namespace kube
