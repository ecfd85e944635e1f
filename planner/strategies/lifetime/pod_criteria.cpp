#include "planner/strategies/lifetime/pod_criteria.hpp"

#include <algorithm>
#include <array>

#include "planner/strategies/lifetime/listing.hpp"

namespace strategies {
namespace {

constexpr std::array kCriteriaPhases = {api::PodPhase::kPending, api::PodPhase::kRunning, api::PodPhase::kSucceeded,
                                        api::PodPhase::kFailed, api::PodPhase::kUnknown};

std::vector<std::string> read_phases(api::StrictObject& args, std::vector<api::PodPhase>& phases) {
  std::array<std::string_view, kCriteriaPhases.size()> names;
  std::ranges::transform(kCriteriaPhases, names.begin(), [](api::PodPhase phase) { return api::to_string(phase); });
  auto chosen = read_choices(args, "phases", names);
  for (const std::string& name : chosen) {
    const auto at = std::ranges::find(names, name);
    if (at != names.end()) phases.push_back(kCriteriaPhases[static_cast<std::size_t>(at - names.begin())]);
  }
  return chosen;
}

void read_restarts(api::StrictObject& args, std::optional<RestartCriterion>& target) {
  args.with("restarts", [&](api::StrictObject& object) {
    RestartCriterion restarts;
    object.read("atLeast", restarts.at_least);
    object.read("withinSeconds", restarts.within);
    if (restarts.at_least < 1) object.complain("atLeast", "must be at least 1");
    if (restarts.within && *restarts.within < base::seconds(1)) object.complain("withinSeconds", "must be at least 1");
    target = restarts;
  });
}

}  // namespace

PodCriteria PodCriteria::read(api::StrictObject& args) {
  PodCriteria parsed;
  const std::size_t before = args.errors().size();
  parsed.scope = read_scope(args);
  parsed.owner_kinds = read_include_exclude(args, "ownerKinds");
  args.read("minAgeSeconds", parsed.min_age_seconds);
  if (parsed.min_age_seconds && *parsed.min_age_seconds < 0) args.complain("minAgeSeconds", "must not be negative");
  const auto phases = read_phases(args, parsed.phases);
  args.read("reasons", parsed.reasons);
  parsed.exit_codes = read_integers(args, "exitCodes");
  parsed.conditions = read_conditions(args, "conditions");
  read_restarts(args, parsed.restarts);
  args.read("includingInitContainers", parsed.containers.init);
  args.read("includingEphemeralContainers", parsed.containers.ephemeral);
  args.read("includingLastState", parsed.containers.last_state);
  if (parsed.containers.last_state && parsed.reasons.empty() && parsed.exit_codes.empty())
    args.complain("includingLastState", "requires reasons or exitCodes");
  parsed.terminal_pods = TerminalPods::read(args);
  require_consent(args, "phases", phases, parsed.terminal_pods);
  if (parsed.restarts) parsed.restarts->containers = parsed.containers;
  const bool has_none = !parsed.min_age_seconds && parsed.phases.empty() && parsed.reasons.empty() &&
                        parsed.exit_codes.empty() && parsed.conditions.empty() && !parsed.restarts;
  if (has_none && args.errors().size() == before) {
    args.errors().push_back(
        {args.path().text(),
         "requires at least one of minAgeSeconds, phases, reasons, exitCodes, conditions and restarts"});
  }
  return parsed;
}

Criteria PodCriteria::criteria() const {
  Criteria all;
  if (!owner_kinds.include.empty() || !owner_kinds.exclude.empty()) all.add(owned_by(owner_kinds));
  if (min_age_seconds) all.add(at_least_old(*min_age_seconds));
  if (!phases.empty()) all.add(in_phase(phases));
  if (!reasons.empty()) all.add(for_reason(reasons, containers));
  if (!exit_codes.empty()) all.add(with_exit_code(exit_codes, containers));
  if (!conditions.empty()) all.add(in_condition(conditions));
  if (restarts) all.add(restarted(*restarts));
  return all;
}

base::Status PodCriteria::nominate(const StrategyContext& context, NominationSink& sink) const {
  return offer_oldest_first(context, sink, *this);
}

}  // namespace strategies
