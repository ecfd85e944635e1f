#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/core/codec.hpp"
#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "api/json/json.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "cmd/drain/drain.hpp"
#include "cmd/drain/node.hpp"
#include "cmd/drain/progress.hpp"
#include "cmd/drain/request.hpp"
#include "cmd/drain/requester.hpp"
#include "cmd/explain/opinion.hpp"
#include "cmd/plugin/commands.hpp"
#include "cmd/plugin/follow.hpp"
#include "cmd/session/target.hpp"
#include "cmd/table.hpp"

namespace cmd::plugin {
namespace {

std::string age_of(const std::optional<base::TimePoint>& time, base::TimePoint now) {
  if (!time) return "";
  return *time > now ? "in " + base::format_age(*time - now) : base::format_age(now - *time) + " ago";
}

std::string mode_of(const api::DeschedulerPolicy& policy) {
  return std::string(to_string(policy.spec.mode)) + (policy.spec.suspend ? " (suspended)" : "");
}

std::string ready_of(const api::DeschedulerPolicy& policy, bool colour) {
  const api::Condition* ready = api::find_condition(policy.status.conditions, api::ConditionType::kReady);
  if (!ready) return "";
  const bool fine = ready->status == api::ConditionStatus::kTrue;
  const std::string text = fine ? "True" : std::string(to_string(ready->status)) + "/" + ready->reason;
  return paint(text, fine ? Tone::kGood : Tone::kBad, colour);
}

std::string plan_text(const api::DeschedulerPolicy& policy) {
  Table table({"NAMESPACE", "POD", "FROM", "TO", "STRATEGY", "WHY"});
  for (const api::PlannedMove& move : policy.status.plan)
    table.add_row({move.ns, move.pod, move.from, move.to, move.strategy, one_line(move.reason)});
  std::string text = table.render("  ");
  if (policy.status.plan_truncated) text += "  … and more\n";
  return text;
}

std::string cycle_text(const api::LastCycle& cycle, base::TimePoint now) {
  std::string text =
      fmt::format("  last cycle {} ago: {} nodes and {} pods in scope, {} nominated, {} Evacuations created\n",
                  base::format_age(now - cycle.start), cycle.nodes, cycle.pods, cycle.nominated, cycle.created);
  for (const api::ReasonCount& refused : cycle.refused)
    text += fmt::format("    refused {:>5}  {}\n", refused.count, refused.reason);
  return text;
}

std::string cordon_words(const api::Node& node) {
  if (!node.unschedulable) return "schedulable";
  const std::string& by = node.meta.annotations.value(kCordonedBy);
  return by.empty() ? "cordoned" : "cordoned for its drain by " + one_line(by);
}

/// Returns the columns MODE, READY, ACTIVE, EVICTED, NOMINATED, LAST CYCLE, NEXT for each policy.
std::string policy_table(const std::vector<api::DeschedulerPolicy>& policies, base::TimePoint now, bool colour) {
  Table table({"POLICY", "MODE", "READY", "NOMINATED", "ACTIVE", "EVICTED", "LAST CYCLE", "NEXT"});
  for (const api::DeschedulerPolicy& policy : policies) {
    const auto& cycle = policy.status.last_cycle;
    table.add_row({policy.meta.name, mode_of(policy), ready_of(policy, colour),
                   cycle ? std::to_string(cycle->nominated) : "", std::to_string(policy.status.active),
                   std::to_string(policy.status.evicted), cycle ? age_of(cycle->start, now) : "",
                   age_of(policy.status.next_cycle_time, now)});
  }
  return table.render();
}

/// Returns the conditions, last cycle, refusals and plan of one policy.
std::string policy_text(const api::DeschedulerPolicy& policy, base::TimePoint now, bool colour) {
  std::string text = fmt::format("policy/{}: mode {}, {} Evacuations active, {} pods moved so far\n", policy.meta.name,
                                 mode_of(policy), policy.status.active, policy.status.evicted);
  for (const api::Condition& condition : policy.status.conditions) {
    text += fmt::format("  {} is {}{}{}\n", condition.type, to_string(condition.status),
                        condition.reason.empty() ? "" : " (" + one_line(condition.reason) + ")",
                        condition.message.empty() ? "" : ": " + one_line(condition.message));
  }
  if (policy.status.last_cycle) text += cycle_text(*policy.status.last_cycle, now);
  if (policy.status.next_cycle_time)
    text += fmt::format("  next cycle {}\n", age_of(policy.status.next_cycle_time, now));
  if (!policy.status.plan.empty()) text += "\n" + paint("Plan", Tone::kStrong, colour) + "\n" + plan_text(policy);
  return text;
}

api::Json policy_json(const api::DeschedulerPolicy& policy) {
  return {{"name", policy.meta.name},
          {"mode", to_string(policy.spec.mode)},
          {"suspended", policy.spec.suspend},
          {"status", api::encode_status(policy.status)}};
}

/// A node with its drain plan and Evacuations.
struct NodeView {
  api::Node node;
  DrainPlan plan;                            ///< plan with every flag set, that is, all pods that can be evacuated
  std::vector<api::Evacuation> evacuations;  ///< Evacuations from this node, newest per pod
};
/// Returns the plan's pods that have no unfinished Evacuation.
std::vector<DrainMove> unasked(const NodeView& view) {
  std::vector<DrainMove> left;
  for (const DrainMove& move : view.plan.moves) {
    const bool asked = std::ranges::any_of(view.evacuations, [&](const api::Evacuation& each) {
      return is_about(each, move.pod) && !api::is_terminal(each.status.phase);
    });
    if (!asked) left.push_back(move);
  }
  return left;
}

std::string node_text(const NodeView& view, base::TimePoint now, bool colour) {
  std::string text =
      fmt::format("node/{}: {}; {} pods can be moved, {} stay or leave without an Evacuation\n", view.node.meta.name,
                  cordon_words(view.node), view.plan.moves.size(), view.plan.skipped.size());
  if (!view.evacuations.empty()) {
    std::vector<api::Evacuation> sorted = view.evacuations;
    sort_for_display(sorted);
    text += "\n" + progress_line("Evacuations", progress_of(sorted), true) + "\n";
    text += evacuation_table(sorted, true, now, colour);
  }
  const auto left = unasked(view);
  if (left.empty()) return text;
  Table table({"NAMESPACE", "POD", "KIND", "NOTE"});
  for (const DrainMove& move : left)
    table.add_row({move.pod.meta.ns, move.pod.meta.name, std::string(to_string(move.rank)), move.warning});
  return text +
         fmt::format("\n{} pods without a running Evacuation (kubectl evacuator node {} requests them)\n", left.size(),
                     view.node.meta.name) +
         table.render();
}

api::Json progress_json(const Progress& progress) {
  return {{"total", progress.total},        {"gone", progress.gone},           {"moving", progress.moving},
          {"waiting", progress.waiting},    {"suspended", progress.suspended}, {"failed", progress.failed},
          {"cancelled", progress.cancelled}};
}

api::Json node_json(const NodeView& view) {
  api::Json json = {{"node", view.node.meta.name},
                    {"schedulable", !view.node.unschedulable},
                    {"cordonedBy", view.node.meta.annotations.value(kCordonedBy)},
                    {"progress", progress_json(progress_of(view.evacuations))}};
  json["evacuations"] = api::Json::array();
  for (const api::Evacuation& each : view.evacuations) {
    json["evacuations"].push_back({{"namespace", each.meta.ns},
                                   {"name", each.meta.name},
                                   {"pod", each.spec.pod_ref.name},
                                   {"phase", to_string(each.status.phase)},
                                   {"standing", to_string(progress_state_of(each))},
                                   {"detail", detail_of(each)}});
  }
  json["withoutEvacuation"] = api::Json::array();
  for (const DrainMove& move : unasked(view))
    json["withoutEvacuation"].push_back(
        {{"namespace", move.pod.meta.ns}, {"pod", move.pod.meta.name}, {"kind", to_string(move.rank)}});
  json["stay"] = api::Json::array();
  for (const BlockedPod& stay : view.plan.skipped)
    json["stay"].push_back({{"namespace", stay.pod.ns}, {"pod", stay.pod.name}, {"reason", stay.verdict.reason}});
  return json;
}

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
      return missing ? kExitFailed : fail(io, missing.error());
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

int run_status(Session& session, const std::string& text) {
  if (text.empty()) return overview(session);
  const auto target = parse_target(text, TargetKind::kEvacuation);
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
