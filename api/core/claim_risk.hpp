#pragma once

/// What the end of a pod would do to its data, as its PersistentVolumeClaims tell.

#include <string>
#include <string_view>

#include "api/core/kinds.hpp"

namespace api {

/// volume_name of a claim in phase Lost, whatever its spec says. No volume can have that name: whoever looks for the
/// claim's volume finds none.
inline constexpr std::string_view kLostVolume = "(lost)";

enum class ClaimRisk {
  kNone,
  kBeingDeleted,  ///< only the pods that use it keep the claim, and with reclaim policy Delete its volume, in existence
  kLost,          ///< its volume is gone: a replacement would never start
};

/// Pure. A claim that was made for the pod's own generic ephemeral volume is never a risk: it goes with the pod by
/// contract, and the replacement gets another one.
ClaimRisk claim_risk(const PersistentVolumeClaim& claim, const Pod& pod);

/// Does `volume` use a PersistentVolumeClaim, which is then called volume.source?
bool uses_claim(const Volume& volume);

/// For people: why the pod must stay. REQUIRES: not kNone.
std::string explain_claim_risk(ClaimRisk risk, std::string_view claim);

}  // namespace api
