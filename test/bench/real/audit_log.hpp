#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// User agent of the benchmark, whose requests are not counted.
inline constexpr std::string_view kUserAgent = "evacuator-bench";

/// A finished request of the API server's audit log. Times are in seconds since the epoch.
struct Call {
  double received = 0;
  double answered = 0;
  std::string verb;      ///< for example "create"
  std::string resource;  ///< for example "pods/eviction"
  int code = 0;          ///< status code of the answer; 0 if none was sent
};

/// Parses one line. Returns nullopt if it is not of the measured program, not about an object, not finished, or not
/// JSON.
std::optional<Call> call_of(const std::string& line);

/// Returns false for lists, watches, Leases, reviews, and requests that belong to a policy or to the start.
bool is_of_evictions(const Call& call);

/// Reads new complete lines of a growing file.
class Tail {
 public:
  Tail(const std::string& path, long from) : file_(path) { file_.seekg(from); }
  std::vector<std::string> lines();

 private:
  std::ifstream file_;
  std::string rest_;
};

}  // namespace bench
