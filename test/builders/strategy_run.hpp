#pragma once

/// Runs one strategy on a small cluster with a sink that records everything.

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "planner/scheduling/evictability_rules.hpp"
#include "planner/strategies/catalog.hpp"
#include "test/builders/cluster.hpp"

namespace builders {

class RecordingSink final : public strategies::NominationSink, public strategies::PlanSink {
 public:
  strategies::PlanSink& plan() override { return *this; }
  const strategies::PlanSink& plan() const override { return *this; }
  explicit RecordingSink(const scheduling::ClusterSnapshot& cluster) : cluster_(&cluster) {}

  /// Returns the answer to an offer. If not set, every offer is accepted.
  std::function<strategies::NominationResult(const api::Pod& pod)> answer;

  strategies::NominationResult offer(scheduling::PodIndex pod, std::string_view reason) override {
    const api::Pod& object = cluster_->pod(pod);
    const auto result = answer ? answer(object) : strategies::NominationResult::kAccepted;
    offered.push_back(object.meta.name);
    if (result == strategies::NominationResult::kAccepted) {
      accepted.push_back(object.meta.name);
      reasons[object.meta.name] = reason;
    }
    return result;
  }
  bool avoid(std::string_view key, std::span<const strategies::NodeIndex> nodes) override {
    if (!may_avoid) return false;
    for (const auto node : nodes) avoided.push_back(std::string(key) + " " + cluster_->node(node).meta.name);
    return true;
  }
  bool bears(std::string_view key, strategies::NodeIndex node) const override {
    return std::ranges::any_of(cluster_->node(node).taints, [&](const api::Taint& taint) { return taint.key == key; });
  }
  void refused(scheduling::PodIndex pod, const scheduling::Refusal& refusal) override {
    refusals[cluster_->pod(pod).meta.name] = refusal.reason;
  }
  void refused_because(scheduling::PodIndex pod, const scheduling::Refusal& refusal,
                       const std::function<std::string()>& why) override {
    refused(pod, refusal);
    details[cluster_->pod(pod).meta.name] = why();
  }

  using NominationSink::report;
  void report(strategies::CountReport report) override { counts = std::move(report); }
  void report(api::NodeClasses report) override { classes = std::move(report); }
  std::size_t node_rows() const override { return 100; }

  bool may_avoid = true;
  std::optional<strategies::CountReport> counts;
  std::optional<api::NodeClasses> classes;
  std::vector<std::string> avoided;  ///< Entries "<key> <node>"
  std::vector<std::string> offered;
  std::vector<std::string> accepted;
  std::map<std::string, std::string> reasons;
  std::map<std::string, std::string> details;  ///< Details of refusals
  std::map<std::string, std::string> refusals;

 private:
  const scheduling::ClusterSnapshot* cluster_;
};

/// One strategy over all nodes at kNoon. The object must outlive references to its sink.
class StrategyRun {
 public:
  explicit StrategyRun(const ClusterBuilder& builder)
      : cluster_(builder.build()), what_if_(*cluster_), sink(*cluster_) {}

  api::Evictability evictability;
  api::Compatibility compatibility = api::Compatibility::kNone;
  const strategies::UsageView* usage = nullptr;
  const strategies::RestartHistory* restarts = nullptr;
  std::vector<std::shared_ptr<const scheduling::MeasuredUsage>> measured;

  /// Throws std::invalid_argument if the arguments are refused.
  StrategyRun& run(const std::string& name, const std::string& args) {
    const strategies::StrategySpecs parsed = strategies::parse_strategies({{name, args}});
    if (!parsed.errors.empty()) throw std::invalid_argument(parsed.errors.front().to_string());
    api::FieldErrors errors;
    const scheduling::EvictabilityRules rules(evictability, *cluster_, kNoon, errors, compatibility);
    std::vector<scheduling::NodeIndex> nodes;
    for (const auto node : cluster_->nodes()) nodes.push_back(node);
    status =
        parsed.runnable.front().strategy->nominate({what_if_, nodes, rules, kNoon, usage, restarts, measured}, sink);
    return *this;
  }
  scheduling::WhatIf& what_if() { return what_if_; }
  const scheduling::ClusterSnapshot& cluster() const { return *cluster_; }

 private:
  std::unique_ptr<const scheduling::ClusterSnapshot> cluster_;
  scheduling::WhatIf what_if_;

 public:
  RecordingSink sink;
  base::Status status = base::Done{};
};

}  // namespace builders
