#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "evictors/classify.hpp"
#include "evictors/handoff/adapter.hpp"

namespace evictors::handoff {

/// An operator that is asked by one annotation on the pod and then removes the pod itself.
struct OwnerMark {
  std::string_view adapter;
  std::string_view annotation;
  std::string_view value;               ///< what asks; any other value is somebody else's and stays
  base::seconds total{1800};            ///< there is no failure signal: the only deadline
  bool surge_pod = false;               ///< the operator brings a new pod up before it removes this one
  bool by_eviction = false;             ///< parameter `request: eviction` is offered: a webhook sets the mark
  std::span<const KnownText> accepted;  ///< what that webhook says when it takes an eviction over
  bool (*recognises)(const api::Pod& pod) = nullptr;
};

/// The mark is written together with our token (annotation evacuator.dev/evacuation-token) in one guarded patch, which
/// is how it is known to be ours later: a mark that was there before is followed but never taken back.
std::unique_ptr<Adapter> mark_adapter(OwnerMark mark);

}  // namespace evictors::handoff
