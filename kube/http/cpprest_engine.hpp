#pragma once

/// cpprestsdk implementation behind HttpTransport, for reads of single objects. This header includes no cpprest type.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "kube/http/beast_engine.hpp"

namespace kube {

/// Thread-safe. Requests the TLS material for every new connection.
class CpprestEngine {
 public:
  using Material = std::function<base::Result<TlsMaterial>()>;

  /// Sets the library's thread pool to one thread, because with more, a cancel races with the TLS read
  /// (libraries.md#cancellation). If the process uses cpprestsdk elsewhere, its pool must not have started before.
  CpprestEngine(const Endpoint& endpoint, Material material);
  ~CpprestEngine();

  /// Returns true if cpprestsdk supports the endpoint: no IPv6 literal, no TLS name other than the host, no proxy.
  static bool can_reach(const Endpoint& endpoint);

  /// Sends a GET. Returns nullopt if it failed without an answer. cpprestsdk's error reasons are unreliable, so retry
  /// over Beast, which reports them; repeating a GET is harmless. Fails with kOutcomeUnknown if the answer is late or
  /// too large, and with kCancelled on shutdown.
  std::optional<base::Result<Response>> get(const Request& request, const std::string& authorization,
                                            std::chrono::steady_clock::time_point deadline, std::size_t body_limit);
  void shut_down();

 private:
  base::Error lost_answer(const std::string& why) const;

  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kube
