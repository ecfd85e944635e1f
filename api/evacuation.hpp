#pragma once

/// The Evacuation kind (evacuator.dev/v1alpha1): one pod's tracked, possibly slow, departure.
/// Shape and meaning: docs/concepts/evacuation.md and state-machine.md#shape.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "api/meta/condition.hpp"
#include "api/meta/object_meta.hpp"

namespace api {

enum class EvacuationPhase {
  kPending,     ///< stored; waits for a slot, an approval or a not-before time. Holds no slot
  kPreparing,   ///< evictor resolved, pre-flight checks and `pre` hooks
  kRequesting,  ///< intent written ahead; the call is being made or its outcome determined
  kInProgress,  ///< the remote side accepted and works on it
  kEvicting,    ///< the pod has a deletionTimestamp or its eviction was granted: no way back
  kVerifying,   ///< the pod is gone or terminal; waiting for its replacement
  kAborting,    ///< undoing remote work; status.abort.next says where to go
  kBackoff,     ///< waiting for the next attempt. Holds no slot
  kSucceeded,
  kFailed,
  kCancelled,
};
/// "Pending", "Preparing"…
std::string_view to_string(EvacuationPhase phase);
std::optional<EvacuationPhase> parse_evacuation_phase(std::string_view text);
/// Succeeded, Failed or Cancelled: never left again.
bool is_terminal(EvacuationPhase phase);

enum class OnTimeout { kCancel, kFail, kNextEvictor };
enum class HoldSlotUntil { kPodGone, kReplacementReady };
enum class PlacementPolicy {
  kPreferred,  ///< the scheduler may choose another node
  kRequired,   ///< that node or none: a new pod that does not fit there stays Pending
};
std::string_view to_string(OnTimeout action);
std::string_view to_string(HoldSlotUntil hold);
std::string_view to_string(PlacementPolicy policy);

struct PodReference {
  std::string name;
  PodUid uid;  ///< empty until the controller fills it in from a live read
  friend bool operator==(const PodReference&, const PodReference&) = default;
};

/// One way to leave, with its own parameters (checked by the evictor's registry entry).
struct EvictorChoice {
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters;  ///< decoded in order of their names
  friend bool operator==(const EvictorChoice&, const EvictorChoice&) = default;
};

/// Deadlines; each absent one takes the default of state-machine.md#timeouts (resolve with effective_timeouts()).
struct EvacuationTimeouts {
  std::optional<base::seconds> decision_ttl;  ///< Pending, default 600
  std::optional<base::seconds> prepare;       ///< Preparing, default 300
  std::optional<base::seconds> acknowledge;   ///< handoff ack, default 60
  std::optional<base::seconds> heartbeat;     ///< silence while InProgress, default 1200
  std::optional<base::seconds> total;         ///< from first InProgress, default 3600
  std::optional<base::seconds> queue;         ///< waiting in the remote side's own queue, default 3600
  std::optional<base::seconds> blocked;  ///< PDB, webhook, throttling… per attempt, default 900; 0 = fail at first
  std::optional<base::seconds> termination;  ///< from deletionTimestamp, default pod grace + 120
  std::optional<base::seconds> verify;       ///< from gone, default 600
  std::optional<base::seconds> abort;        ///< Aborting, default 300
  friend bool operator==(const EvacuationTimeouts&, const EvacuationTimeouts&) = default;
};

struct EvacuationRetry {
  std::int32_t max_attempts = 3;
  base::seconds backoff{60};
  base::seconds backoff_max{900};
  friend bool operator==(const EvacuationRetry&, const EvacuationRetry&) = default;
};

struct EvacuationSource {
  std::string policy;     ///< DeschedulerPolicy name; empty for manual ones
  std::string strategy;   ///< strategy that nominated the pod
  std::string requester;  ///< user or program that asked
  friend bool operator==(const EvacuationSource&, const EvacuationSource&) = default;
};

struct CancelRequest {
  bool requested = false;
  std::string reason;
  friend bool operator==(const CancelRequest&, const CancelRequest&) = default;
};

/// Where the pod that takes this one's place should go. The placement webhook gives it to one new pod of the same
/// controller (docs/concepts/placement.md).
struct PlacementHint {
  NodeName node_name;
  PlacementPolicy policy = PlacementPolicy::kPreferred;
  base::seconds expires_after{600};  ///< counted from status.startedAt: later it is given to nobody
  friend bool operator==(const PlacementHint&, const PlacementHint&) = default;
};

struct EvacuationSpec {
  PodReference pod_ref;
  NodeName node_name;  ///< source node; filled in by the controller when left out
  std::string reason;
  EvacuationSource source;
  std::vector<EvictorChoice> evictors;               ///< ordered; empty = automatic choice
  std::optional<std::int64_t> grace_period_seconds;  ///< >= 1
  std::string concurrency_group;                     ///< empty: the pod's controller UID
  std::int32_t priority = 0;                         ///< higher goes first
  bool suspend = false;                              ///< stay Pending until a person releases it
  EvacuationTimeouts timeouts;
  EvacuationRetry retry;
  OnTimeout on_timeout = OnTimeout::kCancel;
  HoldSlotUntil hold_slot_until = HoldSlotUntil::kPodGone;
  bool require_replacement = false;
  std::optional<base::seconds> ttl_after_finished;  ///< default 3600
  bool dry_run = false;
  CancelRequest cancel;
  std::optional<PlacementHint> placement;
  friend bool operator==(const EvacuationSpec&, const EvacuationSpec&) = default;
};

/// The write-ahead record: stored before a mutating call, resolved after its outcome is known
/// (state-machine.md#crash-safety).
struct EvacuationIntent {
  std::string action;  ///< evictors::Action kind, such as "PostEviction"
  std::string token;   ///< "<evacuation uid>.<attempt>"
  base::TimePoint time{};
  bool resolved = false;
  std::string result;     ///< response class once resolved
  std::string pre_state;  ///< what a live read showed before (pod resourceVersion…)
  friend bool operator==(const EvacuationIntent&, const EvacuationIntent&) = default;
};

struct EvacuationAbort {
  std::string reason;
  EvacuationPhase next = EvacuationPhase::kCancelled;  ///< Cancelled, Backoff or Failed
  base::TimePoint started_at{};
  friend bool operator==(const EvacuationAbort&, const EvacuationAbort&) = default;
};

struct EvacuationReplacement {
  std::string name;
  std::string uid;
  NodeName node;
  std::optional<base::TimePoint> ready_at;
  friend bool operator==(const EvacuationReplacement&, const EvacuationReplacement&) = default;
};

enum class OutcomeKind { kEvicted, kMigrated, kMovedByOwner, kGoneExternally, kTargetGone, kDryRun };
std::string_view to_string(OutcomeKind kind);

struct EvacuationOutcome {
  OutcomeKind kind = OutcomeKind::kEvicted;
  std::optional<base::TimePoint> pod_deletion_timestamp;
  std::optional<EvacuationReplacement> replacement;
  friend bool operator==(const EvacuationOutcome&, const EvacuationOutcome&) = default;
};

struct LastResponse {
  std::int32_t code = 0;       ///< HTTP status; 0 = no answer
  std::string response_class;  ///< evictors::ResponseClass name
  std::string message;         ///< at most 512 bytes
  base::TimePoint time{};
  friend bool operator==(const LastResponse&, const LastResponse&) = default;
};

/// What holds the Evacuation up: a PDB with its numbers, a limit, a webhook.
struct Blocker {
  std::string kind;     ///< api/vocabulary/blockers.hpp
  std::string name;     ///< PDB or webhook name, or the limit's scope ("node", "total", …)
  std::string message;  ///< "needs 3 healthy pods and has 3 currently (0 disruptions allowed)"
  std::optional<std::int32_t> disruptions_allowed;
  std::optional<std::int32_t> current_healthy;
  std::optional<std::int32_t> desired_healthy;
  base::TimePoint since{};
  friend bool operator==(const Blocker&, const Blocker&) = default;
};

struct HistoryEntry {
  base::TimePoint time{};
  std::string from;
  std::string to;
  std::string reason;
  std::string message;
  std::int32_t attempt = 0;
  std::string actor;  ///< identity of the controller replica
  friend bool operator==(const HistoryEntry&, const HistoryEntry&) = default;
};

/// The new pod that was given spec.placement.
struct PlacedPod {
  std::string name;
  std::string uid;
  friend bool operator==(const PlacedPod&, const PlacedPod&) = default;
};

struct EvacuationStatus {
  EvacuationPhase phase = EvacuationPhase::kPending;
  std::string reason;  ///< of the newest transition, or of what blocks it now
  std::string message;
  std::int64_t observed_generation = 0;
  std::string evictor;  ///< resolved name; empty before Preparing
  std::string adapter;
  std::int32_t evictor_index = 0;  ///< position in spec.evictors of the current one
  std::int32_t attempt = 0;
  std::string token;
  std::string spec_hash;  ///< of the spec's immutable fields, taken when it was accepted; empty before
  std::optional<std::int32_t> signed_priority;  ///< spec.priority as the operator signed it; absent: made by hand
  std::string workload_group;                   ///< resolved concurrency group (owner UID)
  std::string group;  ///< PodGroup that the pod leaves with (api/pod_group.hpp); empty: it leaves alone
  std::optional<OwnerReference> pod_owner;    ///< the pod's controller, kept because the pod will be gone
  std::optional<base::TimePoint> started_at;  ///< slot acquired
  std::optional<base::TimePoint> attempt_started_at;
  std::optional<base::TimePoint> phase_entered_at;
  std::optional<base::TimePoint> in_progress_since;  ///< first InProgress of the attempt; total deadline counts from it
  std::optional<base::TimePoint> blocked_since;      ///< first blocked answer of the attempt
  std::optional<base::TimePoint> deadline;           ///< of the current phase
  std::optional<base::TimePoint> request_sent_at;    ///< handoff request or eviction first sent in any attempt
  std::optional<base::TimePoint> last_heartbeat_at;  ///< our receive time of a changed value
  std::optional<base::TimePoint> queued_since;       ///< the remote side queues it: the total deadline stands still
  std::string last_heartbeat_value;                  ///< newest of ack, heartbeat, progress as read: tells a change
  std::optional<std::int32_t> progress;              ///< 0..100
  std::optional<base::TimePoint> expected_completion_at;
  std::optional<base::TimePoint> next_action_at;
  std::int32_t blocked_count = 0;           ///< consecutive blocked answers of one class: grows the delay
  std::int32_t granted_without_delete = 0;  ///< T31
  std::int32_t remote_failures = 0;         ///< failed tries of the remote side in this attempt (T19)
  NodeName target_node;                     ///< where it goes, as far as the remote side shows it
  /// What the evictor has to remember of this attempt, by its own keys: names and UIDs of what it made or relies on.
  std::vector<std::pair<std::string, std::string>> refs;
  std::optional<EvacuationIntent> intent;
  std::optional<EvacuationAbort> abort;
  std::optional<EvacuationOutcome> outcome;
  std::optional<PlacedPod> placement;
  std::optional<LastResponse> last_response;
  std::vector<Blocker> blocked_by;
  std::vector<Condition> conditions;
  std::vector<HistoryEntry> history;  ///< first 2 and newest 18
  std::optional<base::TimePoint> finished_at;
  friend bool operator==(const EvacuationStatus&, const EvacuationStatus&) = default;
};

struct Evacuation {
  ObjectMeta meta;
  EvacuationSpec spec;
  EvacuationStatus status;
  std::string spec_problem;  ///< the spec as stored does not decode: why. `spec` then has what of it does

