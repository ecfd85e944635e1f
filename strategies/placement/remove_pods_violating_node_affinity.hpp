#pragma once

#include <string>
#include <vector>

#include "strategies/common_args.hpp"
#include "strategies/strategy.hpp"

namespace strategies {

/// Nominates pods whose node affinity is not met, or would be met better elsewhere
/// (upstream-semantics.md#node-affinity).
class RemovePodsViolatingNodeAffinity final : public Strategy {
 public:
  static constexpr std::string_view kName = "RemovePodsViolatingNodeAffinity";

  struct Args {
    PodScope scope;
    std::vector<std::string> types;  ///< worked through in this order
    friend bool operator==(const Args&, const Args&) = default;

    /// Complaints go to the object's list.
    static Args read(api::StrictObject& args);
  };

  explicit RemovePodsViolatingNodeAffinity(Args args) : args_(std::move(args)) {}
  std::string_view name() const override { return kName; }
  Phase phase() const override { return Phase::kDeschedule; }
  base::Status nominate(const Context& context, NominationSink& sink) const override;

 private:
  struct Kind {
    bool (*violates)(const Context& context, PodIndex pod, NodeIndex node);
    Goal (*goal)(const Context& context, PodIndex pod, NodeIndex here);  ///< nodes that are better than `here`
    std::string_view reason;
  };
  void nominate_by(const Kind& kind, const Context& context, NominationSink& sink) const;

  Args args_;
};

}  // namespace strategies
