#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "cmd/drain/node.hpp"
#include "cmd/drain/requester.hpp"
#include "cmd/explain/opinion.hpp"
#include "cmd/plugin/commands.hpp"
#include "cmd/plugin/status_view.hpp"
#include "cmd/session/target.hpp"

namespace cmd::plugin {
namespace {

base::Result<api::DeschedulerPolicy> decode_policy(std::string_view text) {
  return api::decode_descheduler_policy(text);
}

int overview(Session& session) {
  Io& io = session.io();
  const auto stored = session.evacuations(listing(session.scope()));
  if (!stored) return fail(io, stored.error());
  if (session.flags().output == "name") {
    session.print_raw(*stored);
    return kDone;
  }
  std::vector<api::Evacuation> evacuations = values_of(*stored);
  sort_for_display(evacuations);
  const auto listed = session.readable(kube::kPolicies, decode_policy);
  const auto policies = listed ? *listed : std::vector<api::DeschedulerPolicy>();  // users may lack access to them
  const Progress progress = progress_of(newest_per_pod(evacuations));
  const std::string warning = session.operator_warning();
  if (!session.is_human_readable()) {
    api::Json json = {
        {"warning", warning}, {"progress", progress_json(progress)}, {"evacuations", raw_objects(*stored)}};
    json["policies"] = api::Json::array();
    for (const auto& policy : policies) json["policies"].push_back(policy_json(policy));
    print_value(io, session.flags().output, json);
    return kDone;
  }
  if (!warning.empty()) io.err("Warning: " + warning + "\n");
  if (!policies.empty()) io.out(policy_table(policies, session.now(), io.colour) + "\n");
  if (evacuations.empty()) {
    io.out(session.scope().empty()
               ? std::string("No Evacuations.\n")
               : fmt::format("No Evacuations in namespace {} (-A: all namespaces).\n", session.ns()));
    return kDone;
  }
  io.out(evacuation_table(evacuations, session.flags().all_namespaces, session.now(), io.colour) + summary(progress) +
         "\n");
  return kDone;
}

int node_status(Session& session, const std::string& name) {
  auto node = session.node(name);
  if (!node) return fail(session.io(), node.error());
  auto pods = pods_on_node(session, name);
  if (!pods) return fail(session.io(), pods.error());
  auto stored = session.evacuations({});
  if (!stored) return fail(session.io(), stored.error());
  std::erase_if(*stored, [&](const StoredEvacuation& each) { return each.evacuation.spec.node_name.value != name; });
  OwnerReplicas replicas(session);
  const DrainRules everything{.ignore_daemonsets = true, .delete_emptydir_data = true, .force = true};
  const NodeView view{*std::move(node),
                      plan_drain(*std::move(pods), everything, [&](const api::Pod& pod) { return replicas(pod); }),
                      newest_per_pod(values_of(*stored))};
  return session.show(node_text(view, session.now(), session.io().colour), node_json(view));
}

int policy_status(Session& session, const std::string& name) {
  const auto policy = session.policy(name);
  if (!policy) return fail(session.io(), policy.error());
  return session.show(policy_text(*policy, session.now(), session.io().colour), policy_json(*policy));
}

/// Explains a pod or an Evacuation without evaluating policies.
int story(Session& session, const Target& target) {
  Io& io = session.io();
  const auto stored = session.evacuations(listing(session.ns()));
  if (!stored) return fail(io, stored.error());
  Explanation explanation;
  explanation.key = {session.ns(), target.name};
  std::vector<api::Evacuation> all = values_of(*stored);
  if (target.kind == TargetKind::kEvacuation) {
    const auto found = std::ranges::find(all, target.name, [](const auto& each) { return each.meta.name; });
    if (found == all.end()) {
      const auto missing = session.get(kube::kEvacuations, explanation.key);  // use the server's error message
      return missing ? kFailed : fail(io, missing.error());
    }
    explanation.key.name = found->spec.pod_ref.name;
    all = {*found};
  }
  auto pod = session.pod(explanation.key);
  if (pod) explanation.pod = *pod;
  assign_evacuations(explanation, all);
  if (!pod && (explanation.of_pod.empty() || !base::is_not_found(pod.error()))) return fail(io, pod.error());
  return session.show(render(explanation, session.now(), io.colour), as_json(explanation));
}

}  // namespace

int run_status(Session& session, const StatusOptions& options) {
  if (options.target.empty()) return overview(session);
  const auto target = parse_target(options.target, TargetKind::kEvacuation);
  if (!target) return fail(session.io(), target.error());
  switch (target->kind) {
    case TargetKind::kNode: return node_status(session, target->name);
    case TargetKind::kPolicy: return policy_status(session, target->name);
    case TargetKind::kPod:
    case TargetKind::kEvacuation: return story(session, *target);
  }
  std::abort();
}

}  // namespace cmd::plugin
