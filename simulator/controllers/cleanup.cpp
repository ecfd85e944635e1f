#include "simulator/controllers/controllers.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/keyed_actor.hpp"
#include "simulator/objects.hpp"
#include "simulator/pod_facts.hpp"

/// Cleanup controllers of the control plane.

namespace simulator {
namespace {

using api::Json;

constexpr base::seconds kQuarantine{40};

/// A resource by name, for objects of any kind.
struct AnyType {
  std::string group;
  std::string plural;

  /// Returns a type that is valid as long as this object. The store needs neither version nor kind.
  kube::ResourceType type(bool namespaced) const { return {group, "", plural, "", namespaced}; }
  friend auto operator<=>(const AnyType&, const AnyType&) = default;
};

bool has_finalizer(const Json& object, std::string_view wanted) {
  return std::ranges::any_of(api::items_at(object, {"metadata", "finalizers"}),
                             [&](const Json& f) { return f.is_string() && f == wanted; });
}

/// Deletes objects without owners (background), deletes the dependents of an owner that waits for them (finalizer
/// foregroundDeletion), or removes their ownerReferences (finalizer orphan). Works on every kind, including custom
/// resources.
class GarbageCollector final : public KeyedActor<std::string> {
 public:
  explicit GarbageCollector(Store& store) : KeyedActor(store) {
    journal_.on_reset([this] {
      items_.clear();
      uids_.clear();
      dependents_.clear();
    });
    journal_.follow(kube::kEvents, [](const Change&) {});  // skipped: numerous and without owners
    journal_.follow_others(known_types(), [this](const Change& change) { on_change(change); });
  }

  std::string_view name() const override { return "garbage-collector"; }

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

  void on_change(const Change& change) {
    const AnyType type{change.group, change.plural};
    if (type.plural == kube::kEvents.plural) return;
    const std::string uid = uid_of(*change.object);
    const auto known = uids_.find({type, change.key});
    if (known != uids_.end() && (change.kind == ChangeKind::kDeleted || known->second != uid))
      forget(std::string(known->second));
    if (change.kind == ChangeKind::kDeleted) return;

    Item item{type, change.key, {}, false, false, is_terminating(*change.object)};
    item.waits_for_dependents = item.terminating && has_finalizer(*change.object, "foregroundDeletion");
    item.releases_dependents = item.terminating && has_finalizer(*change.object, "orphan");
    for (const Json& owner : api::items_at(*change.object, {"metadata", "ownerReferences"}))
      item.owners.push_back({api::text_at(owner, {"uid"}), resource_type_of(owner).has_value()});
    if (const auto before = items_.find(uid); before != items_.end()) {
      for (const Owner& owner : before->second.owners) dependents_[owner.uid].erase(uid);
    }
    for (const Owner& owner : item.owners) dependents_[owner.uid].insert(uid);
    if (!item.owners.empty() || item.waits_for_dependents || item.releases_dependents) dirty_.insert(uid);
    uids_[{type, change.key}] = uid;
    items_[uid] = std::move(item);
  }

  void forget(const std::string& uid) {
    const auto found = items_.find(uid);
    if (found == items_.end()) return;
    for (const Owner& owner : found->second.owners) {
      dependents_[owner.uid].erase(uid);
      if (dependents_[owner.uid].empty()) dependents_.erase(owner.uid);
      dirty_.insert(owner.uid);  // the owner may have waited for this object
    }
    if (const auto left = dependents_.find(uid); left != dependents_.end()) {
      gone_.insert(uid);
      dirty_.insert(left->second.begin(), left->second.end());
    }
    uids_.erase({found->second.type, found->second.key});
    items_.erase(found);
  }

  bool process(const std::string& uid, base::TimePoint) override {
    const auto found = items_.find(uid);
    if (found == items_.end()) return false;
    const Item item = found->second;
    if (item.releases_dependents) return release_dependents(uid, item);
    if (item.waits_for_dependents) return delete_dependents(uid, item);
    if (item.owners.empty() || item.terminating) return false;
    std::set<std::string> lost;
    for (const Owner& owner : item.owners) {
      if (is_gone(owner)) lost.insert(owner.uid);
    }
    if (lost.empty()) return false;
    if (lost.size() < item.owners.size()) return drop_owners(item, uid, lost);
    return store_.remove(item.type.type(!item.key.ns.empty()), item.key, {uid, ""}).ok();
  }

