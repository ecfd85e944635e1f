#pragma once

#include <string>
#include <vector>

#include "planner/strategies/common_args.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Nominates pods of the same owner and images that share a node while other nodes have fewer
/// (upstream-semantics.md#remove-duplicates).
class RemoveDuplicates final : public Strategy {
 public:
  static constexpr std::string_view kName = "RemoveDuplicates";

  struct Args {
    PodScope scope;  ///< `labelSelector` is an extension of upstream
    std::vector<std::string> exclude_owner_kinds;
    friend bool operator==(const Args&, const Args&) = default;

    /// Errors are added to the errors of `args`.
    static Args read(api::StrictObject& args);
  };

  explicit RemoveDuplicates(Args args) : args_(std::move(args)) {}
  std::string_view name() const override { return kName; }
  StrategyPhase phase() const override { return StrategyPhase::kBalance; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override;

 private:
  Args args_;
};

}  // namespace strategies
