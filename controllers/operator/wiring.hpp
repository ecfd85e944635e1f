#pragma once

namespace controllers {

struct OperatorParts;

/// Adds the indexes that components need to the caches, and connects cache events to the queues. The handlers run on
/// the reflectors' threads and only count and enqueue. REQUIRES: called once, before the first run() or poll() of a
/// cache.
void connect_caches(OperatorParts& parts);

}  // namespace controllers