  /// Returns true if the owner is known to be gone. After a reset only known kinds are listed, so a missing object of
  /// another kind proves nothing.
  bool is_gone(const Owner& owner) const {
    return !items_.contains(owner.uid) && (owner.known_kind || gone_.contains(owner.uid));
  }

  bool drop_owners(const Item& item, const std::string& uid, const std::set<std::string>& owners) {
    return store_.edit(item.type.type(!item.key.ns.empty()), item.key, Part::kAll, uid, [&](Json& object) {
      Json kept = Json::array();
      for (const Json& owner : array_in(object_in(object, "metadata"), "ownerReferences")) {
        if (!owners.contains(api::text_at(owner, {"uid"}))) kept.push_back(owner);
      }
      object["metadata"].erase("ownerReferences");
      if (!kept.empty()) object["metadata"]["ownerReferences"] = std::move(kept);
    }) != nullptr;
  }

  bool drop_finalizer(const Item& item, const char* finalizer) {
    return store_.edit(item.type.type(!item.key.ns.empty()), item.key, Part::kAll, "", [&](Json& object) {
      Json kept = Json::array();
      for (const Json& name : array_in(object_in(object, "metadata"), "finalizers")) {
        if (name != finalizer) kept.push_back(name);
      }
      object["metadata"].erase("finalizers");
      if (!kept.empty()) object["metadata"]["finalizers"] = std::move(kept);
    }) != nullptr;
  }

  bool release_dependents(const std::string& uid, const Item& item) {
    const auto found = dependents_.find(uid);
    const std::set<std::string> dependents = found == dependents_.end() ? std::set<std::string>{} : found->second;
    for (const std::string& dependent : dependents) {
      if (const auto at = items_.find(dependent); at != items_.end()) (void)drop_owners(at->second, dependent, {uid});
    }
    return drop_finalizer(item, "orphan");
  }

  bool delete_dependents(const std::string& uid, const Item& item) {
    const auto found = dependents_.find(uid);
    if (found == dependents_.end() || found->second.empty()) return drop_finalizer(item, "foregroundDeletion");
    bool changed = false;
    for (const std::string& dependent : std::set<std::string>(found->second)) {
      const auto at = items_.find(dependent);
      if (at == items_.end() || at->second.terminating) continue;
      changed = store_.remove(at->second.type.type(!at->second.key.ns.empty()), at->second.key, {dependent, ""}).ok() ||
                changed;
    }
    return changed;
  }

  std::map<std::string, Item> items_;  // by UID
  std::map<std::pair<AnyType, api::ObjectKey>, std::string> uids_;
  std::map<std::string, std::set<std::string>> dependents_;  // UID of the owner to UIDs of its dependents
  std::set<std::string> gone_;  // UIDs of deleted owners of kinds that a reset does not list
};

/// Deletes the pods of a node that does not exist, 40 s after the node was deleted or first found missing.
class PodGarbageCollector final : public KeyedActor<std::string> {
 public:
  explicit PodGarbageCollector(Store& store) : KeyedActor(store) {
    journal_.on_reset([this] {
      nodes_.clear();
      pods_on_.clear();
      node_of_.clear();
    });
    journal_.follow(kube::kNodes, [this](const Change& change) {
      if (change.kind == ChangeKind::kDeleted) {
        nodes_.erase(change.key.name);
        if (!pods_on_[change.key.name].empty()) agenda_.set(change.key.name, now_ + kQuarantine);
      } else if (nodes_.insert(change.key.name).second) {
        agenda_.drop(change.key.name);
      }
    });
    journal_.follow(kube::kPods, [this](const Change& change) {
      if (const auto known = node_of_.find(change.key); known != node_of_.end()) {
        pods_on_[known->second].erase(change.key);
        node_of_.erase(known);
      }
      if (change.kind == ChangeKind::kDeleted) return;
      const std::string node = api::text_at(*change.object, {"spec", "nodeName"});
      if (node.empty()) return;
      node_of_[change.key] = node;
      pods_on_[node].insert(change.key);
      watch_node(node);
    });
  }

