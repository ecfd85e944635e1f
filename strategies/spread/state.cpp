#include "strategies/spread/state.hpp"

#include <algorithm>

namespace strategies {

using scheduling::Topology;

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

std::int64_t SpreadState::fewest_of(const Sizes& sizes) const {
  const auto& wanted = rule_->constraint->min_domains;
  const bool too_few = wanted && static_cast<std::int64_t>(domains_->open.size()) < *wanted;
  return too_few || sizes.empty() ? 0 : sizes.front().first;
}

std::int64_t SpreadState::excess_of(const Sizes& sizes) const {
  const std::int64_t limit = fewest_of(sizes) + rule_->constraint->max_skew;
  std::int64_t excess = 0;
  for (auto at = sizes.rbegin(); at != sizes.rend() && at->first > limit; ++at) {
    excess += (at->first - limit) * at->second;
  }
  return excess;
}

std::int64_t SpreadState::excess() const { return excess_of(sizes_); }

void SpreadState::shift(Sizes& sizes, std::int64_t from, std::int64_t to) {
  const auto at_size = [&](std::int64_t size) {
    return std::ranges::lower_bound(sizes, size, {}, &Sizes::value_type::first);
  };
  const auto old = at_size(from);
  if (--old->second == 0) sizes.erase(old);
  const auto next = at_size(to);
  if (next != sizes.end() && next->first == to) {
    ++next->second;
  } else {
    sizes.emplace(next, to, 1);
  }
}

std::int64_t SpreadState::excess_after(std::uint32_t from, std::uint32_t to) const {
  if (from == to) return excess();
  Sizes sizes = sizes_;
  if (from != Topology::kNone) shift(sizes, count_[from], count_[from] - 1);
  if (to != Topology::kNone) shift(sizes, count_[to], count_[to] + 1);
  return excess_of(sizes);
}

void SpreadState::move(std::uint32_t from, std::uint32_t to) {
  if (from == to) return;
  if (from != Topology::kNone) {
    shift(sizes_, count_[from], count_[from] - 1);
    --count_[from];
  }
  if (to != Topology::kNone) {
    shift(sizes_, count_[to], count_[to] + 1);
    ++count_[to];
  }
}

std::vector<std::uint32_t> SpreadState::overfull() const {
  const std::int64_t most = limit();
  std::vector<std::uint32_t> full;
  for (const std::uint32_t domain : domains_->open) {
    if (count_[domain] > most) full.push_back(domain);
  }
  std::ranges::stable_sort(full, std::ranges::greater{}, [&](std::uint32_t domain) { return count_[domain]; });
  return full;
}

}  // namespace strategies
