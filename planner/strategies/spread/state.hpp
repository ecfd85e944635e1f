#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "planner/strategies/spread/rules.hpp"

namespace strategies {

/// How many pods one rule counts in each of its domains, and how far that is from what it wants.
class SpreadState {
 public:
  SpreadState(const SpreadRule& rule, const SpreadDomains& domains);

  /// Takes a pod of `node` into account. REQUIRES: seal() was not called yet.
  void add(NodeIndex node);
  void seal();

  const SpreadRule& rule() const { return *rule_; }
  const SpreadDomains& domains() const { return *domains_; }
  std::int64_t count(std::uint32_t domain) const { return count_[domain]; }
  /// The domain of the node if the rule's policies let the node in, else Topology::kNone.
  std::uint32_t domain_of(NodeIndex node) const;
  /// The most pods that a domain may hold now.
  std::int64_t limit() const { return fewest() + max_skew(); }
  std::int64_t max_skew() const { return std::max(rule_->constraint->max_skew, 0); }
  bool is_hard() const { return !rule_->constraint->schedule_anyway; }
  /// minDomains asks for more domains than there are: the emptiest one counts as empty.
  bool counts_empty_domain() const;
  /// Pods above the limit, all domains together.
  std::int64_t excess() const;
  /// kNone: from or to nowhere that counts.
  void move(std::uint32_t from, std::uint32_t to);

 private:
  using Sizes = std::vector<std::pair<std::int64_t, std::int64_t>>;  ///< size and number of domains of it, ascending

  std::int64_t fewest() const;
  void shift(std::int64_t from, std::int64_t to);

  const SpreadRule* rule_;
  const SpreadDomains* domains_;
  std::vector<std::int64_t> count_;  ///< by domain
  Sizes sizes_;
};

}  // namespace strategies
