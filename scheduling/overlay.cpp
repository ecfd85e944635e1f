#include "scheduling/overlay.hpp"

#include "scheduling/predicates.hpp"

namespace scheduling {
namespace {

Topology divide(const ClusterSnapshot& base, std::string_view key) {
  Topology topology;
  std::unordered_map<std::string_view, std::uint32_t> known;
  topology.domain_of.reserve(base.node_count());
  for (const NodeIndex node : base.nodes()) {
    const std::string* value = base.node(node).meta.labels.find(key);
    if (value == nullptr) {
      topology.domain_of.push_back(Topology::kNone);
      topology.covers_all = false;
      continue;
    }
    const auto [at, added] = known.try_emplace(*value, static_cast<std::uint32_t>(known.size()));
    if (added) topology.domain_names.push_back(*value);
    topology.domain_of.push_back(at->second);
  }
  return topology;
}

std::vector<Overlay::Adversary> find_adversaries(const ClusterSnapshot& base, PodIndex pod) {
  std::vector<Overlay::Adversary> found;
  const auto ask = [&](std::span<const ClusterSnapshot::AntiAffineGroup> groups) {
    for (const ClusterSnapshot::AntiAffineGroup& owners : groups) {
      for (const api::PodAffinityTerm& term : base.pod(owners.front()).affinity->required_pod_anti_affinity) {
        if (covers(term, owners.front(), pod, base)) found.push_back({&owners, &term});
      }
    }
  };
  ask(base.anti_affine_towards(base.namespace_of(pod)));
  ask(base.anti_affine_by_namespace_labels());
  return found;
}

}  // namespace

Overlay::Overlay(const ClusterSnapshot& base) : base_(&base), moved_(base.pod_count(), false), used_(base.used()) {
  node_of_.reserve(base.pod_count());
  for (const PodIndex pod : base.pods()) node_of_.push_back(base.node_of(pod));
}

const Topology& Overlay::topology(std::string_view key) const {
  if (const auto at = topologies_.find(key); at != topologies_.end()) return at->second;
  return topologies_.emplace(std::string(key), divide(*base_, key)).first->second;
}

const NamespaceLabels& Overlay::labels_in(NamespaceIndex ns) const {
  return labels_.try_emplace(ns, *base_, ns).first->second;
}

const std::vector<Overlay::Adversary>& Overlay::adversaries_of(PodIndex pod) const {
  const auto [at, is_new] = adversaries_.try_emplace(base_->label_group_of(pod));
  if (is_new) at->second = find_adversaries(*base_, pod);
  return at->second;
}

const PreferenceIndex& Overlay::preference_index() const {
  if (!preference_index_) preference_index_ = std::make_shared<const PreferenceIndex>(*base_);
  return *preference_index_;
}

void Overlay::move(PodIndex pod, NodeIndex to) {
  const NodeIndex from = node_of_[pod];
  moved_[pod] = true;
  if (from == to) return;
  if (from != kNoNode) leave(pod, from);
  node_of_[pod] = to;
  if (to != kNoNode) arrive(pod, to);
}

void Overlay::restore(PodIndex pod) {
  move(pod, base_->node_of(pod));
  moved_[pod] = false;
}

void Overlay::leave(PodIndex pod, NodeIndex from) {
  if (from != base_->node_of(pod)) std::erase(arrivals_[from], pod);
  if (!base_->is_active(pod)) return;
  changes_.push_back(from);
  used_.subtract(from, base_->requests(pod));
  used_.add(from, kPodsIndex, -1000);
}

void Overlay::arrive(PodIndex pod, NodeIndex to) {
  if (to != base_->node_of(pod)) arrivals_[to].push_back(pod);
  if (!base_->is_active(pod)) return;
  changes_.push_back(to);
  used_.add(to, base_->requests(pod));
  used_.add(to, kPodsIndex, 1000);
}

}  // namespace scheduling
