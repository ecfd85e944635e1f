#pragma once

/// Builds the Evacuations that the plugin creates: names, labels and fields. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"

namespace cmd::plugin {

/// Label of every Evacuation of a drain; its value is the node. Used to find the Evacuations when the drain is resumed
/// or cancelled.
inline constexpr std::string_view kDrainLabel = "evacuator.dev/drain";
/// Annotation of a node with the requester of the drain that cordoned it. Only such a cordon is removed.
inline constexpr std::string_view kCordonedBy = "evacuator.dev/cordoned-by";

/// Options of the user, shared by all pods of one command.
struct EvacuationRequest {
  std::string requester{};
  std::string reason{};
  std::vector<std::string> evictors{};  ///< in order of preference; if empty, the operator chooses
  std::optional<std::int64_t> grace_period_seconds{};
  std::string drain{};                          ///< node being drained, empty if there is none
  std::optional<base::seconds> decision_ttl{};  ///< maximum wait in the queue
  std::optional<base::seconds> ttl{};           ///< retention of a finished Evacuation
};

api::Evacuation evacuation_for(const api::Pod& pod, std::string name, const EvacuationRequest& request,
                               std::int32_t priority = 0);

/// Existing Evacuation of a pod, and a free name.
struct Claim {
  std::optional<api::Evacuation> unfinished;  ///< active Evacuation of the pod; never a dry run or a suspended one
  std::string free_name;  ///< default name, with suffix "-2", "-3"… if finished Evacuations use it
};
/// Returns the Claim for a pod. `known` must contain the Evacuations of the pod's namespace.
Claim existing_evacuation(const api::Pod& pod, const std::vector<api::Evacuation>& known);

/// Returns true if the Evacuation refers to this pod: by UID, or by name until the operator has set the UID.
bool is_about(const api::Evacuation& evacuation, const api::Pod& pod);

/// Returns why a manual Evacuation of this pod makes no sense, an empty string if it does.
std::string why_not_evacuable(const api::Pod& pod);

}  // namespace cmd::plugin
