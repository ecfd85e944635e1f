#pragma once

/// Decisions of the policies' last cycles about a pod, from status.history. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/json/json.hpp"
#include "base/clock.hpp"

namespace cmd::plugin {

/// A cycle of a policy with its decision about the pod.
struct CycleVerdict {
  std::string policy;
  std::int64_t cycle = 0;
  base::TimePoint start{};
  std::optional<api::PastDecision>
      decision{};  ///< nullopt if the cycle did not name the pod, or if the decision was dropped (see left_out)
  std::int32_t left_out = 0;    ///< number of decisions of the cycle that were not stored; the pod's may be among them
  bool of_earlier_pod = false;  ///< the decision concerns an earlier pod with the same name
  friend bool operator==(const CycleVerdict&, const CycleVerdict&) = default;
};

/// Returns the verdicts policy by policy, newest cycle first. A cycle in which several strategies named the pod yields
/// several verdicts. `uid` is empty if the pod is gone. Policies that never named a pod with that name yield none.
std::vector<CycleVerdict> cycle_verdicts(const std::vector<api::DeschedulerPolicy>& policies, const api::ObjectKey& pod,
                                         const std::string& uid);

std::string cycle_text(const CycleVerdict& verdict, base::TimePoint now);
api::Json cycle_json(const CycleVerdict& verdict);

}  // namespace cmd::plugin
