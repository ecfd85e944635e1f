#include "http_server/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <map>
#include <thread>
#include <vector>

#include "base/text.hpp"
#include "http_server/connection.hpp"

namespace http_server {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using tcp = asio::ip::tcp;
using boost::system::error_code;

void demand_client_certificates(ssl::context& tls, const std::string& authorities) {
  // OpenSSL cannot resume sessions of verified clients without a session id context.
  constexpr unsigned char kSessions[] = "clients";
  tls.add_certificate_authority(asio::buffer(authorities));
  tls.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  SSL_CTX_set_session_id_context(tls.native_handle(), kSessions, sizeof kSessions - 1);
}

base::Result<std::shared_ptr<ssl::context>> make_tls(const Certificate& certificate) {
  try {
    auto tls = std::make_shared<ssl::context>(ssl::context::tls_server);
    tls->set_options(ssl::context::default_workarounds | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
    tls->use_certificate_chain(asio::buffer(certificate.chain_pem));
    tls->use_private_key(asio::buffer(certificate.key_pem), ssl::context::pem);
    if (!certificate.client_ca_pem.empty()) demand_client_certificates(*tls, certificate.client_ca_pem);
    return tls;
  } catch (const boost::system::system_error& error) {
    return base::invalid(
        fmt::format("the certificate, its key or the clients' authorities cannot be used: {}", error.code().message()));
  }
}

}  // namespace

std::string_view Request::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

struct Server::Impl : std::enable_shared_from_this<Server::Impl> {
  explicit Impl(ServerOptions options)
      : io(options.io_threads),
        acceptor(io),
        accept_pause(io),
        handlers(static_cast<std::size_t>(options.handler_threads)) {}

  base::Status listen();
  void accept();
  void admit(tcp::socket socket);
  std::shared_ptr<Connection> take_longest_waiting(std::vector<std::shared_ptr<Connection>>& held);
  bool close_slow_bodies(std::size_t bytes);
  void forget(Connection* connection);

  asio::io_context io;
  tcp::acceptor acceptor;
  asio::steady_timer accept_pause;
  asio::thread_pool handlers;
  std::shared_ptr<ServerState> shared = std::make_shared<ServerState>();
  std::vector<std::thread> threads;
  std::uint16_t port = 0;
  bool started = false;
  bool stopped = false;

  mutable std::mutex mutex;
  std::shared_ptr<ssl::context> tls;                      // guarded by mutex
  std::map<Connection*, std::weak_ptr<Connection>> open;  // guarded by mutex
};

base::Status Server::Impl::listen() {
  const ServerOptions& options = shared->options;
  error_code error;
  const auto address = asio::ip::make_address(options.address.empty() ? "0.0.0.0" : options.address, error);
  if (error) return base::invalid(fmt::format("\"{}\" is not an IP address to listen on", options.address));
  const tcp::endpoint endpoint(address, options.port);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return base::unavailable(fmt::format("cannot listen on {}:{}: {}", options.address, options.port, error.message()));
  }
  port = acceptor.local_endpoint(error).port();
  return base::Done{};
}

/// Completion handlers hold no reference to Impl: a handler that io never runs would keep both alive forever. stop()
/// joins the io threads before Impl is destroyed.
void Server::Impl::accept() {
  acceptor.async_accept(asio::make_strand(io), [this](error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) {  // probably out of file descriptors; wait for others to be closed
      accept_pause.expires_after(base::milliseconds(50));
      accept_pause.async_wait([this](error_code cancelled) {
        if (!cancelled) accept();
      });
      return;
    }
    admit(std::move(socket));
    accept();
  });
}

/// Removes the longest-waiting connection from `open` and returns it, or nullptr if each has a request in progress.
/// Callers must hold the mutex, and release it before they destroy `held`: the last reference to a connection calls
/// forget().
std::shared_ptr<Connection> Server::Impl::take_longest_waiting(std::vector<std::shared_ptr<Connection>>& held) {
  std::shared_ptr<Connection> longest;
  for (const auto& [_, weak] : open) {
    auto each = weak.lock();
    if (!each) continue;
    held.push_back(each);
    const std::uint64_t since = each->waiting_since();
    if (since != 0 && (!longest || since < longest->waiting_since())) longest = std::move(each);
  }
  if (longest) open.erase(longest.get());
  return longest;
}

