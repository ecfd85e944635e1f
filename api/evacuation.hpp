#pragma once

/// The Evacuation kind (evacuator.dev/v1alpha1): the tracked, possibly slow, departure of one pod. Fields:
/// docs/concepts/evacuation.md and state-machine.md#shape.

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
#include "api/vocabulary/blockers.hpp"

namespace api {

enum class EvacuationPhase {
  kPending,     ///< stored; waits for a slot, an approval or a not-before time. Holds no slot
  kPreparing,   ///< evictor resolved; pre-flight checks and `pre` hooks run
  kRequesting,  ///< intent stored; the call is in progress, or its outcome is being determined
  kInProgress,  ///< the remote side accepted the request and is working on it
  kEvicting,    ///< the pod has a deletionTimestamp, or its eviction was granted: cannot be undone
  kVerifying,   ///< the pod is gone or terminal; waits for its replacement
  kAborting,    ///< remote work is being undone; status.abort.next is the following phase
  kBackoff,     ///< waits for the next attempt. Holds no slot
  kSucceeded,
  kFailed,
  kCancelled,
};
std::string_view to_string(EvacuationPhase phase);
std::optional<EvacuationPhase> parse_evacuation_phase(std::string_view text);
/// Returns true for the final phases Succeeded, Failed and Cancelled.
bool is_terminal(EvacuationPhase phase);
/// Whether no attempt has begun, or the last one has ended and the next one has not begun.
constexpr bool is_between_attempts(EvacuationPhase phase) {
  return phase == EvacuationPhase::kPending || phase == EvacuationPhase::kBackoff;
}
/// Whether the eviction has not been requested yet.
constexpr bool is_before_request(EvacuationPhase phase) {
  return is_between_attempts(phase) || phase == EvacuationPhase::kPreparing;
}

enum class OnTimeout { kCancel, kFail, kNextEvictor };
enum class HoldSlotUntil { kPodGone, kReplacementReady };
enum class PlacementPolicy {
  kPreferred,  ///< the scheduler may choose another node
  kRequired,   ///< that node only: a new pod that does not fit there stays Pending
};
std::string_view to_string(OnTimeout action);
std::string_view to_string(HoldSlotUntil hold);
std::string_view to_string(PlacementPolicy policy);

struct PodReference {
  std::string name;
  PodUid uid;  ///< empty until the controller sets it from a live read
  friend bool operator==(const PodReference&, const PodReference&) = default;
};

/// An evictor with its parameters, which the evictor's registry entry checks.
struct EvictorChoice {
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters;  ///< sorted by name
  friend bool operator==(const EvictorChoice&, const EvictorChoice&) = default;
};

/// Deadlines. effective_timeouts() replaces nullopt with the defaults of state-machine.md#timeouts.
struct EvacuationTimeouts {
  std::optional<base::seconds> decision_ttl;  ///< Pending, default 600
  std::optional<base::seconds> prepare;       ///< Preparing, default 300
  std::optional<base::seconds> acknowledge;   ///< handoff acknowledgement, default 60
  std::optional<base::seconds> heartbeat;     ///< without a heartbeat while InProgress, default 1200
  std::optional<base::seconds> total;         ///< from first InProgress, default 3600
  std::optional<base::seconds> queue;         ///< in the remote side's own queue, default 3600
  std::optional<base::seconds> blocked;  ///< PDB, webhook, throttling… per attempt, default 900; 0 = fail at the first
  std::optional<base::seconds> termination;  ///< from deletionTimestamp, default: the pod's grace period + 120
  std::optional<base::seconds> verify;       ///< from the pod's end, default 600
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
  std::string policy;     ///< DeschedulerPolicy name; empty for manual Evacuations
  std::string strategy;   ///< strategy that nominated the pod
  std::string requester;  ///< user or program that requested it
  friend bool operator==(const EvacuationSource&, const EvacuationSource&) = default;
};

struct CancelRequest {
  bool requested = false;
  std::string reason;
  friend bool operator==(const CancelRequest&, const CancelRequest&) = default;
};

/// Node for the pod that replaces this one. The placement webhook adds the hint to one new pod of the same controller
/// (docs/concepts/placement.md).
struct PlacementHint {
  NodeName node_name;
  PlacementPolicy policy = PlacementPolicy::kPreferred;
  base::seconds expires_after{600};  ///< from status.startedAt; no pod gets the hint later
  friend bool operator==(const PlacementHint&, const PlacementHint&) = default;
};

struct EvacuationSpec {
  PodReference pod_ref;
  NodeName node_name;  ///< source node; set by the controller if left out
  std::string reason;
  EvacuationSource source;
  std::vector<EvictorChoice> evictors;               ///< ordered; empty = automatic choice
  std::optional<std::int64_t> grace_period_seconds;  ///< >= 1
  std::string concurrency_group;                     ///< empty = UID of the pod's controller
  std::int32_t priority = 0;                         ///< higher goes first
  bool suspend = false;                              ///< stay Pending until released
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

/// Write-ahead record: stored before a mutating call, resolved once its outcome is known
/// (state-machine.md#crash-safety).
struct EvacuationIntent {
  std::string action;  ///< evictors::Action kind, such as "PostEviction"
  std::string token;   ///< "<evacuation uid>.<attempt>"
  base::TimePoint time{};
  bool resolved = false;
  std::string result;     ///< response class, set when resolved
  std::string pre_state;  ///< state in a live read before the call (pod resourceVersion…)
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
  std::int32_t code = 0;       ///< HTTP status; 0 = no response
  std::string response_class;  ///< name of the evictors::ResponseClass
  std::string message;         ///< at most 512 bytes
  base::TimePoint time{};
  friend bool operator==(const LastResponse&, const LastResponse&) = default;
};

/// What blocks the Evacuation: a PDB with its numbers, a limit, a webhook.
struct Blocker {
  std::string kind;     ///< api/vocabulary/blockers.hpp
  std::string name;     ///< name of the PDB or webhook, or scope of the limit ("node", "total", …)
  std::string message;  ///< "needs 3 healthy pods and has 3 currently (0 disruptions allowed)"
  std::optional<std::int32_t> disruptions_allowed;
  std::optional<std::int32_t> current_healthy;
  std::optional<std::int32_t> desired_healthy;
  base::TimePoint since{};
  friend bool operator==(const Blocker&, const Blocker&) = default;
};
inline Blocker make_blocker(BlockerKind kind, std::string name, std::string message) {
  return {std::string(to_string(kind)), std::move(name), std::move(message), {}, {}, {}};
}

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

/// New pod that received spec.placement.
struct PlacedPod {
  std::string name;
  std::string uid;
  friend bool operator==(const PlacedPod&, const PlacedPod&) = default;
};

struct EvacuationStatus {
  EvacuationPhase phase = EvacuationPhase::kPending;
  std::string reason;  ///< of the latest transition or the current blocker
  std::string message;
  std::int64_t observed_generation = 0;
  std::string evictor;  ///< resolved name; empty before Preparing
  std::string adapter;
  std::int32_t evictor_index = 0;  ///< index into spec.evictors of the current evictor
  std::int32_t attempt = 0;
  std::string token;
  std::string spec_hash;  ///< hash of the immutable spec fields, set on acceptance; empty before
  /// Value of spec.priority as signed by the operator; nullopt for manual Evacuations.
  std::optional<std::int32_t> signed_priority;
  std::string workload_group;  ///< resolved concurrency group (owner UID)
  std::string group;           ///< PodGroup that the pod leaves with (api/pod_group.hpp); empty if it leaves alone
  std::optional<OwnerReference> pod_owner;    ///< the pod's controller, kept for the time after the pod's end
  std::optional<base::TimePoint> started_at;  ///< slot acquired
  std::optional<base::TimePoint> attempt_started_at;
  std::optional<base::TimePoint> phase_entered_at;
  std::optional<base::TimePoint> in_progress_since;  ///< first InProgress of the attempt; start of the total deadline
  std::optional<base::TimePoint> blocked_since;      ///< first blocked response of the attempt
  std::optional<base::TimePoint> deadline;           ///< of the current phase
  std::optional<base::TimePoint> request_sent_at;    ///< first handoff request or eviction of any attempt
  std::optional<base::TimePoint> last_heartbeat_at;  ///< local time at which a changed value was received
  /// Set while the remote side queues the work; suspends the total deadline.
  std::optional<base::TimePoint> queued_since;
  std::string last_heartbeat_value;  ///< latest ack, heartbeat or progress as read; a different value is a heartbeat
  std::optional<std::int32_t> progress;  ///< 0..100
  std::optional<base::TimePoint> expected_completion_at;
  std::optional<base::TimePoint> next_action_at;
  std::int32_t blocked_count = 0;           ///< consecutive blocked responses of one class; increases the delay
  std::int32_t granted_without_delete = 0;  ///< T31
  std::int32_t remote_failures = 0;         ///< failed attempts of the remote side in this attempt (T19)
  NodeName target_node;                     ///< destination node, as far as the remote side reports it
  /// State of the evictor for this attempt, by its own keys: names and UIDs of objects that it created or relies on.
  std::vector<std::pair<std::string, std::string>> refs;
  std::optional<EvacuationIntent> intent;
  std::optional<EvacuationAbort> abort;
  std::optional<EvacuationOutcome> outcome;
  std::optional<PlacedPod> placement;
  std::optional<LastResponse> last_response;
  std::vector<Blocker> blocked_by;
  std::vector<Condition> conditions;
  std::vector<HistoryEntry> history;  ///< first 2 and latest 18
  std::optional<base::TimePoint> finished_at;
  friend bool operator==(const EvacuationStatus&, const EvacuationStatus&) = default;
};

struct Evacuation {
  ObjectMeta meta;
  EvacuationSpec spec;
  EvacuationStatus status;
  /// Why the stored spec does not decode, empty if it does; `spec` then contains the parts that decode.
  std::string spec_problem;

