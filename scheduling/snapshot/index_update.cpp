#include "scheduling/snapshot/index_update.hpp"

#include <numeric>

namespace scheduling {

IndexUpdate::IndexUpdate(std::uint32_t size, std::span<const std::uint32_t> leaving,
                         std::span<const std::uint32_t> coming)
    : size_(size), new_size_(static_cast<std::uint32_t>(size + coming.size() - leaving.size())) {
  placed_.reserve(coming.size());
  std::uint32_t first = 0;
  std::int32_t by = 0;
  auto leaves = leaving.begin();
  for (auto comes = coming.begin(); comes != coming.end() || leaves != leaving.end();) {
    if (leaves == leaving.end() || (comes != coming.end() && *comes <= *leaves)) {
      end_run(first, *comes, by);
      first = *comes++;
      placed_.push_back(first + static_cast<std::uint32_t>(by++));
    } else {
      end_run(first, *leaves, by--);
      first = *leaves++ + 1;
    }
  }
  end_run(first, size, by);
  if (moving_.size() > 1) make_table();
}

void IndexUpdate::end_run(std::uint32_t first, std::uint32_t last, std::int32_t by) {
  if (first < last && by != 0) moving_.push_back({first, last, by});
}

void IndexUpdate::make_table() {
  table_.resize(size_);
  std::iota(table_.begin(), table_.end(), 0U);
  for (const Run& run : moving_) {
    std::iota(table_.begin() + run.first, table_.begin() + run.last, run.first + static_cast<std::uint32_t>(run.by));
  }
}

void IndexUpdate::renumber(std::span<std::uint32_t> numbers) const {
  if (moving_.empty()) return;
  if (!table_.empty()) {
    for (std::uint32_t& number : numbers) number = table_[number];
    return;
  }
  const Run& run = moving_[0];
  const auto shift = [first = run.first, length = run.last - run.first, by = static_cast<std::uint32_t>(run.by)](
                         std::uint32_t& number) { number += number - first < length ? by : 0; };
  constexpr std::size_t kAtOnce = 32;  // a count that is known lets the compiler take several in one step
  std::size_t i = 0;
  for (; i + kAtOnce <= numbers.size(); i += kAtOnce) {
    for (std::size_t j = 0; j < kAtOnce; ++j) shift(numbers[i + j]);
  }
  for (; i < numbers.size(); ++i) shift(numbers[i]);
}

}  // namespace scheduling
