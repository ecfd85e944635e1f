#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

namespace e2e {

using Json = nlohmann::json;
using WallTime = std::chrono::system_clock::time_point;

struct HttpAnswer {
  int code = 0;  ///< 0 if there was no answer
  std::string body;
};

/// Plain HTTP to a `kubectl proxy`, which adds TLS and credentials. The suite's own client, which shares no code with
/// the operator under test. Thread-safe. While the server is unavailable, reads and watches wait for it (up to 60 s).
class Api {
 public:
  explicit Api(std::uint16_t port) : port_(port) {}

  HttpAnswer request(std::string_view method, const std::string& target, const std::string& body = {},
                     std::string_view content_type = "application/json") const;
  /// Throws Failure unless the answer is 2xx.
  Json get(const std::string& path) const;
  /// Returns nullopt on 404. Throws Failure on other errors.
  std::optional<Json> find(const std::string& path) const;
  std::vector<Json> list(const std::string& path) const;
  Json create(const std::string& collection, const Json& object) const;
  Json merge(const std::string& path, const Json& patch) const;
  /// Returns null on 404.
  Json merge_if_there(const std::string& path, const Json& patch) const;
  /// Succeeds if the object does not exist.
  void remove(const std::string& path) const;

  std::uint16_t port() const { return port_; }

 private:
  Json call(std::string_view method, const std::string& path, const std::string& body,
            std::string_view content_type) const;

  std::uint16_t port_;
};

/// One event of a watch, with its time of arrival.
struct WatchEvent {
  WallTime at;
  std::string type;  ///< ADDED, MODIFIED, DELETED
  Json object;
};

/// Follows a collection from its list on and records every revision that the server sends, independently of the
/// operator. Resumes after broken connections. gaps() counts relists, after which revisions may be missing.
class Recorder {
 public:
  Recorder(const Api& api, std::string collection);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// The first list counts as ADDED events.
  std::vector<WatchEvent> events() const;
  int gaps() const { return gaps_; }

 private:
  void follow();
  void relist();
  void stream();
  void take(const std::string& line);

  const Api api_;
  const std::string collection_;
  mutable std::mutex mutex_;
  std::vector<WatchEvent> events_;
  std::string resource_version_;
  std::atomic<int> gaps_{-1};  // the first list is not a gap
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

namespace path {
std::string namespaced(std::string_view ns, std::string_view plural, std::string_view name = {});  // core/v1
std::string pods(std::string_view ns, std::string_view name = {});
std::string nodes(std::string_view name = {});
std::string apps(std::string_view ns, std::string_view plural, std::string_view name = {});
std::string evacuations(std::string_view ns, std::string_view name = {});
std::string all_evacuations();
std::string policies(std::string_view name = {});
std::string leases(std::string_view ns, std::string_view name);
}  // namespace path

/// Returns the value at a JSON pointer as text, empty if it does not exist. Numbers are converted to digits.
std::string text_at(const Json& object, const char* pointer);
std::int64_t number_at(const Json& object, const char* pointer, std::int64_t otherwise = 0);

}  // namespace e2e
