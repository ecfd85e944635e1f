#pragma once

/// The pluggable interface of the ways a pod can leave. An evictor is a set of pure functions over what was observed:
/// it never does I/O, reads no clock and keeps no state, so one object serves all threads. The Evacuation controller
/// does all I/O: it writes the intent ahead, sends the action's request, and hands the answer back to classify().
/// Third parties: docs/evictors/writing-one.md.

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

/// What an answer to one of our calls means for the Evacuation, whatever its HTTP code
/// (wire-protocols.md#eviction-answers).
enum class ResponseClass {
  kGranted,               ///< the delete was accepted; not proof that the pod is gone
  kApplied,               ///< our patch or object is stored
  kAcceptedInBackground,  ///< somebody else now moves the pod: watch it
  // not now: the same call may succeed later; all of them count as blocked time
  kPdbBlocked,
  kMultiPdb,  ///< more than one PDB covers the pod; can be transient
  kPdbBroken,
  kThrottled,  ///< the API server is busy; does not grow the delay
  kWebhookDown,
  kRefusedByWebhook,  ///< denied with a text we do not know
  kRetryLater,        ///< denied with a text that says the cause will pass
  kNamespaceTerminating,
  kAuth,  ///< 401: the token is reloaded, then again
  // look before doing anything else
  kConflict,   ///< a precondition failed: the pod was replaced or changed
  kGoneMaybe,  ///< 404: only a live read tells
  kUnknown,    ///< perhaps carried out, perhaps not
  // never
  kNotEvictable,
  kForbidden,
  kPermanent,
};
/// "Granted", "PDBBlocked"…: lastResponse.class, metrics label, reason of conditions.
std::string_view to_string(ResponseClass answer);
/// True for every class after which the same call is made again: they count against timeouts.blocked.
bool is_blocked(ResponseClass answer);

/// Facts for status.refs; an empty value removes the key. Keys are the evictor's own, at most 32; values up to 512
/// bytes.
using Refs = std::vector<std::pair<std::string, std::string>>;

/// The meaning of one answer.
struct Classification {
  ResponseClass answer = ResponseClass::kUnknown;
  std::string message;                        ///< at most 512 bytes
  std::optional<base::Duration> retry_after;  ///< what the server asked for
  std::optional<api::Blocker> blocker;        ///< who holds it up, when the answer says so; `since` is not set
  Refs refs = {};                             ///< to be remembered
  bool passes = false;  ///< an unknown refusal whose code, 429, says that the cause will pass: ask again sooner
  friend bool operator==(const Classification&, const Classification&) = default;
};

/// An HTTP answer, or the error that prevented one.
using CallResult = base::Result<kube::Response>;

/// What an action is for: the controller treats the roles differently, the evictors name the actions.
enum class ActionRole { kPrepare, kRequest, kUndo, kCleanUp };
/// Does such an action bring the pod nearer to its end, rather than take something back?
constexpr bool leads_away(ActionRole role) { return role == ActionRole::kPrepare || role == ActionRole::kRequest; }

/// The next step as a value: stored by name in status.intent first, sent after that.
struct Action {
  ActionRole role = ActionRole::kRequest;
  std::string name;       ///< CamelCase, as in status.intent.action: "PostEviction"
  kube::Request request;  ///< idempotent by construction: UID precondition, resourceVersion and token, or a fixed name
  std::string pre_state;  ///< what the pod showed before, for status.intent.preState
  std::string service;    ///< empty: the API server; else the name of a service in the operator's configuration
  std::string service_use = {};  ///< with a service: what it is called as, one of api::kServiceUses
  friend bool operator==(const Action&, const Action&) = default;
};

/// A live read of something beside the pod. The controller sends it and hands the answer back as a Document.
struct Read {
  std::string name;       ///< the evictor's own name for the answer: "vmi"
  kube::Request request;  ///< a GET (services: any method that changes nothing)
  std::string service;    ///< as in Action
  std::string service_use = {};
  /// Instead of a request: names of pods in the namespace of the Evacuation. The controller answers with those that
  /// another unfinished Evacuation moves, as a JSON array of names.
  std::vector<std::string> pods = {};
  /// Nothing waits for it: once such a read of this evictor got no answer, the others are not sent. Their documents
  /// have status 0.
  bool optional = false;
};

/// The answer to a Read. It is foreign text: it may be anything.
struct Document {
  std::string name;
  std::int32_t status = 0;  ///< HTTP status; 0: no answer, and `body` says why
  std::string body;
  /// Somebody answered 404, but not of this object or path: the whole kind is not served, or not at the moment, or a
  /// proxy spoke (kube::doubtful_absence). It counts as no answer.
  bool is_kind_unserved = false;
  bool was_skipped = false;  ///< an optional read that was not sent; `status` is 0

  bool ok() const { return status == 200; }
};

