#pragma once

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "test/e2e/harness/api.hpp"

namespace e2e {

/// One call of a hook.
struct HookCall {
  WallTime at;
  std::string point;  ///< pre, post, …
  std::string token;
  Json body;
};

/// The service for the hooks of a policy: plain HTTP on loopback, POST /v1/hooks/<point>. Answers "not done" until the
/// point is released. Thread-safe.
class HookService {
 public:
  HookService();
  ~HookService();
  HookService(const HookService&) = delete;
  HookService& operator=(const HookService&) = delete;

  std::uint16_t port() const { return port_; }
  /// All further calls of this hook are answered with "done".
  void release(const std::string& point);
  /// Returns all calls of this hook so far, oldest first.
  std::vector<HookCall> calls(const std::string& point) const;

 private:
  void serve();
  std::string answer(const std::string& target, const std::string& body);

  std::uint16_t port_ = 0;  // declared before the listener, which sets it
  int listener_ = -1;
  mutable std::mutex mutex_;
  std::vector<HookCall> calls_;
  std::set<std::string> released_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace e2e
