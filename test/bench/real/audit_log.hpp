#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// Of whoever fills the cluster and measures: such requests do not count.
inline constexpr std::string_view kUserAgent = "evacuator-bench";

/// A finished request of the API server's audit log. Times in seconds since the epoch.
struct Call {
  double received = 0;
  double answered = 0;
  std::string verb;      ///< "create"
  std::string resource;  ///< "pods/eviction"
  int code = 0;          ///< of the answer; 0: none was written
};

/// Of one line. nullopt: not of the program that is measured, not about an object, not finished, or no JSON.
std::optional<Call> call_of(const std::string& line);

/// Neither lists, watches, Leases and reviews, nor what belongs to a policy or the start.
bool is_of_evictions(const Call& call);

/// New whole lines of a file that grows.
class Tail {
 public:
  Tail(const std::string& path, long from) : file_(path) { file_.seekg(from); }
  std::vector<std::string> lines();

 private:
  std::ifstream file_;
  std::string rest_;
};

}  // namespace bench
