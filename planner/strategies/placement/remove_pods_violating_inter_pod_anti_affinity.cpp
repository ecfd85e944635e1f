#include "planner/strategies/placement/remove_pods_violating_inter_pod_anti_affinity.hpp"

#include "planner/strategies/placement/resolve_anti_affinity.hpp"
#include "planner/strategies/placement/resolve_anti_affinity_upstream.hpp"

namespace strategies {

base::Status RemovePodsViolatingInterPodAntiAffinity::nominate(const StrategyContext& context,
                                                               NominationSink& sink) const {
  if (context.is_upstream()) {
    resolve_anti_affinity_upstream(context, sink, args_.scope);
  } else {
    resolve_anti_affinity(context, sink, args_.scope);
  }
  return base::Done{};
}

}  // namespace strategies
