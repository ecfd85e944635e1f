#pragma once

/// Cleanup controllers of the control plane.

#include <map>
#include <set>
#include <string>

#include "simulator/actor.hpp"
#include "simulator/controllers/garbage_collector.hpp"
#include "simulator/event_recorder.hpp"
#include "simulator/journal.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// Deletes the pods of a node that does not exist, 40 s after the node was deleted or first found missing.
class PodGarbageCollector final : public Actor {
 public:
  PodGarbageCollector(Store& store, EventRecorder& events);

  std::string_view name() const override { return "pod-garbage-collector"; }
  bool tick(base::TimePoint now) override;
  std::optional<base::TimePoint> next_due() const override { return pending_deletes_.next(); }

 private:
  bool collect(const std::string& node, base::TimePoint now);
  void watch_node(const std::string& node);

  Store& store_;
  EventRecorder& events_;
  Journal journal_;
  base::TimePoint now_{};
  std::set<std::string> nodes_;
  std::map<std::string, std::set<api::ObjectKey>> pods_on_;
  std::map<api::ObjectKey, std::string> node_of_;
  std::set<std::string> missed_;  // referenced by pods, never registered
  Agenda<std::string> pending_deletes_;
};

/// Empties a terminating namespace, then removes its finalizer (spec.finalizers: kubernetes). Also deletes leftovers of
/// a namespace that was removed without being emptied.
class NamespaceController final : public Actor {
 public:
  explicit NamespaceController(Store& store);

  std::string_view name() const override { return "namespace-controller"; }
  bool tick(base::TimePoint now) override;

 private:
  bool delete_contents(const std::string& ns);
  bool remove_finalizer(const std::string& ns);

  Store& store_;
  Journal journal_;
  std::set<AnyType> types_;        // every namespaced kind seen so far
  std::set<std::string> leaving_;  // terminating or deleted namespaces that are not empty yet
  std::set<std::string> dirty_;
};

}  // namespace simulator
