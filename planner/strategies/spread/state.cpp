#include "planner/strategies/spread/state.hpp"

#include <algorithm>

namespace strategies {

SpreadState::SpreadState(const SpreadRule& rule, const SpreadDomains& domains)
    : rule_(&rule), domains_(&domains), count_(domains.nodes.size(), 0) {}

void SpreadState::add(NodeIndex node) {
  const std::uint32_t domain = domain_of(node);
  if (domain != Topology::kNone) ++count_[domain];
}

void SpreadState::seal() {
  std::vector<std::int64_t> open;
  open.reserve(domains_->open.size());
  for (const std::uint32_t domain : domains_->open) open.push_back(count_[domain]);
  std::ranges::sort(open);
  for (const std::int64_t size : open) {
    if (sizes_.empty() || sizes_.back().first != size) sizes_.emplace_back(size, 0);
    ++sizes_.back().second;
  }
}

std::uint32_t SpreadState::domain_of(NodeIndex node) const {
  return domains_->includes[node] ? domains_->topology->domain_of[node] : Topology::kNone;
}

std::int64_t SpreadState::fewest() const { return counts_empty_domain() || sizes_.empty() ? 0 : sizes_.front().first; }

bool SpreadState::counts_empty_domain() const {
  const auto& wanted = rule_->constraint->min_domains;
  return wanted && static_cast<std::int64_t>(domains_->open.size()) < *wanted;
}

std::int64_t SpreadState::excess() const {
  const std::int64_t most = limit();
  std::int64_t excess = 0;
  for (auto at = sizes_.rbegin(); at != sizes_.rend() && at->first > most; ++at) {
    excess += (at->first - most) * at->second;
  }
  return excess;
}

void SpreadState::shift(std::int64_t from, std::int64_t to) {
  const auto at_size = [&](std::int64_t size) {
    return std::ranges::lower_bound(sizes_, size, {}, &Sizes::value_type::first);
  };
  const auto old = at_size(from);
  if (--old->second == 0) sizes_.erase(old);
  const auto next = at_size(to);
  if (next != sizes_.end() && next->first == to) {
    ++next->second;
  } else {
    sizes_.emplace(next, to, 1);
  }
}

void SpreadState::move(std::uint32_t from, std::uint32_t to) {
  if (from == to) return;
  if (from != Topology::kNone) {
    shift(count_[from], count_[from] - 1);
    --count_[from];
  }
  if (to != Topology::kNone) {
    shift(count_[to], count_[to] + 1);
    ++count_[to];
  }
}

}  // namespace strategies