bool Server::Impl::close_slow_bodies(std::size_t bytes) {
  // Destroyed after the unlock, because the last reference calls forget().
  std::vector<std::shared_ptr<Connection>> held;
  std::map<std::uint64_t, Connection*> slow;  // by start of their wait
  std::size_t closing = 0;
  const std::scoped_lock lock(mutex);
  for (const auto& [_, weak] : open) {
    auto each = weak.lock();
    if (!each) continue;
    const std::uint64_t since = each->waiting_since();
    if (since != 0 && each->body_bytes() > 0) slow.emplace(since, each.get());
    held.push_back(std::move(each));
  }
  auto last = slow.begin();
  for (; last != slow.end() && closing < bytes; ++last) closing += last->second->body_bytes();
  if (closing < bytes) return false;
  std::for_each(slow.begin(), last, [&](const auto& each) {
    open.erase(each.second);
    each.second->close();
  });
  return true;
}

void Server::Impl::admit(tcp::socket socket) {
  std::vector<std::shared_ptr<Connection>> held;
  std::shared_ptr<Connection> connection;
  std::shared_ptr<Connection> victim;
  const auto on_end = [weak = weak_from_this()](Connection* ended) {
    if (const auto self = weak.lock()) self->forget(ended);
  };
  {
    const std::scoped_lock lock(mutex);
    if (stopped) return;  // closes the socket
    if (open.size() >= shared->options.max_connections) {
      victim = take_longest_waiting(held);
      if (!victim) return;
    }
    connection = make_connection(std::move(socket), tls, shared, on_end);
    open.emplace(connection.get(), connection);
  }
  if (victim) victim->close();
  connection->start();
}

void Server::Impl::forget(Connection* connection) {
  const std::scoped_lock lock(mutex);
  open.erase(connection);
}

Server::Server(ServerOptions options, Handler handler, base::Log log) : impl_(std::make_shared<Impl>(options)) {
  impl_->shared->options = std::move(options);
  impl_->shared->handler = std::move(handler);
  impl_->shared->log = std::move(log);
  impl_->shared->handlers = &impl_->handlers;
  impl_->shared->close_slow_bodies = [weak = std::weak_ptr(impl_)](std::size_t bytes) {
    const auto impl = weak.lock();
    return impl && impl->close_slow_bodies(bytes);
  };
}

Server::~Server() { stop(); }

base::Status Server::start() {
  if (impl_->shared->options.certificate) {
    auto tls = make_tls(*impl_->shared->options.certificate);
    if (!tls) return tls.error();
    impl_->tls = *std::move(tls);
  }
  if (auto listening = impl_->listen(); !listening) return listening;
  impl_->accept();
  for (int i = 0; i < impl_->shared->options.io_threads; ++i) {
    impl_->threads.emplace_back([impl = impl_.get()] { impl->io.run(); });
  }
  impl_->started = true;
  return base::Done{};
}

std::uint16_t Server::port() const { return impl_->port; }

base::Status Server::reload(const Certificate& certificate) {
  auto tls = make_tls(certificate);
  if (!tls) return tls.error();
  const std::scoped_lock lock(impl_->mutex);
  impl_->tls = *std::move(tls);
  return base::Done{};
}

void Server::stop() {
  std::vector<std::shared_ptr<Connection>> running;
  {
    const std::scoped_lock lock(impl_->mutex);
    if (impl_->stopped) return;
    impl_->stopped = true;
    for (const auto& [_, weak] : impl_->open) {
      if (auto connection = weak.lock()) running.push_back(std::move(connection));
    }
  }
  if (!impl_->started) return;  // without threads, a posted job would never run and would keep the server alive
  asio::post(impl_->io, [impl = impl_.get()] {
    error_code ignored;
    impl->acceptor.close(ignored);
    impl->accept_pause.cancel();
  });
  for (const auto& connection : running) connection->close();
  running.clear();
  {
    std::unique_lock lock(impl_->shared->mutex);
    impl_->shared->stopping = true;
    impl_->shared->streams_done.wait(lock, [&] { return impl_->shared->streams == 0; });
  }
  impl_->handlers.join();
  impl_->io.stop();
  for (std::thread& thread : impl_->threads) thread.join();
  impl_->threads.clear();
  const auto left = [&] {  // jobs that came too late for a handler; each holds its connection
    const std::scoped_lock lock(impl_->shared->mutex);
    return std::exchange(impl_->shared->jobs, {});
  }();
}

std::size_t Server::connections() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->open.size();
}

std::size_t Server::queued() const {
  const std::scoped_lock lock(impl_->shared->mutex);
  return impl_->shared->jobs.size();
}

std::optional<std::pair<std::string, std::uint16_t>> split_address(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const auto port = base::parse_number<std::uint16_t>(text.substr(colon + 1));
  if (!port) return std::nullopt;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return std::pair{std::string(host), *port};
}

}  // namespace http_server
