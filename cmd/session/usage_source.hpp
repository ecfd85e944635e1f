#pragma once

#include <memory>

#include "cmd/session/session.hpp"
#include "usage/source.hpp"

namespace cmd::plugin {

/// Returns the source as queried by this process, with the user's connection and Secrets of the operator's namespace.
/// An address reachable only from pods fails.
std::unique_ptr<usage::Source> usage_source_of(Session& session, const api::UsageSource& source);

}  // namespace cmd::plugin
