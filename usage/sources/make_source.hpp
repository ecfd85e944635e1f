#pragma once

#include <memory>

#include "api/policy/usage_source.hpp"
#include "usage/source.hpp"
#include "usage/sources/dependencies.hpp"

namespace usage {

/// The Source that a policy describes. Opens and reads nothing yet. REQUIRES: usage::problems(source) is empty.
/// Everything in `dependencies` outlives it; `api` and `clock` are set.
std::unique_ptr<Source> make_source(const api::UsageSource& source, const Dependencies& dependencies);

}  // namespace usage
