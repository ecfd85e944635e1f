#pragma once

/// Kubernetes' EvictionRequest API (KEP-4563, lifecycle.k8s.io/v1alpha1): EvictionRequest, owned by a component that
/// wants a pod to leave, and Eviction, through which responders make it leave. Decoding is lenient (fields of a wrong
/// type count as absent) and accepts the spellings of drafts. Wire format: docs/evictors/eviction-request.md.

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
  std::vector<Condition> conditions;     ///< Failed, TargetEvicted; both may become False again
  std::int64_t observed_generation = 0;  ///< 0 if no controller has processed it yet
};

enum class ResponderState { kInactive, kActive, kInterrupted, kCanceled, kCompleted };
std::string_view to_string(ResponderState state);

/// One responder of an Eviction, merged from status.targetResponders[] and status.responders[] by name.
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
  std::vector<NativeResponder> responders;  ///< in the order in which they become active
  std::vector<Condition> conditions;        ///< final once True

  /// Returns true if condition Failed or TargetEvicted is True; the Eviction no longer changes.
  bool is_final() const;
  /// Returns nullptr if no responder is active.
  const NativeResponder* active() const;
  /// Returns nullptr if no responder has this name.
  const NativeResponder* responder(std::string_view name) const;
};

/// Return an error if the text is not a JSON object or has no name.
base::Result<EvictionRequest> decode_eviction_request(std::string_view json);
base::Result<NativeEviction> decode_native_eviction(std::string_view json);
/// Decodes the items of an EvictionList; skips invalid items.
base::Result<std::vector<NativeEviction>> decode_native_evictions(std::string_view json);

/// Label values of an Eviction, with the name of a requester or responder as the key. The last spelling is that of
/// drafts.
inline constexpr std::string_view kRequesterRoles = "(requester,requester-responder,requesterresponder)";
inline constexpr std::string_view kResponderRoles = "(responder,requester-responder,requesterresponder)";

}  // namespace api
