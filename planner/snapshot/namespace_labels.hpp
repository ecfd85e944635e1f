#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "planner/snapshot/cluster_snapshot.hpp"

namespace scheduling {

/// Finds the pods of a namespace that a selector matches without evaluating the selector for every pod. Builds indexes
/// of labels on demand, so even const methods are not thread-safe.
class NamespaceLabels {
 public:
  NamespaceLabels(const ClusterSnapshot& cluster, NamespaceIndex ns);

  template <typename F>
  void for_each_match(const api::LabelSelector& selector, F&& each) const {
    for_each_group(selector, [&](const ClusterSnapshot::LabelGroup& group) {
      for (const PodIndex pod : group.pods) each(pod);
    });
  }

  /// Calls `each` with every label group that the selector matches.
  template <typename F>
  void for_each_group(const api::LabelSelector& selector, F&& each) const {
    const auto ask = [&](const ClusterSnapshot::LabelGroup& group) {
      if (selector.matches(*group.labels)) each(group);
    };
    if (const std::vector<std::uint32_t>* some = candidates(selector)) {
      for (const std::uint32_t group : *some) ask(groups_[group]);
    } else {
      for (const auto& group : groups_) ask(group);
    }
  }

  /// Number of label sets that for_each_group() compares with the selector.
  std::size_t groups_compared(const api::LabelSelector& selector) const {
    const std::vector<std::uint32_t>* some = candidates(selector);
    return some == nullptr ? groups_.size() : some->size();
  }

 private:
  const std::vector<std::uint32_t>* candidates(const api::LabelSelector& selector) const;

  std::span<const ClusterSnapshot::LabelGroup> groups_;
  mutable std::unordered_map<std::string, std::unordered_map<std::string_view, std::vector<std::uint32_t>>> by_key_;
};

}  // namespace scheduling
