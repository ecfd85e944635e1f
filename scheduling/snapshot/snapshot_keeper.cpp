#include "scheduling/snapshot/snapshot_keeper.hpp"

#include <utility>

#include "scheduling/snapshot/object_order.hpp"

namespace scheduling {
namespace {

/// Sets of requests beyond those of as many pods are mostly of pods that are long gone.
constexpr std::size_t kSpareRequestSets = 1000;

/// What differs between two lists in order. (In lists out of order, pods may go and come that need not have; null
/// pointers differ from all.)
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

bool SnapshotKeeper::update(const SnapshotInput& input) {
  if (snapshot_->request_set_count() > snapshot_->pod_count() + kSpareRequestSets) return false;
  if (!snapshot_->update_others(input)) return false;
  snapshot_->apply(changes_between(pods_, input.pods));
  return true;
}

const ClusterSnapshot& SnapshotKeeper::at(SnapshotInput input, Quantities quantities) {
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