  /// "<uid>.<attempt>" of the current attempt.
  std::string current_token() const;
  friend bool operator==(const Evacuation&, const Evacuation&) = default;
};

/// Returns true if the operator created the Evacuation, proved by its signature (condition OriginVerified). Any other
/// Evacuation is manual: its spec.source is displayed but never trusted.
bool origin_is_verified(const Evacuation& evacuation);

/// Returns the name of a policy's Evacuation for a pod: "<pod name>-<first 8 hex of the uid>", cut to 253.
std::string evacuation_name(std::string_view pod_name, const PodUid& uid);

/// Returns "<name>/<uid>/<policy>/<node>", the value of annotation evacuator.dev/placement on the pod that received the
/// hint. Requires spec.placement.
std::string placement_mark(const Evacuation& evacuation);

/// Decodes spec strictly (unknown or wrongly typed fields are errors with their path) and status leniently. validate()
/// checks bounds.
base::Result<Evacuation> decode_evacuation(std::string_view json);
base::Result<Evacuation> decode_evacuation(const Json& json);
inline base::Result<Evacuation> decode_evacuation(const std::string& json) {
  return decode_evacuation(std::string_view(json));
}
inline base::Result<Evacuation> decode_evacuation(const char* json) {
  return decode_evacuation(std::string_view(json));
}
/// Decodes a stored Evacuation. Reports a spec that does not decode (an older or newer CRD accepted it) in
/// spec_problem, so that callers can continue with the rest. Fails only if `json` is not an object.
base::Result<Evacuation> decode_stored_evacuation(const Json& json);
Json encode_spec(const EvacuationSpec& spec);
Json encode_status(const EvacuationStatus& status);
/// Encodes both statuses with only the parts needed for a merge patch from the first to the second. The patch equals
/// that between the results of encode_status().
std::pair<Json, Json> encode_change(const EvacuationStatus& before, const EvacuationStatus& after);
/// Encodes apiVersion, kind, metadata (name, namespace, labels, annotations, finalizers) and spec: the body of a
/// create.
Json encode_evacuation(const Evacuation& evacuation);

/// Checks all rules of the CRD's schema and CEL rules, and those that they cannot express. Returns an empty list if
/// valid. `known_evictors` are the names in the registry. Fields of unimplemented features are refused with "not
/// supported yet".
FieldErrors validate(const EvacuationSpec& spec, const std::vector<std::string_view>& known_evictors);
/// Checks a whole object: returns all errors of decoding and validate(), empty if valid. For interactive use (webhook,
/// `evacuator validate`).
FieldErrors check_evacuation(const Json& object, const std::vector<std::string_view>& known_evictors);
/// Checks immutability: only suspend, priority and cancel (false → true) may change; podRef.uid and nodeName may be set
/// if empty.
FieldErrors validate_update(const EvacuationSpec& before, const EvacuationSpec& after);

}  // namespace api
