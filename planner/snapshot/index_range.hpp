#pragma once

#include <algorithm>
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

/// Pod numbers in use within [first, last). A modified snapshot has unused numbers in between.
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

  /// `is_taken` is indexed by pod number, 1 if a pod has the number and 0 otherwise. Kept by reference.
  PodRange(const std::uint8_t* is_taken, std::uint32_t first, std::uint32_t last)
      : is_taken_(is_taken), first_(first), last_(last) {}
  Iterator begin() const { return {is_taken_, first_, last_}; }
  Iterator end() const { return {is_taken_, last_, last_}; }
  bool empty() const { return begin() == end(); }
  /// Counts the pods in O(last - first).
  std::size_t size() const {
    return static_cast<std::size_t>(std::count(is_taken_ + first_, is_taken_ + last_, std::uint8_t{1}));
  }

 private:
  const std::uint8_t* is_taken_;
  std::uint32_t first_;
  std::uint32_t last_;
};

}  // namespace scheduling
