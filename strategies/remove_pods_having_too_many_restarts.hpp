#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategies/common_args.hpp"
#include "strategies/strategy.hpp"

namespace strategies {

/// Nominates pods whose containers restarted too often, the worst of a node first (descheduler-semantics 3.8).
class RemovePodsHavingTooManyRestarts final : public Strategy {
 public:
  static constexpr std::string_view kName = "RemovePodsHavingTooManyRestarts";

  struct Args {
    PodScope scope;
    std::int32_t threshold = 0;  ///< this many and more
    bool init_containers = false;
    std::vector<std::string> states;  ///< Running, CrashLoopBackOff; empty: any
    friend bool operator==(const Args&, const Args&) = default;

    /// Complaints go to the object's list.
    static Args read(api::StrictObject& args);
  };

  explicit RemovePodsHavingTooManyRestarts(Args args) : args_(std::move(args)) {}
  std::string_view name() const override { return kName; }
  Phase phase() const override { return Phase::kDeschedule; }
  base::Status nominate(const Context& context, NominationSink& sink) const override;

 private:
  std::int64_t restarts_of(const api::Pod& pod) const;
  bool is_in_state(const api::Pod& pod) const;

  Args args_;
};

}  // namespace strategies
