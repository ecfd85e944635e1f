#pragma once

namespace controllers {

struct OperatorParts;

/// Gives the caches the indexes that parts ask of them, and has what changes in them wake whom it concerns. The
/// handlers run on the reflectors' threads: they count and enqueue, nothing more. REQUIRES: before the first run() or
/// poll() of a cache; once.
void connect_caches(OperatorParts& parts);

}  // namespace controllers
