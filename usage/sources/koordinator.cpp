#include "usage/sources/koordinator.hpp"

#include "usage/parse/koordinator.hpp"
#include "usage/sources/pages.hpp"

namespace usage {
namespace {

constexpr kube::ResourceType kNodeMetricKind{"slo.koordinator.sh", "v1alpha1", "nodemetrics", "NodeMetric", false};

}  // namespace

base::Result<Samples> Koordinator::sample() {
  Samples samples;
  samples.columns = {{"cpu", Unit::kAmount}, {"memory", Unit::kAmount}};
  samples.pod_columns = samples.columns;
  Rows nodes(kKoordinatorWidth);
  Rows pods(kKoordinatorWidth);
  auto done = read_pages(client_, kNodeMetricKind,
                         [&](std::string& page) { return read_node_metric_list(page, aggregation_, nodes, pods); });
  if (!done) return std::move(done).error();
  add_nodes(samples, std::move(nodes), "nodes: ");
  add_pods(samples, std::move(pods), "pods: ");
  return samples;
}

base::Result<std::vector<Series>> Koordinator::history(base::TimePoint, base::TimePoint, base::Duration) {
  return base::Error{base::ErrorCode::kUnsupported, "NodeMetrics keep no history"};
}

}  // namespace usage
