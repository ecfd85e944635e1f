/// Evaluates a strategy case like a user who migrates from upstream: `convert` converts the policy, the planner
/// computes the moves.

#include <algorithm>
#include <set>

#include "cmd/convert/policy.hpp"
#include "planner/plan/planner.hpp"
#include "planner/strategies/catalog.hpp"
#include "test/conformance/conformance_case.hpp"

namespace conformance {
namespace {

using Names = std::set<std::string>;

/// Returns whether the runs are comparable. Captured runs included nodes that are not ready, evicted without effect on
/// the cluster, and broke ties by their own listing order.
bool is_comparable(const Case& each, const scheduling::ClusterSnapshot& cluster) {
  const bool is_stable =
      each.expect().value("evictedPodsStable", true) && without_nulls(each.json.value("limits", Json())).empty();
  const auto nodes = nodes_in_order(each, cluster);
  const auto is_ready = [&](scheduling::NodeIndex node) { return scheduling::accepts_pods(cluster.node(node)); };
  return is_stable && !each.expect().contains("error") && nodes.size() > 1 && std::ranges::all_of(nodes, is_ready);
}

/// Returns whether free capacity matters. A moved pod frees capacity, which the captured runs ignored, so more pods may
/// fit elsewhere.
bool looks_at_capacity(const Case& each, const Json& evictor) {
  return evictor.value("nodeFit", false) || each.plugin == "RemovePodsViolatingNodeAffinity";
}

const char* point_of(const std::string& plugin) {
  static const std::set<std::string> kBalance = {"HighNodeUtilization", "LowNodeUtilization", "RemoveDuplicates",
                                                 "RemovePodsViolatingTopologySpreadConstraint"};
  return kBalance.contains(plugin) ? "balance" : "deschedule";
}

/// Upstream's defaults did not apply to the captured runs, so the relevant args are set explicitly.
std::string policy_of(const Case& each, const Json& evictor) {
  Json args = without_nulls(each.json.at("args"));
  if (each.plugin == "RemoveFailedPods" && !args.contains("minPodLifetimeSeconds")) args["minPodLifetimeSeconds"] = 0;
  const Json profile = {
      {"name", "case"},
      {"pluginConfig", {{{"name", "DefaultEvictor"}, {"args", evictor}}, {{"name", each.plugin}, {"args", args}}}},
      {"plugins", {{point_of(each.plugin), {{"enabled", Json::array({each.plugin})}}}}}};
  return Json{
      {"apiVersion", "descheduler/v1alpha2"}, {"kind", "DeschedulerPolicy"}, {"profiles", Json::array({profile})}}
      .dump();
}

std::string listed(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return "[" + text + "]";
}

Names moved_by(const Case& each, const api::DeschedulerPolicySpec& spec, const scheduling::ClusterSnapshot& cluster) {
  const planner::PlanSpec plan_spec(spec);
  planner::PlanInput input{.spec = plan_spec, .cluster = cluster, .leaving = {}, .now = each.now()};
  input.usage = usage_of(each);
  input.options.spend_pdbs = false;  // Upstream's dry run ignores budgets
  Names moved;
  for (const api::PlannedMove& move : planner::plan_cycle(input).moves) moved.insert(move.ns + "/" + move.pod);
  return moved;
}

Names expected_of(const Case& each) {
  Names names;
  for (const Json& ref : each.expect().at("evictedPodRefs"))
    names.insert(ref.at("namespace").get<std::string>() + "/" + ref.at("name").get<std::string>());
  return names;
}

}  // namespace

std::optional<Judgement> judge_converted(const Case& each) {
  if (each.kind() != "strategy") return std::nullopt;
  const auto cluster = snapshot_of(each);
  if (!is_comparable(each, *cluster)) return std::nullopt;
  const Json evictor = without_nulls(each.json.value("evictor", Json::object()));
  const convert::StrategyCatalogue catalogue{strategies::known_strategies(), strategies::validate};
  const auto conversion = convert::convert_upstream(policy_of(each, evictor), catalogue, {});
  if (!conversion.errors.empty()) return failed("not converted: " + conversion.errors.front().to_string());
  if (conversion.policies.size() != 1) return failed("no policy was written");
  const auto policy = api::decode_descheduler_policy(conversion.policies.front());
  if (!policy) return failed("what was written does not decode: " + policy.error().message);
  const Names moved = moved_by(each, policy->spec, *cluster);
  const Names expected = expected_of(each);
  const bool are_same = looks_at_capacity(each, evictor) ? std::ranges::includes(moved, expected) : moved == expected;
  return are_same ? Judgement{} : failed("moved " + listed(moved) + ", expected " + listed(expected));
}

}  // namespace conformance
