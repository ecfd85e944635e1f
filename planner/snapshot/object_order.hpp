#pragma once

/// Order of an informer store's lists: by namespace, name and uid.

#include <algorithm>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "api/meta/object_meta.hpp"

namespace scheduling {

inline bool comes_before(const api::ObjectMeta& a, const api::ObjectMeta& b) {
  return std::tie(a.ns, a.name, a.uid) < std::tie(b.ns, b.name, b.uid);
}

/// Removes null pointers and sorts by namespace, name and uid. Skips the sort if the list is sorted, as lists of a
/// store are.
template <typename T>
std::vector<std::shared_ptr<const T>> in_order(std::vector<std::shared_ptr<const T>> list) {
  std::erase(list, nullptr);
  const auto less = [](const auto& a, const auto& b) { return comes_before(a->meta, b->meta); };
  if (!std::ranges::is_sorted(list, less)) std::ranges::stable_sort(list, less);
  return list;
}

/// Returns the object, or nullptr if the list does not contain it. REQUIRES: the list is sorted by in_order().
template <typename T>
const T* find_in(const std::vector<std::shared_ptr<const T>>& list, std::string_view ns, std::string_view name) {
  const auto key = std::tuple(ns, name);
  const auto key_of = [](const auto& object) {
    return std::tuple<std::string_view, std::string_view>(object->meta.ns, object->meta.name);
  };
  const auto at = std::ranges::lower_bound(list, key, {}, key_of);
  return at == list.end() || key_of(*at) != key ? nullptr : at->get();
}

/// Returns true if both lists contain objects of the same names in the same order, in whatever states.
template <typename T>
bool have_same_names(const std::vector<std::shared_ptr<const T>>& a, const std::vector<std::shared_ptr<const T>>& b) {
  return std::ranges::equal(a, b, [](const auto& one, const auto& other) {
    return one == other || (one->meta.name == other->meta.name && one->meta.ns == other->meta.ns);
  });
}

}  // namespace scheduling
