#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "planner/strategies/spread/rules.hpp"

namespace strategies {

/// Number of pods that one rule counts in each domain, and its distance from satisfying the rule.
class SpreadState {
 public:
  SpreadState(const SpreadRule& rule, const SpreadDomains& domains);

  /// Counts a pod of `node`. REQUIRES: seal() was not called yet.
  void add(NodeIndex node);
  void seal();

  const SpreadRule& rule() const { return *rule_; }
  const SpreadDomains& domains() const { return *domains_; }
  std::int64_t count(std::uint32_t domain) const { return count_[domain]; }
  /// Returns the node's domain, or Topology::kNone if the rule's policies exclude the node.
  std::uint32_t domain_of(NodeIndex node) const;
  /// Maximum number of pods that a domain may hold now.
  std::int64_t limit() const { return fewest() + max_skew(); }
  std::int64_t max_skew() const { return std::max(rule_->constraint->max_skew, 0); }
  bool is_hard() const { return !rule_->constraint->schedule_anyway; }
  /// Returns true if minDomains exceeds the number of domains, so that the minimum counts as 0.
  bool counts_empty_domain() const;
  /// Number of pods above the limit, over all domains.
  std::int64_t excess() const;
  /// Moves one pod between domains. kNone stands for no counted domain.
  void move(std::uint32_t from, std::uint32_t to);

 private:
  /// Size and number of domains of that size, ascending.
  using Sizes = std::vector<std::pair<std::int64_t, std::int64_t>>;

  std::int64_t fewest() const;
  void shift(std::int64_t from, std::int64_t to);

  const SpreadRule* rule_;
  const SpreadDomains* domains_;
  std::vector<std::int64_t> count_;  ///< indexed by domain
  Sizes sizes_;
};

}  // namespace strategies
