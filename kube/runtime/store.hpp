#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/meta/object_meta.hpp"

namespace kube {

/// The read side of an informer: immutable objects by key, with named indexes. Thread-safe; readers share.
/// Objects need a member `meta` (api::ObjectMeta).
template <typename T>
class Store {
 public:
  using Ptr = std::shared_ptr<const T>;
  /// The values under which an object is found in an index.
  using IndexFn = std::function<std::vector<std::string>(const T&)>;

  /// REQUIRES: called before the first put().
  void add_index(std::string name, IndexFn values) { indexes_.push_back({std::move(name), std::move(values), {}}); }

  Ptr get(const api::ObjectKey& key) const {
    const std::shared_lock lock(mutex_);
    const auto at = objects_.find(key);
    return at == objects_.end() ? nullptr : at->second;
  }

  /// All objects, ordered by namespace and name.
  std::vector<Ptr> list() const {
    const std::shared_lock lock(mutex_);
    std::vector<Ptr> all;
    all.reserve(objects_.size());
    for (const auto& [key, object] : objects_) all.push_back(object);
    return all;
  }

  /// Objects with that index value, ordered by namespace and name.
  std::vector<Ptr> by_index(std::string_view index, const std::string& value) const {
    const std::shared_lock lock(mutex_);
    std::vector<Ptr> found;
    for (const Index& candidate : indexes_) {
      if (candidate.name != index) continue;
      const auto at = candidate.objects.find(value);
      if (at == candidate.objects.end()) break;
      found.assign(at->second.begin(), at->second.end());
    }
    return found;
  }

  std::size_t size() const {
    const std::shared_lock lock(mutex_);
    return objects_.size();
  }

  /// Inserts or replaces; returns what was there before (nullptr: new).
  Ptr put(Ptr object) {
    const std::unique_lock lock(mutex_);
    auto& slot = objects_[object->meta.key()];
    Ptr before = std::exchange(slot, std::move(object));
    if (before) unindex(before);
    index(slot);
    return before;
  }

  /// Removes; returns what was there (nullptr: nothing).
  Ptr remove(const api::ObjectKey& key) {
    const std::unique_lock lock(mutex_);
    const auto at = objects_.find(key);
    if (at == objects_.end()) return nullptr;
    Ptr before = std::move(at->second);
    objects_.erase(at);
    unindex(before);
    return before;
  }

 private:
  struct ByKey {
    bool operator()(const Ptr& a, const Ptr& b) const {
      const int order = a->meta.ns.compare(b->meta.ns);
      return order != 0 ? order < 0 : a->meta.name < b->meta.name;
    }
  };
  struct Index {
    std::string name;
    IndexFn values;
    std::unordered_map<std::string, std::set<Ptr, ByKey>> objects;
  };

  void index(const Ptr& object) {
    for (Index& each : indexes_) {
      for (const std::string& value : each.values(*object)) each.objects[value].insert(object);
    }
  }
  void unindex(const Ptr& object) {
    for (Index& each : indexes_) {
      for (const std::string& value : each.values(*object)) {
        const auto at = each.objects.find(value);
        if (at == each.objects.end()) continue;
        at->second.erase(object);
        if (at->second.empty()) each.objects.erase(at);
      }
    }
  }

  mutable std::shared_mutex mutex_;
  std::map<api::ObjectKey, Ptr> objects_;
  std::vector<Index> indexes_;
};

}  // namespace kube
