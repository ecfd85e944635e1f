#pragma once

/// What the policies' last cycles said about a pod, by their status.history. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/json/json.hpp"
#include "base/clock.hpp"

namespace cmd::plugin {

/// One cycle of one policy and what it said about the pod.
struct CycleVerdict {
  std::string policy;
  std::int64_t cycle = 0;
  base::TimePoint start{};
  std::optional<api::PastDecision> decision{};  ///< absent: it did not name the pod, or see left_out
  std::int32_t left_out = 0;    ///< decisions of that cycle that were not kept: the pod's may be among them
  bool of_earlier_pod = false;  ///< the decision is about another pod that had the name
  friend bool operator==(const CycleVerdict&, const CycleVerdict&) = default;
};

/// Newest cycle first, policy by policy; a cycle in which several strategies named the pod has several. `uid`: the
/// pod's, "" when it is gone. Policies that never named a pod of that name have none.
std::vector<CycleVerdict> cycle_verdicts(const std::vector<api::DeschedulerPolicy>& policies, const api::ObjectKey& pod,
                                         const std::string& uid);

/// One line.
std::string cycle_text(const CycleVerdict& verdict, base::TimePoint now);
api::Json cycle_json(const CycleVerdict& verdict);

}  // namespace cmd::plugin