/// All an evictor may look at.
struct EvictorContext {
  const api::Evacuation& evacuation;
  const api::Pod* pod;  ///< the pod with spec.podRef.uid, or nullptr when there is none any more
  base::TimePoint now;
  std::vector<std::pair<std::string, std::string>> parameters;  ///< of the chosen spec.evictors entry
  std::string eviction_version = "v1";                          ///< policy version of Eviction bodies on this server
  std::span<const Document> documents = {};               ///< answers to this evictor's reads(), all read just now
  std::optional<base::TimePoint> unavailable_until = {};  ///< it was seen dead lately (Observation::dead)
  std::span<const std::string> services = {};             ///< names of the configured services
  /// `pod` is what a cache shows and may be old: a call on its word has to be bound to its resourceVersion.
  bool pod_is_cached = false;
  /// kube::Discovery::has_native_evictions. A 404 that contradicts it is somebody else's, or will be known soon.
  bool serves_native_evictions = false;
  /// Who made the Evacuation, where that matters (it is made by hand) and is proven: user, groups and so on as the spec
  /// of a SubjectAccessReview takes them, as JSON. Empty: nobody can tell.
  std::string_view creator = {};

  /// The parameter's value, or `otherwise`.
  std::string_view parameter(std::string_view name, std::string_view otherwise) const;
  /// nullptr: not read (yet).
  const Document* document(std::string_view name) const;
  /// The value in status.refs; empty: none.
  std::string_view ref(std::string_view name) const;
};

enum class Support { kSupported, kUnsupported, kUnavailable };

/// Can this evictor move this pod?
struct Probe {
  Support support = Support::kSupported;
  std::string adapter;                   ///< variant used, for status.adapter; empty when there is only one
  std::string reason;                    ///< why not; for people
  std::optional<base::TimePoint> until;  ///< kUnavailable: ask again then
  bool hold = false;                     ///< kUnavailable: wait for it, rather than take the next of the chain

  std::optional<base::seconds> total;  ///< the total timeout that the remote side asks for; clamped by the spec's
  bool acknowledges = false;           ///< the remote side acknowledges a request in time or is not there
  bool required = false;               ///< never evict without the remote side's word
  bool reports_post = false;           ///< condition PostCompleted will be written on the Evacuation
  base::seconds prepare{0};            ///< what Preparing takes beyond timeouts.prepare (hooks)
};

/// The next step. In Preparing: kAct = a preparing call, kProceed = go to Requesting. In Requesting: kAct = the call,
/// kWait = the request is in effect (or `ready` was withdrawn): go to InProgress. In InProgress: kAct = the final
/// call, kWait = watch on.
enum class NextMove {
  kAct,
  kWait,
  kProceed,
  kHold,  ///< Requesting: what the call depends on cannot be read. The phase stays, nothing is sent
};
struct EvictionStep {
  NextMove next = NextMove::kWait;
  std::optional<Action> action;  ///< exactly with kAct
  std::string why = {};          ///< with kWait and kHold: what it waits for, for people; empty: the remote side tells
};

/// A failure reported by the remote side.
struct RemoteFailure {
  std::string reason;  ///< CamelCase
  std::string message;
  bool retryable = false;
  bool try_next = false;  ///< the next evictor of the chain, if any, goes on at once
  api::Reason complete_reason = api::Reason::kHandoffFailed;  ///< reason of Complete if this ends the Evacuation
  friend bool operator==(const RemoteFailure&, const RemoteFailure&) = default;
};

/// What the remote side shows about the current attempt. Signs that carry another token are not seen.
struct Observation {
  bool requested = false;               ///< our request is visible
  bool acknowledged = false;            ///< somebody works on it
  bool ready = false;                   ///< safe to evict now; may be withdrawn
  bool vanished = false;                ///< the remote side dropped the request without moving the pod
  std::optional<RemoteFailure> failed;  ///< beats ready
  std::string alive;                    ///< changes whenever the remote side shows life; times inside are never trusted
  std::optional<std::int32_t> progress;
  std::optional<base::TimePoint> expected_completion;  ///< for display only
  bool queued = false;        ///< only waits in the remote side's queue: the total deadline stands still
  std::int32_t failures = 0;  ///< tries of the remote side in this attempt that failed, while it goes on (T19)
  std::string last_failure;   ///< why the newest of them failed
  std::string message;        ///< what the remote side says it is doing, for people
  bool dead = false;          ///< nobody serves this protocol here: probe() finds it unavailable for 5 minutes
  api::NodeName target;       ///< where the pod or its work goes; empty: not known
  Refs refs;                  ///< to be remembered
  friend bool operator==(const Observation&, const Observation&) = default;
};

/// How far an undo has come. kOthersRemain: our part is taken back; others still want the pod gone (not ours to stop).
enum class Rollback { kPending, kComplete, kNothingToDo, kRemoteMarkRemains, kOthersRemain };

/// What became of the work after the pod left.
struct Verification {
  enum class State {
    kByOwner,      ///< the controller looks for a replacement by the pod's owner
    kPending,      ///< not there yet
    kArrived,      ///< it runs at `node`
    kNotExpected,  ///< nothing will come, and that is well
  };
  State state = State::kByOwner;
  std::optional<api::OutcomeKind> kind;  ///< corrects outcome.kind: kMigrated
  std::string message;                   ///< for ReplacementReady
  std::optional<api::EvacuationReplacement> replacement;
  std::optional<Action> action;              ///< still to do (post hook, a surplus replica to take away); role kCleanUp
  bool unfinished = false;                   ///< not over before `action`, or what it started, is done
  base::seconds extra{0};                    ///< what `action` may take beyond timeouts.verify
  std::optional<RemoteFailure> failed = {};  ///< ends the Evacuation as Failed, although the pod has left
  Refs refs;
};

