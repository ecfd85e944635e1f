/// Any bytes as a page of metrics.k8s.io, as load-watcher's answer and as a page of Koordinator's NodeMetrics: no
/// crash, no negative or infinite value, every row once.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "usage/parse/koordinator.hpp"
#include "usage/parse/load_watcher.hpp"
#include "usage/parse/metrics_server.hpp"

namespace {

void check(usage::Rows rows) {
  std::vector<std::string> problems;
  rows.oddities.tell("", problems);
  usage::sort_and_merge(rows, "", problems);
  if (rows.values.size() != rows.rows.size() * rows.width) std::abort();
  for (const double value : rows.values) {
    if (std::isinf(value) || value < 0) std::abort();
  }
  usage::Samples samples;
  samples.pod_columns.resize(rows.width);
  const std::size_t count = rows.rows.size();
  usage::join_pods(samples, std::move(rows), 0);
  if (samples.pods.size() != count || samples.pod_values.size() != count * samples.pod_columns.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (auto* read : {usage::read_node_metrics, usage::read_pod_metrics}) {
    std::string page = text;
    usage::Rows rows(usage::kMetricsWidth);
    (void)read(page, rows);
    check(std::move(rows));
  }
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
