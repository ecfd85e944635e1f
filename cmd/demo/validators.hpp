#pragma once

#include "simulator/api/server.hpp"

namespace cmd {

/// What the CRDs' CEL rules say on a real API server, for the simulated one, which evaluates none: our own validation
/// of both kinds, strategies' args and evictors' parameters included.
void add_validators(simulator::ApiServer& server);

}  // namespace cmd