/// Moves one pod off its node. All methods are pure, idempotent and thread-safe, and must bear hostile input.
class Evictor {
 public:
  virtual ~Evictor() = default;

  /// Stable name, lower-kebab-case, as in spec.evictors[].name, logs and metrics.
  virtual std::string_view name() const = 0;

  /// Does it leave anything on the pod or beside it that has to be taken back or removed one day? Then the Evacuation
  /// keeps a finalizer from the first call on. False: the calls that it makes are all there is of it.
  virtual bool leaves_marks() const { return true; }

  /// Takes part in the automatic choice of an empty spec.evictors; false: only where it is named.
  virtual bool automatic() const { return true; }

  /// Complaints about spec.evictors[i].parameters; `path` is the path of that map. By default `requestedBy` is known.
  virtual api::FieldErrors validate(const std::vector<std::pair<std::string, std::string>>& parameters,
                                    const api::FieldPath& path) const;

  /// What else it needs to see now. Asked again with the answers at hand until nothing new is wanted, so one read may
  /// depend on another; names are unique. context.pod is nullptr once the pod is gone (verify()). Evictors that read
  /// are looked after every poll_interval(), others only when the pod or a deadline calls.
  virtual std::vector<Read> reads(const EvictorContext&) const { return {}; }
  virtual base::seconds poll_interval(const EvictorContext&) const { return base::seconds(5); }

  /// While the pod terminates: what need not wait for its end. Role kCleanUp. REQUIRES: context.pod != nullptr.
  virtual std::optional<Action> departing(const EvictorContext&) const { return std::nullopt; }

  /// After the pod has left (phase Verifying): context.pod is nullptr or terminal.
  virtual Verification verify(const EvictorContext&) const { return {}; }

  /// Whether `replacement`, a Ready pod of the same owner, does the work of the pod that left. context.pod may be
  /// nullptr.
  virtual bool is_in_service(const EvictorContext&, const api::Pod& /*replacement*/) const { return true; }

  /// Once the pod is gone and the Evacuation has ended: calls that remove what is left of ours beside the pod. It knows
  /// of it by status.refs. Role kCleanUp. Empty: nothing.
  virtual std::vector<Action> leftovers(const EvictorContext&) const { return {}; }

  /// REQUIRES for this and all below but classify(): context.pod != nullptr.
  virtual Probe probe(const EvictorContext& context) const = 0;
  virtual EvictionStep plan(const EvictorContext& context) const = 0;
  /// By default there is no remote side.
  virtual Observation observe(const EvictorContext&) const { return {}; }

  /// The one place where this evictor reads meaning into an answer.
  virtual Classification classify(const EvictorContext& context, const Action& action,
                                  const CallResult& answer) const = 0;

  /// Does it need a surge pod of the pod for a while, such as a live migration's target? Then it is admitted only
  /// when a node has free capacity for that, and the free capacity is held for it. Asked before the attempt, of the
  /// first evictor that may move the pod; it need not have read anything yet.
  virtual bool needs_capacity(const EvictorContext&) const { return false; }

  /// May this pod go only by the word of its owner, for whom this evictor speaks? Then no evictor takes over from it
  /// that does not ask the owner itself (Probe::required), whatever timed out or failed (T22).
  virtual bool owner_decides(const EvictorContext& context) const;

  /// Human-readable way for the pod to leave without a change of its PodDisruptionBudget. Asked of every evictor, also
  /// of those that the spec does not name. Empty: this evictor knows no way.
  virtual std::string advice(const EvictorContext&) const { return {}; }

  /// Longest time from the start of a call of this attempt to its answer. At least kCallTimeout.
  virtual base::seconds call_timeout(const EvictorContext&) const { return kCallTimeout; }

  /// Calls that take back what this attempt started, in order; the first one is sent, then it is asked again.
  /// Empty: nothing (more) to send. Only ever touches what carries our token.
  virtual std::vector<Action> undo(const EvictorContext&) const { return {}; }
  virtual Rollback undone(const EvictorContext&) const { return Rollback::kNothingToDo; }
  /// State of the remote side after the attempt, for the condition RollbackComplete. Empty: nothing to add.
  virtual std::string remains(const EvictorContext&) const { return {}; }

  /// Calls that remove our marks from a pod that stayed. Empty: clean, as far as can be seen.
  virtual std::vector<Action> cleanup(const EvictorContext&) const { return {}; }

  /// Once the Evacuation has ended: something of ours may be left that cleanup() or leftovers() would remove, and
  /// nobody can see whether it is. context.pod may be nullptr.
  virtual bool awaits_cleanup(const EvictorContext&) const { return false; }
};

}  // namespace evictors
