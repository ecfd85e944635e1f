#include "planner/plan/pod_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "api/pod_group.hpp"

namespace planner {

PodGroups::PodGroups(const ClusterSnapshot& cluster)
    : cluster_(cluster), labels_may_name_pod_group_(cluster, [](const api::Pod& pod) {
        return api::may_declare_pod_group(pod.meta.labels);
      }) {}

void PodGroups::find_all() {
  found_all_ = true;
  std::unordered_map<PodIndex, std::int32_t> orders;
  for (const PodIndex index : cluster_.pods()) {
    const api::Pod& pod = cluster_.pod(index);
    const auto pod_group = api::is_active_member(pod) ? api::pod_group_of(pod) : std::nullopt;
    if (!pod_group) continue;
    Members& members = pod_groups_[pod.meta.ns + "/" + pod_group->name];
    members.name = pod_group->name;
    members.pods.push_back(index);
    orders[index] = pod_group->order;
  }
  for (auto& [key, members] : pod_groups_) {
    std::ranges::sort(members.pods, [&](PodIndex a, PodIndex b) {
      return std::tie(orders.at(a), cluster_.pod(a).meta.name) < std::tie(orders.at(b), cluster_.pod(b).meta.name);
    });
    for (const PodIndex pod : members.pods) by_pod_[pod] = &members;
  }
}

const PodGroups::Members* PodGroups::of(PodIndex pod) {
  const api::Pod& object = cluster_.pod(pod);
  if (!labels_may_name_pod_group_(pod) && !api::may_declare_pod_group(object.meta.annotations)) return nullptr;
  if (!api::pod_group_of(object)) return nullptr;
  if (!found_all_) find_all();
  const auto at = by_pod_.find(pod);
  return at == by_pod_.end() ? nullptr : at->second;
}

PodGroupWhatIf::PodGroupWhatIf(Inputs inputs, const WhatIf& what_if, const CycleLimits& limits_now,
                               const scheduling::PdbBudgets& budgets_now)
    : limits(limits_now), budgets(budgets_now), inputs_(inputs), what_if_(what_if) {}

bool PodGroupWhatIf::refuse(std::string_view reason, const PodGroups::Members& pod_group, std::string why) {
  refusal_ = {reason, fmt::format("PodGroup {} stays: {}", pod_group.name, why)};
  return false;
}

PodGroupWhatIf::Reason PodGroupWhatIf::too_large(const PodGroups::Members& pod_group) {
  return {"GroupOverLimit", fmt::format("PodGroup {} stays: it has {} pods, and a PodGroup has at most {}",
                                        pod_group.name, pod_group.pods.size(), api::kMaxPodsOfPodGroup)};
}

bool PodGroupWhatIf::member_may_go(const PodGroups::Members& pod_group, PodIndex pod, const KeepRule& kept) {
  const ClusterSnapshot& cluster = inputs_.cluster;
  const std::string& name = cluster.pod(pod).meta.name;
  const NodeIndex from = cluster.node_of(pod);
  if (from == scheduling::kNoNode) return refuse("GroupNotRunning", pod_group, name + " is not scheduled yet");
  if (!inputs_.nodes.contains(from)) {
    return refuse(
        "GroupMemberStays", pod_group,
        fmt::format("{} is on node {}, which is out of scope of the policy", name, cluster.node(from).meta.name));
  }
  auto refusal = kept(pod);
  if (!refusal) refusal = inputs_.evictability.refusal(pod);
  if (!refusal && inputs_.spend_pdbs) refusal = budgets.refusal(pod);
  if (refusal) return refuse("GroupMemberStays", pod_group, name + ": " + refusal->message());
  if (const auto hit = limits.hit(from, cluster.namespace_of(pod))) {
    return refuse("GroupOverLimit", pod_group,
                  fmt::format("it has {} pods, and {}", pod_group.pods.size(), hit->refusal.message()));
  }
  if (inputs_.spend_pdbs) budgets.spend(pod);
  limits.count(from, cluster.namespace_of(pod));
  return true;
}

std::string PodGroupWhatIf::why_nowhere(const std::string& pod, const Placement& placement) const {
  if (!placement.competing_node) return "no node has free capacity for " + pod + " once the others are placed";
  return fmt::format("the scheduler would place {} on {}, where the move does not help", pod,
                     inputs_.cluster.node(*placement.competing_node).meta.name);
}

/// Refuses groups larger than an absolute in-flight limit, which would wait indefinitely. Admission handles
/// percentages.
bool PodGroupWhatIf::within_in_flight(const PodGroups::Members& pod_group, const std::vector<PodIndex>& leaving) {
  const api::InFlightLimits& in_flight = inputs_.in_flight;
  const auto check = [&](const char* field, const std::optional<api::IntOrPercent>& limit, std::int64_t count) {
    if (!limit || limit->percent || count <= limit->value) return true;
    return refuse("GroupOverLimit", pod_group,
                  fmt::format("limits.inFlight.{} is {}, and {} leave at once", field, limit->value, count));
  };
  const auto count = static_cast<std::int64_t>(leaving.size());
  std::map<NodeIndex, std::int64_t> by_node;
  std::int64_t on_one_node = 0;
  for (const PodIndex pod : leaving) on_one_node = std::max(on_one_node, ++by_node[inputs_.cluster.node_of(pod)]);
  return check("total", in_flight.total, count) && check("perNamespace", in_flight.per_namespace, count) &&
         check("perNode", in_flight.per_node, on_one_node);
}

std::optional<std::vector<PodGroupWhatIf::Move>> PodGroupWhatIf::run(const PodGroups::Members& pod_group,
                                                                     TargetPredictor predictor, const KeepRule& kept,
                                                                     const GoalOf& goal_of) {
  std::vector<PodIndex> leaving;
  for (const PodIndex pod : pod_group.pods) {
    const bool waits_for_a_node = inputs_.cluster.node_of(pod) == scheduling::kNoNode;
    if (what_if_.is_moved(pod) && !waits_for_a_node) continue;  // has an unfinished Evacuation
    if (!member_may_go(pod_group, pod, kept)) return std::nullopt;
    leaving.push_back(pod);
  }
  if (!within_in_flight(pod_group, leaving)) return std::nullopt;
  for (const PodIndex pod : leaving) what_if_.move(pod, scheduling::kNoNode);
  std::vector<Move> moves;
  for (const PodIndex pod : leaving) {
    const std::string& name = inputs_.cluster.pod(pod).meta.name;
    if (const auto refusal = inputs_.evictability.refusal_before_eviction(pod, what_if_)) {
      refuse("GroupMemberStays", pod_group, name + ": " + refusal->message());
      return std::nullopt;
    }
    std::optional<NodeIndex> to;
    if (has_replacement(inputs_.cluster, pod)) {
      const Placement placement = predictor.predict(what_if_, pod, goal_of(pod));
      if (!placement.node) {
        refuse("GroupDoesNotFit", pod_group, why_nowhere(name, placement));
        return std::nullopt;
      }
      to = placement.node;
      what_if_.move(pod, *to);
    }
    moves.push_back({pod, to});
  }
  return moves;
}

}  // namespace planner
