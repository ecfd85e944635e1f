#pragma once

#include "simulator/api/server.hpp"

namespace cmd {

/// Adds the validation that CRD schemas and rules cannot express: strategies' args, evictors' parameters, and the other
/// checks of both kinds.
void add_validators(simulator::ApiServer& server);

}  // namespace cmd
