#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "planner/scheduling/what_if.hpp"

namespace strategies {

inline constexpr std::int64_t kWholeNode = 100'000;  ///< 100 % of a node in thousandths: see UsageView::is_percent()

/// Where utilization comes from: requests, or measurements that were collected before the cycle. Amounts in
/// thousandths. A view of data that is there already: no I/O.
class UsageView {
 public:
  virtual ~UsageView() = default;

  /// nullopt: not known for this node, so that the strategy cannot judge.
  virtual std::optional<std::int64_t> of_node(scheduling::NodeIndex node, std::string_view resource) const = 0;
  /// nullopt: not known for this pod, which is then left alone.
  std::optional<std::int64_t> of_pod(scheduling::PodIndex pod, std::string_view resource) const {
    return of_pod_by(number_of(resource), pod);
  }
  /// The same by the view's own number of the resource: who asks of many pods looks the name up once.
  virtual std::optional<std::int64_t> of_pod_by(std::size_t number, scheduling::PodIndex pod) const = 0;
  virtual std::size_t number_of(std::string_view resource) const = 0;
  /// False: there is usage of nodes only, and the effect of a move cannot be foreseen.
  virtual bool has_pod_usage() const { return true; }
  /// False: of_node() may not have the pod in it, although it is on that node.
  virtual bool has_in_node(scheduling::PodIndex pod) const {
    static_cast<void>(pod);
    return true;
  }
  /// Its amounts are thousandths of a percent: each node has 100 %.
  virtual bool is_percent(std::string_view resource) const {
    static_cast<void>(resource);
    return false;
  }
};

/// Usage by effective requests; "pods" is the number of active pods of a node, and 1 for a pod.
class RequestedUsage final : public UsageView {
 public:
  explicit RequestedUsage(const scheduling::WhatIf& cluster) : cluster_(&cluster) {}
  std::optional<std::int64_t> of_node(scheduling::NodeIndex node, std::string_view resource) const override;
  std::optional<std::int64_t> of_pod_by(std::size_t number, scheduling::PodIndex pod) const override;
  std::size_t number_of(std::string_view resource) const override;

 private:
  const scheduling::WhatIf* cluster_;
};

/// Usage of nodes without some of their pods. One pass over all pods.
class UsageWithoutPods final : public UsageView {
 public:
  using IsLeftOut = bool (*)(const scheduling::ClusterSnapshot& cluster, scheduling::PodIndex pod);
  /// Keeps a reference to `all`.
  UsageWithoutPods(const UsageView& all, const scheduling::WhatIf& cluster, IsLeftOut is_left_out);
  UsageWithoutPods(std::shared_ptr<const UsageView> all, const scheduling::WhatIf& cluster, IsLeftOut is_left_out)
      : UsageWithoutPods(*all, cluster, is_left_out) {
    kept_ = std::move(all);
  }

  std::optional<std::int64_t> of_node(scheduling::NodeIndex node, std::string_view resource) const override;
  std::optional<std::int64_t> of_pod_by(std::size_t number, scheduling::PodIndex pod) const override {
    return all_.of_pod_by(number, pod);
  }
  std::size_t number_of(std::string_view resource) const override { return all_.number_of(resource); }
  bool has_pod_usage() const override { return all_.has_pod_usage(); }
  bool has_in_node(scheduling::PodIndex pod) const override { return all_.has_in_node(pod); }
  bool is_percent(std::string_view resource) const override { return all_.is_percent(resource); }

 private:
  const UsageView& all_;
  std::shared_ptr<const UsageView> kept_{};  ///< what all_ refers to; nullptr: the caller keeps it
  std::unordered_map<scheduling::NodeIndex, std::vector<scheduling::PodIndex>> left_out_;
};

/// Pods that are on their way out: they count where pods come to, not where pods leave.
bool is_on_its_way_out(const scheduling::ClusterSnapshot& cluster, scheduling::PodIndex pod);
/// Pods that are on their way out, and pods that go with their node: DaemonSet and mirror pods.
bool is_no_work(const scheduling::ClusterSnapshot& cluster, scheduling::PodIndex pod);

/// What the node has of the resource, in thousandths: 100 % where usage is in percent, else its allocatable, or its
/// capacity where no allocatable is published. nullopt: it does not publish it.
std::optional<std::int64_t> capacity_in(const scheduling::ClusterSnapshot& cluster, const UsageView& usage,
                                        scheduling::NodeIndex node, std::string_view resource);

}  // namespace strategies
