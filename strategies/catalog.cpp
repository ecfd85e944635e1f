#include "strategies/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/json/json.hpp"
#include "api/json/strict_object.hpp"
#include "strategies/lifetime/pod_criteria.hpp"
#include "strategies/lifetime/pod_life_time.hpp"
#include "strategies/lifetime/remove_failed_pods.hpp"
#include "strategies/lifetime/remove_pods_having_too_many_restarts.hpp"
#include "strategies/placement/remove_duplicates.hpp"
#include "strategies/placement/remove_pods_violating_inter_pod_anti_affinity.hpp"
#include "strategies/placement/remove_pods_violating_node_affinity.hpp"
#include "strategies/placement/remove_pods_violating_node_taints.hpp"
#include "strategies/spread/remove_pods_violating_topology_spread_constraint.hpp"
#include "strategies/utilization/high_node_utilization.hpp"
#include "strategies/utilization/low_node_utilization.hpp"

namespace strategies {
namespace {

using Factory = std::unique_ptr<const Strategy> (*)(api::StrictObject& args);

template <typename S>
std::unique_ptr<const Strategy> make(api::StrictObject& args) {
  return std::make_unique<S>(S::Args::read(args));
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
    entry_of<HighNodeUtilization>(),
    entry_of<LowNodeUtilization>(),
    entry_of<PodCriteria>(),
    entry_of<PodLifeTime>(),
    entry_of<RemoveDuplicates>(),
    entry_of<RemoveFailedPods>(),
    entry_of<RemovePodsHavingTooManyRestarts>(),
    entry_of<RemovePodsViolatingInterPodAntiAffinity>(),
    entry_of<RemovePodsViolatingNodeAffinity>(),
    entry_of<RemovePodsViolatingNodeTaints>(),
    entry_of<RemovePodsViolatingTopologySpreadConstraint>(),
};

std::string complaint_about_name(std::string_view name) {
  if (name.empty()) return "is required";
  const auto known = known_strategies();
  return fmt::format("\"{}\" is no strategy; known are {}{}", name.substr(0, 80), fmt::join(known, ", "),
                     api::did_you_mean(name, known));
}

std::unique_ptr<const Strategy> make_strategy(const api::StrategyChoice& choice, const api::FieldPath& path,
                                              api::FieldErrors& errors) {
  const auto entry = std::ranges::find(kCatalog, choice.name, &CatalogEntry::name);
  if (entry == kCatalog.end()) {
    errors.push_back({path.field("name").text(), complaint_about_name(choice.name)});
    return nullptr;
  }
  const auto json = api::parse_json(choice.args_json.empty() ? "{}" : choice.args_json);
  if (!json) {
    errors.push_back({path.field("args").text(), json.error().message});
    return nullptr;
  }
  const std::size_t before = errors.size();
  api::FieldErrors complaints;
  api::StrictObject args(*json, path.field("args"), complaints);
  auto strategy = entry->make(args);
  args.finish();
  errors.insert(errors.end(), complaints.begin(), complaints.end());
  return errors.size() == before ? std::move(strategy) : nullptr;
}

/// Pairs of which one undoes what the other does.
constexpr std::array<std::pair<std::string_view, std::string_view>, 1> kContradictions = {{
    {HighNodeUtilization::kName, LowNodeUtilization::kName},  // one packs nodes, the other levels them
}};

bool contradict(std::string_view a, std::string_view b) {
  return std::ranges::any_of(kContradictions, [&](const auto& pair) {
    return (pair.first == a && pair.second == b) || (pair.first == b && pair.second == a);
  });
}

bool are_equal(const api::StrategyChoice& a, const api::StrategyChoice& b) {
  if (a.name != b.name) return false;
  const auto args_of = [](const api::StrategyChoice& each) {
    return api::parse_json(each.args_json.empty() ? "{}" : each.args_json);
  };
  const auto first = args_of(a);
  const auto second = args_of(b);
  return first && second && *first == *second;
}

/// What `choice` cannot be together with the one of index `earlier`; "": nothing is in the way.
std::string complaint_about_pair(const api::StrategyChoice& choice, const api::StrategyChoice& other,
                                 std::size_t earlier) {
  if (contradict(choice.name, other.name)) {
    return fmt::format(
        "{} undoes what {} of strategies[{}] does: give each a policy with nodes of its own "
        "(spec.nodeSelector), or leave one out",
        choice.name, other.name, earlier);
  }
  return are_equal(choice, other) ? fmt::format("is the same as strategies[{}]: leave one out", earlier) : "";
}

void check_together(const std::vector<api::StrategyChoice>& choices, const api::FieldPath& path,
                    api::FieldErrors& errors) {
  for (std::size_t i = 0; i < choices.size(); ++i) {
    for (std::size_t earlier = 0; earlier < i; ++earlier) {
      auto complaint = complaint_about_pair(choices[i], choices[earlier], earlier);
      if (complaint.empty()) continue;
      errors.push_back({path.index(i).text(), std::move(complaint)});
      break;
    }
  }
}

}  // namespace

std::vector<std::string_view> known_strategies() {
  std::vector<std::string_view> names;
  for (const CatalogEntry& entry : kCatalog) names.push_back(entry.name);
  std::ranges::sort(names);
  return names;
}

std::vector<ConfiguredStrategy> make_strategies(const std::vector<api::StrategyChoice>& choices,
                                                api::FieldErrors& errors, const api::FieldPath& path) {
  std::vector<ConfiguredStrategy> strategies;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    auto strategy = make_strategy(choices[i], path.index(i), errors);
    if (strategy) strategies.push_back({i, std::move(strategy)});
  }
  return strategies;
}

std::optional<base::seconds> restart_window(const std::vector<api::StrategyChoice>& choices) {
  api::FieldErrors ignored;  // the plan's business
  std::optional<base::seconds> longest;
  for (const ConfiguredStrategy& each : make_strategies(choices, ignored)) {
    const auto window = each.strategy->restart_window();
    if (window && (!longest || *window > *longest)) longest = window;
  }
  return longest;
}

api::FieldErrors validate(const std::vector<api::StrategyChoice>& choices) {
  api::FieldErrors errors;
  make_strategies(choices, errors);
  check_together(choices, api::FieldPath("spec.strategies"), errors);
  return errors;
}

}  // namespace strategies
