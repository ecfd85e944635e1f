#include "serving/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <cctype>
#include <charconv>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

namespace serving {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = asio::ssl;
using tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kUnsentLimit = 1 << 20;

/// What every connection shares with the server.
struct Shared {
  ServerOptions options;
  Handler handler;
  base::Log log;
  asio::thread_pool* handlers = nullptr;

  std::mutex mutex;
  std::condition_variable streams_done;
  std::size_t streams = 0;  // guarded by mutex
  bool stopping = false;    // guarded by mutex

  bool begin_stream() {
    const std::scoped_lock lock(mutex);
    if (stopping || streams >= options.max_streams) return false;
    ++streams;
    return true;
  }
  void end_stream() {
    const std::scoped_lock lock(mutex);
    --streams;
    streams_done.notify_all();
  }
};

/// A connection as the server's list of them sees it.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void start() = 0;
  virtual void close() = 0;  // any thread
};

Request to_request(http::request<http::string_body>&& message, std::string peer) {
  Request request;
  request.method = std::string(message.method_string());
  const std::string target(message.target());
  const auto mark = target.find('?');
  request.path = target.substr(0, mark);
  if (mark != std::string::npos) request.query = target.substr(mark + 1);
  for (const auto& field : message) {
    std::string name(field.name_string());
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    request.headers.emplace_back(std::move(name), std::string(field.value()));
  }
  request.body = std::move(message.body());
  request.peer = std::move(peer);
  return request;
}

Reply call_handler(const Shared& shared, const Request& request) {
  try {
    return shared.handler(request);
  } catch (const std::exception& error) {
    shared.log.error("handler failed", {base::kv("path", request.path), base::kv("error", error.what())});
  } catch (...) {
    shared.log.error("handler failed", {base::kv("path", request.path)});
  }
  return Response{.status = 500, .body = "internal error\n"};
}

/// The chunks of a streaming answer on their way from the producer's thread to the socket. Closed by either side.
class ChunkQueue {
 public:
  /// Waits for room. False: closed.
  bool push(std::string chunk) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return closed_ || unsent_ < kUnsentLimit; });
    if (closed_) return false;
    unsent_ += chunk.size();
    chunks_.push_back(std::move(chunk));
    return true;
  }
  /// Everything that waits, as one piece; empty: nothing.
  std::string take_all() {
    const std::scoped_lock lock(mutex_);
    std::string all;
    for (const std::string& chunk : chunks_) all += chunk;
    chunks_.clear();
    unsent_ = 0;
    room_.notify_all();
    return all;
  }
  void close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    room_.notify_all();
  }
  bool closed() const {
    const std::scoped_lock lock(mutex_);
    return closed_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::deque<std::string> chunks_;
  std::size_t unsent_ = 0;
  bool closed_ = false;
};

/// One connection; everything but close() runs on its strand. `Wire` is beast::tcp_stream or an ssl_stream over one.
template <typename Wire>
class Session final : public Connection, public std::enable_shared_from_this<Session<Wire>> {
 public:
  static constexpr bool kTls = !std::is_same_v<Wire, beast::tcp_stream>;

  Session(tcp::socket socket, std::shared_ptr<ssl::context> tls, std::shared_ptr<Shared> shared,
          std::function<void(Connection*)> on_end)
      : tls_(std::move(tls)),
        wire_(make_wire(std::move(socket), tls_.get())),
        shared_(std::move(shared)),
        on_end_(std::move(on_end)) {
    error_code ignored;
    const auto remote = lowest().socket().remote_endpoint(ignored);
    if (!ignored) peer_ = fmt::format("{}:{}", remote.address().to_string(), remote.port());
    lowest().socket().set_option(tcp::no_delay(true), ignored);
  }
  ~Session() override { on_end_(this); }

  void start() override {
    asio::dispatch(wire_.get_executor(), [self = this->shared_from_this()] { self->shake_hands(); });
  }
  void close() override {
    asio::post(wire_.get_executor(), [self = this->shared_from_this()] { self->shut(); });
  }

 private:
  static Wire make_wire(tcp::socket socket, ssl::context* tls) {
    if constexpr (kTls) {
      return Wire(std::move(socket), *tls);
    } else {
      (void)tls;
      return Wire(std::move(socket));
    }
  }
  beast::tcp_stream& lowest() { return beast::get_lowest_layer(wire_); }
  const ServerOptions& options() const { return shared_->options; }

  void shake_hands() {
    if constexpr (kTls) {
      lowest().expires_after(options().header_timeout);
      wire_.async_handshake(ssl::stream_base::server, [self = this->shared_from_this()](error_code error) {
        if (!error) self->await_request();
      });
    } else {
      await_request();
    }
  }

  /// Waits for the first byte of the next request: idling is allowed for longer than dawdling.
  void await_request() {
    if (closed_) return;
    if (buffer_.size() > 0) return read_header();
    lowest().expires_after(options().idle_timeout);
    wire_.async_read_some(buffer_.prepare(4096),
                          [self = this->shared_from_this()](error_code error, std::size_t bytes) {
                            if (error) return self->shut();
                            self->buffer_.commit(bytes);
                            self->read_header();
                          });
  }

