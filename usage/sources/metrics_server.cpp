#include "usage/sources/metrics_server.hpp"

#include "usage/sources/pages.hpp"

namespace usage {
namespace {

constexpr kube::ResourceType kNodeMetrics{"metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", false};
constexpr kube::ResourceType kPodMetrics{"metrics.k8s.io", "v1beta1", "pods", "PodMetrics"};

const std::vector<Column>& cpu_and_memory() {
  // CPU is the rate between two scrapes. 15 s is the default interval of servers that do not report it.
  static const std::vector<Column> columns = {{"cpu", Unit::kAmount, base::seconds(15)}, {"memory", Unit::kAmount}};
  return columns;
}

}  // namespace

base::Result<Samples> MetricsServer::sample() {
  Samples samples;
  samples.columns = cpu_and_memory();
  samples.pod_columns = cpu_and_memory();
  Rows nodes(kMetricsWidth);
  auto done = read_pages(client_, kNodeMetrics, [&](std::string& page) { return read_node_metrics(page, nodes); });
  if (!done) return std::move(done).error();
  if (nodes.window > base::Duration{}) samples.columns[0].window = nodes.window;
  add_nodes(samples, std::move(nodes), "nodes: ");

  Rows pods(kMetricsWidth);
  done = read_pages(client_, kPodMetrics, [&](std::string& page) { return read_pod_metrics(page, pods); });
  if (!done) {  // an adapter may serve nodes only
    samples.problems.push_back(done.error().message);
    return samples;
  }
  add_pods(samples, std::move(pods), "pods: ");
  return samples;
}

base::Result<std::vector<std::string>> sample_containers(kube::Client& client, const EachContainer& each) {
  InvalidCounts oddities;
  const auto done =
      read_pages(client, kPodMetrics, [&](std::string& page) { return read_container_metrics(page, each, oddities); });
  if (!done) return done.error();
  std::vector<std::string> problems;
  oddities.tell("containers: ", problems);
  return problems;
}

base::Result<std::vector<Series>> MetricsServer::history(base::TimePoint, base::TimePoint, base::Duration) {
  return base::Error{base::ErrorCode::kUnsupported, "metrics.k8s.io keeps no history"};
}

}  // namespace usage
