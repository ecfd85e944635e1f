#pragma once

/// The Evacuations that the plugin makes: names, labels and fields. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"

namespace cmd::plugin {

/// On every Evacuation of a drain: which node. Finds them again when the drain is resumed or cancelled.
inline constexpr std::string_view kDrainLabel = "evacuator.dev/drain";
/// On a node: who cordoned it for a drain, so that only that cordon is taken back.
inline constexpr std::string_view kCordonedBy = "evacuator.dev/cordoned-by";

/// What the user asked for, the same for every pod of one command.
struct EvacuationRequest {
  std::string requester{};
  std::string reason{};
  std::vector<std::string> evictors{};  ///< in order; empty: the operator chooses
  std::optional<std::int64_t> grace_period_seconds{};
  std::string drain{};                          ///< node that is drained; empty: none
  std::optional<base::seconds> decision_ttl{};  ///< longest wait in the queue
  std::optional<base::seconds> ttl{};           ///< how long a finished one is kept
};

api::Evacuation evacuation_for(const api::Pod& pod, std::string name, const EvacuationRequest& request,
                               std::int32_t priority = 0);

/// What there is for a pod already.
struct Claim {
  std::optional<api::Evacuation> unfinished;  ///< the one that moves it; neither a dry run nor one that is suspended
  std::string free_name;                      ///< the usual name, or with "-2", "-3"… when finished ones have it
};
/// `known` are the Evacuations of the pod's namespace.
Claim claim_of(const api::Pod& pod, const std::vector<api::Evacuation>& known);

/// True if it is about this very pod: by UID, or by name while the operator has not filled that in.
bool is_about(const api::Evacuation& evacuation, const api::Pod& pod);

/// Why a person's request for this pod makes no sense; empty: it does.
std::string objection_to(const api::Pod& pod);

}  // namespace cmd::plugin
