#pragma once

/// Rules and algorithms of the EvictionRequest API as pure functions on JSON (wire-protocols.md#evictionrequest-rules):
/// validation by the API server, the controller, the responders. No store, no clock.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "simulator/store.hpp"

namespace simulator::eviction_request {

struct Options {
  bool draft_names = false;  ///< spec.requesterName and label value requesterresponder, as in the drafts
  base::Duration heartbeat_deadline = base::minutes(20);
  base::Duration completion_delay = base::seconds(5);
  base::Duration label_delay = base::seconds(1);  ///< time from the creation of an Eviction until it has labels
};

inline constexpr std::string_view kImperativeResponder = "imperative-eviction.k8s.io/evictor";

struct Target {
  std::string ns;
  std::string pod;
  std::string uid;
  friend auto operator<=>(const Target&, const Target&) = default;
};
Target target_of(const api::Json& object);
/// Returns the entry of status.<list> whose `member` has that value, nullptr if there is none.
const api::Json* status_entry(const api::Json& eviction, std::string_view list, std::string_view member,
                              std::string_view value);
/// Returns the last heartbeat or the start of a responder, from its entry in status.responders.
std::optional<base::TimePoint> last_life(const api::Json& entry);

// --- Validation by the API server. `before` is nullptr on create.
api::FieldErrors validate_eviction_request(const api::Json* before, const api::Json& after, const Options& options);
api::FieldErrors validate_eviction(const api::Json* before, const api::Json& after, const Options& options,
                                   base::TimePoint now);
api::FieldErrors validate_eviction_responders(const api::Json& pod);

// --- the controller

/// All objects related to one target.
struct TargetState {
  Target target;
  Object pod;                     ///< current pod with that name, nullptr if there is none
  std::vector<Object> requests;   ///< ordered by name
  std::vector<Object> evictions;  ///< oldest first
  std::optional<base::TimePoint> left_at;

  /// Returns true if the pod has the target's UID and is not terminal.
  bool pod_stays() const;
};

/// Returns the counter in the Eviction's name, which numbers the Evictions of a target.
int eviction_number(const api::Json& eviction);
/// Returns true if the request is valid, not withdrawn and not complete.
bool is_effective(const api::Json& request, const TargetState& state);
/// Returns true if an Eviction must be created: a request counts, and there is neither an open nor a successful
/// Eviction.
bool needs_eviction(const TargetState& state);
api::Json make_eviction(const TargetState& state);
/// Returns the Eviction with updated status, labels and owners.
api::Json next_eviction(const api::Json& eviction, const TargetState& state, const Options& options,
                        base::TimePoint now);
/// Returns the request with updated status.
api::Json next_request(const api::Json& request, const TargetState& state, base::TimePoint now);
/// Returns when the Eviction must be processed again even without changes.
std::optional<base::TimePoint> due_time_of(const api::Json& eviction, const TargetState& state, const Options& options);

// --- a responder

/// Parsed annotation behaviour::kResponders of a pod: "[name:] item, item; …" with items `evict=10s`, `decline=5s`,
/// `silent`, `heartbeat=1m`, `eta=2m`. Entries without a name apply to all other responders. Default: evict=10s.
struct ResponderScript {
  enum class Act { kEvict, kDecline, kSilent };
  Act act = Act::kEvict;
  base::Duration after = base::seconds(10);
  base::Duration heartbeat = base::minutes(1);
  std::optional<base::Duration> eta;
};
ResponderScript responder_script(const api::Json& pod, std::string_view responder);

/// State of a responder between two steps.
struct ResponderMemory {
  int attempts = 0;  ///< number of refused evictions
  std::optional<base::TimePoint> next_try;
  std::string message;
};

struct ResponderStep {
  api::Json entry = nullptr;  ///< new value of the responder's entry in status.responders, null for no change
  bool post_eviction = false;
  bool delete_pod = false;
  std::optional<base::TimePoint> due;
};
/// Return the next step of an active responder. `active` is its entry in status.responders; `pod` has the target's UID
/// or is nullptr.
ResponderStep imperative_step(const api::Json& active, const api::Json* pod, const ResponderMemory& memory,
                              base::TimePoint now);
ResponderStep scripted_step(const api::Json& active, const api::Json* pod, const ResponderScript& script,
                            base::TimePoint now);

}  // namespace simulator::eviction_request
