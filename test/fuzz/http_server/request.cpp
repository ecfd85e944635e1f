/// Any bytes from a client of our HTTP server, in two pieces: no crash, no hang, the handler sees only requests within
/// the limits, every request that it saw is answered, and no body bytes are accounted at the end.

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "http_server/connection.hpp"

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Peer = asio::local::stream_protocol::socket;

constexpr std::size_t kMaxBody = 4096;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const http_server::Request& request) {
  require(!request.method.empty() && request.body.size() <= kMaxBody);
  require(request.path.find_first_of("? \r\n") == std::string::npos);
  require(request.query.find_first_of(" \r\n") == std::string::npos);
  for (const auto& [name, value] : request.headers) {
    require(std::ranges::none_of(name, [](char c) { return c >= 'A' && c <= 'Z'; }));
    require(value.find_first_of("\r\n") == std::string::npos);
  }
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

/// Client that sends `first` and `second`, shuts down its sending side, and reads all answers.
class Client {
 public:
  Client(asio::io_context& io, std::string_view first, std::string_view second)
      : socket_(io), first_(first), second_(second) {}
  Peer& socket() { return socket_; }
  void start() {
    read();
    write(first_, [this] { write(second_, [this] { shut(); }); });
  }
  const std::string& answered() const { return answered_; }

 private:
  void write(std::string_view bytes, std::function<void()> then) {
    asio::async_write(socket_, asio::buffer(bytes.data(), bytes.size()),
                      [then = std::move(then)](error_code error, std::size_t) {
                        if (!error) then();
                      });
  }
  void shut() {
    error_code ignored;
    socket_.shutdown(Peer::shutdown_send, ignored);
  }
  void read() {
    socket_.async_read_some(asio::buffer(buffer_), [this](error_code error, std::size_t bytes) {
      answered_.append(buffer_, bytes);
      if (!error) read();
    });
  }

  Peer socket_;
  std::string_view first_, second_;
  char buffer_[4096];
  std::string answered_;
};

void serve(std::string_view first, std::string_view second) {
  asio::io_context io;
  asio::thread_pool handlers(1);
  std::atomic<std::size_t> handled = 0;
  auto shared = std::make_shared<http_server::ServerState>();
  shared->options.max_header_bytes = 1024;
  shared->options.max_body_bytes = kMaxBody;
  shared->options.max_all_body_bytes = kMaxBody;
  shared->handlers = &handlers;
  shared->close_slow_bodies = [](std::size_t) { return false; };
  shared->handler = [&](const http_server::Request& request) {
    check(request);
    ++handled;
    return http_server::Response{.status = 200, .body = "ok\n"};
  };
  Client client(io, first, second);
  Peer accepted(io);
  asio::local::connect_pair(client.socket(), accepted);
  std::optional work(asio::make_work_guard(io));
  // A handler thread may be the last owner of the connection.
  const auto ended = [&](http_server::Connection*) { asio::post(io, [&] { work.reset(); }); };
  http_server::make_connection(asio::ip::tcp::socket(io, asio::ip::tcp::v4(), accepted.release()), nullptr, shared,
                               ended)
      ->start();
  client.start();
  io.run();
  handlers.join();
  require(shared->body_bytes == 0);
  require(count(client.answered(), "HTTP/1.1 200") == handled);
  require(client.answered().empty() || client.answered().starts_with("HTTP/1.1 "));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t cut = bytes.size() * data[0] / 256;
  serve(bytes.substr(0, cut), bytes.substr(cut));
  return 0;
}
