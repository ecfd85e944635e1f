#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategies/common_args.hpp"
#include "strategies/strategy.hpp"
#include "strategies/utilization/move_rules.hpp"

namespace strategies {

/// Empties underutilized nodes onto the others, so that an autoscaler can take them away
/// (upstream-semantics.md#high-node-utilization); whole ones only, and with all nodes low the emptier ones onto the
/// fuller.
class HighNodeUtilization final : public Strategy {
 public:
  static constexpr std::string_view kName = "HighNodeUtilization";

  struct Args {
    Percentages thresholds;            ///< at or below all of them: underutilized
    std::int32_t number_of_nodes = 0;  ///< act only when more nodes than this are underutilized
    std::vector<std::string> excluded_namespaces;
    bool only_thresholding_resources = false;  ///< only pods that request one of the resources
    friend bool operator==(const Args&, const Args&) = default;

    /// Complaints go to the object's list.
    static Args read(api::StrictObject& args);
  };

  explicit HighNodeUtilization(Args args) : args_(std::move(args)) {}
  std::string_view name() const override { return kName; }
  StrategyPhase phase() const override { return StrategyPhase::kBalance; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override;

 private:
  bool is_underused(const NodeUsage& node) const;
  /// Empties whole nodes.
  void relieve(const StrategyContext& context, NominationSink& sink, const std::vector<std::string>& resources,
               MoveRules rules) const;
  /// Takes what it can from nodes that then stay.
  void relieve_upstream(const StrategyContext& context, NominationSink& sink, const std::vector<std::string>& resources,
                        MoveRules rules) const;
  bool requests_a_threshold(const api::Pod& pod) const;

  Args args_;
};

}  // namespace strategies
