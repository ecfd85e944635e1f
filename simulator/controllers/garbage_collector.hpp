#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "simulator/actor.hpp"
#include "simulator/journal.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// A resource by name, for objects of any kind.
struct AnyType {
  std::string group;
  std::string plural;

  /// Returns a type that is valid as long as this object. Version and kind are empty because the store does not need
  /// them.
  kube::ResourceType type(bool namespaced) const { return {group, "", plural, "", namespaced}; }
  friend auto operator<=>(const AnyType&, const AnyType&) = default;
};

/// Deletes objects without owners (background), deletes the dependents of an owner that waits for them (finalizer
/// foregroundDeletion), or removes their ownerReferences (finalizer orphan). Works on every kind, including custom
/// resources.
class GarbageCollector final : public Actor {
 public:
  explicit GarbageCollector(Store& store);

  std::string_view name() const override { return "garbage-collector"; }
  bool tick(base::TimePoint now) override;

 private:
  struct Owner {
    std::string uid;
    bool known_kind = false;
  };
  struct Item {
    AnyType type;
    api::ObjectKey key;
    std::vector<Owner> owners;
    bool waits_for_dependents = false;  ///< terminating with finalizer foregroundDeletion
    bool releases_dependents = false;   ///< terminating with finalizer orphan
    bool terminating = false;
  };

  void on_change(const Change& change);
  void forget(const std::string& uid);
  bool look_at(const std::string& uid);
  bool is_gone(const Owner& owner) const;
  bool drop_owners(const Item& item, const std::string& uid, const std::set<std::string>& owners);
  bool drop_finalizer(const Item& item, const char* finalizer);
  bool release_dependents(const std::string& uid, const Item& item);
  bool delete_dependents(const std::string& uid, const Item& item);

  Store& store_;
  Journal journal_;
  std::map<std::string, Item> items_;  // by UID
  std::map<std::pair<AnyType, api::ObjectKey>, std::string> uids_;
  std::map<std::string, std::set<std::string>> dependents_;  // UID of the owner to UIDs of its dependents
  std::set<std::string> gone_;  // UIDs of deleted owners of kinds that a reset does not list
  std::set<std::string> dirty_;
};

}  // namespace simulator
