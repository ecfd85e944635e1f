#pragma once

#include <optional>
#include <string>
#include <vector>

#include "strategies/common_args.hpp"
#include "strategies/strategy.hpp"

namespace strategies {

/// Nominates pods on nodes whose taints they do not tolerate (upstream-semantics.md#node-taints).
class RemovePodsViolatingNodeTaints final : public Strategy {
 public:
  static constexpr std::string_view kName = "RemovePodsViolatingNodeTaints";

  struct Args {
    PodScope scope;
    bool include_prefer_no_schedule = false;
    std::vector<std::string> excluded;                 ///< "key" or "key=value"
    std::optional<std::vector<std::string>> included;  ///< absent: all; empty: none
    friend bool operator==(const Args&, const Args&) = default;

    /// Complaints go to the object's list.
    static Args read(api::StrictObject& args);
  };

  explicit RemovePodsViolatingNodeTaints(Args args) : args_(std::move(args)) {}
  std::string_view name() const override { return kName; }
  Phase phase() const override { return Phase::kDeschedule; }
  base::Status nominate(const Context& context, NominationSink& sink) const override;

 private:
  bool is_considered(const api::Taint& taint, bool as_upstream) const;
  const api::Taint* violation(const api::Pod& pod, const api::Node& node, bool as_upstream) const;

  Args args_;
};

}  // namespace strategies
