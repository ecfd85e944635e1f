#pragma once

/// Script of a workload operator's responses in the two-way handoff protocol (wire-protocols.md#handoff-protocol).
/// Pure: the same decisions work with the simulator's store and with a real API server. The caller reads pods, calls
/// HandoffOperatorState and performs the action.

#include <map>
#include <memory>
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
#include "simulator/actor.hpp"
#include "simulator/event_recorder.hpp"

namespace simulator {

/// Times of the responses; nullopt means never. Times are measured from the first sight of the request; for progress,
/// ready, failed and owner-deletes from the first sight of phase migrate; for revoke from ready; for aborted from the
/// abort.
struct HandoffScript {
  std::optional<base::Duration> ack;
  std::optional<base::Duration> pre_done;
  std::optional<base::Duration> progress;   ///< period; 0 to 100 until ready, in steps of ten if `ready` is not set
  std::optional<base::Duration> heartbeat;  ///< period
  std::optional<base::Duration> ready;
  std::optional<base::Duration> revoke;
  std::optional<base::Duration> failed;
  std::optional<base::Duration> aborted;
  std::optional<base::Duration> owner_deletes;  ///< evict-by owner: the operator deletes the pod itself
  std::string fail_reason = "Failed";
  std::string fail_message;
  bool stale_token = false;          ///< responds with the token of the previous attempt
  bool answers_after_abort = false;  ///< ignores an abort
  bool unchanged_heartbeat = false;  ///< every heartbeat repeats the first value
  base::Duration clock_skew{0};      ///< added to the times in values
  std::string silent_after;  ///< "ack", "pre-done", "progress", "ready", "failed" or a number of responses such as "3";
                             ///< then the operator crashes

  /// Parses "ack=1s, heartbeat=10s, progress=2s, ready=20s, revoke=5s, failed=15s:RetryableBusy:disk full, aborted=1s,
  /// pre-done=3s, owner-deletes=25s, skew=-10m, silent-after=ack, stale-token, answers-after-abort,
  /// unchanged-heartbeat".
  static base::Result<HandoffScript> parse(std::string_view text);
};

/// State of one pod's request.
struct HandoffMemory {
  std::string token;
  base::TimePoint seen_at{};
  std::optional<base::TimePoint> migrate_since;
  std::optional<base::TimePoint> abort_since;
  std::optional<base::TimePoint> ready_at;
  std::optional<base::TimePoint> last_heartbeat;
  std::optional<base::TimePoint> last_progress;
  std::string heartbeat_value;
  std::set<std::string> given;  ///< one-time responses already given: "ack", "pre-done", "ready", "revoked", "failed",
                                ///< "aborted", "deleted"
  int answers = 0;
  int steps = 0;  ///< number of progress reports
  bool silent = false;
};

/// Result of one step for a pod: annotations to set (nullopt: remove), and when to run again.
struct HandoffStep {
  std::vector<std::pair<std::string, std::optional<std::string>>> annotations;
  bool delete_pod = false;
  std::optional<base::TimePoint> due;
};

/// Decides the next step. Pure. `memory` is the state of the previous call; a new token resets it.
HandoffStep handoff_decide(const HandoffScript& script, const api::StringMap& annotations, HandoffMemory& memory,
                           base::TimePoint now);

/// Returns {"metadata": {"uid": …, "annotations": {…}}}. The UID ensures that a new pod with the same name is not
/// changed.
api::Json handoff_merge_patch(const HandoffStep& step, const std::string& uid);

/// Returns the operator of stateful workloads in the simulated cluster. It responds to handoff requests according to
/// the pods' scripts. The store and the recorder must outlive the actor.
std::unique_ptr<Actor> make_handoff_operator(Store& store, EventRecorder& events,
                                             std::optional<HandoffScript> default_script);

/// Scripts and state of all pods. Not thread-safe.
class HandoffOperatorState {
 public:
  struct Action {
    HandoffStep step;
    std::string problem;  ///< why the pod's script cannot be used
  };

  /// `default_script` applies to pods that have handoff.evacuator.dev/mode but no script of their own (annotation
  /// behaviour::kHandoff).
  explicit HandoffOperatorState(std::optional<HandoffScript> default_script)
      : default_script_(std::move(default_script)) {}

  /// Returns what to do for the pod now. Returns nullopt for pods of other operators and for terminating pods.
  std::optional<Action> look(const api::Json& pod, base::TimePoint now);
  void forget(const std::string& uid) { memories_.erase(uid); }

 private:
  std::optional<HandoffScript> default_script_;
  std::map<std::string, HandoffMemory> memories_;  // by UID of the pod
};

}  // namespace simulator
