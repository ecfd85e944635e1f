#pragma once

#include <memory>

#include "cmd/session/session.hpp"
#include "usage/source.hpp"

namespace cmd::plugin {

/// The source as it is asked from here: with the user's connection, Secrets of the operator's namespace included. An
/// address that only pods reach does not answer here.
std::unique_ptr<usage::Source> usage_source_of(Session& session, const api::UsageSource& source);

}  // namespace cmd::plugin
