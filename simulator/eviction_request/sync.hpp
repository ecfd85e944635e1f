#pragma once

/// The EvictionRequest API's rules and algorithms as pure steps over JSON (wire-protocols.md#evictionrequest-rules):
/// the API server's checks, the controller's, the responders'. No store, no clock.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "simulator/store.hpp"

namespace simulator::native {

struct Options {
  bool draft_names = false;  ///< spec.requesterName and label value requesterresponder, as in the drafts
  base::Duration heartbeat_deadline = base::minutes(20);
  base::Duration completion_delay = base::seconds(5);
  base::Duration label_delay = base::seconds(1);  ///< an Eviction is made → it has its labels
};

inline constexpr std::string_view kImperativeResponder = "imperative-eviction.k8s.io/evictor";

/// Whom an EvictionRequest or an Eviction is about.
struct Target {
  std::string ns;
  std::string pod;
  std::string uid;
  friend auto operator<=>(const Target&, const Target&) = default;
};
Target target_of(const api::Json& object);

// --- the API server's checks; `before` is nullptr on create
api::FieldErrors validate_eviction_request(const api::Json* before, const api::Json& after, const Options& options);
api::FieldErrors validate_eviction(const api::Json* before, const api::Json& after, const Options& options,
                                   base::TimePoint now);
api::FieldErrors validate_eviction_responders(const api::Json& pod);

// --- the controller

/// All that concerns one target.
struct TargetState {
  Target target;
  Object pod;                     ///< whoever has that name now; nullptr: nobody
  std::vector<Object> requests;   ///< by name
  std::vector<Object> evictions;  ///< oldest first
  std::optional<base::TimePoint> left_at;

  /// The pod with the target's UID, not terminal.
  bool pod_stays() const;
};

/// The counter in its name: which Eviction of its target this is.
int eviction_number(const api::Json& eviction);
/// Not withdrawn, not being deleted, and the request makes sense.
bool request_counts(const api::Json& request, const TargetState& state);
/// A new Eviction has to be made: somebody asks, and there is neither an open nor a succeeded one.
bool needs_eviction(const TargetState& state);
api::Json make_eviction(const TargetState& state);
/// The Eviction as it is to be now: status, labels, owners.
api::Json next_eviction(const api::Json& eviction, const TargetState& state, const Options& options,
                        base::TimePoint now);
/// The request with its status as it is to be now.
api::Json next_request(const api::Json& request, const TargetState& state, base::TimePoint now);
/// When the Eviction has to be looked at again although nothing changes.
std::optional<base::TimePoint> next_look(const api::Json& eviction, const TargetState& state, const Options& options);

// --- a responder

/// The pod's annotation behaviour::kResponders: "[name:] item, item; …" with items `evict=10s`,
/// `decline=5s`, `silent`, `heartbeat=1m`, `eta=2m`. Entries without a name are for all others. Default: evict=10s.
struct ResponderScript {
  enum class Act { kEvict, kDecline, kSilent };
  Act act = Act::kEvict;
  base::Duration after = base::seconds(10);
  base::Duration heartbeat = base::minutes(1);
  std::optional<base::Duration> eta;
};
ResponderScript responder_script(const api::Json& pod, std::string_view responder);

/// What a responder keeps between two looks.
struct ResponderMemory {
  int attempts = 0;  ///< evictions that were refused
  std::optional<base::TimePoint> next_try;
  std::string message;
};

struct ResponderStep {
  api::Json entry = nullptr;  ///< what to write over its entry in status.responders; null: nothing
  bool post_eviction = false;
  bool delete_pod = false;
  std::optional<base::TimePoint> due;
};
/// `active` is its entry of status.responders while it has its turn; `pod`: with the target's UID, or nullptr.
ResponderStep imperative_step(const api::Json& active, const api::Json* pod, const ResponderMemory& memory,
                              base::TimePoint now);
ResponderStep scripted_step(const api::Json& active, const api::Json* pod, const ResponderScript& script,
                            base::TimePoint now);

}  // namespace simulator::native
