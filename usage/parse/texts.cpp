#include "usage/parse/texts.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

namespace usage {

std::string_view Texts::keep(std::string_view text) {
  constexpr std::size_t kBlock = std::size_t{256} << 10;
  if (text.size() > left_) {
    left_ = std::max(kBlock, text.size());
    next_ = blocks_.emplace_back(std::make_unique_for_overwrite<char[]>(left_)).get();
  }
  if (!text.empty()) std::memcpy(next_, text.data(), text.size());
  left_ -= text.size();
  return {std::exchange(next_, next_ + text.size()), text.size()};
}

/// Returns the position of the text in the table, or the free one where it belongs.
std::size_t NumberedTexts::place_of(std::string_view text) const {
  std::size_t at = std::hash<std::string_view>()(text) & (table_.size() - 1);
  while (table_[at] != kFree && texts_[table_[at]] != text) at = (at + 1) & (table_.size() - 1);
  return at;
}

void NumberedTexts::grow() {
  constexpr std::size_t kMin = 64;
  table_.assign(std::max(kMin, table_.size() * 2), kFree);
  for (std::uint32_t i = 0; i < texts_.size(); ++i) table_[place_of(texts_[i])] = i;
}

std::uint32_t NumberedTexts::number_of(std::string_view text) {
  if (!texts_.empty() && texts_[last_] == text) return last_;
  if (texts_.size() * 2 >= table_.size()) grow();
  const std::size_t at = place_of(text);
  if (table_[at] == kFree) {
    table_[at] = static_cast<std::uint32_t>(texts_.size());
    texts_.push_back(kept_.keep(text));
  }
  return last_ = table_[at];
}

}  // namespace usage
