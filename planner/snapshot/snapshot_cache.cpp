#include "planner/snapshot/snapshot_cache.hpp"

#include <algorithm>
#include <utility>

#include "planner/snapshot/object_order.hpp"

namespace scheduling {
namespace {

/// Number of unused request or image sets that triggers a rebuild. Sets beyond the number of pods mostly belong to
/// deleted pods.
constexpr std::size_t kSpareSets = 1000;

/// Returns the differences between two sorted lists. Null pointers always differ. In unsorted lists, unchanged pods may
/// be reported as removed and added.
PodChanges changes_between(const SnapshotInput::List<api::Pod>& before, const SnapshotInput::List<api::Pod>& now) {
  PodChanges changes;
  auto old = before.begin();
  auto next = now.begin();
  while (old != before.end() || next != now.end()) {
    const bool both = old != before.end() && next != now.end();
    if (both && *old == *next) {
      ++old, ++next;
      continue;
    }
    const bool same =
        both && *old && *next && (*old)->meta.uid == (*next)->meta.uid && (*old)->meta.key() == (*next)->meta.key();
    const bool goes = !same && old != before.end() &&
                      (next == now.end() || !*old || (*next && comes_before((*old)->meta, (*next)->meta)));
    if (goes) changes.gone.push_back(*old);
    if (!goes) changes.now.push_back(*next++);
    if (goes || same) ++old;
  }
  return changes;
}

}  // namespace

bool SnapshotCache::update(const SnapshotInput& input) {
  const std::size_t sets = std::max(snapshot_->request_set_count(), snapshot_->image_set_count());
  if (sets > snapshot_->pod_count() + kSpareSets) return false;
  if (!snapshot_->update_others(input)) return false;
  snapshot_->apply(changes_between(pods_, input.pods));
  return true;
}

const ClusterSnapshot& SnapshotCache::add(SnapshotInput::List<api::Pod> pods) {
  snapshot_->apply({.gone = {}, .now = pods});
  added_.insert(added_.end(), pods.begin(), pods.end());
  return *snapshot_;
}

const ClusterSnapshot& SnapshotCache::at(SnapshotInput input, Quantities quantities) {
  if (!added_.empty()) snapshot_->apply({.gone = std::exchange(added_, {}), .now = {}});
  if (!snapshot_ || !update(input)) {
    snapshot_ = std::make_unique<ClusterSnapshot>(input);
    ++made_;
  }
  as_written_.reset();
  const bool is_sound = quantities == Quantities::kSound || !snapshot_->fixed_quantities();
  if (!is_sound) as_written_ = std::make_unique<ClusterSnapshot>(input, quantities);
  pods_ = std::move(input.pods);
  return is_sound ? *snapshot_ : *as_written_;
}

}  // namespace scheduling