  /// "<uid>.<attempt>" of the current attempt.
  std::string current_token() const;
  friend bool operator==(const Evacuation&, const Evacuation&) = default;
};

/// The operator made it, as its signature proved (condition OriginVerified). Everything else is made by hand: its
/// spec.source is shown and never trusted.
bool origin_is_verified(const Evacuation& evacuation);

/// Name of the Evacuation that a policy makes for a pod: "<pod name>-<first 8 hex of the uid>", cut to 253.
std::string evacuation_name(std::string_view pod_name, const PodUid& uid);

/// "<name>/<uid>/<policy>/<node>": annotation evacuator.dev/placement of the pod that was given its hint. REQUIRES:
/// one.
std::string placement_mark(const Evacuation& evacuation);

/// Strict for spec (unknown or wrongly typed fields are errors with their path), lenient for status.
/// Bounds are validate()'s business.
base::Result<Evacuation> decode_evacuation(std::string_view json);
base::Result<Evacuation> decode_evacuation(const Json& json);
inline base::Result<Evacuation> decode_evacuation(const std::string& json) {
  return decode_evacuation(std::string_view(json));
}
inline base::Result<Evacuation> decode_evacuation(const char* json) {
  return decode_evacuation(std::string_view(json));
}
/// What a server has stored, for those who must go on with it: a spec that does not decode (an older or newer CRD let
/// it through) is told in spec_problem. Fails only on what is no object.
base::Result<Evacuation> decode_stored_evacuation(const Json& json);
Json encode_spec(const EvacuationSpec& spec);
Json encode_status(const EvacuationStatus& status);
/// Both, encoded as far as a merge patch from the first to the second needs. It is the same patch that encode_status()
/// of both would give.
std::pair<Json, Json> encode_change(const EvacuationStatus& before, const EvacuationStatus& after);
/// apiVersion, kind, metadata (name, namespace, labels, annotations, finalizers) and spec: the body of a create.
Json encode_evacuation(const Evacuation& evacuation);

/// Everything the CRD's schema and CEL rules say, plus what they cannot; empty = valid. `known_evictors` are the
/// registry's names. Fields of features that are not built yet are refused with "not supported yet".
FieldErrors validate(const EvacuationSpec& spec, const std::vector<std::string_view>& known_evictors);
/// Every complaint about a whole object at once, decoding's and validate()'s; empty = valid. For people who wait for an
/// answer (webhook, `evacuator validate`).
FieldErrors check_evacuation(const Json& object, const std::vector<std::string_view>& known_evictors);
/// Immutability: only suspend, priority and cancel (false → true) may change; podRef.uid and nodeName may be filled in.
FieldErrors validate_update(const EvacuationSpec& before, const EvacuationSpec& after);

}  // namespace api
