#pragma once

/// Kubernetes' EvictionRequest API (KEP-4563, lifecycle.k8s.io/v1alpha1) as far as we read it: EvictionRequest, owned
/// by who wants a pod to leave, and Eviction, by which its responders make it leave. Decoding is lenient (wrong types
/// count as absent) and knows the spellings of the drafts, too. Wire facts: docs/evictors/eviction-request.md.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json/json.hpp"
#include "api/meta/condition.hpp"
#include "api/meta/object_meta.hpp"

namespace api {

struct EvictionRequest {
  ObjectMeta meta;
  std::string pod_name;
  PodUid pod_uid;
  std::string requester;  ///< spec.requester; drafts: requesterName
  bool withdrawn = false;
  std::vector<Condition> conditions;     ///< Failed, TargetEvicted; both may flip back
  std::int64_t observed_generation = 0;  ///< 0: no controller has looked at it yet
};

enum class ResponderState { kInactive, kActive, kInterrupted, kCanceled, kCompleted };
std::string_view to_string(ResponderState state);

/// One responder of an Eviction: status.targetResponders[] and status.responders[] of the same name together.
struct NativeResponder {
  std::string name;
  std::int64_t priority = 0;
  ResponderState state = ResponderState::kInactive;
  std::optional<base::TimePoint> start_time;
  std::optional<base::TimePoint> heartbeat_time;
  std::optional<base::TimePoint> expected_completion_time;
  std::optional<base::TimePoint> completion_time;
  std::string message;
  friend bool operator==(const NativeResponder&, const NativeResponder&) = default;
};

struct NativeRequester {
  std::string name;
  bool withdrawn = false;
  friend bool operator==(const NativeRequester&, const NativeRequester&) = default;
};

struct NativeEviction {
  ObjectMeta meta;
  std::string pod_name;
  PodUid pod_uid;
  std::vector<NativeRequester> requesters;
  std::vector<NativeResponder> responders;  ///< in the order in which they get their turn
  std::vector<Condition> conditions;        ///< final once True

  /// Condition Failed or TargetEvicted is True: nothing more happens.
  bool is_final() const;
  /// nullptr: none has its turn.
  const NativeResponder* active() const;
  /// nullptr: not among them.
  const NativeResponder* responder(std::string_view name) const;
};

/// Errors: no JSON object, or one without a name.
base::Result<EvictionRequest> decode_eviction_request(std::string_view json);
base::Result<NativeEviction> decode_native_eviction(std::string_view json);
/// Items of an EvictionList; those that make no sense are skipped.
base::Result<std::vector<NativeEviction>> decode_native_evictions(std::string_view json);

/// Label values of an Eviction, under a requester's or responder's name as the key; the drafts' spelling is the last.
inline constexpr std::string_view kRequesterRoles = "(requester,requester-responder,requesterresponder)";
inline constexpr std::string_view kResponderRoles = "(responder,requester-responder,requesterresponder)";

}  // namespace api
