#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/meta/shared.hpp"
#include "base/clock.hpp"
#include "base/name.hpp"

namespace api {

using NodeName = base::Name<struct NodeNameTag>;
using PodUid = base::Name<struct PodUidTag>;

/// Namespace and name; the namespace is empty for cluster-scoped objects. Ordered by namespace, then name.
struct ObjectKey {
  std::string ns;
  std::string name;

  /// Returns "namespace/name", or "name" if cluster-scoped.
  std::string to_string() const { return ns.empty() ? name : ns + "/" + name; }
  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};

/// Labels or annotations: a sorted flat map, immutable once built. Copies share the storage, because pods of one
/// template have equal labels.
class StringMap {
 public:
  using Entry = std::pair<std::string, std::string>;

  StringMap() = default;
  StringMap(std::initializer_list<Entry> entries) : StringMap(std::vector<Entry>(entries)) {}
  /// Sorts by key; the last entry of a repeated key wins.
  explicit StringMap(std::vector<Entry> entries);
  /// Creates a map that shares its storage with equal maps created by shared().
  static StringMap shared(std::vector<Entry> entries);

  /// Returns the value, or nullptr if the key is absent. Valid as long as this map.
  const std::string* find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  /// Returns the value, or "" if the key is absent.
  const std::string& value(std::string_view key) const;
  /// Returns a copy in which `key` has `value`.
  StringMap with(std::string_view key, std::string_view value) const;
  StringMap without(std::string_view key) const;

  std::size_t size() const { return entries_.get().size(); }
  bool empty() const { return size() == 0; }
  const Entry* begin() const { return entries_.get().data(); }
  const Entry* end() const { return begin() + size(); }

  friend bool operator==(const StringMap& a, const StringMap& b) { return a.entries_ == b.entries_; }

 private:
  Shared<std::vector<Entry>> entries_;
};

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;

  friend bool operator==(const OwnerReference&, const OwnerReference&) = default;
};

/// The parts of metav1.ObjectMeta that the operator reads. Missing strings are empty.
struct ObjectMeta {
  std::string ns;
  std::string name;
  std::string uid;
  std::string resource_version;  ///< opaque; compare for equality only
  std::int64_t generation = 0;
  base::TimePoint creation_timestamp{};
  std::optional<base::TimePoint> deletion_timestamp;          ///< end of the grace period
  std::optional<std::int64_t> deletion_grace_period_seconds;  ///< set together with deletion_timestamp
  StringMap labels;
  StringMap annotations;  ///< without kubectl's last-applied-configuration
  SharedList<OwnerReference> owner_references;
  std::vector<std::string> finalizers;

  ObjectKey key() const { return {ns, name}; }
  bool is_terminating() const { return deletion_timestamp.has_value(); }
  /// Returns the owner with controller: true, or nullptr.
  const OwnerReference* controller() const;
  /// Shares the storage of the owners with equal lists of other objects. Call it for objects that are kept.
  void share_owners();

  friend bool operator==(const ObjectMeta&, const ObjectMeta&) = default;
};

}  // namespace api
