#include "base/allocator.hpp"

#include <malloc.h>

namespace controllers {
namespace {

/// More would only hold more that is free: whoever waits for an arena waits less than for the API server.
constexpr int kMaxArenas = 2;
/// A page of a list is larger: it leaves no hole among what the caches keep of it.
constexpr int kOwnMapping = 512 << 10;

}  // namespace

void prepare_allocator() {
  mallopt(M_ARENA_MAX, kMaxArenas);
  mallopt(M_MMAP_THRESHOLD, kOwnMapping);
}

void return_free_memory() { malloc_trim(0); }

}  // namespace controllers
