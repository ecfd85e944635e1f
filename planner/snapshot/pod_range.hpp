#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace scheduling {

/// The numbers from `first` to before `last` that pods have: a snapshot that was changed leaves some out.
class PodRange {
 public:
  class Iterator {
   public:
    using value_type = std::uint32_t;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::forward_iterator_tag;
    using pointer = const value_type*;
    using reference = value_type;

    Iterator() = default;
    Iterator(const std::uint8_t* is_taken, value_type at, value_type last) : is_taken_(is_taken), at_(at), last_(last) {
      skip();
    }
    value_type operator*() const { return at_; }
    Iterator& operator++() {
      ++at_;
      skip();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    void skip() {
      while (at_ < last_ && is_taken_[at_] == 0) ++at_;
    }

    const std::uint8_t* is_taken_ = nullptr;
    value_type at_ = 0;
    value_type last_ = 0;
  };

  /// `is_taken`: by number, 1 where a pod has it, else 0. Kept by reference.
  PodRange(const std::uint8_t* is_taken, std::uint32_t first, std::uint32_t last)
      : is_taken_(is_taken), first_(first), last_(last) {}
  Iterator begin() const { return {is_taken_, first_, last_}; }
  Iterator end() const { return {is_taken_, last_, last_}; }
  bool empty() const { return begin() == end(); }
  /// Counts them.
  std::size_t size() const {
    return static_cast<std::size_t>(std::count(is_taken_ + first_, is_taken_ + last_, std::uint8_t{1}));
  }

 private:
  const std::uint8_t* is_taken_;
  std::uint32_t first_;
  std::uint32_t last_;
};

}  // namespace scheduling
