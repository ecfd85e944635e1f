#pragma once

/// Reads metrics.k8s.io/v1beta1, as served by metrics-server and prometheus-adapter. Pure; tolerates any input.

#include <functional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "usage/parse/rows.hpp"

namespace usage {

/// Columns of both kinds: cpu in cores, memory in bytes.
inline constexpr std::size_t kMetricsWidth = 2;

/// Adds a page of a NodeMetricsList and returns its continue token. Pads `page` in place. A row's time is the item's
/// timestamp, the end of the window.
base::Result<std::string> read_node_metrics(std::string& page, Rows& rows);
/// Adds a page of a PodMetricsList and returns its continue token. A pod's value is the sum over its containers. It is
/// kUnknown if a container lacks the resource, or the pod has no containers.
base::Result<std::string> read_pod_metrics(std::string& page, Rows& rows);

/// Usage of one container of a pod, kUnknown without a valid value. Views are valid during the call.
struct ContainerSample {
  std::string_view ns;
  std::string_view pod;
  std::string_view container;
  base::TimePoint time{};
  double cpu = kUnknown;
  double memory = kUnknown;
};
using EachContainer = std::function<void(const ContainerSample&)>;
/// Calls `each` for every named container of a page of a PodMetricsList, for at most kMaxContainersOfPod per pod.
/// Returns the continue token.
inline constexpr std::size_t kMaxContainersOfPod = 100;
base::Result<std::string> read_container_metrics(std::string& page, const EachContainer& each, InvalidCounts& oddities);

}  // namespace usage
