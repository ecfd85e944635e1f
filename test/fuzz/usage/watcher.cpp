/// Any bytes as load-watcher's answer: no crash, no value that is negative or infinite.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "usage/parse/load_watcher.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string answer(reinterpret_cast<const char*>(data), size);
  usage::Rows rows(usage::kLoadWatcherWidth);
  (void)usage::read_load_watcher(answer, rows);
  std::vector<std::string> problems;
  usage::bring_into_order(rows, "", problems);
  if (rows.values.size() != rows.rows.size() * rows.width) std::abort();
  for (const double value : rows.values) {
    if (std::isinf(value) || value < 0) std::abort();
  }
  return 0;
}
