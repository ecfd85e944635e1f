#pragma once

/// Risk that the end of a pod destroys its data, derived from its PersistentVolumeClaims.

#include <string>
#include <string_view>

#include "api/core/kinds.hpp"

namespace api {

/// Value of volume_name for a claim in phase Lost, whatever its spec says. Not a valid volume name, so a lookup of the
/// claim's volume finds nothing.
inline constexpr std::string_view kLostVolume = "(lost)";

enum class PvcRisk {
  kNone,
  kBeingDeleted,  ///< exists only as long as pods use it; reclaim policy Delete then also deletes its volume
  kLost,          ///< its volume is gone, so a replacement pod would never start
};

/// Pure. A claim made for the pod's own generic ephemeral volume is never a risk, because it ends with the pod by
/// contract and the replacement gets a new one.
PvcRisk pvc_risk(const PersistentVolumeClaim& claim, const Pod& pod);

/// Returns true if `volume` uses a PersistentVolumeClaim; volume.source is then its name.
bool uses_claim(const Volume& volume);

/// Returns a human-readable reason why the pod must stay. `risk` must not be kNone.
std::string explain_pvc_risk(PvcRisk risk, std::string_view claim);

}  // namespace api
