/// Any text as a quantity: no crash, and a parsed quantity round-trips.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "api/meta/quantity.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto quantity = api::Quantity::parse({reinterpret_cast<const char*>(data), size});
  if (!quantity) return 0;
  if (api::Quantity::parse(quantity->to_string()) != quantity) std::abort();
  if (api::Quantity::parse(quantity->to_string(true)) != quantity) std::abort();
  return 0;
}
