#include "planner/strategies/strategy_what_if.hpp"

#include "planner/strategies/listing.hpp"

namespace strategies {

NodeIndex StrategyWhatIf::place(PodIndex pod, NodeIndex expected) {
  const auto placement = placement_of(context_, pod);
  if (!placement && !copy_) copy_.emplace(context_.cluster);
  const NodeIndex to = placement.value_or(expected);
  if (copy_) copy_->move(pod, to);
  return to;
}

}  // namespace strategies
