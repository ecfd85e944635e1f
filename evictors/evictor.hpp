#pragma once

/// Plugin interface for the ways in which a pod can leave its node. An evictor is a set of pure functions of observed
/// state: it does no I/O, reads no clock and keeps no state, so one object serves all threads. The Evacuation
/// controller does all I/O. It stores the intent, sends the action's request, and passes the answer to classify().
/// Guide for third parties: docs/evictors/writing-one.md.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"
#include "api/json/field_path.hpp"
#include "api/vocabulary/reasons.hpp"
#include "evictors/timeouts.hpp"
#include "kube/transport.hpp"

namespace evictors {

using api::EvacuationPhase;

/// Meaning of an answer for the Evacuation, independent of the HTTP code (wire-protocols.md#eviction-answers).
enum class ResponseClass {
  kGranted,               ///< the deletion was accepted, which does not prove that the pod is gone
  kApplied,               ///< the patch or object is stored
  kAcceptedInBackground,  ///< another controller now moves the pod; watch it
  // Blocked: the same call may succeed later. The waiting time counts against timeouts.blocked.
  kPdbBlocked,
  kMultiPdb,  ///< more than one PDB covers the pod; can be transient
  kPdbBroken,
  kThrottled,  ///< the API server is overloaded; the delay does not grow
  kWebhookDown,
  kRefusedByWebhook,  ///< denied with an unknown text
  kRetryLater,        ///< denied with a text known to be transient
  kNamespaceTerminating,
  kAuth,  ///< 401: reload the token, then retry
  // Unclear: read the state before the next call. The waiting time counts against timeouts.blocked.
  kConflict,   ///< a precondition failed: the pod was replaced or changed
  kGoneMaybe,  ///< 404: requires a live read
  kUnknown,    ///< the call may or may not have been carried out
  // Final: repeating the call cannot help.
  kNotEvictable,
  kForbidden,
  kPermanent,
};
/// Returns "Granted", "PDBBlocked" and so on. Used for lastResponse.class, metric labels and reasons of conditions.
std::string_view to_string(ResponseClass answer);
/// Returns true for classes after which the call is repeated. Their waiting time counts against timeouts.blocked.
bool is_blocked(ResponseClass answer);

/// Parameters of an entry of spec.evictors: name and value.
using Parameters = std::vector<std::pair<std::string, std::string>>;

/// Facts for status.refs. An empty value removes the key. Each evictor defines its own keys, at most 32. Values have at
/// most 512 bytes.
using Refs = std::vector<std::pair<std::string, std::string>>;

struct Classification {
  ResponseClass answer = ResponseClass::kUnknown;
  std::string message;                        ///< at most 512 bytes
  std::optional<base::Duration> retry_after;  ///< Retry-After of the server
  std::optional<api::Blocker> blocker;        ///< cause of the block if the answer names it; `since` is not set
  Refs refs = {};                             ///< facts to store
  bool passes = false;  ///< true for an unknown refusal with code 429, which suggests a transient cause: retry sooner
  friend bool operator==(const Classification&, const Classification&) = default;
};

/// HTTP answer, or the error that prevented one.
using CallResult = base::Result<kube::Response>;

/// Purpose of an action. The controller treats roles differently. Names of actions are for the evictors.
enum class ActionRole { kPrepare, kRequest, kUndo, kCleanUp };
/// Returns true for roles that help to move the pod away, false for those that revert something.
constexpr bool moves_pod(ActionRole role) { return role == ActionRole::kPrepare || role == ActionRole::kRequest; }

/// Next step of an Evacuation. The controller stores its name in status.intent before it sends the request.
struct Action {
  ActionRole role = ActionRole::kRequest;
  std::string name;       ///< CamelCase, as in status.intent.action: "PostEviction"
  kube::Request request;  ///< idempotent, by UID precondition, resourceVersion and token or by a fixed object name
  std::string pre_state;  ///< state of the pod before the action, for status.intent.preState
  std::string service;    ///< empty for the API server, else the name of a service in the operator's configuration
  std::string service_use = {};  ///< protocol of the service, one of api::kServiceUses; only with `service`
  friend bool operator==(const Action&, const Action&) = default;
};

Action make_action(ActionRole role, std::string_view name, kube::Request request, std::string pre_state = {});

/// Live read of an object other than the pod. The controller sends it and returns the answer as a Document.
struct Read {
  std::string name;       ///< evictor's own name for the document: "vmi"
  kube::Request request;  ///< a GET; for services, any method without side effects
  std::string service;    ///< see Action::service
  std::string service_use = {};
  /// Names of pods in the Evacuation's namespace, used instead of a request. The controller answers with a JSON
  /// array of those pods that another unfinished Evacuation moves.
  std::vector<std::string> pods = {};
  /// The evictor can decide without this document. After two optional reads of an evictor got no answer, its further
  /// optional reads are not sent. Their documents have status 0.
  bool optional = false;
};

/// Returns the Read of an object of the API server.
Read read_of(std::string_view name, kube::Request request);

/// Answer to a Read. Untrusted input.
struct Document {
  std::string name;
  std::int32_t status = 0;  ///< HTTP status; 0 if there is no answer, with the reason in `body`
  std::string body;
  /// The 404 is not about the object or path of the read: the kind is not served, at least temporarily, or a proxy
  /// answered (kube::doubtful_absence). Treat the document as no answer.
  bool is_kind_unserved = false;
  bool was_skipped = false;  ///< an optional read that was not sent; `status` is 0

