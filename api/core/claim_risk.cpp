#include "api/core/claim_risk.hpp"

#include <cstdlib>

namespace api {
namespace {

bool is_made_for(const PersistentVolumeClaim& claim, const Pod& pod) {
  const OwnerReference* owner = claim.meta.controller();
  return owner != nullptr && owner->kind == "Pod" && !owner->uid.empty() && owner->uid == pod.meta.uid;
}

}  // namespace

ClaimRisk claim_risk(const PersistentVolumeClaim& claim, const Pod& pod) {
  if (is_made_for(claim, pod)) return ClaimRisk::kNone;
  if (claim.meta.is_terminating()) return ClaimRisk::kBeingDeleted;
  return claim.volume_name == kLostVolume ? ClaimRisk::kLost : ClaimRisk::kNone;
}

bool uses_claim(const Volume& volume) {
  return volume.kind == VolumeKind::kPersistentVolumeClaim || volume.kind == VolumeKind::kEphemeral;
}

std::string explain_claim_risk(ClaimRisk risk, std::string_view claim) {
  const std::string name = "its PersistentVolumeClaim " + std::string(claim);
  switch (risk) {
    case ClaimRisk::kNone: break;
    case ClaimRisk::kBeingDeleted:
      return name + " is being deleted: the end of the pod would release it, and its volume may go with it";
    case ClaimRisk::kLost: return name + " is Lost: its volume is gone, and a replacement would never start";
  }
  std::abort();
}

}  // namespace api
