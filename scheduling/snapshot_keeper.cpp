#include "scheduling/snapshot_keeper.hpp"

#include <utility>

namespace scheduling {
namespace {

/// Above this part of its pods the snapshot keeps too much that is old.
constexpr std::size_t kMostReplacedPart = 8;

/// Hands the objects that differ to the snapshot. False: it cannot take one.
template <typename T>
bool replace_changed(ClusterSnapshot& snapshot, const SnapshotInput::List<T>& before,
                     const SnapshotInput::List<T>& now) {
  if (before.size() != now.size()) return false;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (before[i] != now[i] && (!now[i] || !snapshot.replace(now[i]))) return false;
  }
  return true;
}

}  // namespace

bool SnapshotKeeper::update(const SnapshotInput& input) {
  const bool rest_is_same = last_.namespaces == input.namespaces && last_.priority_classes == input.priority_classes &&
                            last_.claims == input.claims && last_.volumes == input.volumes &&
                            last_.workloads == input.workloads && last_.storage_classes == input.storage_classes &&
                            last_.csi_nodes == input.csi_nodes && last_.resource_claims == input.resource_claims;
  return rest_is_same && snapshot_->replaced() * kMostReplacedPart <= snapshot_->pod_count() &&
         replace_changed(*snapshot_, last_.nodes, input.nodes) && replace_changed(*snapshot_, last_.pdbs, input.pdbs) &&
         replace_changed(*snapshot_, last_.pods, input.pods);
}

const ClusterSnapshot& SnapshotKeeper::at(SnapshotInput input, Quantities quantities) {
  if (!snapshot_ || !update(input)) {
    snapshot_ = std::make_unique<ClusterSnapshot>(input);
    ++made_;
  }
  last_ = std::move(input);
  as_written_.reset();
  if (quantities == Quantities::kSound || !snapshot_->mended_quantities()) return *snapshot_;
  as_written_ = std::make_unique<ClusterSnapshot>(last_, quantities);
  return *as_written_;
}

}  // namespace scheduling
