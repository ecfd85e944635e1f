#pragma once

#include <memory>

#include "planner/snapshot/cluster_snapshot.hpp"

namespace scheduling {

/// Derives the snapshot of a cycle from that of the previous cycle. Rebuilds it only if nodes were added or removed or
/// their allocatable changed. Keeps the objects of the last snapshot alive. Not thread-safe.
class SnapshotCache {
 public:
  /// Returns a snapshot equal to ClusterSnapshot(input, quantities) except for pod numbers, see
  /// ClusterSnapshot::apply(). Valid until the next call. Only the snapshot with sound quantities is cached; a snapshot
  /// with quantities as written is rebuilt on each call if the two differ.
  const ClusterSnapshot& at(SnapshotInput input, Quantities quantities = Quantities::kSound);
  /// Adds pods that are in no list to the last snapshot. The next call of at() removes them again. REQUIRES: the last
  /// snapshot has sound quantities.
  const ClusterSnapshot& add(SnapshotInput::List<api::Pod> pods);
  /// Number of times a snapshot was rebuilt.
  std::size_t made() const { return made_; }

 private:
  bool update(const SnapshotInput& input);

  SnapshotInput::List<api::Pod> pods_;   ///< pods of the last input
  SnapshotInput::List<api::Pod> added_;  ///< pods added by add()
  std::unique_ptr<ClusterSnapshot> snapshot_;
  std::unique_ptr<ClusterSnapshot> as_written_;
  std::size_t made_ = 0;
};

}  // namespace scheduling