  bool ok() const { return status == 200; }
};

/// All input of an evictor.
struct EvictorContext {
  const api::Evacuation& evacuation;
  const api::Pod* pod;  ///< pod with spec.podRef.uid, nullptr if it is gone
  base::TimePoint now;
  Parameters parameters;                                  ///< parameters in the chosen entry of spec.evictors
  std::string eviction_version = "v1";                    ///< API version for Eviction bodies on this server
  std::span<const Document> documents = {};               ///< answers to this evictor's reads(), read in this reconcile
  std::optional<base::TimePoint> unavailable_until = {};  ///< set while the evictor is marked dead (Observation::dead)
  std::span<const std::string> services = {};             ///< names of the configured services
  /// True if `pod` comes from a cache and may be outdated. Bind calls that rely on it to its resourceVersion.
  bool pod_is_cached = false;
  /// kube::Discovery::has_native_evictions. A 404 that contradicts it comes from another server, or discovery will show
  /// the change soon.
  bool serves_native_evictions = false;
  /// Creator of a manual Evacuation, if proven: user, groups and so on as in the spec of a SubjectAccessReview, as
  /// JSON. Empty if unproven or not needed.
  std::string_view creator = {};

  /// Returns the value of the parameter, or `otherwise` if unset.
  std::string_view parameter(std::string_view name, std::string_view otherwise) const {
    for (const auto& [key, value] : parameters) {
      if (key == name) return value;
    }
    return otherwise;
  }
  /// Returns nullptr if the document has not been read.
  const Document* document(std::string_view name) const {
    for (const Document& each : documents) {
      if (each.name == name) return &each;
    }
    return nullptr;
  }
  /// Returns the value in status.refs, empty if unset.
  std::string_view ref(std::string_view name) const {
    for (const auto& [key, value] : evacuation.status.refs) {
      if (key == name) return value;
    }
    return {};
  }
  const std::string& token() const { return evacuation.status.token; }
  const std::string& ns() const { return evacuation.meta.ns; }
  EvacuationPhase phase() const { return evacuation.status.phase; }
  bool dry_run() const { return evacuation.spec.dry_run; }
  /// Returns the newest stored intent if it belongs to this attempt and to `action` (empty: to any), else nullptr.
  const api::EvacuationIntent* intent(std::string_view action = {}) const {
    const auto& newest = evacuation.status.intent;
    const bool matches = newest && newest->token == token() && (action.empty() || newest->action == action);
    return matches ? &*newest : nullptr;
  }
};

enum class Support { kSupported, kUnsupported, kUnavailable };

/// Whether this evictor can move this pod.
struct Probe {
  Support support = Support::kSupported;
  std::string adapter;                   ///< variant used, for status.adapter; empty if there is only one
  std::string reason;                    ///< human-readable reason if not supported
  std::optional<base::TimePoint> until;  ///< with kUnavailable: time of the next probe
  bool hold = false;                     ///< with kUnavailable: wait for this evictor, do not try the next one

