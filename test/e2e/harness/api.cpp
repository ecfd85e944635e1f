#include "test/e2e/harness/api.hpp"

#include <arpa/inet.h>
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
using Parser = http::response_parser<http::string_body>;

constexpr std::string_view kMergePatch = "application/merge-patch+json";
constexpr std::chrono::milliseconds kWatchWakes{200};
constexpr std::chrono::seconds kRequestLimit{40};

Failure broken(std::string_view what) { return Failure(std::string(what) + ": " + std::strerror(errno)); }

/// A blocking connection whose reads have a timeout.
class Connection {
 public:
  explicit Connection(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval wake{0, std::chrono::microseconds(kWatchWakes).count()};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &wake, sizeof wake);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      ::close(fd_);
      throw broken("connecting");
    }
  }
  ~Connection() { ::close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t put = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (put <= 0) throw broken("sending");
      text.remove_prefix(static_cast<std::size_t>(put));
    }
  }

  /// Passes received data to the parser. Returns false if the peer has closed the connection. Returns after kWatchWakes
  /// at the latest.
  bool receive(Parser& parser) {
    char chunk[65536];
    const ssize_t got = ::recv(fd_, chunk, sizeof chunk, 0);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return true;
    if (got < 0) throw broken("receiving");
    boost::system::error_code error;
    if (got == 0) {
      parser.put_eof(error);
      return false;
    }
    pending_.append(chunk, static_cast<std::size_t>(got));
    const std::size_t used = parser.put(boost::asio::buffer(pending_), error);
    pending_.erase(0, used);
    if (error && error != http::error::need_more) throw Failure("HTTP: " + error.message());
    return true;
  }

 private:
  int fd_;
  std::string pending_;
};

std::string build(std::string_view method, const std::string& target, const std::string& body = {},
                  std::string_view type = {}) {
  std::string text;
  text.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n");
  text.append("Connection: close\r\n");
  if (!body.empty()) text.append("Content-Type: ").append(type).append("\r\n");
  text.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n\r\n").append(body);
  return text;
}

void prepare(Parser& parser) {
  parser.body_limit(boost::none);
  parser.eager(true);
}

// The proxy answers 502 and a starting server 5xx or 429 while it is not ready.
bool is_away(int code) { return code == 0 || code == 429 || code >= 500; }

}  // namespace

HttpAnswer Api::request(std::string_view method, const std::string& target, const std::string& body,
                        std::string_view content_type) const {
  try {
    Connection connection(port_);
    connection.send(build(method, target, body, content_type));
    Parser parser;
    prepare(parser);
    const auto deadline = std::chrono::steady_clock::now() + kRequestLimit;
    while (!parser.is_done() && connection.receive(parser)) {
      if (std::chrono::steady_clock::now() > deadline) return {0, "no answer in time"};
    }
    if (!parser.is_done()) return {0, "the answer was cut short"};
    return {static_cast<int>(parser.get().result_int()), parser.get().body()};
  } catch (const std::exception& e) {
    return {0, e.what()};
  }
}

Json Api::call(std::string_view method, const std::string& path, const std::string& body, std::string_view type) const {
  const HttpAnswer answer = await(
      std::string(method) + " " + path,
      [&](std::string& seen) -> std::optional<HttpAnswer> {
        HttpAnswer got = request(method, path, body, type);
        seen = std::to_string(got.code) + " " + got.body;
        if (is_away(got.code)) return std::nullopt;
        return got;
      },
      std::chrono::seconds(60));
  if (answer.code == 404) return Json();
  if (answer.code >= 300)
    throw Failure(std::string(method) + " " + path + ": " + std::to_string(answer.code) + " " + answer.body);
  return answer.body.empty() ? Json::object() : Json::parse(answer.body);
}

std::optional<Json> Api::find(const std::string& path) const {
  Json found = call("GET", path, {}, {});
  if (found.is_null()) return std::nullopt;
  return found;
}

Json Api::get(const std::string& path) const {
  auto found = find(path);
  if (!found) throw Failure("GET " + path + ": 404");
  return *std::move(found);
}

std::vector<Json> Api::list(const std::string& path) const { return get(path).at("items").get<std::vector<Json>>(); }

Json Api::create(const std::string& collection, const Json& object) const {
  bool answer_lost = false;
  const HttpAnswer answer = await(
      "POST " + collection,
      [&](std::string& seen) -> std::optional<HttpAnswer> {
        HttpAnswer got = request("POST", collection, object.dump(), "application/json");
        seen = std::to_string(got.code) + " " + got.body;
        if (!is_away(got.code)) return got;
        answer_lost = true;
        return std::nullopt;
      },
      std::chrono::seconds(60));
  // A request whose answer was lost may have been carried out.
  if (answer.code == 409 && answer_lost) return get(collection + "/" + text_at(object, "/metadata/name"));
  if (answer.code >= 300) throw Failure("POST " + collection + ": " + std::to_string(answer.code) + " " + answer.body);
  return Json::parse(answer.body);
}