  void read_header() {
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(options().max_header_bytes));
    parser_->body_limit(options().max_body_bytes);
    lowest().expires_after(options().header_timeout);
    http::async_read_header(wire_, buffer_, *parser_, [self = this->shared_from_this()](error_code error, std::size_t) {
      if (error) return self->refuse(error);
      self->read_body();
    });
  }

  void read_body() {
    lowest().expires_after(options().body_timeout);
    if (parser_->get()[http::field::expect] == "100-continue") return send_continue();
    http::async_read(wire_, buffer_, *parser_, [self = this->shared_from_this()](error_code error, std::size_t) {
      if (error) return self->refuse(error);
      self->hand_over();
    });
  }

  void send_continue() {
    parser_->get().erase(http::field::expect);
    send("HTTP/1.1 100 Continue\r\n\r\n", [self = this->shared_from_this()] { self->read_body(); });
  }

  /// A request that cannot be read: say why where that helps, then close.
  void refuse(error_code error) {
    int status = 0;
    if (error == http::error::header_limit) status = 431;
    if (error == http::error::body_limit) status = 413;
    if (status == 0 && error.category() == http::make_error_code(http::error::bad_version).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message) {
      status = 400;
    }
    if (status == 0) return shut();
    keep_alive_ = false;
    respond({.status = status, .body = error.message() + "\n"});
  }

  void hand_over() {
    auto message = parser_->release();
    keep_alive_ = message.keep_alive();
    is_head_ = message.method() == http::verb::head;
    auto request = std::make_shared<Request>(to_request(std::move(message), peer_));
    lowest().expires_never();
    asio::post(*shared_->handlers, [self = this->shared_from_this(), request] {
      auto reply = std::make_shared<Reply>(call_handler(*self->shared_, *request));
      asio::post(self->wire_.get_executor(), [self, reply] { self->answer(std::move(*reply)); });
    });
  }

  void answer(Reply reply) {
    if (closed_) return;
    if (auto* response = std::get_if<Response>(&reply)) return respond(std::move(*response));
    if (!shared_->begin_stream()) return respond({.status = 503, .body = "too many streams\n"});
    stream(std::get<Stream>(std::move(reply)));
  }

  void respond(Response response) {
    if (response.drop) return shut();
    std::string head =
        fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n", response.status,
                    std::string(http::obsolete_reason(http::int_to_status(static_cast<unsigned>(response.status)))),
                    response.content_type, response.body.size());
    for (const auto& [name, value] : response.headers) head += fmt::format("{}: {}\r\n", name, value);
    head += keep_alive_ ? "\r\n" : "Connection: close\r\n\r\n";
    if (!is_head_) head += response.body;
    send(std::move(head), [self = this->shared_from_this()] {
      if (self->keep_alive_) return self->await_request();
      self->shut();
    });
  }

  void send(std::string bytes, std::function<void()> then) {
    outgoing_ = std::move(bytes);
    send_from(0, std::move(then));
  }

  /// In pieces, so that the time-out is about progress and not about size.
  void send_from(std::size_t offset, std::function<void()> then) {
    if (closed_) return;
    if (offset >= outgoing_.size()) return then();
    lowest().expires_after(options().write_timeout);
    wire_.async_write_some(
        asio::buffer(outgoing_.data() + offset, outgoing_.size() - offset),
        [self = this->shared_from_this(), offset, then = std::move(then)](error_code error, std::size_t bytes) mutable {
          if (error) return self->shut();
          self->send_from(offset + bytes, std::move(then));
        });
  }

  // --- streaming

  class Writer final : public StreamWriter {
   public:
    Writer(std::shared_ptr<Session> session, std::shared_ptr<ChunkQueue> queue)
        : session_(std::move(session)), queue_(std::move(queue)) {}
    bool write(std::string_view chunk) override {
      if (chunk.empty()) return !closed();
      if (!queue_->push(fmt::format("{:x}\r\n{}\r\n", chunk.size(), chunk))) return false;
      session_->wake_sender();
      return true;
    }
    bool closed() const override { return queue_->closed(); }
    void abort() override {
      queue_->close();
      session_->close();
    }

   private:
    std::shared_ptr<Session> session_;
    std::shared_ptr<ChunkQueue> queue_;
  };

  void stream(Stream reply) {
    queue_ = std::make_shared<ChunkQueue>();
    keep_alive_ = false;
    outgoing_ = fmt::format(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n", reply.status,
        std::string(http::obsolete_reason(http::int_to_status(static_cast<unsigned>(reply.status)))),
        reply.content_type);
    sending_ = true;
    // The read that waits for the peer's end must start without a deadline: it keeps the one it was started with.
    lowest().expires_never();
    watch_peer();
    send_from(0, [self = this->shared_from_this()] { self->chunks_sent(); });
    // Counted in shared_->streams; stop() waits for the count, so the thread never outlives the server.
    std::thread([self = this->shared_from_this(), shared = shared_, produce = std::move(reply.produce)]() mutable {
      self->run_producer(produce);
      self.reset();
      shared->end_stream();
    }).detach();
  }

  void run_producer(const std::function<void(StreamWriter&)>& produce) {
    Writer writer(this->shared_from_this(), queue_);
    try {
      produce(writer);
    } catch (...) {
      shared_->log.error("stream handler failed");
    }
    asio::post(wire_.get_executor(), [self = this->shared_from_this()] {
      self->producer_done_ = true;
      self->send_chunks();
    });
  }

  void wake_sender() {
    asio::post(wire_.get_executor(), [self = this->shared_from_this()] { self->send_chunks(); });
  }

  void chunks_sent() {
    sending_ = false;
    send_chunks();
  }

  /// Sends what waits, unless a send is under way; after the producer's last word the closing chunk, then the end.
  void send_chunks() {
    if (closed_ || sending_) return;
    outgoing_ = queue_->take_all();
    if (outgoing_.empty() && last_chunk_sent_) return shut();
    if (outgoing_.empty() && producer_done_) {
      last_chunk_sent_ = true;
      outgoing_ = "0\r\n\r\n";
    }
    if (outgoing_.empty()) return lowest().expires_never();
    sending_ = true;
    send_from(0, [self = this->shared_from_this()] { self->chunks_sent(); });
  }

  /// While streaming the peer has nothing to say; a read that ends means it has gone.
  void watch_peer() {
    wire_.async_read_some(buffer_.prepare(512), [self = this->shared_from_this()](error_code error, std::size_t) {
      if (error) return self->shut();
      if (self->buffer_.size() == 0) self->watch_peer();
    });
  }

  void shut() {
    if (closed_) return;
    closed_ = true;
    if (queue_) queue_->close();
    error_code ignored;
    lowest().socket().shutdown(tcp::socket::shutdown_both, ignored);
    lowest().close();
  }

  std::shared_ptr<ssl::context> tls_;
  Wire wire_;
  std::shared_ptr<Shared> shared_;
  std::function<void(Connection*)> on_end_;
  std::string peer_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::string outgoing_;
  std::shared_ptr<ChunkQueue> queue_;
  bool keep_alive_ = true;
  bool is_head_ = false;
  bool sending_ = false;
  bool producer_done_ = false;
  bool last_chunk_sent_ = false;
  bool closed_ = false;
};

