#include "cmd/session/usage_source.hpp"

#include "usage/sources/make_source.hpp"

namespace cmd::plugin {

std::unique_ptr<usage::Source> usage_source_of(Session& session, const api::UsageSource& source) {
  return usage::make_source(source, {.api = &session.client(),
                                     .clock = &session.io().clock,
                                     .operator_namespace = session.flags().operator_namespace});
}

}  // namespace cmd::plugin
