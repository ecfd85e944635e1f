#include "http_server/connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <cctype>
#include <chrono>
#include <deque>
#include <optional>
#include <thread>

namespace http_server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = asio::ssl;
using tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kUnsentLimit = 1 << 20;

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

Reply call_handler(const ServerState& shared, const Request& request) {
  try {
    return shared.handler(request);
  } catch (const std::exception& error) {
    shared.log.error("handler failed", {base::kv("path", request.path), base::kv("error", error.what())});
  } catch (...) {
    shared.log.error("handler failed", {base::kv("path", request.path)});
  }
  return Response{.status = 500, .body = "internal error\n"};
}

/// Queue of chunks from the producer thread of a streaming response to the socket. Either side may close it.
class ChunkQueue {
 public:
  /// Blocks until the queue has free capacity. Returns false once the queue is closed.
  bool push(std::string chunk) {
    std::unique_lock lock(mutex_);
    capacity_.wait(lock, [&] { return closed_ || unsent_ < kUnsentLimit; });
    if (closed_) return false;
    unsent_ += chunk.size();
    chunks_.push_back(std::move(chunk));
    return true;
  }
  /// Returns all queued chunks as one string, empty if there are none.
  std::string take_all() {
    const std::scoped_lock lock(mutex_);
    std::string all;
    for (const std::string& chunk : chunks_) all += chunk;
    chunks_.clear();
    unsent_ = 0;
    capacity_.notify_all();
    return all;
  }
  void close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    capacity_.notify_all();
  }
  bool closed() const {
    const std::scoped_lock lock(mutex_);
    return closed_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable capacity_;
  std::deque<std::string> chunks_;
  std::size_t unsent_ = 0;
  bool closed_ = false;
};

/// One connection. Everything but close() runs on its strand. `Wire` is beast::tcp_stream or an ssl_stream over it.
template <typename Wire>
class Session final : public Connection, public std::enable_shared_from_this<Session<Wire>> {
 public:
  static constexpr bool kTls = !std::is_same_v<Wire, beast::tcp_stream>;

  Session(tcp::socket socket, std::shared_ptr<ssl::context> tls, std::shared_ptr<ServerState> shared,
          std::function<void(Connection*)> on_end)
      : tls_(std::move(tls)),
        wire_(make_wire(std::move(socket), tls_.get())),
        shared_(std::move(shared)),
        on_end_(std::move(on_end)) {
    error_code ignored;
    const auto remote = lowest().socket().remote_endpoint(ignored);
    if (!ignored) peer_ = fmt::format("{}:{}", remote.address().to_string(), remote.port());
    lowest().socket().set_option(tcp::no_delay(true), ignored);
    waiting_since_ = ++shared_->waits;
  }
  ~Session() override {
    drop_body();
    on_end_(this);
  }

  void start() override {
    asio::dispatch(wire_.get_executor(), [self = this->shared_from_this()] { self->shake_hands(); });
  }
  std::uint64_t waiting_since() const override { return waiting_since_; }
  std::size_t body_bytes() const override { return body_bytes_; }
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
  void tell(int status) const {
    if (options().on_end) options().on_end(status, peer_);
  }

  void shake_hands() {
    if constexpr (kTls) {
      lowest().expires_after(options().header_timeout);
      wire_.async_handshake(ssl::stream_base::server, [self = this->shared_from_this()](error_code error) {
        if (!error) return self->await_request();
        self->tell(kNoResponse);
      });
    } else {
      await_request();
    }
  }

