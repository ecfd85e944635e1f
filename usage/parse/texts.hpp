#pragma once

/// Storage for the names of an answer: a hundred thousand texts with few allocations.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace usage {

/// Stores texts at addresses that are stable for its lifetime.
class Texts {
 public:
  std::string_view keep(std::string_view text);

 private:
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
};

/// Stores repeated texts once and numbers them from 0 in the order of their first occurrence.
class NumberedTexts {
 public:
  std::uint32_t number_of(std::string_view text);
  std::string_view text(std::uint32_t number) const { return texts_[number]; }
  std::size_t size() const { return texts_.size(); }

 private:
  static constexpr std::uint32_t kFree = 0xffffffff;
  std::size_t place_of(std::string_view text) const;
  void grow();

  Texts kept_;
  std::vector<std::string_view> texts_;
  std::vector<std::uint32_t> table_;  ///< hash table of numbers, at most half full; its size is a power of two
  std::uint32_t last_ = 0;
};

}  // namespace usage
