#pragma once

#include <memory>

#include "api/policy/usage_source.hpp"
#include "usage/source.hpp"
#include "usage/sources/dependencies.hpp"

namespace usage {

/// Creates the Source that a policy describes, without opening connections. REQUIRES: usage::problems(source) is empty,
/// and `api` and `clock` are set. Everything in `dependencies` must outlive the source.
std::unique_ptr<Source> make_source(const api::UsageSource& source, const Dependencies& dependencies);

}  // namespace usage
