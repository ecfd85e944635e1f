#include "kube/http/tls_stream.hpp"

#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <sys/socket.h>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <cerrno>

namespace kube {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

/// Reads the descriptor on every call. A closed socket has none, so a late callback cannot reach another connection's.
int descriptor_of(BIO* bio) { return static_cast<tcp::socket*>(BIO_get_data(bio))->native_handle(); }

bool is_for_later() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

int receive(BIO* bio, char* to, int size) {
  BIO_clear_retry_flags(bio);
  const auto got = ::recv(descriptor_of(bio), to, static_cast<std::size_t>(size), 0);
  if (got < 0 && is_for_later()) BIO_set_retry_read(bio);
  return static_cast<int>(got);
}

int transmit(BIO* bio, const char* from, int size) {
  BIO_clear_retry_flags(bio);
  const auto sent = ::send(descriptor_of(bio), from, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && is_for_later()) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

long control(BIO*, int what, long, void*) { return what == BIO_CTRL_FLUSH ? 1 : 0; }

/// Replaces OpenSSL's socket BIO, which would raise SIGPIPE.
const BIO_METHOD* socket_method() {
  static const BIO_METHOD* const kMethod = [] {
    BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without SIGPIPE");
    BIO_meth_set_read(method, &receive);
    BIO_meth_set_write(method, &transmit);
    BIO_meth_set_ctrl(method, &control);
    return method;
  }();
  return kMethod;
}

/// OpenSSL invalidates the session of a connection that was closed without a TLS alert. Marking the shutdown as sent
/// keeps the session usable.
void free_quietly(SSL* ssl) {
  SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN);
  SSL_free(ssl);
}

}  // namespace

TlsStream::TlsStream(tcp::socket& socket, SSL_CTX* context) : socket_(socket), ssl_(SSL_new(context), &free_quietly) {
  BIO* bio = ssl_ ? BIO_new(socket_method()) : nullptr;
  if (bio == nullptr) {
    ssl_.reset();
    return;
  }
  BIO_set_data(bio, &socket_);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_mode(ssl_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE);
  SSL_set_read_ahead(ssl_.get(), 1);  // reads a record's header and body with one system call
  IoError ignored;
  socket_.native_non_blocking(true, ignored);
}

void TlsStream::handshake(const TlsSession& known, Done done) {
  if (known) SSL_set_session(ssl_.get(), known.get());
  drive([this] { return SSL_connect(ssl_.get()); }, std::move(done));
}

void TlsStream::write(std::string_view bytes, Done done) { write_rest(bytes, 0, std::move(done)); }

void TlsStream::write_rest(std::string_view rest, std::size_t sent, Done done) {
  if (rest.empty()) return done({}, sent);
  drive([this, rest] { return SSL_write(ssl_.get(), rest.data(), static_cast<int>(rest.size())); },
        [this, rest, sent, done = std::move(done)](const IoError& error, std::size_t now) {
          if (error) return done(error, sent);
          write_rest(rest.substr(now), sent + now, done);
        });
}

/// Never calls `done` directly, because a callback that reads again would recurse for each piece.
void TlsStream::read(std::span<char> to, Done done) {
  Step step = [this, to] { return SSL_read(ssl_.get(), to.data(), static_cast<int>(to.size())); };
  if (SSL_has_pending(ssl_.get()) == 0) return drive_when(tcp::socket::wait_read, std::move(step), std::move(done));
  asio::post(socket_.get_executor(), [this, step = std::move(step), done = std::move(done)]() mutable {
    drive(std::move(step), std::move(done));
  });
}

void TlsStream::drive(Step step, Done done) {
  if (!socket_.is_open()) return done(asio::error::operation_aborted, 0);
  ERR_clear_error();
  errno = 0;
  const int result = step();
  if (result > 0) return done({}, static_cast<std::size_t>(result));
  const int kind = SSL_get_error(ssl_.get(), result);
  if (kind == SSL_ERROR_WANT_READ) return drive_when(tcp::socket::wait_read, std::move(step), std::move(done));
  if (kind == SSL_ERROR_WANT_WRITE) return drive_when(tcp::socket::wait_write, std::move(step), std::move(done));
  done(error_of(kind), 0);
}

void TlsStream::drive_when(tcp::socket::wait_type ready, Step step, Done done) {
  socket_.async_wait(ready, [this, step = std::move(step), done = std::move(done)](const IoError& error) mutable {
    if (error) return done(error, 0);
    drive(std::move(step), std::move(done));
  });
}

/// Call directly after the call that failed.
TlsStream::IoError TlsStream::error_of(int kind) const {
  const int system = errno;
  if (kind == SSL_ERROR_ZERO_RETURN) return asio::error::eof;
  const unsigned long code = ERR_get_error();
  if (ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING) return asio::ssl::error::stream_truncated;
  if (code != 0) return {static_cast<int>(code), asio::error::get_ssl_category()};
  if (system != 0) return {system, asio::error::get_system_category()};
  return asio::ssl::error::stream_truncated;
}

TlsSession TlsStream::session() const {
  TlsSession session(SSL_get1_session(ssl_.get()), &SSL_SESSION_free);
  return session && SSL_SESSION_is_resumable(session.get()) == 1 ? session : nullptr;
}

}  // namespace kube
