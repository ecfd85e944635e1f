#include "planner/strategies/lifetime/remove_failed_pods.hpp"

#include "planner/strategies/lifetime/listing.hpp"

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

RemoveFailedPods RemoveFailedPods::read(api::StrictObject& args) {
  RemoveFailedPods parsed;
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

Criteria RemoveFailedPods::criteria(bool is_upstream) const {
  const ContainerScope containers{init_containers, false};
  Criteria all;
  all.add(in_phase({api::PodPhase::kFailed}));
  all.add(is_upstream ? at_least_old_upstream(min_seconds) : at_least_old(min_seconds));
  if (!exclude_owner_kinds.empty()) all.add(owned_by({{}, exclude_owner_kinds}));
  if (!reasons.empty()) all.add(for_reason(reasons, containers));
  if (!exit_codes.empty()) all.add(with_exit_code(exit_codes, containers));
  return all;
}

/// Upstream offers node by node instead of the oldest first.
base::Status RemoveFailedPods::nominate(const StrategyContext& context, NominationSink& sink) const {
  const Criteria wanted = criteria(context.is_upstream());
  LifeTimeListing listing(context, sink, scope, wanted, terminal_pods);
  context.is_upstream() ? listing.offer_by_node() : listing.offer_oldest_first();
  return base::Done{};
}

}  // namespace strategies
