#include "test/e2e/peers/hook_service.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <cstring>

#include "test/e2e/harness/await.hpp"

namespace e2e {
namespace {

namespace http = boost::beast::http;
using RequestParser = http::request_parser<http::string_body>;

constexpr int kWakesMs = 100;
constexpr std::string_view kHooks = "/v1/hooks/";

Failure cannot(std::string_view what) { return Failure("hook service: " + std::string(what) + ": " + strerror(errno)); }

int listen_on_loopback(std::uint16_t& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(fd, 16) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    ::close(fd);
    throw cannot("listening");
  }
  port = ntohs(address.sin_port);
  return fd;
}

/// Returns false if the peer disconnects or sends no valid request within a few seconds.
bool read_request(int fd, RequestParser& parser) {
  const timeval limit{5, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  parser.eager(true);
  std::string pending;
  while (!parser.is_done()) {
    char chunk[16384];
    const ssize_t got = ::recv(fd, chunk, sizeof chunk, 0);
    if (got <= 0) return false;
    pending.append(chunk, static_cast<std::size_t>(got));
    boost::system::error_code error;
    pending.erase(0, parser.put(boost::asio::buffer(pending), error));
    if (error && error != http::error::need_more) return false;
  }
  return true;
}

}  // namespace

HookService::HookService() : listener_(listen_on_loopback(port_)), thread_([this] { serve(); }) {}

HookService::~HookService() {
  stopping_ = true;
  thread_.join();
  ::close(listener_);
}

void HookService::release(const std::string& point) {
  const std::scoped_lock lock(mutex_);
  released_.insert(point);
}

std::vector<HookCall> HookService::calls(const std::string& point) const {
  const std::scoped_lock lock(mutex_);
  std::vector<HookCall> found;
  for (const HookCall& call : calls_) {
    if (call.point == point) found.push_back(call);
  }
  return found;
}

void HookService::serve() {
  while (!stopping_) {
    pollfd waits{listener_, POLLIN, 0};
    if (::poll(&waits, 1, kWakesMs) <= 0) continue;
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    RequestParser parser;
    if (read_request(fd, parser)) {
      const std::string text = answer(std::string(parser.get().target()), parser.get().body());
      // Fails if the client was killed meanwhile.
      [[maybe_unused]] const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    }
    ::close(fd);
  }
}

std::string HookService::answer(const std::string& target, const std::string& body) {
  const auto respond = [](const std::string& status, const std::string& text) {
    return "HTTP/1.1 " + status +
           "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " + std::to_string(text.size()) +
           "\r\n\r\n" + text;
  };
  const Json asked = Json::parse(body, nullptr, false);
  if (!target.starts_with(kHooks) || !asked.is_object()) return respond("404 Not Found", R"({"failed":"no hook"})");
  HookCall call{std::chrono::system_clock::now(), target.substr(kHooks.size()), text_at(asked, "/token"), asked};
  const std::scoped_lock lock(mutex_);
  const bool done = released_.contains(call.point);
  calls_.push_back(std::move(call));
  return respond("200 OK", done ? R"({"done":true})" : R"({"done":false,"retryAfterSeconds":1})");
}

}  // namespace e2e
