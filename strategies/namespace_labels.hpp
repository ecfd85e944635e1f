#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "scheduling/cluster_snapshot.hpp"

namespace strategies {

using scheduling::PodIndex;

/// Answers "which pods of this namespace does the selector match?" without asking every one of them.
class NamespaceLabels {
 public:
  NamespaceLabels(const scheduling::ClusterSnapshot& cluster, scheduling::NamespaceIndex ns);

  template <typename F>
  void for_each_match(const api::LabelSelector& selector, F&& each) const {
    const auto ask = [&](const scheduling::ClusterSnapshot::LabelGroup& group) {
      if (!selector.matches(*group.labels)) return;
      for (const PodIndex pod : group.pods) each(pod);
    };
    if (const std::vector<std::uint32_t>* some = candidates(selector)) {
      for (const std::uint32_t group : *some) ask(groups_[group]);
    } else {
      for (const auto& group : groups_) ask(group);
    }
  }

 private:
  const std::vector<std::uint32_t>* candidates(const api::LabelSelector& selector) const;

  std::span<const scheduling::ClusterSnapshot::LabelGroup> groups_;
  mutable std::unordered_map<std::string, std::unordered_map<std::string_view, std::vector<std::uint32_t>>> by_key_;
};

}  // namespace strategies
