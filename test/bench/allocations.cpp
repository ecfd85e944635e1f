#include "test/bench/allocations.hpp"

#include <cstdlib>
#include <new>

namespace {

// Plain types, which are initialized before the first allocation of a thread.
thread_local bool counting = false;
thread_local std::int64_t counted = 0;
thread_local std::int64_t counted_bytes = 0;

void* counted_allocation(std::size_t size) {
  if (counting) {
    ++counted;
    counted_bytes += static_cast<std::int64_t>(size);
  }
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return counted_allocation(size); }
void* operator new[](std::size_t size) { return counted_allocation(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace bench {

AllocationScope::AllocationScope(Allocations& into) : into_(into) {
  counted = 0;
  counted_bytes = 0;
  counting = true;
}

AllocationScope::~AllocationScope() {
  counting = false;
  into_.count += counted;
  into_.bytes += counted_bytes;
}

}  // namespace bench
