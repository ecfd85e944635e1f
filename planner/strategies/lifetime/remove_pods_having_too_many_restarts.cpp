#include "planner/strategies/lifetime/remove_pods_having_too_many_restarts.hpp"

#include <algorithm>
#include <array>

#include "planner/strategies/lifetime/listing.hpp"
#include "planner/strategies/lifetime/terminal_pods.hpp"
#include "planner/strategies/listing.hpp"

namespace strategies {
namespace {

constexpr std::array<std::string_view, 2> kRestartStates = {"Running", "CrashLoopBackOff"};

}  // namespace

RemovePodsHavingTooManyRestarts::Args RemovePodsHavingTooManyRestarts::Args::read(api::StrictObject& args) {
  Args parsed;
  parsed.scope = read_scope(args);
  const std::size_t before = args.errors().size();
  std::int32_t threshold = 0;
  args.read("podRestartThreshold", threshold);
  if (threshold < 1 && args.errors().size() == before) {
    args.complain("podRestartThreshold", "is required and must be at least 1");
  }
  parsed.restarts.at_least = threshold;
  args.read("withinSeconds", parsed.restarts.within);
  if (parsed.restarts.within && *parsed.restarts.within < base::seconds(1)) {
    args.complain("withinSeconds", "must be at least 1");
  }
  args.read("includingInitContainers", parsed.restarts.containers.init);
  parsed.states = read_choices(args, "states", kRestartStates);
  return parsed;
}

Criteria RemovePodsHavingTooManyRestarts::Args::criteria() const {
  Criteria all;
  all.add(restarted(restarts));
  if (!states.empty()) all.add(in_phase_or_waiting(states, restarts.containers));
  return all;
}

base::Status RemovePodsHavingTooManyRestarts::nominate(const StrategyContext& context, NominationSink& sink) const {
  const TerminalPods left_alone;
  const auto restarts = [&](PodIndex pod) { return count_restarts(args_.restarts, subject_of(context, pod)); };
  LifeTimeListing listing(context, sink, args_.scope, criteria_, left_alone);
  for (const NodeIndex node : context.nodes) {
    auto pods = listing.movable_pods_on(node);
    std::ranges::stable_sort(pods, std::ranges::greater{}, restarts);
    const auto reason = [&](PodIndex pod) { return criteria_.words_for(subject_of(context, pod)); };
    if (!offer_all(sink, pods, reason)) break;
  }
  return base::Done{};
}

}  // namespace strategies
