/// Any bytes as a page of NodeMetrics: no crash, no value that is negative or infinite.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "usage/parse/koordinator.hpp"

namespace {

void check(usage::Rows rows) {
  std::vector<std::string> problems;
  usage::bring_into_order(rows, "", problems);
  if (rows.values.size() != rows.rows.size() * rows.width) std::abort();
  for (const double value : rows.values) {
    if (std::isinf(value) || value < 0) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const char* aggregation : {"", "p95"}) {
    std::string page(reinterpret_cast<const char*>(data), size);
    usage::Rows nodes(usage::kKoordinatorWidth);
    usage::Rows pods(usage::kKoordinatorWidth);
    (void)usage::read_node_metric_list(page, aggregation, nodes, pods);
    check(std::move(nodes));
    check(std::move(pods));
  }
  return 0;
}
