#include "strategies/trial.hpp"

#include "strategies/listing.hpp"

namespace strategies {

NodeIndex Trial::land(PodIndex pod, NodeIndex expected) {
  const auto landing = landing_of(context_, pod);
  if (!landing && !copy_) copy_.emplace(context_.cluster);
  const NodeIndex to = landing.value_or(expected);
  if (copy_) copy_->move(pod, to);
  return to;
}

}  // namespace strategies
