#include "controllers/policy/cycle/unused_hints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace controllers::placement {
namespace {

enum class Use {
  kNone,    ///< it has no hint, or no new pod was created
  kOpen,    ///< not known yet
  kTaken,   ///< a new pod has the hint
  kUnused,  ///< a new pod was created without the hint
};

Use use_of(const api::Evacuation& evacuation) {
  const api::EvacuationStatus& status = evacuation.status;
  if (!evacuation.spec.placement || evacuation.spec.dry_run) return Use::kNone;
  if (status.placement) return Use::kTaken;
  if (!api::is_terminal(status.phase)) return Use::kOpen;
  return status.finished_at && status.outcome && status.outcome->replacement ? Use::kUnused : Use::kNone;
}

/// An unfinished Evacuation counts as newer than all finished ones.
base::TimePoint end_of(const api::Evacuation& evacuation) {
  return evacuation.status.finished_at.value_or(base::TimePoint::max());
}

}  // namespace

std::optional<base::TimePoint> newest_unused_hint(const Evacuations& evacuations,
                                                  const std::vector<api::PlannedMove>& last_plan) {
  base::TimePoint taken = base::TimePoint::min();
  for (const auto& each : evacuations) {
    if (use_of(*each) == Use::kTaken) taken = std::max(taken, end_of(*each));
  }
  std::set<std::pair<std::string_view, std::string_view>> planned;  // namespace and UID
  for (const api::PlannedMove& move : last_plan) {
    if (!move.hint.empty()) planned.emplace(move.ns, move.uid);
  }
  std::optional<base::TimePoint> newest;
  int unused = 0;
  int of_plan = 0;
  bool plan_is_open = false;
  for (const auto& each : evacuations) {
    const bool is_planned = planned.contains({each->meta.ns, each->spec.pod_ref.uid.value});
    const Use use = use_of(*each);
    if (is_planned && use == Use::kOpen) plan_is_open = true;
    if (use != Use::kUnused || end_of(*each) <= taken) continue;
    ++unused;
    if (is_planned) ++of_plan;
    newest = std::max(newest.value_or(end_of(*each)), end_of(*each));
  }
  const bool plan_is_unused = of_plan > 0 && !plan_is_open;
  return unused >= kUnusedHints || plan_is_unused ? newest : std::nullopt;
}

void HintBackoff::look(const std::string& policy, const Evacuations& evacuations,
                       const std::vector<api::PlannedMove>& last_plan, base::TimePoint now) {
  const auto unused = newest_unused_hint(evacuations, last_plan);
  if (!unused) return;
  base::TimePoint& until = until_[policy];
  until = std::max(until, std::min(*unused, now) + kHintPause);
}

std::string HintBackoff::why(const std::string& policy, base::TimePoint now) const {
  const auto found = until_.find(policy);
  if (found == until_.end() || now >= found->second) return {};
  return fmt::format(
      "new pods used none of the recent placement hints: plans do not rely on hints until {}; check that the API "
      "server reaches the placement webhook, or kube-scheduler the extender",
      base::format_time(std::chrono::ceil<base::seconds>(found->second)));
}

}  // namespace controllers::placement
