#include "cmd/drain/pod_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "api/pod_group.hpp"
#include "cmd/drain/request.hpp"
#include "cmd/table.hpp"

namespace cmd::plugin {
namespace {

constexpr std::size_t kMaxMembersNamed = 5;

/// Returns the pod's group if the pod still has to leave with it, nullopt if the pod leaves alone or stays.
std::optional<api::PodGroup> open_pod_group(const api::Pod& pod) {
  return api::is_active_member(pod) ? api::pod_group_of(pod) : std::nullopt;
}

const api::Evacuation* unfinished_of(const api::Pod& pod, const std::vector<api::Evacuation>& known) {
  const auto at = std::ranges::find_if(known, [&](const api::Evacuation& each) {
    return is_about(each, pod) && !api::is_terminal(each.status.phase) && !each.spec.dry_run;
  });
  return at == known.end() ? nullptr : &*at;
}

bool has_begun(const api::Pod& pod, const std::vector<api::Evacuation>& known) {
  const api::Evacuation* evacuation = unfinished_of(pod, known);
  return evacuation && evacuation->status.attempt > 0;
}

auto leaving_order(const api::Pod& pod) { return std::tuple(api::pod_group_of(pod)->order, pod.meta.name); }

/// Returns the members of the group that are neither chosen nor have an Evacuation.
std::vector<api::Pod> missing_of(const IncompletePodGroup& rest, const PodGroupNamespaces& world) {
  std::vector<api::Pod> missing;
  for (const api::Pod& pod : world.pods) {
    const auto pod_group = open_pod_group(pod);
    if (pod.meta.ns != rest.ns || !pod_group || pod_group->name != rest.name) continue;
    if (!is_among(rest.chosen, pod) && !unfinished_of(pod, world.evacuations)) missing.push_back(pod);
  }
  std::ranges::sort(missing, {}, leaving_order);
  return missing;
}

/// Returns whether a member on another node may join the drain.
DrainVerdict judge_member(const api::Pod& pod, const IncompletePodGroup& rest, const DrainRules& rules) {
  if (const std::string why = why_not_evacuable(pod); !why.empty()) {
    return {DrainAction::kRefuse,
            fmt::format("{} is also required, because PodGroup {} leaves as a whole; but {}", pod.meta.name, rest.name,
                        why),
            {},
            {}};
  }
  DrainVerdict verdict = judge(pod, rules);
  const std::string with = fmt::format("leaves {} with PodGroup {}", pod.node_name.value, rest.name);
  if (verdict.fate == DrainAction::kRefuse) verdict.reason = with + ", and " + verdict.reason;
  verdict.warning = verdict.warning.empty() ? with : with + "; " + verdict.warning;
  return verdict;
}

void bring_along(DrainPlan& plan, const IncompletePodGroup& rest, const DrainRules& rules) {
  const auto first =
      std::ranges::find_if(plan.moves, [&](const DrainMove& move) { return is_among(rest.chosen, move.pod); });
  const DrainRank rank = first->rank;
  const std::int32_t priority = first->priority;
  std::vector<DrainMove> joining;
  for (const api::Pod& pod : rest.missing) {
    DrainVerdict verdict = judge_member(pod, rest, rules);
    if (verdict.fate == DrainAction::kEvacuate) {
      joining.push_back({pod, rank, priority, std::move(verdict.warning)});
    } else {
      plan.refused.push_back({pod.meta.key(), std::move(verdict)});
    }
  }
  plan.moves.insert(first + 1, joining.begin(), joining.end());
}

void refuse(DrainPlan& plan, const IncompletePodGroup& rest) {
  const std::string why = why_not_evacuable(rest);
  const DrainVerdict verdict{
      DrainAction::kRefuse,
      fmt::format("leaves with PodGroup {} as a whole, and {}", rest.name,
                  why.empty() ? "these members have no Evacuation: " + members_text(rest.missing) : why),
      why.empty() ? std::string(kWholeGroup) : std::string(),
      {}};
  for (const api::Pod& pod : rest.chosen) plan.refused.push_back({pod.meta.key(), verdict});
  std::erase_if(plan.moves, [&](const DrainMove& move) { return is_among(rest.chosen, move.pod); });
}

}  // namespace

bool is_among(const std::vector<api::Pod>& pods, const api::Pod& pod) {
  return std::ranges::any_of(pods, [&](const api::Pod& each) { return each.uid() == pod.uid(); });
}

base::Result<PodGroupNamespaces> read_pod_group_world(Session& session, const std::vector<api::Pod>& chosen) {
  std::set<std::string> namespaces;
  for (const api::Pod& pod : chosen)
    if (open_pod_group(pod)) namespaces.insert(pod.meta.ns);
  PodGroupNamespaces world;
  for (const std::string& ns : namespaces) {
    auto pods = session.pods(listing(ns));
    if (!pods) return pods.error();
    world.pods.insert(world.pods.end(), std::make_move_iterator(pods->begin()), std::make_move_iterator(pods->end()));
    const auto evacuations = session.evacuations(listing(ns));
    if (!evacuations) return evacuations.error();
    std::ranges::move(values_of(*evacuations), std::back_inserter(world.evacuations));
  }
  return world;
}

std::vector<IncompletePodGroup> incomplete_pod_groups(const std::vector<api::Pod>& chosen,
                                                      const PodGroupNamespaces& world) {
  std::map<std::pair<std::string, std::string>, IncompletePodGroup> pod_groups;
  for (const api::Pod& pod : chosen) {
    const auto pod_group = open_pod_group(pod);
    if (!pod_group || !why_not_evacuable(pod).empty() || has_begun(pod, world.evacuations)) continue;
    IncompletePodGroup& rest = pod_groups[{pod.meta.ns, pod_group->name}];
    rest.ns = pod.meta.ns;
    rest.name = pod_group->name;
    if (!is_among(rest.chosen, pod)) rest.chosen.push_back(pod);
  }
  std::vector<IncompletePodGroup> incomplete;
  for (auto& [key, rest] : pod_groups) {
    rest.missing = missing_of(rest, world);
    std::ranges::sort(rest.chosen, {}, [](const api::Pod& pod) { return pod.meta.name; });
    if (!rest.missing.empty()) incomplete.push_back(std::move(rest));
  }
  return incomplete;
}

std::string members_text(const std::vector<api::Pod>& pods) {
  std::vector<std::string> names;
  for (const api::Pod& pod : pods)
    names.push_back(pod.node_name.empty() ? pod.meta.name : fmt::format("{} ({})", pod.meta.name, pod.node_name.value));
  return first_names(std::move(names), kMaxMembersNamed);
}

std::string why_not_evacuable(const IncompletePodGroup& rest) {
  for (const api::Pod& pod : rest.missing) {
    const std::string why = why_not_evacuable(pod);
    if (!why.empty()) return fmt::format("{} of its members cannot leave: {}", pod.meta.name, why);
  }
  return {};
}

void add_pod_groups(DrainPlan& plan, const PodGroupNamespaces& world, const DrainRules& rules, bool whole_groups) {
  std::vector<api::Pod> chosen;
  for (const DrainMove& move : plan.moves) chosen.push_back(move.pod);
  for (const IncompletePodGroup& rest : incomplete_pod_groups(chosen, world)) {
    if (whole_groups) {
      bring_along(plan, rest, rules);
    } else {
      refuse(plan, rest);
    }
  }
}

}  // namespace cmd::plugin
