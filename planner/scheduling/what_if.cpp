#include "planner/scheduling/what_if.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "planner/scheduling/predicates.hpp"

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

}  // namespace

struct WhatIf::Cache {
  explicit Cache(const ClusterSnapshot& base) : labels(base) {}

  /// Returns true if the cached query is for this pod and still valid.
  bool holds_query(const WhatIf& of, PodIndex pod) const {
    return query && query_state == of.state_ && query->index() == pod && &query->cluster() == &of;
  }

  /// Returns the topology shared by all keys that no node has.
  const Topology& without_domains(const ClusterSnapshot& base) {
    if (empty.domain_of.empty()) {
      empty.domain_of.assign(base.node_count(), Topology::kNone);
      empty.covers_all = base.node_count() == 0;
    }
    return empty;
  }

  std::map<std::string, Topology, std::less<>> topologies;  ///< by label key; only keys that some node has
  Topology empty;
  SelectorCache labels;
  std::unique_ptr<const PreferenceIndex> preferences;
  std::shared_ptr<const FitQuery> query;  ///< the last query
  std::uint64_t query_state = 0;          ///< state_ of the WhatIf at the time of the last query
  std::uint64_t last_state = 0;
};

WhatIf::WhatIf(const ClusterSnapshot& base)
    : base_(&base),
      moved_(base.pod_table_size(), false),
      used_(base.used()),
      scored_(base.scored()),
      soft_(std::make_shared<const SoftTaintTable>(base, std::vector<SoftTaint>())),
      cache_(std::make_shared<Cache>(base)) {
  node_of_.resize(base.pod_table_size(), kNoNode);
  for (const PodIndex pod : base.pods()) node_of_[pod] = base.node_of(pod);
}

WhatIf WhatIf::detached() const {
  WhatIf copy(*this);
  copy.cache_ = std::make_shared<Cache>(*base_);
  copy.state_ = 0;
  return copy;
}

void WhatIf::set_soft_taint(SoftTaint taint) {
  std::ranges::sort(taint.nodes);
  taint.nodes.erase(std::unique(taint.nodes.begin(), taint.nodes.end()), taint.nodes.end());
  const auto is_same = [&](const SoftTaint& each) { return each.key == taint.key && each.value == taint.value; };
  std::vector<SoftTaint> all = soft_->all;
  std::erase_if(all, is_same);
  all.push_back(std::move(taint));
  soft_ = std::make_shared<const SoftTaintTable>(*base_, std::move(all));
}

const Topology& WhatIf::topology(std::string_view key) const {
  auto& known = cache_->topologies;
  if (const auto at = known.find(key); at != known.end()) return at->second;
  if (!cache_->labels.nodes_have(key)) return cache_->without_domains(*base_);
  return known.emplace(std::string(key), divide(*base_, key)).first->second;
}

std::shared_ptr<const FitQuery> WhatIf::fit_query(PodIndex pod, FitLevel level) const {
  if (level == FitLevel::kBasic) return std::make_shared<const FitQuery>(*this, pod, level);
  if (!cache_->holds_query(*this, pod)) {
    cache_->query = std::make_shared<const FitQuery>(*this, pod, level);
    cache_->query_state = state_;
  }
  return cache_->query;
}

SelectorCache& WhatIf::selector_cache() const { return cache_->labels; }

const PreferenceIndex& WhatIf::preference_index() const {
  if (!cache_->preferences) cache_->preferences = std::make_unique<const PreferenceIndex>(*base_);
  return *cache_->preferences;
}

void WhatIf::move(PodIndex pod, NodeIndex to) {
  const NodeIndex from = node_of_[pod];
  moved_[pod] = true;
  if (from == to) return;
  const bool keeps_query = cache_->holds_query(*this, pod);  // a pod never blocks itself
  state_ = ++cache_->last_state;
  if (keeps_query) cache_->query_state = state_;
  if (from != kNoNode) leave(pod, from);
  node_of_[pod] = to;
  if (to != kNoNode) arrive(pod, to);
}

void WhatIf::restore(PodIndex pod) {
  move(pod, base_->node_of(pod));
  moved_[pod] = false;
}

void WhatIf::leave(PodIndex pod, NodeIndex from) {
  if (from != base_->node_of(pod)) std::erase(arrivals_[from], pod);
  if (!base_->is_active(pod)) return;
  changes_.push_back(from);
  used_.subtract(from, requests_on(pod, from));
  scored_.subtract(from, scored_on(pod, from));
  used_.add(from, kPodsIndex, -1000);
}

void WhatIf::arrive(PodIndex pod, NodeIndex to) {
  if (to != base_->node_of(pod)) {
    if (arrivals_.empty()) arrivals_.resize(base_->node_count());
    arrivals_[to].push_back(pod);
  }
  if (!base_->is_active(pod)) return;
  changes_.push_back(to);
  used_.add(to, requests_on(pod, to));
  scored_.add(to, scored_on(pod, to));
  used_.add(to, kPodsIndex, 1000);
}

}  // namespace scheduling
