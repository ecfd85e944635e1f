#pragma once

#include "kube/resource.hpp"

namespace kube {

/// What the operator says about a workload's requests (api/advice/resource_advice.hpp).
inline constexpr ResourceType kResourceAdvices{"evacuator.dev", "v1alpha1", "resourceadvices", "ResourceAdvice"};

}  // namespace kube
