#include "strategies/utilization/high_node_utilization.hpp"

#include <algorithm>
#include <array>

#include "strategies/utilization/consolidation.hpp"
#include "strategies/utilization/move_pods_upstream.hpp"

namespace strategies {
namespace {

constexpr std::array<std::string_view, 1> kEvictionModes = {"OnlyThresholdingResources"};

}  // namespace

HighNodeUtilization::Args HighNodeUtilization::Args::read(api::StrictObject& args) {
  Args parsed;
  parsed.excluded_namespaces = read_excluded_namespaces(args);
  parsed.thresholds = read_percentages(args, "thresholds");
  parsed.number_of_nodes = read_number_of_nodes(args);
  parsed.only_thresholding_resources = !read_choices(args, "evictionModes", kEvictionModes).empty();
  return parsed;
}

/// Cordoned nodes too: they are emptied.
bool HighNodeUtilization::is_underused(const NodeUsage& node) const {
  for (std::size_t r = 0; r < args_.thresholds.size(); ++r) {
    const auto& [resource, threshold] = args_.thresholds[r];
    if (node.percent(r, resource).value_or(0) > threshold) return false;
  }
  return true;
}

/// An entry in the requests of a container, even of zero.
bool HighNodeUtilization::requests_a_threshold(const api::Pod& pod) const {
  const auto requests_one = [&](const api::Container& container) {
    return std::ranges::any_of(container.requests, [&](const auto& request) {
      return std::ranges::find(args_.thresholds, request.first, &Percentages::value_type::first) !=
             args_.thresholds.end();
    });
  };
  return std::ranges::any_of(pod.containers, requests_one) || std::ranges::any_of(pod.init_containers, requests_one);
}

void HighNodeUtilization::relieve(const StrategyContext& context, NominationSink& sink,
                                  const std::vector<std::string>& resources, MoveRules rules) const {
  const auto fullness = [&](const NodeUsage& node) { return mean_fullness(node, resources); };
  ConsolidationRules wanted{std::move(rules.sources), std::move(rules.destinations), args_.excluded_namespaces, {}};
  std::ranges::stable_sort(wanted.sources, {}, fullness);
  std::ranges::stable_sort(wanted.others, std::ranges::greater{}, fullness);
  if (args_.only_thresholding_resources) {
    wanted.wants = [this](const api::Pod& pod) { return requests_a_threshold(pod); };
  }
  consolidate(context, sink, wanted);
}

/// Upstream does nothing when all nodes are underutilized.
void HighNodeUtilization::relieve_upstream(const StrategyContext& context, NominationSink& sink,
                                           const std::vector<std::string>& resources, MoveRules rules) const {
  if (rules.sources.size() == context.nodes.size() || rules.destinations.empty()) return;
  std::ranges::stable_sort(rules.sources, {}, [&](const NodeUsage& node) { return node.raw_sum(resources); });
  rules.target_percent.assign(args_.thresholds.size(), 100.0);
  rules.target_percent.resize(resources.size());
  rules.drain = true;
  rules.excluded_namespaces = args_.excluded_namespaces;
  if (args_.only_thresholding_resources)
    rules.wants = [this](const api::Pod& pod) { return requests_a_threshold(pod); };
  rules.reason = [](const NodeUsage&) { return "its node is underutilized and is to be emptied"; };
  move_pods_upstream(context, sink, RequestedUsage(context.cluster), resources, std::move(rules));
}

base::Status HighNodeUtilization::nominate(const StrategyContext& context, NominationSink& sink) const {
  const RequestedUsage usage(context.cluster);  // measured usage is no part of this strategy
  const std::vector<std::string> resources = tracked_resources(args_.thresholds);
  const auto nodes = measure(context.cluster, context.nodes, usage, resources);
  if (!nodes) return nodes.error();

  MoveRules rules;
  for (const NodeUsage& node : *nodes) {
    if (is_underused(node)) {
      rules.sources.push_back(node);
    } else if (!context.cluster.base().node(node.node).unschedulable) {
      rules.destinations.push_back(node);
    }
  }
  const std::size_t under = rules.sources.size();
  const bool too_few = under == 0 || under <= static_cast<std::size_t>(std::max(args_.number_of_nodes, 0));
  if (too_few) return base::Done{};
  if (context.is_upstream()) {
    relieve_upstream(context, sink, resources, std::move(rules));
  } else {
    relieve(context, sink, resources, std::move(rules));
  }
  return base::Done{};
}

}  // namespace strategies
