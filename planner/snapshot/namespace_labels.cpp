#include "planner/snapshot/namespace_labels.hpp"

#include <algorithm>

namespace scheduling {

NamespaceLabels::NamespaceLabels(const ClusterSnapshot& cluster, NamespaceIndex ns)
    : groups_(cluster.label_groups(ns)) {}

/// Returns the groups that have the label required by the selector's first equality, or nullptr if all groups must be
/// compared.
const std::vector<std::uint32_t>* NamespaceLabels::candidates(const api::LabelSelector& selector) const {
  static const std::vector<std::uint32_t> kNone;
  const auto is_equality = [](const api::SelectorRequirement& each) {
    return each.op == api::SelectorOperator::kIn && each.values.size() == 1;
  };
  const auto equality = std::ranges::find_if(selector.requirements, is_equality);
  if (equality == selector.requirements.end() || groups_.size() < 8) return nullptr;
  auto known = by_key_.find(equality->key);
  if (known == by_key_.end()) {
    known = by_key_.try_emplace(equality->key).first;
    for (std::uint32_t i = 0; i < groups_.size(); ++i) {
      if (const std::string* value = groups_[i].labels->find(equality->key)) known->second[*value].push_back(i);
    }
  }
  const auto groups = known->second.find(equality->values.front());
  return groups == known->second.end() ? &kNone : &groups->second;
}

}  // namespace scheduling
