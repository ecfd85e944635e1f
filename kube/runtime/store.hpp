#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
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

/// Read side of an informer: immutable objects by key, with named indexes. Thread-safe; readers do not block each
/// other. Objects need a member `meta` (api::ObjectMeta).
template <typename T>
class Store {
 public:
  using Ptr = std::shared_ptr<const T>;
  /// Returns the values under which an object is found in an index.
  using IndexFn = std::function<std::vector<std::string>(const T&)>;

  /// REQUIRES: called before the first put().
  void add_index(std::string name, IndexFn values) { indexes_.push_back({std::move(name), std::move(values)}); }

  Ptr get(const api::ObjectKey& key) const {
    const std::shared_lock lock(mutex_);
    const auto at = objects_.find(key);
    return at == objects_.end() ? nullptr : *at;
  }

  /// Returns all objects, ordered by namespace and name.
  std::vector<Ptr> list() const {
    const std::shared_lock lock(mutex_);
    return {objects_.begin(), objects_.end()};
  }

  /// Returns the objects with the index value, ordered by namespace and name.
  std::vector<Ptr> by_index(std::string_view index, const std::string& value) const {
    const std::shared_lock lock(mutex_);
    const auto wanted = std::ranges::find(indexes_, index, &Index::name);
    if (wanted == indexes_.end()) return {};
    const auto at = wanted->objects.find(value);
    return at == wanted->objects.end() ? std::vector<Ptr>() : at->second;
  }

  std::size_t size() const {
    const std::shared_lock lock(mutex_);
    return objects_.size();
  }

  /// Inserts or replaces an object. Returns the previous one, or nullptr if it is new.
  Ptr put(Ptr object) {
    const std::unique_lock lock(mutex_);
    const auto known = objects_.find(object);
    if (known == objects_.end()) {
      for (Index& each : indexes_) each.add(each.values(*object), object);
      objects_.insert(std::move(object));
      return nullptr;
    }
    Ptr before = *known;
    for (Index& each : indexes_) each.renew(before, object);
    // The key is part of the object, so the node must be extracted before it is modified.
    const auto next = std::next(known);
    auto node = objects_.extract(known);
    node.value() = std::move(object);
    objects_.insert(next, std::move(node));
    return before;
  }

  /// Removes an object. Returns it, or nullptr if none exists.
  Ptr remove(const api::ObjectKey& key) {
    const std::unique_lock lock(mutex_);
    const auto at = objects_.find(key);
    if (at == objects_.end()) return nullptr;
    Ptr before = *at;
    objects_.erase(at);
    for (Index& each : indexes_) each.drop(each.values(*before), before);
    return before;
  }

 private:
  /// Orders by the key inside the object. A separate copy of the key would add a tenth to the memory of a cached pod.
  struct ByKey {
    using is_transparent = void;
    static const auto& key(const Ptr& object) { return object->meta; }
    static const api::ObjectKey& key(const api::ObjectKey& key) { return key; }
    bool operator()(const auto& a, const auto& b) const {
      const int order = key(a).ns.compare(key(b).ns);
      return order != 0 ? order < 0 : key(a).name < key(b).name;
    }
  };
  struct Index {
    using Values = std::vector<std::string>;

    std::string name;
    IndexFn values;
    std::unordered_map<std::string, std::vector<Ptr>> objects{};  ///< ordered

    void add(const Values& under, const Ptr& object) {
      for (const std::string& value : under) {
        auto& found = objects[value];
        const auto at = place_of(object, found);
        if (at == found.end() || *at != object) found.insert(at, object);
      }
    }
    void drop(const Values& under, const Ptr& object) {
      for (const std::string& value : under) {
        const auto found = objects.find(value);
        if (found == objects.end()) continue;
        const auto at = place_of(object, found->second);
        if (at != found->second.end() && *at == object) found->second.erase(at);
        if (found->second.empty()) objects.erase(found);
      }
    }
    /// Usually the index values stay the same. The object then replaces its predecessor without moving others.
    void renew(const Ptr& before, const Ptr& object) {
      const Values were = values(*before);
      const Values are = values(*object);
      if (were != are) {
        drop(were, before);
        return add(are, object);
      }
      for (const std::string& value : are) {
        auto& found = objects[value];
        const auto at = place_of(before, found);
        if (at != found.end() && *at == before) *at = object;
      }
    }
    static auto place_of(const Ptr& object, std::vector<Ptr>& in) {
      return std::lower_bound(in.begin(), in.end(), object, ByKey());
    }
  };

  mutable std::shared_mutex mutex_;
  std::set<Ptr, ByKey> objects_;
  std::vector<Index> indexes_;
};

}  // namespace kube
