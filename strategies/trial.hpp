#pragma once

#include <optional>

#include "strategies/strategy.hpp"

namespace strategies {

/// The cluster as it would be after what a strategy offered with success: the sink's view if that foresees where pods
/// land, else a copy with the pods where the strategy expects them. Keeps a reference to the context.
class Trial {
 public:
  explicit Trial(const Context& context) : context_(context) {}

  const scheduling::Overlay& cluster() const { return copy_ ? *copy_ : context_.cluster; }

  /// To be called after each accepted offer. Where the pod lands: `expected`, unless the sink knows better.
  NodeIndex land(PodIndex pod, NodeIndex expected);

 private:
  const Context& context_;
  std::optional<scheduling::Overlay> copy_;  ///< once the sink did not say
};

}  // namespace strategies
