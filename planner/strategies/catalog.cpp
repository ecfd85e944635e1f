#include "planner/strategies/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <nlohmann/json.hpp>

#include "api/json/json.hpp"
#include "api/json/strict_object.hpp"
#include "planner/strategies/alternating/alternating_utilization.hpp"
#include "planner/strategies/defragmentation/defragmentation.hpp"
#include "planner/strategies/lifetime/pod_criteria.hpp"
#include "planner/strategies/lifetime/pod_life_time.hpp"
#include "planner/strategies/lifetime/remove_failed_pods.hpp"
#include "planner/strategies/lifetime/remove_pods_having_too_many_restarts.hpp"
#include "planner/strategies/load/target_load_packing.hpp"
#include "planner/strategies/placement/remove_duplicates.hpp"
#include "planner/strategies/placement/remove_pods_violating_inter_pod_anti_affinity.hpp"
#include "planner/strategies/placement/remove_pods_violating_node_affinity.hpp"
#include "planner/strategies/placement/remove_pods_violating_node_taints.hpp"
#include "planner/strategies/preferences/preferred_placement.hpp"
#include "planner/strategies/spread/remove_pods_violating_topology_spread_constraint.hpp"
#include "planner/strategies/utilization/consolidation.hpp"
#include "planner/strategies/utilization/high_node_utilization.hpp"
#include "planner/strategies/utilization/low_node_utilization.hpp"

namespace strategies {
namespace {

using Factory = std::shared_ptr<const Strategy> (*)(api::StrictObject& args);

template <typename S>
std::shared_ptr<const Strategy> make(api::StrictObject& args) {
  if constexpr (std::derived_from<S, Strategy>)
    return std::make_shared<const S>(S::Args::read(args));
  else
    return std::make_shared<const StrategyOf<S>>(S::read(args));
}

struct CatalogEntry {
  std::string_view name;
  Factory make;
};

template <typename S>
constexpr CatalogEntry entry_of() {
  return {S::kName, &make<S>};
}

constexpr std::array kCatalog = {
    entry_of<AlternatingUtilization>(),
    entry_of<Defragmentation>(),
    entry_of<HighNodeUtilization>(),
    entry_of<LowNodeUtilization>(),
    entry_of<PodCriteria>(),
    entry_of<PodLifeTime>(),
    entry_of<PreferredPlacement>(),
    entry_of<RemoveDuplicates>(),
    entry_of<RemoveFailedPods>(),
    entry_of<RemovePodsHavingTooManyRestarts>(),
    entry_of<RemovePodsViolatingInterPodAntiAffinity>(),
    entry_of<RemovePodsViolatingNodeAffinity>(),
    entry_of<RemovePodsViolatingNodeTaints>(),
    entry_of<RemovePodsViolatingTopologySpreadConstraint>(),
    entry_of<TargetLoadPacking>(),
};

std::string complaint_about_name(std::string_view name) {
  if (name.empty()) return "is required";
  const auto known = known_strategies();
  return fmt::format("\"{}\" is not a strategy; known are {}{}", name.substr(0, 80), fmt::join(known, ", "),
                     api::did_you_mean(name, known));
}

void collect_list(const api::Json& filter, const char* list, const api::FieldPath& at,
                  std::vector<NamedNamespace>& found) {
  const auto names = filter.find(list);
  if (names == filter.end() || !names->is_array()) return;
  for (std::size_t i = 0; i < names->size(); ++i) {
    if (!names->at(i).is_string()) continue;
    found.push_back(
        {at.field(list).index(i).text(), names->at(i).get<std::string>(), std::string_view(list) == "exclude"});
  }
}

/// Returns nullptr and adds to `errors` if the entry is invalid.
std::shared_ptr<const Strategy> make_strategy(std::string_view name, const base::Result<api::Json>& args,
                                              const api::FieldPath& path, api::FieldErrors& errors) {
  const auto entry = std::ranges::find(kCatalog, name, &CatalogEntry::name);
  if (entry == kCatalog.end()) {
    errors.push_back({path.field("name").text(), complaint_about_name(name)});
    return nullptr;
  }
  if (!args) {
    errors.push_back({path.field("args").text(), args.error().message});
    return nullptr;
  }
  api::FieldErrors complaints;
  api::StrictObject object(*args, path.field("args"), complaints);
  auto strategy = entry->make(object);
  object.finish();
  errors.insert(errors.end(), complaints.begin(), complaints.end());
  return complaints.empty() ? std::move(strategy) : nullptr;
}

/// Pairs of strategies that undo each other's moves.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kContradictions = {{
    {AlternatingUtilization::kName, AlternatingUtilization::kName},  // only one set of rounds can be active
    {AlternatingUtilization::kName, LowNodeUtilization::kName},      // conflicts with the packing half
    {AlternatingUtilization::kName, HighNodeUtilization::kName},     // conflicts with the leveling half
    {AlternatingUtilization::kName, Defragmentation::kName},         // conflicts with the leveling half
    {AlternatingUtilization::kName, TargetLoadPacking::kName},       // conflicts with the packing half
    {Defragmentation::kName, LowNodeUtilization::kName},             // one packs nodes, the other levels them
    {HighNodeUtilization::kName, LowNodeUtilization::kName},         // one packs nodes, the other levels them
    {TargetLoadPacking::kName, LowNodeUtilization::kName},   // one packs nodes up to a target, the other levels them
    {HighNodeUtilization::kName, TargetLoadPacking::kName},  // one fills nodes that the other relieves
}};