  /// Waits for the first byte of the next request. Uses idle_timeout, which is longer than header_timeout.
  void await_request() {
    if (closed_) return;
    waiting_since_ = ++shared_->waits;
    response_deadline_ = std::chrono::steady_clock::time_point::max();
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
      if (!self->begin_body()) return self->refuse_body();
      self->read_body();
    });
  }

  /// Returns the size to reserve for the body. A chunked body has no announced length, so it reserves the maximum.
  std::size_t announced_bytes() const {
    if (parser_->chunked()) return options().max_body_bytes;
    return static_cast<std::size_t>(parser_->content_length().value_or(0));
  }

  bool begin_body() {
    const std::size_t bytes = announced_bytes();
    waiting_since_ = ++shared_->waits;  // the time for the body starts now, without the idle time before the request
    if (bytes > 0 && !shared_->begin_body(bytes)) return false;
    body_bytes_ = bytes;
    return true;
  }

  void drop_body() { shared_->end_body(body_bytes_.exchange(0)); }

  void refuse_body() {
    keep_alive_ = false;
    respond({.status = 503, .body = "too many requests are in hand\n"});
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

  /// Answers an unreadable request with an error status if the peer can understand one, then closes.
  void refuse(error_code error) {
    int status = 0;
    if (error == http::error::header_limit) status = 431;
    if (error == http::error::body_limit) status = 413;
    if (status == 0 && error.category() == http::make_error_code(http::error::bad_version).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message) {
      status = 400;
    }
    if (status == 0) {
      if (error != http::error::end_of_stream) tell(kNoResponse);
      return shut();
    }
    keep_alive_ = false;
    respond({.status = status, .body = error.message() + "\n"});
  }

  void hand_over() {
    waiting_since_ = 0;
    auto message = parser_->release();
    keep_alive_ = message.keep_alive();
    is_head_ = message.method() == http::verb::head;
    auto request = std::make_shared<Request>(to_request(std::move(message), peer_));
    lowest().expires_never();
    shared_->run_fairly(peer_, [self = this->shared_from_this(), request] {
      auto reply = std::make_shared<Reply>(call_handler(*self->shared_, *request));
      asio::post(self->wire_.get_executor(), [self, reply] { self->answer(std::move(*reply)); });
    });
  }

  void answer(Reply reply) {
    drop_body();
    if (closed_) return;
    if (auto* response = std::get_if<Response>(&reply)) return respond(std::move(*response));
    if (!shared_->begin_stream()) return respond({.status = 503, .body = "too many streams\n"});
    stream(std::get<Stream>(std::move(reply)));
  }

  void respond(Response response) {
    if (response.drop) return shut();
    tell(response.status);
    std::string head =
        fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n", response.status,
                    std::string(http::obsolete_reason(http::int_to_status(static_cast<unsigned>(response.status)))),
                    response.content_type, response.body.size());
    for (const auto& [name, value] : response.headers) head += fmt::format("{}: {}\r\n", name, value);
    head += keep_alive_ ? "\r\n" : "Connection: close\r\n\r\n";
    if (!is_head_) head += response.body;
    waiting_since_ = ++shared_->waits;  // waits for the peer to read the response
    response_deadline_ = std::chrono::steady_clock::now() + options().response_timeout;
    send(std::move(head), [self = this->shared_from_this()] {
      if (self->keep_alive_) return self->await_request();
      self->shut();
    });
  }

  void send(std::string bytes, std::function<void()> then) {
    outgoing_ = std::move(bytes);
    send_from(0, std::move(then));
  }

  /// Sends in pieces, so that the write timeout limits the time without progress, not the total time.
  void send_from(std::size_t offset, std::function<void()> then) {
    if (closed_) return;
    if (offset >= outgoing_.size()) return then();
    lowest().expires_at(std::min(response_deadline_, std::chrono::steady_clock::now() + options().write_timeout));
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
    tell(reply.status);
    response_deadline_ = std::chrono::steady_clock::time_point::max();
    queue_ = std::make_shared<ChunkQueue>();
    keep_alive_ = false;
    outgoing_ = fmt::format(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n", reply.status,
        std::string(http::obsolete_reason(http::int_to_status(static_cast<unsigned>(reply.status)))),
        reply.content_type);
    sending_ = true;
    // Clear the deadline first: the read that detects the end of the peer keeps the deadline with which it was started.
    lowest().expires_never();
    watch_peer();
    send_from(0, [self = this->shared_from_this()] { self->chunks_sent(); });
    // shared_->streams counts this thread, and stop() waits until it is 0, so the thread never outlives the server.
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

  /// Sends queued chunks unless a send is in progress. After the producer's last chunk, sends the closing chunk and
  /// ends.
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

  /// The peer sends nothing while it receives a stream. A read that fails means that it has disconnected.
  void watch_peer() {
    wire_.async_read_some(buffer_.prepare(512), [self = this->shared_from_this()](error_code error, std::size_t) {
      if (error) return self->shut();
      if (self->buffer_.size() == 0) self->watch_peer();
    });
  }

  void shut() {
    if (closed_) return;
    closed_ = true;
    if (waiting_since_ != 0) drop_body();  // otherwise the handler still owns the body
    if (queue_) queue_->close();
    error_code ignored;
    lowest().socket().shutdown(tcp::socket::shutdown_both, ignored);
    lowest().close();
  }

  std::shared_ptr<ssl::context> tls_;
  Wire wire_;
  std::shared_ptr<ServerState> shared_;
  std::function<void(Connection*)> on_end_;
  std::string peer_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::string outgoing_;
  std::shared_ptr<ChunkQueue> queue_;
  std::atomic<std::uint64_t> waiting_since_ = 0;
  std::atomic<std::size_t> body_bytes_ = 0;
  std::chrono::steady_clock::time_point response_deadline_ = std::chrono::steady_clock::time_point::max();
  bool keep_alive_ = true;
  bool is_head_ = false;
  bool sending_ = false;
  bool producer_done_ = false;
  bool last_chunk_sent_ = false;
  bool closed_ = false;
};

}  // namespace

std::shared_ptr<Connection> make_connection(tcp::socket socket, std::shared_ptr<ssl::context> tls,
                                            std::shared_ptr<ServerState> shared,
                                            std::function<void(Connection*)> on_end) {
  if (tls) {
    return std::make_shared<Session<beast::ssl_stream<beast::tcp_stream>>>(std::move(socket), std::move(tls),
                                                                           std::move(shared), std::move(on_end));
  }
  return std::make_shared<Session<beast::tcp_stream>>(std::move(socket), nullptr, std::move(shared), std::move(on_end));
}

}  // namespace http_server
