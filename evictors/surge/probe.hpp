#pragma once

/// Decides whether and how a pod can be surged. Internal to surge*.cpp.

#include <optional>
#include <string>

#include "evictors/surge/surge_state.hpp"

namespace evictors::surge {

inline constexpr std::string_view kParameterMode = "mode";  ///< Auto, ExtraReplica, RollingRestart
inline constexpr std::string_view kParameterWhen = "when";  ///< Outage, Always

struct Choice {
  std::optional<Mode> mode;
  std::string why_not;   ///< without mode: the reason and the fix
  bool unknown = false;  ///< without mode: a required document was not read (yet)
};
/// REQUIRES: context.pod != nullptr.
Choice choose(const EvictorContext& context, const SurgeState& view);

}  // namespace evictors::surge
