#include "planner/plan/cycle_limits.hpp"

#include <vector>

#include "base/fair_share.hpp"

namespace planner {
namespace {

using strategies::NominationResult;

template <typename Map>
std::int64_t count_in(const Map& counts, typename Map::key_type key) {
  const auto at = counts.find(key);
  return at == counts.end() ? 0 : at->second;
}

bool exceeds(std::int64_t done, const std::optional<std::int32_t>& limit) { return limit && done + 1 > *limit; }

}  // namespace

std::optional<CycleLimits::Hit> CycleLimits::hit(scheduling::NodeIndex node, scheduling::NamespaceIndex ns) const {
  if (exceeds(total_, limits_.total)) {
    return Hit{NominationResult::kTotalLimit,
               {"TotalLimit", "limits.perCycle.total is {wanted} and reached", "", *limits_.total}};
  }
  if (limits_.per_node && node != scheduling::kNoNode && exceeds(count_in(per_node_, node), limits_.per_node)) {
    return Hit{NominationResult::kNodeLimit,
               {"NodeLimit", "limits.perCycle.perNode is {wanted} and reached", "", *limits_.per_node}};
  }
  if (limits_.per_namespace && exceeds(count_in(per_namespace_, ns), limits_.per_namespace)) {
    return Hit{NominationResult::kNamespaceLimit,
               {"NamespaceLimit", "limits.perCycle.perNamespace is {wanted} and reached", "", *limits_.per_namespace}};
  }
  return std::nullopt;
}

void CycleLimits::count(scheduling::NodeIndex node, scheduling::NamespaceIndex ns) {
  ++total_;
  if (limits_.per_node && node != scheduling::kNoNode) ++per_node_[node];
  if (limits_.per_namespace) ++per_namespace_[ns];
}

void CycleTime::charge(std::optional<scheduling::NamespaceIndex> next) {
  if (!limit_ || !elapsed_) return;
  const base::Duration now = elapsed_();
  const base::Duration spent = last_ ? std::max(now - *last_, base::Duration{}) : base::Duration{};
  last_ = now;
  total_ += spent;
  if (current_) used_[*current_] += spent;
  current_ = next;
  is_over_ = is_over_ || total_ > *limit_;
}

bool CycleTime::is_over_for(scheduling::NamespaceIndex ns) {
  charge(ns);
  if (!current_) return false;  // no limit
  const base::Duration used = used_[ns];
  if (is_over_ || !is_shared_ || total_ <= *limit_ / 2) return is_over_;
  if (!share_ || total_ - shared_at_ >= *limit_ / 100) divide();
  return used > *share_;
}

/// Divides half of the limit among the namespaces according to the time that they have used.
void CycleTime::divide() {
  std::vector<base::Duration> times;
  for (const auto& [ns, time] : used_) times.push_back(time);
  share_ = base::fair_share(std::move(times), *limit_ / 2).value_or(base::Duration::max());
  shared_at_ = total_;
}

}  // namespace planner
