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

/// The scheduler's cache: typed objects for a ClusterSnapshot, updated from the journal. A pod is decoded again only if
/// a change can affect its placement. Not thread-safe.
class SchedulerView {
 public:
  explicit SchedulerView(const Store& store);

  /// Processes changes. Returns true if one of them may make an unschedulable pod fit.
  bool poll();

  /// Pods waiting for this scheduler: no node, not terminating, no scheduling gates.
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
  bool capacity_ = false;  // a change since the last poll may make a pod fit
};

}  // namespace simulator
