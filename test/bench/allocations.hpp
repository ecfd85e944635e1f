#pragma once

#include <cstdint>

namespace bench {

/// What this thread asked of operator new while an AllocationScope was alive.
struct Allocations {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
};

/// Adds to `into` when it ends. Not nested.
class AllocationScope {
 public:
  explicit AllocationScope(Allocations& into);
  ~AllocationScope();
  AllocationScope(const AllocationScope&) = delete;
  AllocationScope& operator=(const AllocationScope&) = delete;

 private:
  Allocations& into_;
};

}  // namespace bench
