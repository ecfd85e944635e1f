#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strategies/common_args.hpp"
#include "strategies/pod_criteria.hpp"
#include "strategies/strategy.hpp"

namespace strategies {

/// Nominates pods that are too old, or in a state, condition or with an exit code that is not wanted; oldest first
/// (descheduler-semantics 3.9).
class PodLifeTime final : public Strategy {
 public:
  static constexpr std::string_view kName = "PodLifeTime";

  /// All criteria that are given must hold; at least one of age, states, conditions and exit codes is given.
  struct Args {
    PodScope scope;
    api::NamespaceFilter owner_kinds;         ///< kinds of owners to include or exclude
    std::optional<std::int64_t> max_seconds;  ///< older than this
    std::vector<std::string> states;
    std::vector<ConditionCriterion> conditions;
    std::vector<std::int32_t> exit_codes;
    bool init_containers = false;
    bool ephemeral_containers = false;  ///< for states only
    friend bool operator==(const Args&, const Args&) = default;

    /// Complaints go to the object's list.
    static Args read(api::StrictObject& args);
  };

  explicit PodLifeTime(Args args) : args_(std::move(args)) {}
  std::string_view name() const override { return kName; }
  Phase phase() const override { return Phase::kDeschedule; }
  base::Status nominate(const Context& context, NominationSink& sink) const override;

  /// What the pod is nominated for; nullopt: it does not meet the criteria. Evictability is not looked at.
  std::optional<std::string> reason_for(const api::Pod& pod, base::TimePoint now) const;

 private:
  bool meets_criteria(const api::Pod& pod, base::TimePoint now) const;

  Args args_;
};

}  // namespace strategies
