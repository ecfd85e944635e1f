#include "api/meta/object_meta.hpp"

namespace api {
namespace {

auto lower_bound_of(const std::vector<StringMap::Entry>& entries, std::string_view key) {
  return std::ranges::lower_bound(entries, key, {},
                                  [](const StringMap::Entry& e) { return std::string_view(e.first); });
}

}  // namespace

StringMap::StringMap(std::vector<Entry> entries) {
  if (entries.empty()) return;
  std::ranges::stable_sort(entries, {}, &Entry::first);
  std::vector<Entry> unique;
  unique.reserve(entries.size());
  for (Entry& entry : entries) {
    if (!unique.empty() && unique.back().first == entry.first) {
      unique.back() = std::move(entry);
    } else {
      unique.push_back(std::move(entry));
    }
  }
  entries_ = std::make_shared<const std::vector<Entry>>(std::move(unique));
}

const std::string* StringMap::find(std::string_view key) const {
  if (!entries_) return nullptr;
  const auto at = lower_bound_of(*entries_, key);
  return at != entries_->end() && at->first == key ? &at->second : nullptr;
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

}  // namespace api
