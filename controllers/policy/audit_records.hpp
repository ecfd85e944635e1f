#pragma once

/// The records of planning cycles. Pure.

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

/// A policy's nominations and refusals that are recorded pod by pod in one cycle, at most. A plan's further ones only
/// show as numbers in the cycle's own record: a cluster of 150,000 pods must not write as many lines.
inline constexpr std::size_t kMaxAuditedPods = 2000;

/// Who was nominated or refused in a policy's last cycle. Memory only: after a start everything is news again.
struct CycleMemory {
  using Key = std::tuple<std::string, std::string, std::string>;  ///< strategy, reason ("" when nominated), pod's UID
  std::int64_t generation = 0;                                    ///< another edition: everything is news
  std::set<Key> seen;
};

/// One record for each nomination and refusal (policy, strategy, reason, pod) that the last cycle did not have.
/// Replaces `memory` by this cycle.
std::vector<audit::Record> news_of_cycle(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome,
                                         CycleMemory& memory);
/// The cycle as a whole: one record, always.
audit::Record record_of_cycle(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome);
audit::Record record_of_creation(const api::DeschedulerPolicy& policy, const api::PlannedMove& move,
                                 const api::Evacuation& evacuation, const base::Error* error);
audit::Record record_of_invalid(const api::ObjectMeta& policy, std::string_view problem);

}  // namespace controllers
