#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "planner/strategies/common_args.hpp"
#include "planner/strategies/strategy.hpp"
#include "planner/strategies/uneven_counts.hpp"

namespace strategies {

/// Nominates pods of the same owner and images that share a node while other nodes have fewer
/// (upstream-semantics.md#remove-duplicates).
struct RemoveDuplicates {
  static constexpr std::string_view kName = "RemoveDuplicates";
  static constexpr StrategyPhase kPhase = StrategyPhase::kBalance;

  PodScope scope;  ///< `labelSelector` is an extension of upstream
  std::vector<std::string> exclude_owner_kinds;

  static RemoveDuplicates read(api::StrictObject& args);
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const;
};

/// Chooses as upstream does (upstream-semantics.md#remove-duplicates): counts only pods that may leave, takes cordoned
/// and unready nodes for targets, and offers a pod once for each of its owners. Returns the pods above their node's
/// share, which the sink has judged as far as its limits let it.
std::unordered_set<PodIndex> spread_duplicates_upstream(const StrategyContext& context, NominationSink& sink,
                                                        const RemoveDuplicates& args);

}  // namespace strategies