  std::optional<base::seconds> total;  ///< total timeout that the remote side requires; limited by the spec's
  bool acknowledges = false;           ///< the remote side acknowledges a request in time, or it is not present
  bool required = false;               ///< never evict without the remote side's consent
  bool reports_post = false;           ///< the remote side writes condition PostCompleted on the Evacuation
  base::seconds prepare{0};            ///< time that phase Preparing needs in addition to timeouts.prepare (hooks)
};
Probe unsupported(std::string_view adapter, std::string reason);
/// `until`: see Probe. Holds the chain at this evictor if `hold`.
Probe unavailable(std::string reason, std::optional<base::TimePoint> until, bool hold);

/// Next step, depending on the phase.
/// * Preparing: kAct sends a preparing call, kProceed enters Requesting.
/// * Requesting: kAct sends the call. kWait means that the request is in effect (or `ready` was withdrawn), and enters
///   InProgress.
/// * InProgress: kAct sends the final call, kWait keeps watching.
enum class NextMove {
  kAct,
  kWait,
  kProceed,
  kHold,  ///< Requesting: the state that the call depends on cannot be read. Stay in the phase and send
          ///< nothing.
};
struct EvictionStep {
  NextMove next = NextMove::kWait;
  std::optional<Action> action;  ///< set only with kAct
  std::string why = {};          ///< human-readable reason for kWait and kHold; empty if the remote side reports it
};

/// Failure reported by the remote side.
struct RemoteFailure {
  std::string reason;  ///< CamelCase
  std::string message;
  bool retryable = false;
  bool try_next = false;  ///< continue with the next evictor of the chain at once, if there is one
  /// Reason of condition Complete if the failure ends the Evacuation.
  api::Reason complete_reason = api::Reason::kHandoffFailed;
  friend bool operator==(const RemoteFailure&, const RemoteFailure&) = default;
};

/// State of the current attempt on the remote side. Signs that carry another attempt's token are ignored.
struct Observation {
  bool requested = false;               ///< Evacuator's request is visible
  bool acknowledged = false;            ///< a controller works on it
  bool ready = false;                   ///< safe to evict now; may be withdrawn
  bool vanished = false;                ///< the remote side dropped the request without moving the pod
  std::optional<RemoteFailure> failed;  ///< takes precedence over `ready`
  std::string alive;                    ///< changes with every heartbeat; timestamps in it are not trusted
  std::optional<std::int32_t> progress;
  std::optional<base::TimePoint> expected_completion;  ///< for display only
  bool queued = false;        ///< only waits in the remote side's queue; pauses the total timeout
  std::int32_t failures = 0;  ///< number of failed tries of the remote side in this attempt, while it continues (T19)
  std::string last_failure;   ///< reason of the newest failed try
  std::string message;        ///< human-readable status from the remote side
  bool dead = false;          ///< no controller serves this protocol: probe() returns kUnavailable for 5 minutes
  api::NodeName target;       ///< node that the pod or its work moves to, empty if unknown
  Refs refs;                  ///< facts to store
  friend bool operator==(const Observation&, const Observation&) = default;
};

/// Progress of an undo. kOthersRemain: Evacuator's request is withdrawn, but other requesters still want the pod to
/// leave and are left alone.
enum class Rollback { kPending, kComplete, kNothingToDo, kRemoteMarkRemains, kOthersRemain };

/// State of the pod's work after the pod left.
struct Verification {
  enum class State {
    kByOwner,      ///< the controller looks for a replacement by the pod's owner
    kPending,      ///< has not arrived yet
    kArrived,      ///< runs on the target node
    kNotExpected,  ///< no replacement is expected
  };
  State state = State::kByOwner;
  std::optional<api::OutcomeKind> kind{};  ///< replaces outcome.kind, for example with kMigrated
  std::string message{};                   ///< message of condition ReplacementReady
  std::optional<api::EvacuationReplacement> replacement{};
  std::optional<Action> action{};            ///< call to send (post hook, removal of a surplus replica), role kCleanUp
  bool unfinished = false;                   ///< phase Verifying lasts until `action` and what it started are done
  base::seconds extra{0};                    ///< time that `action` may take in addition to timeouts.verify
  std::optional<RemoteFailure> failed = {};  ///< ends the Evacuation as Failed although the pod has left
  Refs refs{};
};

/// Static facts of an evictor.
struct EvictorTraits {
  /// True if the evictor leaves marks on the pod or related objects that must be removed later. The Evacuation then has
  /// a finalizer from the first call on. False if the calls have no effects beyond the pod's deletion.
  bool leaves_marks = true;
  bool automatic = true;  ///< takes part in the automatic choice for an empty spec.evictors
};

/// Optional part of an Evictor that reads objects beside the pod.
class DocumentReader {
 public:
  virtual ~DocumentReader() = default;
  /// Returns the live reads that the evictor needs. The controller calls reads() again with the answers until no new
  /// read is returned, so one read may depend on another. Names are unique. context.pod is nullptr once the pod is gone
  /// (verify()). Evacuations whose evictor reads are reconciled every poll_interval(), others only on pod events and
  /// deadlines.
  virtual std::vector<Read> reads(const EvictorContext&) const { return {}; }
  virtual base::seconds poll_interval(const EvictorContext&) const { return base::seconds(5); }
};

/// Optional part of an Evictor whose calls can be reverted, or leave marks. Unless stated: context.pod != nullptr.
class Undoer {
 public:
  virtual ~Undoer() = default;
  /// Returns the calls that revert what this attempt started, in order. The controller sends the first one and calls
  /// undo() again. Empty if there is nothing (more) to send. Implementations must only touch objects with Evacuator's
  /// token.
  virtual std::vector<Action> undo(const EvictorContext&) const { return {}; }
  virtual Rollback undone(const EvictorContext&) const { return Rollback::kNothingToDo; }
  /// Returns the state of the remote side after the attempt, for the condition RollbackComplete. Empty to add nothing.
  virtual std::string remains(const EvictorContext&) const { return {}; }
  /// Returns the calls that remove Evacuator's marks from a pod that stayed. Empty if no marks are visible.
  virtual std::vector<Action> cleanup(const EvictorContext&) const { return {}; }
  /// Returns the calls that remove remaining related objects, found by status.refs, after the pod is gone and
  /// the Evacuation has ended. Role kCleanUp. Empty if nothing remains. context.pod may be nullptr.
  virtual std::vector<Action> leftovers(const EvictorContext&) const { return {}; }
  /// Returns true if it is unknown, after the Evacuation has ended, whether there is still something that cleanup() or
  /// leftovers() would remove. context.pod may be nullptr.
  virtual bool awaits_cleanup(const EvictorContext&) const { return false; }
};

/// Optional part of an Evictor that follows the pod's work while the pod leaves and afterwards.
class DepartureFollower {
 public:
  virtual ~DepartureFollower() = default;
  /// Called in phase Verifying, after the pod has left. context.pod is nullptr or terminal.
  virtual Verification verify(const EvictorContext&) const { return {}; }
  /// Returns a call to send while the pod terminates, for work that does not need to wait for its end. Role kCleanUp.
  /// REQUIRES: context.pod != nullptr.
  virtual std::optional<Action> departing(const EvictorContext&) const { return std::nullopt; }
  /// Returns true if `replacement`, a Ready pod of the same owner, does the work of the pod that left. context.pod may
  /// be nullptr.
  virtual bool is_in_service(const EvictorContext&, const api::Pod& /*replacement*/) const { return true; }
};

/// Optional part of an Evictor that sets terms for the pod's departure. context.pod != nullptr.
class TermsProvider {
 public:
  virtual ~TermsProvider() = default;
  /// Returns true if the evictor temporarily needs a second pod, such as the target of a live migration. The Evacuation
  /// is then admitted only if a node has free capacity for it, and that capacity is reserved. Called before the attempt
  /// for the first evictor that may move the pod, possibly before any read.
  virtual bool needs_capacity(const EvictorContext&) const { return false; }
  /// Returns true if the pod may leave only with the consent of its owner, which this evictor asks. After a timeout or
  /// failure, only evictors that ask the owner themselves (Probe::required) may take over (T22).
  virtual bool owner_decides(const EvictorContext& context) const = 0;
  /// Returns human-readable advice on how the pod can leave without a change of its PodDisruptionBudget. Called for
  /// every evictor, including those that the spec does not name. Empty if this evictor has none.
  virtual std::string advice(const EvictorContext&) const { return {}; }
  /// Maximum time from the start of a call of this attempt to its answer. At least kCallTimeout.
  virtual base::seconds call_timeout(const EvictorContext&) const { return kCallTimeout; }
};

/// Moves one pod off its node. All methods are pure, idempotent and thread-safe, and must tolerate hostile input. A
/// plain evictor implements name(), probe(), plan() and classify(); everything else has a default, including the four
/// optional parts (docs/evictors/writing-one.md).
class Evictor : public DocumentReader, public Undoer, public DepartureFollower, public TermsProvider {
 public:
  /// Returns the stable name in lower-kebab-case, as in spec.evictors[].name, logs and metrics.
  virtual std::string_view name() const = 0;
  virtual EvictorTraits traits() const { return {}; }
  /// Returns the errors in spec.evictors[i].parameters. `path` is the path of that map. The default implementation
  /// accepts only `requestedBy`.
  virtual api::FieldErrors validate(const Parameters& parameters, const api::FieldPath& path) const;
  /// Returns whether this evictor can move the pod. REQUIRES: context.pod != nullptr, here and in plan() and observe().
  virtual Probe probe(const EvictorContext& context) const = 0;
  /// Returns the next call of the attempt, or what it waits for.
  virtual EvictionStep plan(const EvictorContext& context) const = 0;
  /// Classifies an answer. The only place where this evictor interprets answers.
  virtual Classification classify(const EvictorContext& context, const Action& action,
                                  const CallResult& answer) const = 0;
  /// Returns the state of the remote side. The default implementation is for evictors without one.
  virtual Observation observe(const EvictorContext&) const { return {}; }
  /// Returns whether probe() supports the pod and requires the consent of its owner.
  bool owner_decides(const EvictorContext& context) const override;
};

}  // namespace evictors
