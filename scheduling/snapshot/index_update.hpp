#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace scheduling {

/// How the elements of a list are numbered once some are taken out and others put in between: known by the runs that
/// keep together, so that thousands of changes cost one pass and a single one touches only what stands behind it.
class IndexUpdate {
 public:
  /// Elements that leave and places for new ones, ascending, in old numbers; a new element comes before the old one
  /// whose number it has (`size`: at the end).
  IndexUpdate(std::uint32_t size, std::span<const std::uint32_t> leaving, std::span<const std::uint32_t> coming);

  /// The numbers of the new elements, in their order.
  const std::vector<std::uint32_t>& placed() const { return placed_; }
  /// Puts new numbers in the place of old ones. Of elements that leave: any.
  void renumber(std::span<std::uint32_t> numbers) const;
  /// Moves what stays to its new place; the places of new elements are there for the caller to assign.
  template <typename T>
  void move_apart(std::vector<T>& list) const {
    list.resize(std::max(size_, new_size_));
    const auto at = list.begin();
    // Back to front for what moves back, then front to back: nothing is overwritten that has yet to move.
    for (std::size_t i = moving_.size(); i-- > 0;) {
      const Run& run = moving_[i];
      if (run.by > 0) std::move_backward(at + run.first, at + run.last, at + run.last + run.by);
    }
    for (const Run& run : moving_) {
      if (run.by < 0) std::move(at + run.first, at + run.last, at + run.first + run.by);
    }
    list.resize(new_size_);
  }

 private:
  /// Old numbers [first, last), each to become that much more.
  struct Run {
    std::uint32_t first;
    std::uint32_t last;
    std::int32_t by;
  };
  void end_run(std::uint32_t first, std::uint32_t last, std::int32_t by);
  void make_table();

  std::uint32_t size_;
  std::uint32_t new_size_;
  std::vector<Run> moving_;
  std::vector<std::uint32_t> placed_;
  std::vector<std::uint32_t> table_;  ///< old number → new; empty when at most one run moves
};

}  // namespace scheduling