Json Api::merge(const std::string& path, const Json& patch) const {
  Json changed = merge_if_there(path, patch);
  if (changed.is_null()) throw Failure("PATCH " + path + ": 404");
  return changed;
}

Json Api::merge_if_there(const std::string& path, const Json& patch) const {
  return call("PATCH", path, patch.dump(), kMergePatch);
}

void Api::remove(const std::string& path) const { call("DELETE", path, {}, {}); }

// ---------------------------------------------------------------- watch

Recorder::Recorder(const Api& api, std::string collection) : api_(api), collection_(std::move(collection)) {
  relist();
  thread_ = std::thread([this] { follow(); });
}

Recorder::~Recorder() {
  stopping_ = true;
  thread_.join();
}

std::vector<WatchEvent> Recorder::events() const {
  const std::scoped_lock lock(mutex_);
  return events_;
}

void Recorder::relist() {
  const Json page = api_.get(collection_);
  const WallTime now = std::chrono::system_clock::now();
  const std::scoped_lock lock(mutex_);
  for (const Json& item : page.at("items")) events_.push_back({now, "ADDED", item});
  resource_version_ = text_at(page, "/metadata/resourceVersion");
  ++gaps_;
}

void Recorder::follow() {
  while (!stopping_) {
    try {
      stream();
      if (resource_version_.empty()) relist();
    } catch (const std::exception&) {
      // The server is unavailable or restarts. Resume from the last resource version.
      std::this_thread::sleep_for(kPollInterval);
    }
  }
}

void Recorder::stream() {
  Connection connection(api_.port());
  const char* joint = collection_.find('?') == std::string::npos ? "?" : "&";
  connection.send(
      build("GET", collection_ + joint +
                       "watch=1&allowWatchBookmarks=true&timeoutSeconds=600&resourceVersion=" + resource_version_));
  Parser parser;
  prepare(parser);
  std::string pending;
  bool open = true;
  while (open && !parser.is_done() && !stopping_ && !resource_version_.empty()) {
    open = connection.receive(parser);
    if (!parser.is_header_done()) continue;
    if (parser.get().result_int() == 410) resource_version_.clear();
    if (parser.get().result_int() != 200) break;
    pending += std::exchange(parser.get().body(), {});
    for (std::size_t end; (end = pending.find('\n')) != std::string::npos; pending.erase(0, end + 1))
      take(pending.substr(0, end));
  }
  if (!stopping_) std::this_thread::sleep_for(kPollInterval);
}

void Recorder::take(const std::string& line) {
  Json event = Json::parse(line);
  const std::string type = event.at("type");
  const std::scoped_lock lock(mutex_);
  if (type == "ERROR") {
    resource_version_.clear();
    return;
  }
  resource_version_ = text_at(event, "/object/metadata/resourceVersion");
  if (type != "BOOKMARK") events_.push_back({std::chrono::system_clock::now(), type, std::move(event.at("object"))});
}

// ---------------------------------------------------------------- paths

namespace path {
namespace {

std::string build_path(std::string_view prefix, std::string_view ns, std::string_view plural, std::string_view name) {
  std::string result(prefix);
  if (!ns.empty()) result.append("/namespaces/").append(ns);
  result.append("/").append(plural);
  if (!name.empty()) result.append("/").append(name);
  return result;
}

constexpr std::string_view kOurs = "/apis/evacuator.dev/v1alpha1";

}  // namespace

std::string namespaced(std::string_view ns, std::string_view plural, std::string_view name) {
  return build_path("/api/v1", ns, plural, name);
}
std::string pods(std::string_view ns, std::string_view name) { return namespaced(ns, "pods", name); }
std::string nodes(std::string_view name) { return namespaced({}, "nodes", name); }
std::string apps(std::string_view ns, std::string_view plural, std::string_view name) {
  return build_path("/apis/apps/v1", ns, plural, name);
}
std::string evacuations(std::string_view ns, std::string_view name) {
  return build_path(kOurs, ns, "evacuations", name);
}
std::string all_evacuations() { return evacuations({}); }
std::string policies(std::string_view name) { return build_path(kOurs, {}, "deschedulerpolicies", name); }
std::string leases(std::string_view ns, std::string_view name) {
  return build_path("/apis/coordination.k8s.io/v1", ns, "leases", name);
}

}  // namespace path

std::string text_at(const Json& object, const char* pointer) {
  const Json::json_pointer at(pointer);
  if (!object.contains(at)) return {};
  const Json& value = object.at(at);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::int64_t number_at(const Json& object, const char* pointer, std::int64_t otherwise) {
  const Json::json_pointer at(pointer);
  if (!object.contains(at) || !object.at(at).is_number()) return otherwise;
  return object.at(at).get<std::int64_t>();
}

}  // namespace e2e
