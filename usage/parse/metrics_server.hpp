#pragma once

/// metrics.k8s.io/v1beta1, as metrics-server and prometheus-adapter serve it. Pure; survives any input.

#include <functional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "usage/parse/rows.hpp"

namespace usage {

/// The columns of both kinds: cpu in cores, memory in bytes.
inline constexpr std::size_t kMetricsWidth = 2;

/// Adds a page of a NodeMetricsList; returns its continue token. `page` is padded in place. A row's time is the item's
/// timestamp, the end of the window.
base::Result<std::string> read_node_metrics(std::string& page, Rows& rows);
/// The same of a PodMetricsList. A pod's value is the sum of its containers'; one container without the resource, and a
/// pod without containers, make it kUnknown.
base::Result<std::string> read_pod_metrics(std::string& page, Rows& rows);

/// What one container of a pod used; kUnknown where nothing usable was said. Views live as long as the call with it.
struct ContainerSample {
  std::string_view ns;
  std::string_view pod;
  std::string_view container;
  base::TimePoint time{};
  double cpu = kUnknown;
  double memory = kUnknown;
};
using EachContainer = std::function<void(const ContainerSample&)>;
/// Every named container of a page of a PodMetricsList, at most kMaxContainersOfPod a pod; returns its continue token.
inline constexpr std::size_t kMaxContainersOfPod = 100;
base::Result<std::string> read_container_metrics(std::string& page, const EachContainer& each, Oddities& oddities);

}  // namespace usage
