#include "planner/strategies/lifetime/remove_pods_having_too_many_restarts.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "planner/strategies/lifetime/listing.hpp"

namespace strategies {
namespace {

constexpr std::array<std::string_view, 2> kRestartStates = {"Running", "CrashLoopBackOff"};

}  // namespace

RemovePodsHavingTooManyRestarts RemovePodsHavingTooManyRestarts::read(api::StrictObject& args) {
  RemovePodsHavingTooManyRestarts parsed;
  parsed.scope = read_scope(args);
  const std::size_t before = args.errors().size();
  std::int32_t threshold = 0;
  args.read("podRestartThreshold", threshold);
  if (threshold < 1 && args.errors().size() == before)
    args.complain("podRestartThreshold", "is required and must be at least 1");
  parsed.restarts.at_least = threshold;
  args.read("withinSeconds", parsed.restarts.within);
  if (parsed.restarts.within && *parsed.restarts.within < base::seconds(1))
    args.complain("withinSeconds", "must be at least 1");
  args.read("includingInitContainers", parsed.restarts.containers.init);
  parsed.states = read_choices(args, "states", kRestartStates);
  return parsed;
}

Criteria RemovePodsHavingTooManyRestarts::criteria() const {
  Criteria all;
  all.add(restarted(restarts));
  if (!states.empty()) all.add(in_phase_or_waiting(states, restarts.containers));
  return all;
}

base::Status RemovePodsHavingTooManyRestarts::nominate(const StrategyContext& context, NominationSink& sink) const {
  const TerminalPods left_alone;
  const Criteria wanted = criteria();
  LifeTimeListing(context, sink, scope, wanted, left_alone).offer_by_node([&](std::vector<PodIndex>& pods) {
    std::ranges::stable_sort(pods, std::ranges::greater{},
                             [&](PodIndex pod) { return count_restarts(restarts, subject_of(context, pod)); });
  });
  return base::Done{};
}

}  // namespace strategies
