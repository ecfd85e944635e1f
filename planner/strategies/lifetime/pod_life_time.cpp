#include "planner/strategies/lifetime/pod_life_time.hpp"

#include <array>

#include "planner/strategies/lifetime/listing.hpp"

namespace strategies {
namespace {

constexpr std::array<std::string_view, 24> kLifeTimeStates = {
    // phases
    "Running", "Pending", "Succeeded", "Failed", "Unknown",
    // reasons of the pod
    "NodeAffinity", "NodeLost", "Shutdown", "UnexpectedAdmissionError",
    // waiting reasons of containers
    "PodInitializing", "ContainerCreating", "ImagePullBackOff", "CrashLoopBackOff", "CreateContainerConfigError",
    "ErrImagePull", "CreateContainerError", "InvalidImageName",
    // terminated reasons of containers
    "OOMKilled", "Error", "Completed", "DeadlineExceeded", "Evicted", "ContainerCannotRun", "StartError"};

}  // namespace

PodLifeTime PodLifeTime::read(api::StrictObject& args) {
  PodLifeTime parsed;
  parsed.scope = read_scope(args);
  parsed.owner_kinds = read_include_exclude(args, "ownerKinds");
  args.read("maxPodLifeTimeSeconds", parsed.max_seconds);
  if (parsed.max_seconds && *parsed.max_seconds < 0) args.complain("maxPodLifeTimeSeconds", "must not be negative");
  parsed.states = read_choices(args, "states", kLifeTimeStates);
  parsed.conditions = read_conditions(args, "conditions");
  parsed.exit_codes = read_integers(args, "exitCodes");
  args.read("includingInitContainers", parsed.init_containers);
  args.read("includingEphemeralContainers", parsed.ephemeral_containers);
  parsed.terminal_pods = TerminalPods::read(args);
  require_consent(args, "states", parsed.states, parsed.terminal_pods);
  const bool has_criterion = args.find("maxPodLifeTimeSeconds") != nullptr || args.find("states") != nullptr ||
                             args.find("conditions") != nullptr || args.find("exitCodes") != nullptr;
  const bool all_empty =
      !parsed.max_seconds && parsed.states.empty() && parsed.conditions.empty() && parsed.exit_codes.empty();
  if (!has_criterion || (all_empty && args.errors().empty())) {
    args.errors().push_back(
        {args.path().text(), "requires at least one of maxPodLifeTimeSeconds, states, conditions and exitCodes"});
  }
  return parsed;
}

Criteria PodLifeTime::criteria() const {
  Criteria all;
  if (max_seconds) all.add(older_than(*max_seconds));
  if (!states.empty()) all.add(in_state(states, {init_containers, ephemeral_containers}));
  if (!owner_kinds.include.empty() || !owner_kinds.exclude.empty()) all.add(owned_by(owner_kinds));
  if (!conditions.empty()) all.add(in_condition(conditions));
  if (!exit_codes.empty()) all.add(with_exit_code(exit_codes, {init_containers, false}));
  return all;
}

base::Status PodLifeTime::nominate(const StrategyContext& context, NominationSink& sink) const {
  return offer_oldest_first(context, sink, *this);
}

}  // namespace strategies
