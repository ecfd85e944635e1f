#pragma once

/// What a workload's operator answers in the two-way handoff protocol (wire-protocols.md#handoff-protocol), as a
/// script. Pure: the same decision serves the simulator's store and a real API server; a shell reads pods, calls
/// HandoffBrain and carries out the action.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json/json.hpp"
#include "api/meta/object_meta.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"

namespace simulator {

/// When to answer what. Absent: never. Times count from the first sight of the request, for progress, ready, failed and
/// owner-deletes from the first sight of phase migrate, for revoke from ready, for aborted from the abort.
struct HandoffScript {
  std::optional<base::Duration> ack;
  std::optional<base::Duration> pre_done;
  std::optional<base::Duration> progress;   ///< period; 0 → 100 until ready, by tens without one
  std::optional<base::Duration> heartbeat;  ///< period
  std::optional<base::Duration> ready;
  std::optional<base::Duration> revoke;
  std::optional<base::Duration> failed;
  std::optional<base::Duration> aborted;
  std::optional<base::Duration> owner_deletes;  ///< evict-by owner: deletes the pod itself
  std::string fail_reason = "Failed";
  std::string fail_message;
  bool stale_token = false;          ///< answers with the token of the attempt before
  bool answers_after_abort = false;  ///< goes on as if there was no abort
  bool unchanged_heartbeat = false;  ///< every heartbeat repeats the first value
  base::Duration clock_skew{0};      ///< added to the times inside values
  std::string silent_after;  ///< "ack", "pre-done", "progress", "ready", "failed" or "3" (answers): then a crash

  /// "ack=1s, heartbeat=10s, progress=2s, ready=20s, revoke=5s, failed=15s:RetryableBusy:disk full, aborted=1s,
  /// pre-done=3s, owner-deletes=25s, skew=-10m, silent-after=ack, stale-token, answers-after-abort,
  /// unchanged-heartbeat".
  static base::Result<HandoffScript> parse(std::string_view text);
};

/// What the operator remembers of one pod's request.
struct HandoffMemory {
  std::string token;
  base::TimePoint seen_at{};
  std::optional<base::TimePoint> migrate_since;
  std::optional<base::TimePoint> abort_since;
  std::optional<base::TimePoint> ready_at;
  std::optional<base::TimePoint> last_heartbeat;
  std::optional<base::TimePoint> last_progress;
  std::string heartbeat_value;
  std::set<std::string>
      given;  ///< one-time answers: "ack", "pre-done", "ready", "revoked", "failed", "aborted", "deleted"
  int answers = 0;
  int steps = 0;  ///< progress reports
  bool silent = false;
};

/// One look at one pod: annotations to set (nullopt: to remove), and when to look again.
struct HandoffStep {
  std::vector<std::pair<std::string, std::optional<std::string>>> annotations;
  bool delete_pod = false;
  std::optional<base::TimePoint> due;
};

/// Pure. `memory` is what the last call left; a new token makes it again.
HandoffStep handoff_decide(const HandoffScript& script, const api::StringMap& annotations, HandoffMemory& memory,
                           base::TimePoint now);

/// {"metadata": {"uid": …, "annotations": {…}}}: guarded, so that a successor is not touched.
api::Json handoff_merge_patch(const HandoffStep& step, const std::string& uid);

/// Scripts and memories of all pods. Used by one thread.
class HandoffBrain {
 public:
  struct Action {
    HandoffStep step;
    std::string problem;  ///< why the pod's script cannot be used
  };

  /// `default_script`: for pods that have handoff.evacuator.dev/mode but no script of their own (behaviour
  /// annotations::kHandoff).
  explicit HandoffBrain(std::optional<HandoffScript> default_script) : default_script_(std::move(default_script)) {}

  /// What to do for that pod now; nullopt: it is no business of this operator, or it is going anyway.
  std::optional<Action> look(const api::Json& pod, base::TimePoint now);
  void forget(const std::string& uid) { memories_.erase(uid); }

 private:
  std::optional<HandoffScript> default_script_;
  std::map<std::string, HandoffMemory> memories_;  // by the pod's uid
};

}  // namespace simulator
