#include "api/core/pvc_risk.hpp"

#include <cstdlib>

namespace api {
namespace {

bool is_made_for(const PersistentVolumeClaim& claim, const Pod& pod) {
  const OwnerReference* owner = claim.meta.controller();
  return owner != nullptr && owner->kind == "Pod" && !owner->uid.empty() && owner->uid == pod.meta.uid;
}

}  // namespace

PvcRisk pvc_risk(const PersistentVolumeClaim& claim, const Pod& pod) {
  if (is_made_for(claim, pod)) return PvcRisk::kNone;
  if (claim.meta.is_terminating()) return PvcRisk::kBeingDeleted;
  return claim.volume_name == kLostVolume ? PvcRisk::kLost : PvcRisk::kNone;
}

bool uses_claim(const Volume& volume) {
  return volume.kind == VolumeKind::kPersistentVolumeClaim || volume.kind == VolumeKind::kEphemeral;
}

std::string explain_pvc_risk(PvcRisk risk, std::string_view claim) {
  const std::string name = "its PersistentVolumeClaim " + std::string(claim);
  switch (risk) {
    case PvcRisk::kNone: break;
    case PvcRisk::kBeingDeleted:
      return name + " is being deleted: the end of the pod would release it, and its volume may go with it";
    case PvcRisk::kLost: return name + " is Lost: its volume is gone, and a replacement would never start";
  }
  std::abort();
}

}  // namespace api
