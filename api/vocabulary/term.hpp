#pragma once

/// Words that Evacuator writes into statuses and Events: one enum and one table per kind of word. The wire
/// format uses strings, and readers keep unknown strings, which an older or newer version may have written.

#include <array>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace api {

/// One word: its wire name, and its text in docs/troubleshooting.md.
template <typename E>
struct Term {
  E value;
  std::string_view name;      ///< CamelCase
  std::string_view where;     ///< where users see it
  std::string_view meaning;   ///< whole sentences, Markdown
  std::string_view remedy{};  ///< what to check and do; empty if no action is needed
};

/// Returns true if row i describes enumerator i, and every enumerator up to `last` has a row.
template <typename E, std::size_t N>
constexpr bool is_complete(const std::array<Term<E>, N>& table, E last) {
  for (std::size_t i = 0; i < N; ++i) {
    if (table[i].value != static_cast<E>(i)) return false;
  }
  return static_cast<std::size_t>(last) + 1 == N;
}

/// `table` must be complete (is_complete()).
template <typename E, std::size_t N>
constexpr std::string_view term_name(const std::array<Term<E>, N>& table, E value) {
  const auto at = static_cast<std::size_t>(value);
  if (at >= N) std::abort();
  return table[at].name;
}

/// Returns nullopt for an unknown word, such as one of another version.
template <typename E, std::size_t N>
constexpr std::optional<E> term_value(const std::array<Term<E>, N>& table, std::string_view name) {
  for (const Term<E>& each : table) {
    if (each.name == name) return each.value;
  }
  return std::nullopt;
}

}  // namespace api
