/// Any bytes as load-watcher's answer and as a page of Koordinator's NodeMetrics: no crash, no value that is negative or
/// infinite.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "usage/parse/koordinator.hpp"
#include "usage/parse/load_watcher.hpp"

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
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::string answer = text;
  usage::Rows watched(usage::kLoadWatcherWidth);
  (void)usage::read_load_watcher(answer, watched);
  check(std::move(watched));
  for (const char* aggregation : {"", "p95"}) {
    std::string page = text;
    usage::Rows nodes(usage::kKoordinatorWidth);
    usage::Rows pods(usage::kKoordinatorWidth);
    (void)usage::read_node_metric_list(page, aggregation, nodes, pods);
    check(std::move(nodes));
    check(std::move(pods));
  }
  return 0;
}
