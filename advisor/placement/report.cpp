#include "advisor/placement/report.hpp"

#include <array>

namespace advisor {
namespace {

constexpr std::array<std::string_view, 14> kCauses = {
    "RequiredAntiAffinity", "HostnameSpread", "ZoneSpread",  "NodeSelector", "BlockingBudget",
    "OverlappingBudgets",   "LocalVolume",    "ZonalVolume", "BarePod",      "OversizedRequests",
    "SingleReplica",        "MissingBudget",  "EmptyBudget", "IdlePriority",
};
constexpr std::array<std::string_view, 3> kRisks = {"low", "medium", "high"};

}  // namespace

std::string_view to_string(Cause cause) { return kCauses[static_cast<std::size_t>(cause)]; }

std::string_view to_string(Risk risk) { return kRisks[static_cast<std::size_t>(risk)]; }

std::int32_t gained_nodes(const Finding& finding, const Outcome& now) {
  return finding.then ? finding.then->freed - now.freed : 0;
}

std::int32_t saved_moves(const Finding& finding, const Outcome& now) {
  return finding.then ? now.moves - finding.then->moves : 0;
}

}  // namespace advisor
