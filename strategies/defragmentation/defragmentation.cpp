#include "strategies/defragmentation/defragmentation.hpp"

#include "api/meta/well_known.hpp"
#include "strategies/defragmentation/search.hpp"

namespace strategies {

Defragmentation::Args Defragmentation::Args::read(api::StrictObject&) { return {}; }

base::Status Defragmentation::nominate(const StrategyContext& context, NominationSink& sink) const {
  const DefragmentationProblem problem(context, sink, {});
  const LowerBound bound = lower_bound_of(problem);
  const char* s = getenv("STEPS");
  SearchBudget budget(s ? atol(s) : 100'000'000, {});
  const DefragmentationPlan plan = DefragmentationSearch(problem, sink, {.most_freed = bound.most_freed()}, budget, 1).run();
  sink.avoid(api::well_known::kEmptyingTaint, plan.avoided);
  for (const WaveMove& move : plan.moves) {
    sink.start_wave(move.wave);
    const bool makes_room = !std::ranges::binary_search(plan.emptied, move.from);
    sink.offer_towards(move.pod, makes_room ? "makes room for a pod of a node that is emptied" : "its node is emptied",
                       [&](NodeIndex to) { return problem.takes(to) && !std::ranges::binary_search(plan.avoided, to); });
  }
  return base::Done{};
}

}  // namespace strategies
