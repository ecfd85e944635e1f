#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "scheduling/overlay.hpp"

namespace strategies {

/// Where utilization comes from: requests, or measurements that usage/ collected before the cycle. Amounts in
/// thousandths. Pure: a view of data that is there already.
class UsageView {
 public:
  virtual ~UsageView() = default;

  /// nullopt: not known for this node.
  virtual std::optional<std::int64_t> of_node(scheduling::NodeIndex node, std::string_view resource) const = 0;
  /// nullopt: not known for this pod.
  virtual std::optional<std::int64_t> of_pod(scheduling::PodIndex pod, std::string_view resource) const = 0;
};

/// Usage by effective requests; "pods" counts the active pods of a node, and 1 for a pod.
class RequestedUsage final : public UsageView {
 public:
  explicit RequestedUsage(const scheduling::Overlay& cluster) : cluster_(&cluster) {}
  std::optional<std::int64_t> of_node(scheduling::NodeIndex node, std::string_view resource) const override;
  std::optional<std::int64_t> of_pod(scheduling::PodIndex pod, std::string_view resource) const override;

 private:
  const scheduling::Overlay* cluster_;
};

}  // namespace strategies
