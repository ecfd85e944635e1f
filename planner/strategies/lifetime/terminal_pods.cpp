#include "planner/strategies/lifetime/terminal_pods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "planner/strategies/lifetime/criteria.hpp"

namespace strategies {
namespace {

/// StatefulSets and DaemonSets delete their terminal pods to replace them; the controllers of Argo and Tekton have
/// their own cleanup. Jobs are checked individually.
constexpr std::array<std::string_view, 5> kCleanedUpBy = {"StatefulSet", "DaemonSet", "Workflow", "TaskRun",
                                                          "PipelineRun"};
constexpr std::array<std::string_view, 2> kTerminalPhases = {"Succeeded", "Failed"};

void read_retention(api::StrictObject& object, TerminalPods::Retention& retention) {
  object.read("keepSeconds", retention.keep);
  if (retention.keep < base::seconds(0)) object.complain("keepSeconds", "must not be negative");
  object.read("keepNewest", retention.keep_newest);
}

std::int64_t whole_seconds_of(base::Duration duration) {
  return std::chrono::duration_cast<base::seconds>(duration).count();
}

/// Returns equal keys for pods of one controller, or else of one first owner, and for pods without owners in one
/// namespace.
std::string owner_key_of(const api::Pod& pod) {
  if (const api::OwnerReference* controller = pod.meta.controller()) return controller->uid;
  return pod.meta.owner_references.empty() ? "ns/" + pod.meta.ns : pod.meta.owner_references.front().uid;
}

}  // namespace

TerminalPods TerminalPods::read(api::StrictObject& args, bool evict) {
  TerminalPods parsed;
  parsed.evict = evict;
  parsed.cleaned_up_by.assign(kCleanedUpBy.begin(), kCleanedUpBy.end());
  args.with("terminalPods", [&](api::StrictObject& object) {
    object.read("evict", parsed.evict);
    read_retention(object, parsed.otherwise);
    object.read("cleanedUpBy", parsed.cleaned_up_by);
    object.for_each("retention", [&](const api::Json& item, const api::FieldPath& path) {
      api::StrictObject entry(item, path, object.errors());
      Retention& retention = parsed.retention.emplace_back();
      retention.scope = read_scope(entry);
      retention.owner_kinds = read_include_exclude(entry, "ownerKinds");
      read_retention(entry, retention);
      entry.finish();
    });
  });
  return parsed;
}

void require_consent(api::StrictObject& args, std::string_view name, const std::vector<std::string>& states,
                     const TerminalPods& terminal) {
  if (terminal.evict) return;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (std::ranges::find(kTerminalPhases, states[i]) == kTerminalPhases.end()) continue;
    args.errors().push_back(
        {args.path().field(name).index(i).text(),
         fmt::format("{} selects pods that have terminated; set terminalPods: {{evict: true}} to remove them",
                     states[i])});
  }
}

base::TimePoint end_of(const api::Pod& pod) {
  base::TimePoint end = pod.meta.creation_timestamp;
  for (const api::ContainerStatus& status : pod.container_statuses) {
    if (status.finished_at) end = std::max(end, *status.finished_at);
  }
  return end;
}

TerminalPodRules::TerminalPodRules(const TerminalPods& spec, const StrategyContext& context)
    : spec_(spec), context_(context) {
  const auto counts = [](const TerminalPods::Retention& retention) { return retention.keep_newest > 0; };
  if (spec_.evict && !context.is_upstream() &&
      (counts(spec_.otherwise) || std::ranges::any_of(spec_.retention, counts))) {
    rank_by_end();
  }
}

void TerminalPodRules::rank_by_end() {
  const auto& cluster = context_.cluster.base();
  std::map<std::string, std::vector<PodIndex>> by_owner;
  for (const PodIndex pod : cluster.pods()) {
    if (!cluster.is_active(pod)) by_owner[owner_key_of(cluster.pod(pod))].push_back(pod);
  }
  for (auto& [key, pods] : by_owner) {
    std::ranges::stable_sort(pods, std::ranges::greater{}, [&](PodIndex pod) { return end_of(cluster.pod(pod)); });
    for (std::uint32_t i = 0; i < pods.size(); ++i) rank_.emplace(pods[i], i);
  }
}

const TerminalPods::Retention& TerminalPodRules::retention_of(const api::Pod& pod) const {
  const auto speaks_about = [&](const TerminalPods::Retention& entry) {
    return entry.scope.includes(pod) && is_owned_by(pod, entry.owner_kinds);
  };
  const auto at = std::ranges::find_if(spec_.retention, speaks_about);
  return at == spec_.retention.end() ? spec_.otherwise : *at;
}

std::optional<Refusal> TerminalPodRules::cleaned_up_by_owner(const api::Pod& pod) const {
  for (const api::OwnerReference& owner : pod.meta.owner_references) {
    if (std::ranges::find(spec_.cleaned_up_by, owner.kind) != spec_.cleaned_up_by.end()) {
      return Refusal{"CleanedUpByOwner", "its {subject} removes terminal pods itself", owner.kind};
    }
    if (owner.kind != "Job") continue;
    const api::Workload* job = context_.cluster.base().find_workload(owner.uid);
    if (job == nullptr) continue;
    if (job->ttl_seconds_after_finished) {
      return Refusal{"CleanedUpByOwner",
                     "its Job {subject} is deleted {wanted} s after it finished, together with the pod", owner.name,
                     *job->ttl_seconds_after_finished};
    }
    if (!job->meta.owner_references.empty()) {
      return Refusal{"CleanedUpByOwner", "the owner of its Job {subject} keeps a history of Jobs", owner.name};
    }
  }
  return std::nullopt;
}

std::optional<Refusal> TerminalPodRules::refusal(PodIndex pod) const {
  const api::Pod& object = context_.cluster.base().pod(pod);
  if (!object.is_terminal() || context_.is_upstream()) return std::nullopt;
  if (!spec_.evict) {
    return Refusal{"TerminalPod", "it has terminated, and terminalPods.evict is not set"};
  }
  if (auto refusal = cleaned_up_by_owner(object)) return refusal;
  const TerminalPods::Retention& retention = retention_of(object);
  const base::TimePoint end = end_of(object);
  if (end == base::TimePoint{} && (retention.keep.count() > 0 || retention.keep_newest > 0)) {
    return Refusal{"TerminalPodKept", "the time of its termination is unknown"};
  }
  const base::Duration since = context_.now - end;
  if (since < retention.keep) {
    return Refusal{"TerminalPodKept", "it terminated {available} s ago and is kept for {wanted} s", "",
                   retention.keep.count(), whole_seconds_of(since)};
  }
  if (retention.keep_newest == 0) return std::nullopt;
  const auto rank = rank_.find(pod);
  if (rank == rank_.end() || rank->second >= retention.keep_newest) return std::nullopt;
  return Refusal{"TerminalPodKept", "it is one of the {wanted} newest terminal pods of its owner", "",
                 retention.keep_newest};
}

}  // namespace strategies
