#include "api/meta/object_meta.hpp"

#include <functional>

namespace api {
namespace {

auto lower_bound_of(const std::vector<StringMap::Entry>& entries, std::string_view key) {
  return std::ranges::lower_bound(entries, key, {},
                                  [](const StringMap::Entry& e) { return std::string_view(e.first); });
}

std::vector<StringMap::Entry> in_order(std::vector<StringMap::Entry> entries) {
  const auto is_ordered = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (std::adjacent_find(entries.begin(), entries.end(), std::not_fn(is_ordered)) == entries.end()) return entries;
  std::ranges::stable_sort(entries, {}, &StringMap::Entry::first);
  std::vector<StringMap::Entry> unique;
  unique.reserve(entries.size());
  for (StringMap::Entry& entry : entries) {
    if (!unique.empty() && unique.back().first == entry.first) {
      unique.back() = std::move(entry);
    } else {
      unique.push_back(std::move(entry));
    }
  }
  return unique;
}

}  // namespace

StringMap::StringMap(std::vector<Entry> entries) : entries_(in_order(std::move(entries))) { entries_.freeze(); }

StringMap StringMap::shared(std::vector<Entry> entries) {
  StringMap map;
  map.entries_ = in_order(std::move(entries));
  Hasher hasher;
  for (const auto& [key, value] : map) hasher.add(key).add(value);
  map.entries_.share(hasher.value());
  return map;
}

const std::string* StringMap::find(std::string_view key) const {
  const auto& entries = entries_.get();
  const auto at = lower_bound_of(entries, key);
  return at != entries.end() && at->first == key ? &at->second : nullptr;
}

const std::string& StringMap::value(std::string_view key) const {
  static const std::string kAbsent;
  const std::string* found = find(key);
  return found ? *found : kAbsent;
}

StringMap StringMap::with(std::string_view key, std::string_view value) const {
  std::vector<Entry> entries(begin(), end());
  entries.emplace_back(key, value);
  return StringMap(std::move(entries));
}

StringMap StringMap::without(std::string_view key) const {
  std::vector<Entry> entries(begin(), end());
  std::erase_if(entries, [&](const Entry& e) { return e.first == key; });
  return StringMap(std::move(entries));
}

const OwnerReference* ObjectMeta::controller() const {
  const auto found = std::ranges::find_if(owner_references, &OwnerReference::controller);
  return found == owner_references.end() ? nullptr : &*found;
}

void ObjectMeta::share_owners() {
  Hasher hasher;
  for (const OwnerReference& each : std::as_const(owner_references))
    hasher.add(each.api_version).add(each.kind).add(each.name).add(each.uid).add(each.controller ? 1 : 0);
  owner_references.share(hasher.value());
}

}  // namespace api
