#pragma once

#include <cstdint>

namespace bench {

/// Allocations of this thread by operator new during an AllocationScope.
struct Allocations {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
};

/// Adds to `into` at its end. Must not be nested.
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
