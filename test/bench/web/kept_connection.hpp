#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/http/transport.hpp"

namespace bench {

/// One client of a local server with a persistent connection, like the API server and kube-scheduler. Not thread-safe.
class KeptConnection {
 public:
  using Milliseconds = std::chrono::duration<double, std::milli>;

  /// `ca` is the authority of the server's certificate, empty for plain HTTP.
  explicit KeptConnection(std::uint16_t port, const std::string& ca = {});

  struct Answer {
    int status = 0;
    Milliseconds took{};
  };
  /// Posts JSON. Throws std::runtime_error if there is no HTTP answer.
  Answer post(std::string_view path, std::string body);

 private:
  std::unique_ptr<kube::HttpTransport> transport_;
};

/// Returns the percentile for `share` (0 to 1). REQUIRES: `all` is not empty.
double percentile(std::vector<double> all, double share);

}  // namespace bench
