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

/// One client of a server on this machine that keeps its connection, as the API server and kube-scheduler do. One
/// thread at a time.
class KeptConnection {
 public:
  using Milliseconds = std::chrono::duration<double, std::milli>;

  /// `ca`: the authority of the server's certificate; "": plain HTTP.
  explicit KeptConnection(std::uint16_t port, const std::string& ca = {});

  struct Answer {
    int status = 0;
    Milliseconds took{};
  };
  /// Posts JSON. Throws std::runtime_error when there is no HTTP answer.
  Answer post(std::string_view path, std::string body);

 private:
  std::unique_ptr<kube::HttpTransport> transport_;
};

/// The one below which `share` (0 to 1) of them are. REQUIRES: there is one.
double percentile(std::vector<double> all, double share);

}  // namespace bench
