#include "scheduling/snapshot/term_shares.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace scheduling {
namespace {

/// The largest share that keeps the sum of all amounts, each cut off at the share, within `max`.
std::size_t fair_share(std::vector<std::size_t> amounts, std::size_t max) {
  std::ranges::sort(amounts);
  std::size_t left = max;
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    const std::size_t share = left / (amounts.size() - i);
    if (amounts[i] > share) return share;
    left -= amounts[i];
  }
  return std::numeric_limits<std::size_t>::max();
}

}  // namespace

std::vector<std::size_t> beyond_share(std::span<const TermUse> uses, std::size_t max) {
  std::unordered_map<std::uint32_t, std::size_t> by_namespace;
  for (const TermUse& each : uses) by_namespace[each.ns] += each.terms;
  std::vector<std::size_t> amounts;
  for (const auto& [ns, terms] : by_namespace) amounts.push_back(terms);
  const std::size_t share = fair_share(std::move(amounts), max);
  std::unordered_map<std::uint32_t, std::size_t> taken;
  std::vector<std::size_t> beyond;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    std::size_t& sum = taken[uses[i].ns];
    if (uses[i].terms > 0 && uses[i].terms > share - std::min(sum, share))
      beyond.push_back(i);
    else
      sum += uses[i].terms;
  }
  return beyond;
}

}  // namespace scheduling
