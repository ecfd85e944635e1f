#include "usage/promql_range.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

namespace usage {
namespace {

using Unit = std::pair<std::string_view, std::int64_t>;
/// "ms" must precede "m".
constexpr std::array<Unit, 7> kMilliseconds = {{{"ms", 1},
                                                {"s", 1000},
                                                {"m", 60'000},
                                                {"h", 3'600'000},
                                                {"d", 86'400'000},
                                                {"w", 604'800'000},
                                                {"y", 31'536'000'000}}};
constexpr std::int64_t kMaxNumber = 1'000'000;
constexpr base::milliseconds kMaxHour = std::chrono::duration_cast<base::milliseconds>(kMaxRange);

bool is_quote(char c) { return c == '"' || c == '\'' || c == '`'; }

/// `rest` begins after the opening quote. Returns the text after the closing quote.
std::string_view behind_quoted(std::string_view rest, char quote) {
  while (!rest.empty() && rest.front() != quote) {
    const bool escapes = rest.front() == '\\' && quote != '`';
    rest.remove_prefix(std::min<std::size_t>(escapes ? 2 : 1, rest.size()));
  }
  rest.remove_prefix(rest.empty() ? 0 : 1);
  return rest;
}

/// Removes "5m" from "5m30s" and returns it.
std::optional<base::milliseconds> take_part(std::string_view& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0 || number > kMaxNumber) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  for (const auto& [unit, milliseconds] : kMilliseconds) {
    if (!text.starts_with(unit)) continue;
    text.remove_prefix(unit.size());
    return base::milliseconds(number * milliseconds);
  }
  return std::nullopt;
}

/// `text` begins after a bracket.
base::Duration range_at(std::string_view text) {
  base::Duration sum{};
  while (true) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    if (text.starts_with(']') || text.starts_with(':')) break;
    const auto part = take_part(text);
    if (!part) return {};
    sum = std::min<base::Duration>(sum + std::min<base::milliseconds>(*part, kMaxHour), kMaxRange);
  }
  return sum;
}

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':'; }

/// Returns the name at the end of `text`.
std::string_view last_name(std::string_view text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  std::size_t length = 0;
  while (length < text.size() && is_of_name(text[text.size() - 1 - length])) ++length;
  return text.substr(text.size() - length);
}

bool is_mean(std::string_view function) {
  return function == "rate" || function == "increase" || function == "avg_over_time";
}

}  // namespace

base::Duration longest_mean(std::string_view promql) {
  base::Duration longest{};
  std::vector<bool> means;  // for each open function, whether it takes a mean
  for (std::string_view rest = promql; !rest.empty();) {
    const char first = rest.front();
    const std::string_view before = promql.substr(0, promql.size() - rest.size());
    rest.remove_prefix(1);
    if (is_quote(first)) rest = behind_quoted(rest, first);
    if (first == '(') means.push_back(is_mean(last_name(before)));
    if (first == ')' && !means.empty()) means.pop_back();
    if (first == '[' && !means.empty() && means.back()) longest = std::max(longest, range_at(rest));
  }
  return longest;
}

}  // namespace usage
