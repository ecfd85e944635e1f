#pragma once

/// Tables of the members of structs: one table per struct serves the reader and the writer of its JSON. Internal to
/// api/. lenient::read() treats a value of a wrong type as absent, read_fields() reports it. An absent value leaves the
/// member unchanged.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "api/json/lenient.hpp"
#include "api/wire_names.hpp"

namespace api {

/// One member. `read` (lenient) and `write` are nullptr unless its JSON differs from that of other members of its type.
/// Only the first `most` elements of a list of structs are written.
template <typename T, typename M>
struct Field {
  const char* name;
  M T::*member;
  bool always;  ///< written even if it has its default value: empty, 0, false, nullopt
  void (*read)(const Json& json, M& to) = nullptr;
  Json (*write)(const M& from) = nullptr;
  std::size_t most = SIZE_MAX;
};
template <typename T, typename M>
constexpr Field<T, M> field(const char* name, M T::*member, std::size_t most = SIZE_MAX) {
  return {name, member, false, nullptr, nullptr, most};
}
template <typename T, typename M>
constexpr Field<T, M> always(const char* name, M T::*member) {
  return {name, member, true};
}

/// The fields of T, a tuple. Specialized for each struct that has a table.
template <typename T>
inline constexpr std::tuple<> kFields{};

template <typename T>
concept HasFields = !std::is_same_v<std::remove_cvref_t<decltype(kFields<T>)>, std::tuple<>>;
template <typename M>
concept OptionalOfFields =
    HasFields<typename M::value_type> && std::is_same_v<M, std::optional<typename M::value_type>>;
template <typename M>
concept ListOfFields = HasFields<typename M::value_type> && std::is_same_v<M, std::vector<typename M::value_type>>;

/// Calls visit(field) for every field of T.
template <typename T, typename F>
constexpr void for_each_field(F&& visit) {
  std::apply([&](const auto&... fields) { (visit(fields), ...); }, kFields<T>);
}

namespace lenient {

template <typename M>
void read(const Json& json, M& to) {
  if constexpr (std::is_enum_v<M>) {
    if (json.is_string()) to = value_of(wire_names(M{}), json.get_ref<const std::string&>()).value_or(to);
  } else if constexpr (HasFields<M>) {
    for_each_field<M>([&](const auto& field) {
      const Json* member = find_at(json, {field.name});
      if (member == nullptr) return;
      field.read ? field.read(*member, to.*field.member) : read(*member, to.*field.member);
    });
  } else if constexpr (OptionalOfFields<M>) {
    if (json.is_object()) read(json, to.emplace());
  } else if constexpr (ListOfFields<M>) {
    if (!json.is_array()) return;
    for (const Json& item : json) {
      if (item.is_object()) read(item, to.emplace_back());
    }
  } else if constexpr (requires { to.value.empty(); }) {
    read_value(json, to.value);
  } else {
    read_value(json, to);
  }
}

/// Reads the member `name` of an object.
template <typename M>
void read(const Json& object, std::string_view name, M& to) {
  if (const Json* member = find_at(object, {name})) read(*member, to);
}

}  // namespace lenient

template <HasFields T>
void read_fields(StrictObject& object, T& to);

/// Reads the member `name` of `object`. Types with other JSON have an overload.
template <typename M>
void read_member(StrictObject& object, std::string_view name, M& to) {
  if constexpr (std::is_enum_v<M>) {
    object.read(name, wire_names(M{}), to);
  } else if constexpr (HasFields<M>) {
    object.with(name, [&](StrictObject& inner) { read_fields(inner, to); });
  } else if constexpr (OptionalOfFields<M>) {
    object.with(name, [&](StrictObject& inner) { read_fields(inner, to.emplace()); });
  } else if constexpr (ListOfFields<M>) {
    object.for_each(name, [&](const Json& item, const FieldPath& path) {
      StrictObject inner(item, path, object.errors());
      read_fields(inner, to.emplace_back());
      inner.finish();
    });
  } else if constexpr (requires { object.read_duration(name, to); }) {
    object.read_duration(name, to);
  } else if constexpr (requires { to.value.empty(); }) {
    object.read(name, to.value);
  } else {
    object.read(name, to);
  }
}

/// Reads the fields of T in the order of its table, and adds errors to the object's list.
template <HasFields T>
void read_fields(StrictObject& object, T& to) {
  for_each_field<T>([&](const auto& field) { read_member(object, field.name, to.*field.member); });
}

/// Encodes an object with fields without those that are equal in `other`; nullptr leaves out none. With
/// `lists_as_null`, lists of structs are null: enough for the old side of a merge patch, which replaces lists as a
/// whole.
template <HasFields T>
Json encode_fields(const T& from, const T* other = nullptr, bool lists_as_null = false);

/// Encodes one value; of a list of structs at most `most` elements.
template <typename M>
Json encode(const M& from, [[maybe_unused]] std::size_t most = SIZE_MAX) {
  if constexpr (std::is_enum_v<M>) {
    return name_of(wire_names(M{}), from);
  } else if constexpr (HasFields<M>) {
    return encode_fields(from);
  } else if constexpr (ListOfFields<M>) {
    Json list = Json::array();
    for (std::size_t i = 0; i < std::min(from.size(), most); ++i) list.push_back(encode_fields(from[i]));
    return list;
  } else if constexpr (requires { *from; }) {
    return encode(*from);
  } else if constexpr (requires { from.value.empty(); }) {
    return from.value;
  } else {
    return encode_value(from);
  }
}

template <HasFields T>
Json encode_fields(const T& from, const T* other, bool lists_as_null) {
  Json json = Json::object();
  for_each_field<T>([&](const auto& field) {
    const auto& value = from.*field.member;
    if (other != nullptr && value == other->*field.member) return;
    using M = std::remove_cvref_t<decltype(value)>;
    if (!field.always && value == M{}) return;
    if (ListOfFields<M> && lists_as_null)
      json[field.name] = nullptr;
    else
      json[field.name] = field.write ? field.write(value) : encode(value, field.most);
  });
  return json;
}

template <>
inline constexpr auto kFields<OwnerReference> =
    std::tuple{always("apiVersion", &OwnerReference::api_version), always("kind", &OwnerReference::kind),
               always("name", &OwnerReference::name), always("uid", &OwnerReference::uid),
               field("controller", &OwnerReference::controller)};

/// An empty reason or message is left out: API servers before 1.21 built with newer Go refuse "" in custom resources.
template <>
inline constexpr auto kFields<Condition> = std::tuple{always("type", &Condition::type),
                                                      always("status", &Condition::status),
                                                      field("reason", &Condition::reason),
                                                      field("message", &Condition::message),
                                                      field("observedGeneration", &Condition::observed_generation),
                                                      always("lastTransitionTime", &Condition::last_transition_time)};

}  // namespace api
