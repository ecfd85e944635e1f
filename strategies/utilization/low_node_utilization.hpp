#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/json/strict_object.hpp"
#include "strategies/common_args.hpp"
#include "strategies/strategy.hpp"
#include "strategies/utilization/move_rules.hpp"
#include "strategies/utilization/usage_args.hpp"

namespace strategies {

/// Moves pods from overutilized nodes while underutilized ones have free capacity
/// (upstream-semantics.md#low-node-utilization).
class LowNodeUtilization final : public Strategy {
 public:
  static constexpr std::string_view kName = "LowNodeUtilization";

  struct Args {
    Thresholds thresholds;
    std::int32_t number_of_nodes = 0;  ///< act only when more nodes than this are underutilized
    std::vector<std::string> excluded_namespaces;
    std::optional<std::uint32_t> evictions_per_node;
    std::optional<scheduling::UsageNeed> metrics;  ///< metricsUtilization; absent: by requests
    friend bool operator==(const Args&, const Args&) = default;

    /// Complaints go to the object's list.
    static Args read(api::StrictObject& args);
  };

  explicit LowNodeUtilization(Args args) : args_(std::move(args)) {}
  std::string_view name() const override { return kName; }
  StrategyPhase phase() const override { return StrategyPhase::kBalance; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override;
  std::vector<scheduling::UsageNeed> usage_needs() const override;

 private:
  std::vector<std::string> tracked() const;
  base::Status balance(const StrategyContext& context, NominationSink& sink, const UsageView& usage) const;
  void relieve(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
               const std::vector<std::string>& resources, MoveRules rules) const;
  void relieve_upstream(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
                        const std::vector<std::string>& resources, MoveRules rules) const;

  Args args_;
};

}  // namespace strategies
