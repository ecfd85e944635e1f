#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace scheduling {

/// Half-open range [first, last) of indexes. Replaces std::views::iota, which clang 14 (used for linting and fuzzing)
/// does not support.
class IndexRange {
 public:
  class Iterator {
   public:
    using value_type = std::uint32_t;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::forward_iterator_tag;
    using pointer = const value_type*;
    using reference = value_type;

    Iterator() = default;
    explicit Iterator(value_type at) : at_(at) {}
    value_type operator*() const { return at_; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++at_;
      return before;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    value_type at_ = 0;
  };

  IndexRange(std::uint32_t first, std::uint32_t last) : first_(first), last_(last) {}
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(last_); }
  std::size_t size() const { return last_ - first_; }
  bool empty() const { return first_ == last_; }
  std::uint32_t operator[](std::size_t i) const { return first_ + static_cast<std::uint32_t>(i); }

 private:
  std::uint32_t first_;
  std::uint32_t last_;
};

}  // namespace scheduling
