#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cmd::plugin {

enum class TargetKind { kPod, kNode, kPolicy, kEvacuation };
/// Returns "pod", "node", "policy" or "evacuation".
std::string_view to_string(TargetKind kind);

/// Object that a command applies to, such as pod/web-1, no/node-2, dsp/balance, evac/web-1-9f31aa02.
struct Target {
  TargetKind kind = TargetKind::kPod;
  std::string name;
  friend bool operator==(const Target&, const Target&) = default;
};

/// Parses a target. Accepts singular, plural and short names; without a kind, `otherwise` is used. The error lists the
/// kinds.
base::Result<Target> parse_target(std::string_view text, TargetKind otherwise);

}  // namespace cmd::plugin
