#include "simulator/controllers/garbage_collector.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/objects.hpp"

namespace simulator {
namespace {

using api::Json;

bool has_finalizer(const Json& object, std::string_view wanted) {
  const Json* finalizers = api::find_at(object, {"metadata", "finalizers"});
  return finalizers && finalizers->is_array() &&
         std::ranges::any_of(*finalizers, [&](const Json& f) { return f.is_string() && f == wanted; });
}

}  // namespace

GarbageCollector::GarbageCollector(Store& store) : store_(store), journal_(store) {
  journal_.on_reset([this] {
    items_.clear();
    uids_.clear();
    dependents_.clear();
  });
  journal_.follow(kube::kEvents, [](const Change&) {});  // skipped: numerous and without owners
  journal_.follow_others(known_types(), [this](const Change& change) { on_change(change); });
}

bool GarbageCollector::tick(base::TimePoint) {
  journal_.poll();
  bool changed = false;
  for (const std::string& uid : std::exchange(dirty_, {})) changed = look_at(uid) || changed;
  return changed;
}

void GarbageCollector::on_change(const Change& change) {
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
  const Json* owners = api::find_at(*change.object, {"metadata", "ownerReferences"});
  if (owners && owners->is_array()) {
    for (const Json& owner : *owners)
      item.owners.push_back({api::text_at(owner, {"uid"}), resource_type_of(owner).has_value()});
  }
  if (const auto before = items_.find(uid); before != items_.end()) {
    for (const Owner& owner : before->second.owners) dependents_[owner.uid].erase(uid);
  }
  for (const Owner& owner : item.owners) dependents_[owner.uid].insert(uid);
  if (!item.owners.empty() || item.waits_for_dependents || item.releases_dependents) dirty_.insert(uid);
  uids_[{type, change.key}] = uid;
  items_[uid] = std::move(item);
}

void GarbageCollector::forget(const std::string& uid) {
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

/// Returns true if the owner is known to be gone. After a reset only known kinds are listed, so a missing object of
/// another kind proves nothing.
bool GarbageCollector::is_gone(const Owner& owner) const {
  return !items_.contains(owner.uid) && (owner.known_kind || gone_.contains(owner.uid));
}

bool GarbageCollector::look_at(const std::string& uid) {
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

bool GarbageCollector::release_dependents(const std::string& uid, const Item& item) {
  const auto found = dependents_.find(uid);
  const std::set<std::string> dependents = found == dependents_.end() ? std::set<std::string>{} : found->second;
  for (const std::string& dependent : dependents) {
    if (const auto at = items_.find(dependent); at != items_.end()) (void)drop_owners(at->second, dependent, {uid});
  }
  return drop_finalizer(item, "orphan");
}

bool GarbageCollector::delete_dependents(const std::string& uid, const Item& item) {
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

bool GarbageCollector::drop_owners(const Item& item, const std::string& uid, const std::set<std::string>& owners) {
  return store_
      .mutate(item.type.type(!item.key.ns.empty()), item.key, Part::kAll,
              [&](Json& object) -> base::Status {
                if (uid_of(object) != uid) return base::Error{base::ErrorCode::kConflict, "another object"};
                Json kept = Json::array();
                for (const Json& owner : array_in(object_in(object, "metadata"), "ownerReferences")) {
                  if (!owners.contains(api::text_at(owner, {"uid"}))) kept.push_back(owner);
                }
                object["metadata"].erase("ownerReferences");
                if (!kept.empty()) object["metadata"]["ownerReferences"] = std::move(kept);
                return base::Done{};
              })
      .ok();
}

bool GarbageCollector::drop_finalizer(const Item& item, const char* finalizer) {
  return store_
      .mutate(item.type.type(!item.key.ns.empty()), item.key, Part::kAll,
              [&](Json& object) -> base::Status {
                Json kept = Json::array();
                for (const Json& name : array_in(object_in(object, "metadata"), "finalizers")) {
                  if (name != finalizer) kept.push_back(name);
                }
                object["metadata"].erase("finalizers");
                if (!kept.empty()) object["metadata"]["finalizers"] = std::move(kept);
                return base::Done{};
              })
      .ok();
}

}  // namespace simulator
