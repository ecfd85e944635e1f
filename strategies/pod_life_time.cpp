#include "strategies/pod_life_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strategies {
namespace {

constexpr std::array<std::string_view, 24> kLifeTimeStates = {
    "Running",
    "Pending",
    "Succeeded",
    "Failed",
    "Unknown",  // phases
    "NodeAffinity",
    "NodeLost",
    "Shutdown",
    "UnexpectedAdmissionError",  // reasons of the pod
    "PodInitializing",
    "ContainerCreating",
    "ImagePullBackOff",
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "ErrImagePull",
    "CreateContainerError",
    "InvalidImageName",  // waiting reasons of containers
    "OOMKilled",
    "Error",
    "Completed",
    "DeadlineExceeded",
    "Evicted",
    "ContainerCannotRun",
    "StartError",
};

bool owners_agree(const api::NamespaceFilter& kinds, const api::Pod& pod) {
  if (!kinds.include.empty()) return has_owner_of_kind(pod, kinds.include);
  return kinds.exclude.empty() || !has_owner_of_kind(pod, kinds.exclude);
}

std::string age_text(std::int64_t seconds) { return base::format_duration(base::seconds(seconds)); }

}  // namespace

PodLifeTime::Args PodLifeTime::Args::read(api::StrictObject& args) {
  Args parsed;
  parsed.scope = read_scope(args);
  parsed.owner_kinds = read_include_exclude(args, "ownerKinds");
  args.read("maxPodLifeTimeSeconds", parsed.max_seconds);
  if (parsed.max_seconds && *parsed.max_seconds < 0) args.complain("maxPodLifeTimeSeconds", "must not be negative");
  parsed.states = read_choices(args, "states", kLifeTimeStates);
  parsed.conditions = read_conditions(args, "conditions");
  parsed.exit_codes = read_integers(args, "exitCodes");
  args.read("includingInitContainers", parsed.init_containers);
  args.read("includingEphemeralContainers", parsed.ephemeral_containers);
  const bool has_criterion = args.find("maxPodLifeTimeSeconds") != nullptr || args.find("states") != nullptr ||
                             args.find("conditions") != nullptr || args.find("exitCodes") != nullptr;
  const bool all_empty =
      !parsed.max_seconds && parsed.states.empty() && parsed.conditions.empty() && parsed.exit_codes.empty();
  if (!has_criterion || (all_empty && args.errors().empty())) {
    args.errors().push_back(
        {args.path().text(), "needs at least one of maxPodLifeTimeSeconds, states, conditions and exitCodes"});
  }
  return parsed;
}

bool PodLifeTime::meets_criteria(const api::Pod& pod, base::TimePoint now) const {
  if (!args_.scope.includes(pod)) return false;
  if (args_.max_seconds) {
    const auto age = age_in_seconds(pod, now);
    if (!age || *age <= *args_.max_seconds) return false;
  }
  const ContainerScope for_states{args_.init_containers, args_.ephemeral_containers};
  const ContainerScope for_codes{args_.init_containers, false};
  if (!args_.states.empty() && matching_state(args_.states, pod, for_states).empty()) return false;
  if (!owners_agree(args_.owner_kinds, pod)) return false;
  if (!args_.conditions.empty() && matching_condition(args_.conditions, pod, now) == nullptr) return false;
  return args_.exit_codes.empty() || matching_exit_code(args_.exit_codes, pod, for_codes);
}

std::optional<std::string> PodLifeTime::reason_for(const api::Pod& pod, base::TimePoint now) const {
  if (!meets_criteria(pod, now)) return std::nullopt;
  std::vector<std::string> parts;
  if (args_.max_seconds) {
    parts.push_back(
        fmt::format("age {} is above {}", age_text(*age_in_seconds(pod, now)), age_text(*args_.max_seconds)));
  }
  if (!args_.states.empty()) {
    const ContainerScope scope{args_.init_containers, args_.ephemeral_containers};
    parts.push_back(fmt::format("state {}", matching_state(args_.states, pod, scope)));
  }
  if (!args_.conditions.empty()) {
    const api::Condition* condition = matching_condition(args_.conditions, pod, now);
    parts.push_back(fmt::format("condition {}={}", condition->type, api::to_string(condition->status)));
  }
  if (!args_.exit_codes.empty()) {
    const auto code = matching_exit_code(args_.exit_codes, pod, {args_.init_containers, false});
    parts.push_back(fmt::format("exit code {}", *code));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

base::Status PodLifeTime::nominate(const Context& context, NominationSink& sink) const {
  const scheduling::ClusterSnapshot& base = context.cluster.base();
  std::vector<PodIndex> pods;
  for (const NodeIndex node : context.nodes) {
    context.cluster.for_each_on(node, [&](PodIndex pod) {
      if (context.cluster.is_moved(pod) || !meets_criteria(base.pod(pod), context.now)) return;
      if (const auto refusal = context.evictability.refusal(pod)) {
        sink.refused(pod, *refusal);
      } else {
        pods.push_back(pod);
      }
    });
  }
  // Ties stay in the order of the nodes, then by name.
  std::ranges::stable_sort(pods, {}, [&](PodIndex pod) { return base.pod(pod).meta.creation_timestamp; });
  for (const PodIndex pod : pods) {
    if (const auto refusal = context.evictability.refusal_before_eviction(pod, context.cluster)) {
      sink.refused(pod, *refusal);
      continue;
    }
    // A node or namespace that is at its limit says nothing about the next pod: it may be elsewhere.
    const auto reason = reason_for(base.pod(pod), context.now);
    if (sink.offer(pod, reason.value_or("")) == Verdict::kTotalLimit) break;
  }
  return base::Done{};
}

}  // namespace strategies
