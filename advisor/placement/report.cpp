#include "advisor/placement/report.hpp"

#include <cstdlib>

namespace advisor {

std::string_view to_string(Cause cause) {
  switch (cause) {
    case Cause::kRequiredAntiAffinity: return "RequiredAntiAffinity";
    case Cause::kHostnameSpread: return "HostnameSpread";
    case Cause::kZoneSpread: return "ZoneSpread";
    case Cause::kNodeSelector: return "NodeSelector";
    case Cause::kBlockingBudget: return "BlockingBudget";
    case Cause::kOverlappingBudgets: return "OverlappingBudgets";
    case Cause::kLocalVolume: return "LocalVolume";
    case Cause::kZonalVolume: return "ZonalVolume";
    case Cause::kBarePod: return "BarePod";
    case Cause::kOversizedRequests: return "OversizedRequests";
    case Cause::kSingleReplica: return "SingleReplica";
    case Cause::kMissingBudget: return "MissingBudget";
    case Cause::kEmptyBudget: return "EmptyBudget";
    case Cause::kIdlePriority: return "IdlePriority";
  }
  std::abort();
}

bool has_effect(Cause cause) {
  switch (cause) {
    case Cause::kSingleReplica:
    case Cause::kMissingBudget:
    case Cause::kEmptyBudget:
    case Cause::kIdlePriority: return false;
    default: return true;
  }
}

std::string_view to_string(Risk risk) {
  switch (risk) {
    case Risk::kLow: return "low";
    case Risk::kMedium: return "medium";
    case Risk::kHigh: return "high";
  }
  std::abort();
}

std::int32_t gained_nodes(const Finding& finding, const Outcome& now) {
  return finding.then ? finding.then->freed - now.freed : 0;
}

std::int32_t saved_moves(const Finding& finding, const Outcome& now) {
  return finding.then ? now.moves - finding.then->moves : 0;
}

}  // namespace advisor
