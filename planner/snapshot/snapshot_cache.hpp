#pragma once

#include <memory>

#include "planner/snapshot/cluster_snapshot.hpp"

namespace scheduling {

/// Makes the snapshot of one cycle out of that of the cycle before; again only when nodes came, went or offer other
/// amounts. Keeps the objects of the last snapshot alive. One thread.
class SnapshotCache {
 public:
  /// Equal to ClusterSnapshot(input, quantities), see ClusterSnapshot::apply(). Valid until the next call. Kept is the
  /// one with sound quantities; where the others would differ, they are made again each time.
  const ClusterSnapshot& at(SnapshotInput input, Quantities quantities = Quantities::kSound);
  /// The last one with these pods beside, which are in no list: they are gone again with the next call of at(). Only
  /// with sound quantities.
  const ClusterSnapshot& add(SnapshotInput::List<api::Pod> pods);
  /// How often a snapshot was made again.
  std::size_t made() const { return made_; }

 private:
  bool update(const SnapshotInput& input);

  SnapshotInput::List<api::Pod> pods_;   ///< of the last input
  SnapshotInput::List<api::Pod> added_;  ///< beside them
  std::unique_ptr<ClusterSnapshot> snapshot_;
  std::unique_ptr<ClusterSnapshot> as_written_;
  std::size_t made_ = 0;
};

}  // namespace scheduling
