#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "evictors/classify.hpp"
#include "evictors/handoff/adapter.hpp"

namespace evictors::handoff {

/// Protocol of an operator that is triggered by one annotation on the pod and then removes the pod itself.
struct OwnerMark {
  std::string_view adapter;
  std::string_view annotation;
  std::string_view value;               ///< value that triggers the operator; other values are left alone
  base::seconds total{1800};            ///< the only deadline, as there is no failure signal
  bool surge_pod = false;               ///< the operator starts a new pod before it removes this one
  bool by_eviction = false;             ///< supports parameter `request: eviction`, with which a webhook sets the mark
  std::span<const KnownText> accepted;  ///< messages of that webhook when it takes over an eviction
  bool (*recognises)(const api::Pod& pod) = nullptr;
};

/// Returns an adapter for `mark`. The adapter writes the annotation together with the token (annotation
/// evacuator.dev/evacuation-token) in one guarded patch, which later identifies the mark as Evacuator's. An existing
/// mark is followed but never removed.
std::unique_ptr<Adapter> mark_adapter(OwnerMark mark);

}  // namespace evictors::handoff
