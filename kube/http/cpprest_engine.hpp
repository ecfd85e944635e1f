#pragma once

/// The cpprestsdk half of HttpTransport: reads of single objects. No cpprest type in this header.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "kube/http/beast_engine.hpp"

namespace kube {

/// Thread-safe. Certificates are asked for again for every new connection.
class CpprestEngine {
 public:
  using Material = std::function<base::Result<TlsMaterial>()>;

  /// Sets the library's pool to one thread (with more, a cancel races with the TLS read; libraries.md#cancellation). If
  /// the process uses cpprestsdk elsewhere, it must not have started its pool before.
  CpprestEngine(const Endpoint& endpoint, Material material);
  ~CpprestEngine();

  /// What cpprestsdk can reach: no IPv6 literal, no other TLS name than the host, no proxy.
  static bool can_reach(const Endpoint& endpoint);

  /// GET. nullopt: it failed without an answer; cpprestsdk's reasons are not reliable, so ask again over Beast, which
  /// names them (a GET does no harm twice). Errors: kOutcomeUnknown when late or too large, kCancelled.
  std::optional<base::Result<Response>> get(const Request& request, const std::string& authorization,
                                            std::chrono::steady_clock::time_point deadline, std::size_t body_limit);
  void shut_down();

 private:
  base::Error lost_answer(const std::string& why) const;

  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kube
