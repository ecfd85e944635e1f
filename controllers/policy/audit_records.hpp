#pragma once

/// Audit records of planning cycles. Pure.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/result.hpp"
#include "controllers/policy/decide.hpp"
#include "telemetry/audit/record.hpp"

namespace controllers {

/// Maximum number of nominations, and of refusals, that are recorded per pod and cycle. Further ones appear only as
/// numbers in the record of the cycle, because a cluster of 150,000 pods must not write as many lines.
inline constexpr std::size_t kMaxAuditedPods = 2000;

/// Pods nominated or refused in a policy's last cycle. In memory only; after a start all of them are recorded again.
struct CycleMemory {
  /// Strategy, reason ("" if nominated), UID of the pod.
  using Key = std::tuple<std::string, std::string, std::string>;
  std::int64_t generation = 0;  ///< a new generation makes all of them new
  std::set<Key> seen;
};

/// Returns a record for each nomination and refusal that `memory` lacks, and replaces `memory` with this cycle.
std::vector<audit::Record> news_of_cycle(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome,
                                         CycleMemory& memory);
/// Returns the record of the whole cycle, which is written for every cycle.
audit::Record record_of_cycle(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome);
audit::Record record_of_creation(const api::DeschedulerPolicy& policy, const api::PlannedMove& move,
                                 const api::Evacuation& evacuation, const base::Error* error);
audit::Record record_of_invalid(const api::ObjectMeta& policy, std::string_view problem);

}  // namespace controllers
