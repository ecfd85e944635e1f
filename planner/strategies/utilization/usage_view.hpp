#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "planner/strategies/scheduling_names.hpp"

namespace strategies {

inline constexpr std::int64_t kWholeNode = 100'000;  ///< 100 % of a node in thousandths, see UsageView::is_percent()

/// Source of utilization: requests, or measurements collected before the cycle. Amounts are in thousandths. A view of
/// existing data without I/O.
class UsageView {
 public:
  virtual ~UsageView() = default;

  /// Returns nullopt if the node's usage is unknown, so that the strategy cannot judge the node.
  virtual std::optional<std::int64_t> of_node(NodeIndex node, std::string_view resource) const = 0;
  /// Returns nullopt if the pod's usage is unknown; such a pod is left alone.
  std::optional<std::int64_t> of_pod(PodIndex pod, std::string_view resource) const {
    return of_pod_by(number_of(resource), pod);
  }
  /// Like of_pod(), with the number from number_of(). Callers that query many pods look up the name once.
  virtual std::optional<std::int64_t> of_pod_by(std::size_t number, PodIndex pod) const = 0;
  virtual std::size_t number_of(std::string_view resource) const = 0;
  /// Returns false if only usage of nodes is known, so that the effect of a move cannot be predicted.
  virtual bool has_pod_usage() const { return true; }
  /// Returns false if of_node() may not include the pod although it is on that node.
  virtual bool has_in_node([[maybe_unused]] PodIndex pod) const { return true; }
  /// Returns whether amounts are thousandths of a percent, with a capacity of 100 % per node.
  virtual bool is_percent([[maybe_unused]] std::string_view resource) const { return false; }
};

/// Usage by effective requests. "pods" is the number of active pods of a node, and 1 for a pod.
class RequestedUsage final : public UsageView {
 public:
  explicit RequestedUsage(const WhatIf& cluster) : cluster_(&cluster) {}
  std::optional<std::int64_t> of_node(NodeIndex node, std::string_view resource) const override;
  std::optional<std::int64_t> of_pod_by(std::size_t number, PodIndex pod) const override;
  std::size_t number_of(std::string_view resource) const override;

 private:
  const WhatIf* cluster_;
};

/// Usage of nodes without some of their pods. Construction makes one pass over all pods.
class UsageWithoutPods final : public UsageView {
 public:
  using IsLeftOut = bool (*)(const ClusterSnapshot& cluster, PodIndex pod);
  /// Keeps a reference to `all`.
  UsageWithoutPods(const UsageView& all, const WhatIf& cluster, IsLeftOut is_left_out);
  UsageWithoutPods(std::shared_ptr<const UsageView> all, const WhatIf& cluster, IsLeftOut is_left_out)
      : UsageWithoutPods(*all, cluster, is_left_out) {
    kept_ = std::move(all);
  }

  std::optional<std::int64_t> of_node(NodeIndex node, std::string_view resource) const override;
  std::optional<std::int64_t> of_pod_by(std::size_t number, PodIndex pod) const override {
    return all_.of_pod_by(number, pod);
  }
  std::size_t number_of(std::string_view resource) const override { return all_.number_of(resource); }
  bool has_pod_usage() const override { return all_.has_pod_usage(); }
  bool has_in_node(PodIndex pod) const override { return all_.has_in_node(pod); }
  bool is_percent(std::string_view resource) const override { return all_.is_percent(resource); }

 private:
  const UsageView& all_;
  std::shared_ptr<const UsageView> kept_{};  ///< Owner of all_; nullptr if the caller owns it
  std::unordered_map<NodeIndex, std::vector<PodIndex>> left_out_;
};

/// Returns whether the pod is leaving. Leaving pods count in the usage of destinations, not of sources.
bool is_leaving(const ClusterSnapshot& cluster, PodIndex pod);

/// Returns the node's capacity of the resource in thousandths: 100 % if usage is in percent, else its allocatable, or
/// its capacity if it publishes no allocatable. Returns nullopt if the node does not publish the resource.
std::optional<std::int64_t> capacity_in(const ClusterSnapshot& cluster, const UsageView& usage, NodeIndex node,
                                        std::string_view resource);

}  // namespace strategies
