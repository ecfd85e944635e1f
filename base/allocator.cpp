#include "base/allocator.hpp"

#include <malloc.h>

namespace base {
namespace {

/// Each arena keeps free memory for itself. Waiting for an arena is short compared with waiting for the API server.
constexpr int kMaxArenas = 2;
/// Smaller than a page of a list response, so that freeing a page leaves no gap between the objects that the caches
/// keep.
constexpr int kOwnMapping = 512 << 10;

}  // namespace

void configure_allocator() {
  mallopt(M_ARENA_MAX, kMaxArenas);
  mallopt(M_MMAP_THRESHOLD, kOwnMapping);
}

void return_free_memory() { malloc_trim(0); }

}  // namespace base
