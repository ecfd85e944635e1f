#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace base {

/// Max-min fairness: returns the largest share for which the sum of all amounts, each capped at the share, is within
/// `max`. Returns nullopt if the uncapped amounts fit. `Amount` is an unsigned number or a duration; amounts must not
/// be negative.
template <typename Amount>
std::optional<Amount> fair_share(std::vector<Amount> amounts, Amount max) {
  std::ranges::sort(amounts);
  Amount left = max;
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    const Amount share = left / static_cast<std::int64_t>(amounts.size() - i);
    if (amounts[i] > share) return share;
    left -= amounts[i];
  }
  return std::nullopt;
}

}  // namespace base