  std::string_view name() const override { return "pod-garbage-collector"; }

 private:
  bool process(const std::string& node, base::TimePoint now) override {
    missed_.erase(node);
    if (nodes_.contains(node)) return false;
    bool changed = false;
    for (const api::ObjectKey& key : pods_on_[node]) {
      const auto failed = store_.edit(kube::kPods, key, Part::kStatus, "", [&](Json& pod) {
        Json& status = object_in(pod, "status");
        const std::string phase = api::text_at(status, {"phase"});
        if (phase != "Succeeded" && phase != "Failed") status["phase"] = "Failed";
        put_condition(status, "DisruptionTarget", "True", "DeletionByPodGC", "PodGC: node no longer exists", now);
      });
      if (!failed) continue;
      changed = true;
      (void)store_.remove(kube::kPods, key, {uid_of(*failed), ""}, 0);
    }
    return changed;
  }

  void watch_node(const std::string& node) {
    if (nodes_.contains(node) || missed_.contains(node)) return;
    missed_.insert(node);
    agenda_.set(node, now_ + kQuarantine);
  }

  std::set<std::string> nodes_;
  std::map<std::string, std::set<api::ObjectKey>> pods_on_;
  std::map<api::ObjectKey, std::string> node_of_;
  std::set<std::string> missed_;  // referenced by pods, never registered
};

/// Empties a terminating namespace, then removes its finalizer (spec.finalizers: kubernetes). Also deletes leftovers of
/// a namespace that was removed without being emptied.
class NamespaceController final : public KeyedActor<std::string> {
 public:
  explicit NamespaceController(Store& store) : KeyedActor(store) {
    for (const auto& type : known_types()) {
      if (type.namespaced) types_.insert({std::string(type.group), std::string(type.plural)});
    }
    journal_.follow(kube::kNamespaces, [this](const Change& change) {
      const bool leaves = change.kind == ChangeKind::kDeleted || is_terminating(*change.object);
      if (leaves && leaving_.insert(change.key.name).second) dirty_.insert(change.key.name);
      if (!leaves) leaving_.erase(change.key.name);
    });
    journal_.follow_others({}, [this](const Change& change) {
      if (change.key.ns.empty()) return;
      types_.insert({change.group, change.plural});
      if (leaving_.contains(change.key.ns)) dirty_.insert(change.key.ns);
    });
  }

  std::string_view name() const override { return "namespace-controller"; }

 private:
  bool process(const std::string& ns, base::TimePoint) override {
    const Object stored = store_.get(kube::kNamespaces, {"", ns});
    const bool leaves = stored && is_terminating(*stored);
    bool changed = leaves && api::text_at(*stored, {"status", "phase"}) != "Terminating" &&
                   store_.edit(kube::kNamespaces, {"", ns}, Part::kStatus, uid_of(*stored),
                               [](Json& object) { object_in(object, "status")["phase"] = "Terminating"; });
    bool left = false;
    for (const AnyType& type : types_) {
      for (const Object& object : store_.list(type.type(true), ns)) {
        if (!is_terminating(*object)) {
          const auto removed = store_.remove(type.type(true), key_of(*object));
          changed = changed || removed.ok();
        }
        left = left || store_.get(type.type(true), key_of(*object)) != nullptr;
      }
    }
    if (left) return changed;
    const bool done = leaves && store_.edit(kube::kNamespaces, {"", ns}, Part::kAll, uid_of(*stored), [](Json& object) {
      if (api::find_at(object, {"spec", "finalizers"})) object["spec"].erase("finalizers");
    });
    if (done || !store_.get(kube::kNamespaces, {"", ns})) leaving_.erase(ns);
    return done || changed;
  }

  std::set<AnyType> types_;        // every namespaced kind seen so far
  std::set<std::string> leaving_;  // terminating or deleted namespaces that are not empty yet
};

}  // namespace

std::unique_ptr<Actor> make_garbage_collector(Store& store) { return std::make_unique<GarbageCollector>(store); }
std::unique_ptr<Actor> make_pod_garbage_collector(Store& store) { return std::make_unique<PodGarbageCollector>(store); }
std::unique_ptr<Actor> make_namespace_controller(Store& store) { return std::make_unique<NamespaceController>(store); }

}  // namespace simulator
