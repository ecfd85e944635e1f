#include "simulator/controllers/cleanup.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/objects.hpp"

namespace simulator {
namespace {

using api::Json;

constexpr base::seconds kQuarantine{40};

}  // namespace

PodGarbageCollector::PodGarbageCollector(Store& store, EventRecorder& events)
    : store_(store), events_(events), journal_(store) {
  journal_.on_reset([this] {
    nodes_.clear();
    pods_on_.clear();
    node_of_.clear();
  });
  journal_.follow(kube::kNodes, [this](const Change& change) {
    if (change.kind == ChangeKind::kDeleted) {
      nodes_.erase(change.key.name);
      if (!pods_on_[change.key.name].empty()) pending_deletes_.set(change.key.name, now_ + kQuarantine);
    } else if (nodes_.insert(change.key.name).second) {
      pending_deletes_.drop(change.key.name);
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

void PodGarbageCollector::watch_node(const std::string& node) {
  if (nodes_.contains(node) || missed_.contains(node)) return;
  missed_.insert(node);
  pending_deletes_.set(node, now_ + kQuarantine);
}

bool PodGarbageCollector::tick(base::TimePoint now) {
  now_ = now;
  journal_.poll();
  bool changed = false;
  for (const std::string& node : pending_deletes_.take_due(now)) changed = collect(node, now) || changed;
  return changed;
}

bool PodGarbageCollector::collect(const std::string& node, base::TimePoint now) {
  missed_.erase(node);
  if (nodes_.contains(node)) return false;
  bool changed = false;
  for (const api::ObjectKey& key : pods_on_[node]) {
    const auto failed = store_.mutate(kube::kPods, key, Part::kStatus, [&](Json& pod) -> base::Status {
      Json& status = object_in(pod, "status");
      const std::string phase = api::text_at(status, {"phase"});
      if (phase != "Succeeded" && phase != "Failed") status["phase"] = "Failed";
      put_condition(status, "DisruptionTarget", "True", "DeletionByPodGC", "PodGC: node no longer exists", now);
      return base::Done{};
    });
    if (!failed) continue;
    changed = true;
    (void)store_.remove(kube::kPods, key, {uid_of(**failed), ""}, 0);
  }
  return changed;
}

NamespaceController::NamespaceController(Store& store) : store_(store), journal_(store) {
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

bool NamespaceController::tick(base::TimePoint) {
  journal_.poll();
  bool changed = false;
  for (const std::string& ns : std::exchange(dirty_, {})) changed = delete_contents(ns) || changed;
  return changed;
}

bool NamespaceController::delete_contents(const std::string& ns) {
  bool changed =
      store_
          .mutate(kube::kNamespaces, {"", ns}, Part::kStatus,
                  [&](Json& object) -> base::Status {
                    if (!is_terminating(object) || api::text_at(object, {"status", "phase"}) == "Terminating")
                      return base::invalid("nothing to say");
                    object_in(object, "status")["phase"] = "Terminating";
                    return base::Done{};
                  })
          .ok();
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
  return left ? changed : remove_finalizer(ns) || changed;
}

bool NamespaceController::remove_finalizer(const std::string& ns) {
  const bool done = store_
                        .mutate(kube::kNamespaces, {"", ns}, Part::kAll,
                                [&](Json& object) -> base::Status {
                                  if (!is_terminating(object)) return base::invalid("a new namespace of that name");
                                  if (api::find_at(object, {"spec", "finalizers"})) object["spec"].erase("finalizers");
                                  return base::Done{};
                                })
                        .ok();
  if (done || !store_.get(kube::kNamespaces, {"", ns})) leaving_.erase(ns);
  return done;
}

}  // namespace simulator
