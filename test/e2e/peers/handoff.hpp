#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "test/e2e/harness/api.hpp"

namespace e2e {

/// The reaction of the workload operator of one app to a request.
struct HandoffScript {
  std::vector<int> progress{0, 25, 50, 75, 100};
  bool says_ready = true;  ///< whether it becomes ready after the last step; otherwise it sends heartbeats indefinitely
};

/// Returns the next answer of the handoff protocol as a merge patch of the pod, one step at a time, or nullopt if no
/// answer is due. Pure function. The values contain `time`.
std::optional<Json> next_answer(const Json& pod, const HandoffScript& script, const std::string& time);

/// A workload operator that answers for the pods of one namespace, by their label app. Apps without a script get no
/// answer. Consecutive steps are kStep apart, so that a watcher can observe each.
class HandoffOperator {
 public:
  static constexpr std::chrono::milliseconds kStep{700};

  HandoffOperator(const Api& api, std::string ns, std::map<std::string, HandoffScript> scripts);
  ~HandoffOperator();
  HandoffOperator(const HandoffOperator&) = delete;
  HandoffOperator& operator=(const HandoffOperator&) = delete;

 private:
  void work();
  bool progress_is_shown(const Json& pod) const;
  void look_around();

  const Api api_;
  const std::string ns_;
  const std::map<std::string, HandoffScript> scripts_;
  std::map<std::string, std::chrono::steady_clock::time_point> answered_;  // by pod UID
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace e2e
