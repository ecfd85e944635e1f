#pragma once

#include <string_view>

#include "strategies/common_args.hpp"
#include "strategies/strategy.hpp"

namespace strategies {

/// Empties as many nodes as it can with few moves, swaps included (docs/strategies/defragmentation.md).
class Defragmentation final : public Strategy {
 public:
  static constexpr std::string_view kName = "Defragmentation";

  struct Args {
    friend bool operator==(const Args&, const Args&) = default;

    /// Complaints go to the object's list.
    static Args read(api::StrictObject& args);
  };

  explicit Defragmentation(Args args) : args_(args) {}
  std::string_view name() const override { return kName; }
  StrategyPhase phase() const override { return StrategyPhase::kBalance; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override;

 private:
  Args args_;
};

}  // namespace strategies