bool contradict(std::string_view a, std::string_view b) {
  return std::ranges::any_of(kContradictions, [&](const auto& pair) {
    return (pair.first == a && pair.second == b) || (pair.first == b && pair.second == a);
  });
}

struct ReadChoice {
  std::string_view name;
  base::Result<api::Json> args;
};

bool are_equal(const ReadChoice& a, const ReadChoice& b) {
  return a.name == b.name && a.args && b.args && *a.args == *b.args;
}

/// Returns the conflict of `choice` with the one at index `earlier`, or "" if there is none.
std::string complaint_about_pair(const ReadChoice& choice, const ReadChoice& other, std::size_t earlier) {
  if (contradict(choice.name, other.name)) {
    return fmt::format(
        "{} undoes the moves of {} of strategies[{}]: move one to a policy that selects different nodes "
        "(spec.nodeSelector), or remove it",
        choice.name, other.name, earlier);
  }
  return are_equal(choice, other) ? fmt::format("is the same as strategies[{}]: remove one", earlier) : "";
}

api::FieldErrors conflicts_between(const std::vector<ReadChoice>& choices, const api::FieldPath& path) {
  api::FieldErrors conflicts;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    for (std::size_t earlier = 0; earlier < i; ++earlier) {
      auto complaint = complaint_about_pair(choices[i], choices[earlier], earlier);
      if (complaint.empty()) continue;
      conflicts.push_back({path.index(i).text(), std::move(complaint)});
      break;
    }
  }
  return conflicts;
}

}  // namespace

bool plans_in_waves(std::string_view strategy) { return strategy == Defragmentation::kName; }

bool empties_node(std::string_view strategy, std::string_view reason) {
  return plans_in_waves(strategy) || reason.starts_with(kEmptiedWhole) || reason.starts_with(kToBeEmptied);
}

std::vector<std::string_view> known_strategies() {
  std::vector<std::string_view> names;
  for (const CatalogEntry& entry : kCatalog) names.push_back(entry.name);
  std::ranges::sort(names);
  return names;
}

void append_named_namespaces(const api::Json& args, const api::FieldPath& path, std::vector<NamedNamespace>& found) {
  if (args.is_array()) {
    for (std::size_t i = 0; i < args.size(); ++i) append_named_namespaces(args.at(i), path.index(i), found);
  }
  if (!args.is_object()) return;
  for (const auto& [key, value] : args.items()) {
    const api::FieldPath here = path.field(key);
    if ((key == "namespaces" || key == "evictableNamespaces") && value.is_object()) {
      for (const char* list : {"include", "exclude"}) collect_list(value, list, here, found);
    } else {
      append_named_namespaces(value, here, found);
    }
  }
}

StrategySpecs parse_strategies(const std::vector<api::StrategyChoice>& choices, const api::FieldPath& path) {
  StrategySpecs parsed;
  std::vector<ReadChoice> read;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const api::StrategyChoice& choice = choices[i];
    const auto& args =
        read.emplace_back(ReadChoice{choice.name, api::parse_json(choice.args_json.empty() ? "{}" : choice.args_json)})
            .args;
    auto strategy = make_strategy(choice.name, args, path.index(i), parsed.errors);
    if (strategy) parsed.runnable.push_back({i, std::move(strategy)});
    if (args) append_named_namespaces(*args, path.index(i).field("args"), parsed.namespaces);
  }
  parsed.conflicts = conflicts_between(read, path);
  return parsed;
}

std::vector<UsageNeed> StrategySpecs::usage_needs() const {
  std::vector<UsageNeed> needs;
  for (const StrategySpec& each : runnable) {
    for (UsageNeed& need : each.strategy->needs().usage) {
      if (std::ranges::find(needs, need) == needs.end()) needs.push_back(std::move(need));
    }
  }
  return needs;
}

bool StrategySpecs::soft_taints() const {
  return std::ranges::any_of(runnable,
                             [](const StrategySpec& each) { return !each.strategy->needs().soft_taint.empty(); });
}

bool StrategySpecs::asks_for(std::string_view taint, std::string_view strategy) const {
  return std::ranges::any_of(runnable, [&](const StrategySpec& each) {
    return each.strategy->needs().soft_taint == taint && (strategy.empty() || each.strategy->name() == strategy);
  });
}

const MultiCycle* StrategySpecs::multi_cycle() const {
  for (const StrategySpec& each : runnable) {
    if (const auto* found = dynamic_cast<const MultiCycle*>(each.strategy.get())) return found;
  }
  return nullptr;
}

std::optional<base::seconds> StrategySpecs::restart_window() const {
  std::optional<base::seconds> longest;
  for (const StrategySpec& each : runnable) {
    const auto window = each.strategy->needs().restart_window;
    if (window && (!longest || *window > *longest)) longest = window;
  }
  return longest;
}

api::FieldErrors StrategySpecs::problems() const {
  api::FieldErrors all = errors;
  all.insert(all.end(), conflicts.begin(), conflicts.end());
  return all;
}

api::FieldErrors validate(const std::vector<api::StrategyChoice>& choices) {
  return parse_strategies(choices).problems();
}

}  // namespace strategies
