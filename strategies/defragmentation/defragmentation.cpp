#include "strategies/defragmentation/defragmentation.hpp"

#include "api/meta/well_known.hpp"
#include "strategies/defragmentation/search.hpp"

namespace strategies {

Defragmentation::Args Defragmentation::Args::read(api::StrictObject&) { return {}; }

base::Status Defragmentation::nominate(const StrategyContext& context, NominationSink& sink) const {
  const DefragmentationProblem problem(context, sink, {});
  const DefragmentationPlan plan = find_plan(problem, sink, [] { return false; });
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
