#pragma once

/// The words that Evacuator itself writes into statuses and Events: one enum and one table for each kind of word. The
/// wire carries strings, and readers keep strings that they do not know (an older or newer version wrote them).

#include <array>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace api {

/// One word: its spelling on the wire, and what docs/troubleshooting.md says about it.
template <typename E>
struct Term {
  E value;
  std::string_view name;     ///< CamelCase
  std::string_view where;    ///< where a reader meets it
  std::string_view meaning;  ///< whole sentences, Markdown
  std::string_view remedy;   ///< what to look at and what to do; empty: there is nothing to do
};

/// Does row i describe enumerator i, and is there a row for every enumerator up to `last`?
template <typename E, std::size_t N>
constexpr bool is_complete(const std::array<Term<E>, N>& table, E last) {
  for (std::size_t i = 0; i < N; ++i) {
    if (table[i].value != static_cast<E>(i)) return false;
  }
  return static_cast<std::size_t>(last) + 1 == N;
}

/// REQUIRES: is_complete(table, …).
template <typename E, std::size_t N>
constexpr std::string_view term_name(const std::array<Term<E>, N>& table, E value) {
  const auto at = static_cast<std::size_t>(value);
  if (at >= N) std::abort();
  return table[at].name;
}

/// nullopt: a word of another version, or of somebody else.
template <typename E, std::size_t N>
constexpr std::optional<E> term_value(const std::array<Term<E>, N>& table, std::string_view name) {
  for (const Term<E>& each : table) {
    if (each.name == name) return each.value;
  }
  return std::nullopt;
}

}  // namespace api
