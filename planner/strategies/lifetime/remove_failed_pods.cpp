#include "planner/strategies/lifetime/remove_failed_pods.hpp"

#include <utility>

#include "planner/strategies/lifetime/listing.hpp"
#include "planner/strategies/listing.hpp"

namespace strategies {
namespace {

/// Upstream converts the age to an unsigned number. A creation time at least one second in the future therefore counts
/// as very old.
Criterion at_least_old_upstream(std::uint32_t least) {
  Criterion criterion = at_least_old(least);
  criterion.holds = [least](const Subject& subject) {
    if (const auto age = age_in_seconds(subject.pod, subject.now)) return *age >= least;
    return subject.pod.meta.creation_timestamp - subject.now >= base::seconds(1) || least == 0;
  };
  return criterion;
}

}  // namespace

RemoveFailedPods::Args RemoveFailedPods::Args::read(api::StrictObject& args) {
  Args parsed;
  parsed.scope = read_scope(args);
  args.read("excludeOwnerKinds", parsed.exclude_owner_kinds);
  args.read("minPodLifetimeSeconds", parsed.min_seconds);
  args.read("reasons", parsed.reasons);
  parsed.exit_codes = read_integers(args, "exitCodes");
  args.read("includingInitContainers", parsed.init_containers);
  parsed.terminal_pods = TerminalPods::read(args, true);
  if (!parsed.terminal_pods.evict) {
    args.errors().push_back({args.path().field("terminalPods").field("evict").text(),
                             "failed pods have terminated: without it the strategy does nothing, remove the strategy"});
  }
  return parsed;
}

Criteria RemoveFailedPods::Args::criteria() const { return criteria_with(at_least_old(min_seconds)); }

Criteria RemoveFailedPods::Args::criteria_upstream() const { return criteria_with(at_least_old_upstream(min_seconds)); }

Criteria RemoveFailedPods::Args::criteria_with(Criterion age) const {
  const ContainerScope containers{init_containers, false};
  Criteria all;
  all.add(in_phase({api::PodPhase::kFailed}));
  all.add(std::move(age));
  if (!exclude_owner_kinds.empty()) all.add(owned_by({{}, exclude_owner_kinds}));
  if (!reasons.empty()) all.add(for_reason(reasons, containers));
  if (!exit_codes.empty()) all.add(with_exit_code(exit_codes, containers));
  return all;
}

/// Offers the oldest first.
void RemoveFailedPods::offer_failed_pods(const StrategyContext& context, NominationSink& sink) const {
  const Criteria criteria = args_.criteria();
  LifeTimeListing(context, sink, args_.scope, criteria, args_.terminal_pods).offer_oldest_first();
}

/// Offers node by node.
void RemoveFailedPods::clear_pods_upstream(const StrategyContext& context, NominationSink& sink) const {
  const Criteria criteria = args_.criteria_upstream();
  LifeTimeListing listing(context, sink, args_.scope, criteria, args_.terminal_pods);
  const auto reason = [&](PodIndex pod) { return criteria.words_for(subject_of(context, pod)); };
  for (const NodeIndex node : context.nodes) {
    if (!offer_all(sink, listing.movable_pods_on(node), reason)) return;
  }
}

base::Status RemoveFailedPods::nominate(const StrategyContext& context, NominationSink& sink) const {
  if (context.is_upstream()) {
    clear_pods_upstream(context, sink);
  } else {
    offer_failed_pods(context, sink);
  }
  return base::Done{};
}

}  // namespace strategies
