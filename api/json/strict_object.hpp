#pragma once

/// Strict reading of JSON objects, for codecs of specs. Internal to api/ and to parsers of arguments of Evacuator's
/// kinds.

#include <array>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"

namespace api {

/// JSON name of an enumerator.
template <typename E>
struct WireName {
  E value;
  std::string_view name;
};
template <typename E>
WireName(E, std::string_view) -> WireName<E>;  // clang 14 cannot deduce this for aggregates

template <typename E, std::size_t N>
std::string_view name_of(const std::array<WireName<E>, N>& names, E value) {
  for (const WireName<E>& known : names) {
    if (known.value == value) return known.name;
  }
  std::abort();  // -Wswitch does not check the tables; a test does
}

template <typename E, std::size_t N>
std::optional<E> value_of(const std::array<WireName<E>, N>& names, std::string_view name) {
  for (const WireName<E>& known : names) {
    if (known.name == name) return known.value;
  }
  return std::nullopt;
}

template <typename E, std::size_t N>
std::array<std::string_view, N> all_names(const std::array<WireName<E>, N>& names) {
  std::array<std::string_view, N> all;
  for (std::size_t i = 0; i < N; ++i) all[i] = names[i].name;
  return all;
}

/// "an object", "a string"… for error messages.
std::string_view kind_of(const Json& json);

/// Reads the members of one object by name. A member that is absent or null leaves the target unchanged. Errors are
/// added to the shared list with their full path; finish() reports members that were never read.
class StrictObject {
 public:
  /// Reports an error if `json` is not an object; it then reads as empty. Keeps references to `json` and `errors`.
  StrictObject(const Json& json, FieldPath path, FieldErrors& errors);

  /// Returns the member, or nullptr if absent or null. Marks it as known.
  const Json* find(std::string_view name);

  void read(std::string_view name, bool& target);
  void read(std::string_view name, std::string& target);
  void read(std::string_view name, std::int32_t& target);
  void read(std::string_view name, std::uint32_t& target);
  void read(std::string_view name, std::int64_t& target);
  /// Reads a finite number.
  void read(std::string_view name, double& target);
  void read(std::string_view name, std::vector<std::string>& target);
  /// Reads an object of texts, sorted by key.
  void read(std::string_view name, std::vector<std::pair<std::string, std::string>>& target);
  template <typename T>
  void read(std::string_view name, std::optional<T>& target) {
    T value{};
    const std::size_t before = errors_.size();
    if (find(name) == nullptr) return;
    read(name, value);
    if (errors_.size() == before) target = std::move(value);
  }
  /// Reads an integer number of seconds; its JSON name ends in Seconds.
  void read(std::string_view name, base::seconds& target);
  /// Reads text in Go's duration syntax: "1h30m".
  void read_duration(std::string_view name, base::Duration& target);
  void read_duration(std::string_view name, std::optional<base::Duration>& target);

  template <typename E, std::size_t N>
  void read(std::string_view name, const std::array<WireName<E>, N>& names, E& target) {
    std::string text;
    if (!read_text(name, text)) return;
    if (const auto value = value_of(names, text)) {
      target = *value;
      return;
    }
    complain_none_of(name, text, all_names(names));
  }

  /// Calls `each` with every element of the array `name` and its path.
  void for_each(std::string_view name, const std::function<void(const Json& item, const FieldPath& path)>& each);
  /// Calls `inside` with the object `name` if present, then finish() on it.
  void with(std::string_view name, const std::function<void(StrictObject& object)>& inside);

  /// Reports "not supported yet" for members that the CRD has and this build does not support.
  void not_supported_yet(std::initializer_list<std::string_view> names);

  /// Reports every unknown member, with the nearest known name. Call once, last.
  void finish();

  const FieldPath& path() const { return path_; }
  FieldErrors& errors() { return errors_; }
  void complain(std::string_view name, std::string message);

 private:
  bool read_text(std::string_view name, std::string& target);
  bool read_integer(std::string_view name, std::int64_t least, std::int64_t most, std::int64_t& target);
  void complain_none_of(std::string_view name, std::string_view text, std::span<const std::string_view> valid);
  std::string advice_for(std::string_view unknown) const;

  const Json& json_;
  FieldPath path_;
  FieldErrors& errors_;
  std::vector<std::string_view> asked_;
  std::vector<std::string_view> refused_;
};

/// "a, b or c".
std::string join_alternatives(std::span<const std::string_view> names);
/// Returns `, did you mean "x"?` for a similar name, otherwise "".
std::string did_you_mean(std::string_view text, std::span<const std::string_view> candidates);

}  // namespace api
