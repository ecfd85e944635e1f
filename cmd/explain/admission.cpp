#include "cmd/explain/admission.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/pod_group.hpp"
#include "controllers/admission/queue.hpp"
#include "controllers/evacuation/origin/origin.hpp"
#include "controllers/operator/operator_config.hpp"
#include "controllers/policy/decide.hpp"

namespace cmd::plugin {
namespace {

api::AdmissionLimits limits_of(const controllers::OperatorConfig& config) {
  return {config.in_flight, config.rate, config.cooldown};
}

api::Evacuation imagined(const api::Pod& pod, const api::DeschedulerPolicy* policy, const std::string& target,
                         base::TimePoint now) {
  api::DeschedulerPolicy nobody;
  const api::PlannedMove move{pod.meta.ns, pod.meta.name, pod.meta.uid, pod.node_name.value, target, "", ""};
  api::Evacuation made = controllers::evacuation_for(policy ? *policy : nobody, move);
  made.meta.creation_timestamp = now;
  if (policy) controllers::mark_origin_verified(made);
  return made;
}

std::string rate_text(const api::RateLimit& rate, const std::string& whose) {
  return fmt::format("{} admits at most {} per {}, {} at once; only the operator knows the current usage", whose,
                     rate.per_second.value_or(rate.per_minute.value_or(0)), rate.per_second ? "second" : "minute",
                     rate.burst);
}

std::vector<std::string> notes_on(const api::Pod& pod, const api::DeschedulerPolicy* policy,
                                  const AdmissionInput& world) {
  std::vector<std::string> notes;
  if (const auto pod_group = api::pod_group_of(pod)) {
    notes.push_back(fmt::format(
        "it leaves with PodGroup {}: every member needs an Evacuation (manually: --whole-group), and all slots at once",
        pod_group->name));
  }
  if (world.cluster.rate) notes.push_back(rate_text(*world.cluster.rate, "the operator"));
  if (policy && policy->spec.limits.rate) notes.push_back(rate_text(*policy->spec.limits.rate, "the policy"));
  const auto waiting = std::ranges::count_if(world.evacuations, [](const api::Evacuation& each) {
    return each.status.phase == api::EvacuationPhase::kPending && !each.spec.suspend;
  });
  if (waiting > 0) notes.push_back(fmt::format("{} Evacuations are ahead of it", waiting));
  if (!world.cluster_known)
    notes.emplace_back("the operator's configuration could not be read: the default limits are assumed");
  return notes;
}

}  // namespace

api::AdmissionLimits default_cluster_limits() { return limits_of({}); }

std::optional<api::AdmissionLimits> cluster_limits_of(std::string_view config) {
  const auto parsed = controllers::parse_operator_config(config);
  return parsed ? std::optional(limits_of(*parsed)) : std::nullopt;
}

AdmissionFact admission_of(const api::Pod& pod, const api::DeschedulerPolicy* policy, const std::string& target,
                           const AdmissionInput& world, base::TimePoint now) {
  const base::ManualClock clock(now);
  controllers::AdmissionQueue queue(world.cluster, clock, {});
  for (const api::DeschedulerPolicy& each : world.policies) {
    queue.set_policy_limits(each.meta.name, api::admission_limits(each.spec.limits));
    queue.restore_cooldowns(each.meta.name, each.status.cooldowns);
  }
  for (const api::Node& node : world.nodes) queue.set_node(node.meta.name, controllers::node_facts(node));
  for (const api::Evacuation& each : world.evacuations) queue.observe(nullptr, &each);

  const api::Evacuation made = imagined(pod, policy, target, now);
  const auto slot = queue.request(controllers::admission_request(made, &pod, std::nullopt)).slot;
  AdmissionFact fact;
  fact.immediately = slot.state == controllers::Slot::State::kGranted;
  fact.until = slot.retry_at;
  if (slot.limit && !fact.immediately) {
    fact.limit = slot.limit->name;
    fact.message = slot.limit->message;
  }
  fact.notes = notes_on(pod, policy, world);
  return fact;
}

}  // namespace cmd::plugin
