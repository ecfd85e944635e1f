#include "planner/scheduling/scoring/scheduler_rules.hpp"

#include <charconv>

namespace scheduling {
namespace {

/// Rules of 1.20, before all listed changes.
SchedulerRules oldest_rules() {
  return {.balance = BalanceFormula::kDifference,
          .balance_skips_pods_without_requests = false,
          .affinity_counts_from_zero = true,
          .spread_cuts_off = true,
          .built_in_spread_needs_labels = true,
          .weights = {.fit = 1, .balance = 1, .taints = 1, .node_affinity = 1, .pod_affinity = 1, .spread = 2}};
}

constexpr SchedulerChange kChanges[] = {
    {21, "#98096", [](SchedulerRules& rules) { rules.affinity_counts_from_zero = false; }},
    {22, "#101946 and #105845", [](SchedulerRules& rules) { rules.balance = BalanceFormula::kDeviation; }},
    {23, "#104251",
     [](SchedulerRules& rules) {
       rules.weights.taints = 3;
       rules.weights.node_affinity = 2;
       rules.weights.pod_affinity = 2;
     }},
    {23, "#105046", [](SchedulerRules& rules) { rules.built_in_spread_needs_labels = false; }},
    {24, "#107384", [](SchedulerRules& rules) { rules.spread_cuts_off = false; }},
    {33, "#130260", [](SchedulerRules& rules) { rules.balance_skips_pods_without_requests = true; }},
    {36, "#135573", [](SchedulerRules& rules) { rules.balance = BalanceFormula::kImprovement; }},
};

}  // namespace

std::span<const SchedulerChange> scheduler_changes() { return kChanges; }

SchedulerRules scheduler_rules(int minor) {
  SchedulerRules rules = oldest_rules();
  for (const SchedulerChange& each : kChanges) {
    if (each.since <= minor) each.apply(rules);
  }
  return rules;
}

std::optional<int> minor_version(std::string_view version) {
  if (version.starts_with('v')) version.remove_prefix(1);
  if (!version.starts_with("1.")) return std::nullopt;
  version.remove_prefix(2);
  int minor = 0;
  const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), minor);
  const bool is_whole = end == version.data() + version.size() || *end == '.' || *end == '+' || *end == '-';
  if (error != std::errc() || minor < 0 || !is_whole) return std::nullopt;
  return minor;
}

}  // namespace scheduling
