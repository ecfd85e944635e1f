#include "controllers/evacuation/emptied_nodes.hpp"

#include "api/meta/well_known.hpp"
#include "api/origin.hpp"

namespace controllers::evacuation {
namespace {

/// The next wave of a plan is made within this time of the end of the one before.
constexpr base::minutes kBetweenWaves{2};

}  // namespace

std::string plan_index_key(const api::Evacuation& evacuation) {
  const std::string& policy = api::policy_of(evacuation);
  return policy.empty() ? policy : policy + "/" + evacuation.spec.source.strategy;
}

std::set<std::string> emptied_nodes(const api::Evacuation& evacuation,
                                    const std::vector<std::shared_ptr<const api::Evacuation>>& same_plan) {
  const base::TimePoint since = evacuation.meta.creation_timestamp - kBetweenWaves;
  std::set<std::string> emptied{evacuation.spec.node_name.value};
  std::set<std::string> expected;
  for (const auto& each : same_plan) {
    if (each->status.finished_at.value_or(since) < since) continue;
    emptied.insert(each->spec.node_name.value);
    expected.insert(each->meta.annotations.value(api::well_known::kPredictedTargetAnnotation));
  }
  for (const std::string& node : expected) emptied.erase(node);
  emptied.erase("");
  return emptied;
}

}  // namespace controllers::evacuation
