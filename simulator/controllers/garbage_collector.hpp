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

/// A resource by name, to remember objects of any kind.
struct AnyType {
  std::string group;
  std::string plural;

  /// Valid as long as this value; without version and kind, which the store does not need.
  kube::ResourceType type(bool namespaced) const { return {group, "", plural, "", namespaced}; }
  friend auto operator<=>(const AnyType&, const AnyType&) = default;
};

/// Deletes what has lost its owners (background), everything below an owner that waits for it (finalizer
/// foregroundDeletion), or cuts the ties (finalizer orphan). Works on every kind, custom resources included.
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
    bool waits_for_dependents = false;  ///< finalizer foregroundDeletion, terminating
    bool releases_dependents = false;   ///< finalizer orphan, terminating
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
  std::map<std::string, Item> items_;  // by uid
  std::map<std::pair<AnyType, api::ObjectKey>, std::string> uids_;
  std::map<std::string, std::set<std::string>> dependents_;  // owner's uid → uids
  std::set<std::string> gone_;                               // deleted owners of kinds that a reset would not list
  std::set<std::string> dirty_;
};

}  // namespace simulator
