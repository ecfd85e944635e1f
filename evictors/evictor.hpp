#pragma once

/// The pluggable interface of the ways a pod can leave. An evictor is a set of pure functions over what was observed:
/// it never does I/O, reads no clock and keeps no state, so one object serves all threads. The Evacuation controller
/// does all I/O: it writes the intent ahead, sends the action's request, and hands the answer back to classify().
/// Third parties: docs/evictors/writing-one.md.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/core.hpp"
#include "api/evacuation.hpp"
#include "api/field_path.hpp"
#include "kube/transport.hpp"

namespace evictors {

/// What an answer to one of our calls means for the Evacuation, whatever its HTTP code (protocols 5.3).
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

/// The meaning of one answer.
struct Verdict {
  ResponseClass answer = ResponseClass::kUnknown;
  std::string message;                        ///< at most 512 bytes
  std::optional<base::Duration> retry_after;  ///< what the server asked for
  std::optional<api::Blocker> blocker;        ///< who holds it up, when the answer says so; `since` is not set
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

/// An HTTP answer, or the error that prevented one.
using Answer = base::Result<kube::Response>;

/// What an action is for: the controller treats the roles differently, the evictors name the actions.
enum class ActionRole { kPrepare, kRequest, kUndo, kCleanUp };

/// The next step as a value: stored by name in status.intent first, sent after that.
struct Action {
  ActionRole role = ActionRole::kRequest;
  std::string name;       ///< CamelCase, as in status.intent.action: "PostEviction"
  kube::Request request;  ///< idempotent by construction: UID precondition, resourceVersion and token, or a fixed name
  std::string pre_state;  ///< what the pod showed before, for status.intent.preState
  friend bool operator==(const Action&, const Action&) = default;
};

/// All an evictor may look at.
struct Context {
  const api::Evacuation& evacuation;
  const api::Pod* pod;  ///< the pod with spec.podRef.uid, or nullptr when there is none any more
  base::TimePoint now;
  std::vector<std::pair<std::string, std::string>> parameters;  ///< of the chosen spec.evictors entry
  std::string eviction_version = "v1";                          ///< policy version of Eviction bodies on this server

  /// The parameter's value, or `otherwise`.
  std::string_view parameter(std::string_view name, std::string_view otherwise) const;
};

enum class Support { kSupported, kUnsupported, kUnavailable };

/// Can this evictor move this pod?
struct Probe {
  Support support = Support::kSupported;
  std::string adapter;                   ///< variant used, for status.adapter; empty when there is only one
  std::string reason;                    ///< why not; for people
  std::optional<base::TimePoint> until;  ///< kUnavailable: ask again then

  std::optional<base::seconds> total;  ///< the remote side's wish for the total timeout; clamped by the spec's
  bool acknowledges = false;           ///< the remote side acknowledges a request in time or is not there
  bool required = false;               ///< never evict without the remote side's word
  bool reports_post = false;           ///< condition PostCompleted will be written on the Evacuation
};

/// The next step. In Preparing: kAct = a preparing call, kProceed = go to Requesting. In Requesting: kAct = the call,
/// kWait = the request is in effect (or `ready` was withdrawn): go to InProgress. In InProgress: kAct = the final
/// call, kWait = watch on.
enum class Next { kAct, kWait, kProceed };
struct Plan {
  Next next = Next::kWait;
  std::optional<Action> action;  ///< exactly with kAct
};

/// A failure reported by the remote side.
struct RemoteFailure {
  std::string reason;  ///< CamelCase
  std::string message;
  bool retryable = false;
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
  friend bool operator==(const Observation&, const Observation&) = default;
};

/// How far an undo has come.
enum class Rollback { kPending, kComplete, kNothingToDo, kRemoteMarkRemains };

/// Moves one pod off its node. All methods are pure, idempotent and thread-safe, and must bear hostile input.
class Evictor {
 public:
  virtual ~Evictor() = default;

  /// Stable name, lower-kebab-case, as in spec.evictors[].name, logs and metrics.
  virtual std::string_view name() const = 0;

  /// Complaints about spec.evictors[i].parameters; `path` is the path of that map.
  virtual api::FieldErrors validate(const std::vector<std::pair<std::string, std::string>>& parameters,
                                    const api::FieldPath& path) const = 0;

  /// REQUIRES for this and all below but classify(): context.pod != nullptr.
  virtual Probe probe(const Context& context) const = 0;
  virtual Plan plan(const Context& context) const = 0;
  virtual Observation observe(const Context& context) const = 0;

  /// The one place where this evictor reads meaning into an answer.
  virtual Verdict classify(const Context& context, const Action& action, const Answer& answer) const = 0;

  /// Calls that take back what this attempt started, in order; the first one is sent, then it is asked again.
  /// Empty: nothing (more) to send. Only ever touches what carries our token.
  virtual std::vector<Action> undo(const Context& context) const = 0;
  virtual Rollback undone(const Context& context) const = 0;

  /// Calls that remove our marks from a pod that stayed. Empty: clean.
  virtual std::vector<Action> cleanup(const Context& context) const = 0;
};

}  // namespace evictors
