#include <string>
#include <vector>

#include "api/origin.hpp"
#include "controllers/admission/queue.hpp"
#include "controllers/evacuation/metrics.hpp"
#include "controllers/evacuation/reconciler.hpp"
#include "controllers/evacuation/wiring.hpp"
#include "controllers/operator/parts.hpp"
#include "controllers/policy/admission_rules.hpp"
#include "controllers/policy/decide.hpp"
#include "controllers/policy/gates/gate_poller.hpp"
#include "controllers/policy/taints/soft_taints.hpp"
#include "controllers/policy/triggers.hpp"
#include "controllers/policy/usage/collector.hpp"
#include "controllers/webhooks/placement/hints.hpp"

namespace controllers {
namespace {

constexpr base::milliseconds kPolicySettleTime{500};

void add_indexes(OperatorCaches& caches) {
  evacuation::add_evacuation_indexes(caches.evacuations.store(), caches.pods.store(), caches.pdbs.store());
  placement::add_placement_indexes(caches.evacuations.store(), caches.pods.store());
  caches.evacuations.store().add_index(std::string(kByPolicy),
                                       [](const api::Evacuation& evacuation) -> std::vector<std::string> {
                                         const std::string& policy = api::policy_of(evacuation);
                                         if (policy.empty()) return {};
                                         return {policy};
                                       });
}

/// The order of the handlers matters: admission must know what blocks an Evacuation before the Evacuation is enqueued.
void connect_evacuations(OperatorParts& parts) {
  OperatorCaches& caches = parts.caches;
  caches.evacuations.add_handler([&parts](const auto& before, const auto& after) {
    if (after) parts.admission_rules->hold_without_policy(*after);
    if (before && (!after || after->meta.uid != before->meta.uid)) parts.origins.forget(before->meta.uid);
  });
  evacuation::connect_evacuations({caches.evacuations, caches.pods, caches.pdbs, caches.nodes, caches.claims},
                                  *parts.admission, *parts.reservations, *parts.evacuations,
                                  parts.evacuation_queue.queue);
  caches.evacuations.add_handler([&parts](const auto& before, const auto& after) {
    parts.evacuation_metrics->on_cached(before.get(), after.get());
    if (parts.deps.once) parts.once.on_evacuation(before.get(), after.get());
    // Many Evacuations change together, so the policy's counts may lag by half a second.
    for (const auto* each : {before.get(), after.get()}) {
      const std::string policy = each ? api::policy_of(*each) : std::string();
      if (!policy.empty()) parts.policy_queue.queue.add_after({"", policy}, kPolicySettleTime);
    }
  });
}

void connect_cluster(OperatorParts& parts) {
  parts.caches.nodes.add_handler([&parts](const auto& before, const auto& after) {
    parts.triggers->on_node(before.get(), after.get());
    if (after) parts.taints->on_node(*after);
  });
  parts.caches.pods.add_handler([&parts](const auto& before, const auto& after) {
    parts.triggers->on_pod(before.get(), after.get());
    parts.usage->on_pod(before.get(), after.get());
  });
}

void follow_policy(OperatorParts& parts, const ObservedPolicy& policy, bool is_new) {
  const std::string& name = policy.meta.name;
  if (is_new) parts.taints->register_policy(name);
  parts.gates->set(name, policy.spec.gates, policy.spec.usage_sources);
  parts.admission_rules->follow(policy);
  if (!policy.plan_spec) return;
  if (parts.deps.usage_sources)
    parts.usage->set(name, wanted_usage(policy.spec.usage_sources, policy.plan_spec->strategy_specs.usage_needs()));
  parts.triggers->follow(name, policy.spec.schedule.triggers);
}

void connect_policies(OperatorParts& parts) {
  parts.caches.policies.add_handler([&parts](const auto& before, const auto& after) {
    const api::ObjectMeta& meta = (after ? after : before)->meta;
    if (after) {
      follow_policy(parts, *after, !before);
    } else {
      parts.gates->drop(meta.name);
      parts.triggers->forget(meta.name);
      parts.usage->drop(meta.name);
      parts.admission_rules->forget(meta.name);
    }
    parts.policy_queue.queue.add(meta.key());
  });
}

}  // namespace

void connect_caches(OperatorParts& parts) {
  add_indexes(parts.caches);
  connect_evacuations(parts);
  connect_cluster(parts);
  connect_policies(parts);
}

}  // namespace controllers