base::Result<std::shared_ptr<ssl::context>> make_tls(const Certificate& certificate) {
  try {
    auto tls = std::make_shared<ssl::context>(ssl::context::tls_server);
    tls->set_options(ssl::context::default_workarounds | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
    tls->use_certificate_chain(asio::buffer(certificate.chain_pem));
    tls->use_private_key(asio::buffer(certificate.key_pem), ssl::context::pem);
    return tls;
  } catch (const boost::system::system_error& error) {
    return base::invalid(fmt::format("the certificate or its key cannot be used: {}", error.code().message()));
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
  void forget(Connection* connection);

  asio::io_context io;
  tcp::acceptor acceptor;
  asio::steady_timer accept_pause;
  asio::thread_pool handlers;
  std::shared_ptr<Shared> shared = std::make_shared<Shared>();
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
  if (error) return base::invalid(fmt::format("\"{}\" is no IP address to listen on", options.address));
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

void Server::Impl::accept() {
  acceptor.async_accept(asio::make_strand(io), [self = shared_from_this()](error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) {  // out of descriptors, most likely: give others time to close theirs
      self->accept_pause.expires_after(base::milliseconds(50));
      self->accept_pause.async_wait([self](error_code cancelled) {
        if (!cancelled) self->accept();
      });
      return;
    }
    self->admit(std::move(socket));
    self->accept();
  });
}

void Server::Impl::admit(tcp::socket socket) {
  std::shared_ptr<Connection> connection;
  const auto on_end = [weak = weak_from_this()](Connection* ended) {
    if (const auto self = weak.lock()) self->forget(ended);
  };
  {
    const std::scoped_lock lock(mutex);
    if (stopped || open.size() >= shared->options.max_connections) return;  // the socket closes
    if (tls) {
      connection =
          std::make_shared<Session<beast::ssl_stream<beast::tcp_stream>>>(std::move(socket), tls, shared, on_end);
    } else {
      connection = std::make_shared<Session<beast::tcp_stream>>(std::move(socket), nullptr, shared, on_end);
    }
    open.emplace(connection.get(), connection);
  }
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
  if (!impl_->started) return;  // nobody would run what is posted, and it would hold the server for ever
  asio::post(impl_->io, [impl = impl_] {
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
}

std::size_t Server::connections() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->open.size();
}

std::optional<std::pair<std::string, std::uint16_t>> split_address(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return std::pair{std::string(host), port};
}

}  // namespace serving
