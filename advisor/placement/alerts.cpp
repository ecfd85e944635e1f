#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "advisor/placement/advise.hpp"

namespace advisor {
namespace {

/// Usable share of the capacity without the largest node: pods have discrete sizes, so nodes are never completely full.
constexpr double kFillable = 0.8;
constexpr double kMax = 95;

constexpr const char* kRequested =
    R"(100 * max(sum by (resource) (kube_pod_container_resource_requests{resource=~"cpu|memory"})"
    R"( * on (namespace, pod) group_left () (kube_pod_status_phase{phase="Running"} == 1)))"
    R"( / sum by (resource) (kube_node_status_allocatable{resource=~"cpu|memory"})))";
constexpr const char* kNodeLoad = R"(100 * (1 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[5m]))))";

/// Returns the percentage of the cluster's capacity that remains without its largest node, for the scarcer of CPU and
/// memory.
double left_without_largest(const scheduling::SnapshotInput& cluster) {
  double left = 100;
  for (const char* resource : {"cpu", "memory"}) {
    double sum = 0;
    double largest = 0;
    for (const auto& node : cluster.nodes) {
      if (node->unschedulable) continue;
      const auto amount = static_cast<double>(api::amount_of(node->allocatable, resource).milli());
      sum += amount;
      largest = std::max(largest, amount);
    }
    if (sum > 0) left = std::min(left, (sum - largest) / sum * 100);
  }
  return left;
}

}  // namespace

std::vector<Alert> alerts_for(const scheduling::SnapshotInput& cluster) {
  const double left = left_without_largest(cluster);
  const double low = std::floor(left * kFillable);
  const double high = std::floor(std::min(left, kMax));
  std::vector<Alert> alerts;
  if (low > 0)
    alerts.push_back({"ClusterRequestsLow", low, "the pods would fit on one node fewer",
                      fmt::format("{} < {:.0f}", kRequested, low)});
  if (high <= 0) return alerts;
  alerts.push_back({"ClusterRequestsHigh", high, "the cluster cannot take over the pods of its largest node",
                    fmt::format("{} > {:.0f}", kRequested, high)});
  alerts.push_back({"NodeLoadHigh", high, "a node's measured cpu is higher than all nodes could be without one",
                    fmt::format("{} > {:.0f}", kNodeLoad, high)});
  return alerts;
}

}  // namespace advisor
