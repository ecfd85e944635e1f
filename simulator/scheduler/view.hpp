#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "api/core/codec.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"
#include "simulator/journal.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// What the scheduler knows of the cluster: the typed objects that a ClusterSnapshot is made of, kept by the journal.
/// Pods are decoded again only when something changed that a placement depends on. Used by one thread.
class SchedulerView {
 public:
  explicit SchedulerView(const Store& store);

  /// Takes note of what has changed. True if anything did that can make an unschedulable pod fit.
  bool poll();

  /// Pods that wait for this scheduler: no node, not terminating, no gates.
  const std::set<api::ObjectKey>& pending() const { return pending_; }
  const api::Pod* pod(const api::ObjectKey& key) const;
  scheduling::SnapshotInput input() const;

 private:
  template <typename T>
  using Table = std::map<api::ObjectKey, std::shared_ptr<const T>>;
  template <typename T>
  void follow(const kube::ResourceType& type, Table<T>& table, base::Result<T> (*decode)(std::string_view json),
              std::initializer_list<std::string_view> parts);
  void on_pod(const Change& change);

  Journal journal_;
  Table<api::Pod> pods_;
  Table<api::Node> nodes_;
  Table<api::Namespace> namespaces_;
  Table<api::PersistentVolumeClaim> claims_;
  Table<api::PersistentVolume> volumes_;
  std::set<api::ObjectKey> pending_;
  bool capacity_ = false;  // something that may help was seen since the last poll
};

}  // namespace simulator
