#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/json/json_access.hpp"
#include "cmd/explain/admission.hpp"
#include "cmd/explain/opinion.hpp"
#include "cmd/plugin/commands.hpp"
#include "cmd/session/cluster.hpp"
#include "cmd/session/target.hpp"

namespace cmd::plugin {
namespace {

const kube::ResourceType kConfigMaps{"", "v1", "configmaps", "ConfigMap"};

/// Returns the limits in the operator's ConfigMap, nullopt if it cannot be found or read. Its name has a hash of the
/// content, so older versions may exist; the newest one counts.
std::optional<api::AdmissionLimits> operator_limits(Session& session) {
  kube::ListOptions options;
  options.ns = session.flags().operator_namespace;
  options.label_selector = "app.kubernetes.io/name=evacuator";
  const auto maps = session.list(kConfigMaps, options);
  if (!maps) return std::nullopt;
  std::optional<std::pair<base::TimePoint, api::AdmissionLimits>> newest;
  for (const std::string& text : *maps) {
    const auto json = api::parse_json(text);
    const auto meta = api::decode_meta(text);
    const std::string config = json ? api::text_at(*json, {"data", "config.yaml"}) : "";
    if (!meta || config.empty()) continue;  // a ConfigMap with the same label but another purpose
    const auto limits = cluster_limits_of(config);
    if (limits && (!newest || newest->first < meta->creation_timestamp)) newest = {meta->creation_timestamp, *limits};
  }
  return newest ? std::optional(newest->second) : std::nullopt;
}

AdmissionInput admission_world(Session& session, const LiveCluster& cluster) {
  AdmissionInput world;
  const auto limits = operator_limits(session);
  world.cluster_known = limits.has_value();
  world.cluster = limits.value_or(default_cluster_limits());
  world.policies = cluster.policies;
  world.evacuations = cluster.evacuations;
  if (!cluster.snapshot) return world;
  for (const auto& node : cluster.snapshot->nodes) world.nodes.push_back(*node);
  return world;
}

/// Predicts admission for each nomination. Skips pods that are already leaving.
void ask_admission(Explanation& explanation, const AdmissionInput& world, base::TimePoint now) {
  if (!explanation.pod || explanation.pod->meta.is_terminating() || explanation.pod->is_terminal()) return;
  const bool moving = std::ranges::any_of(explanation.of_pod, [&](const api::Evacuation& each) {
    return !api::is_terminal(each.status.phase) && each.spec.pod_ref.uid == explanation.pod->uid();
  });
  if (moving) return;
  for (PolicyOpinion& opinion : explanation.policies) {
    if (opinion.verdict != PolicyVerdict::kNominates) continue;
    const auto policy = std::ranges::find(world.policies, opinion.policy,
                                          [](const api::DeschedulerPolicy& each) { return each.meta.name; });
    opinion.admission = admission_of(*explanation.pod, &*policy, opinion.target, world, now);
  }
  explanation.manual = admission_of(*explanation.pod, nullptr, "", world, now);
}

}  // namespace

int run_explain(Session& session, const LiveExplainOptions& options) {
  Io& io = session.io();
  const auto target = parse_target(options.target, TargetKind::kPod);
  if (!target) return fail(io, target.error());
  if (target->kind != TargetKind::kPod) {
    return fail(io, base::invalid(fmt::format("explain supports pods; for a {}: kubectl evacuator status {}",
                                              to_string(target->kind), options.target)));
  }
  Explanation explanation;
  explanation.key = {session.ns(), target->name};
  auto pod = session.pod(explanation.key);
  if (!pod && !base::is_not_found(pod.error())) return fail(io, pod.error());
  if (pod) explanation.pod = *pod;
  LiveCluster cluster = read_cluster(session, session.ns());
  explanation.problems = cluster.problems;
  assign_evacuations(explanation, cluster.evacuations);
  explanation.cycles = cycle_verdicts(cluster.policies, explanation.key, pod ? pod->meta.uid : "");
  if (!pod && explanation.of_pod.empty() && explanation.cycles.empty()) return fail(io, pod.error());
  if (explanation.pod) {
    const auto budgets = budgets_in(session, session.ns());
    const scheduling::SnapshotInput::List<api::Pod> none;
    if (budgets)
      explanation.budgets = budgets_of(*explanation.pod, *budgets, cluster.snapshot ? cluster.snapshot->pods : none);
  }
  AdmissionInput world = admission_world(session, cluster);
  cluster.policies.insert(cluster.policies.end(), options.policies.begin(), options.policies.end());
  if (explanation.pod && cluster.snapshot)
    evaluate_policies(explanation, *std::move(cluster.snapshot), cluster.policies, cluster.evacuations, session.now(),
                      cluster.server_minor);
  world.policies = cluster.policies;
  ask_admission(explanation, world, session.now());
  explanation.past = options.past;
  return session.show(render(explanation, session.now(), io.colour), as_json(explanation));
}

}  // namespace cmd::plugin
