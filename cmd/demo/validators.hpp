#pragma once

#include "simulator/api/server.hpp"

namespace cmd {

/// What no schema and no rule of the CRDs says: strategies' args, evictors' parameters, and the rest of our own
/// validation of both kinds.
void add_validators(simulator::ApiServer& server);

}  // namespace cmd
