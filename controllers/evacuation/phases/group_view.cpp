#include "controllers/evacuation/phases/group_view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"
#include "controllers/admission/request.hpp"

namespace controllers::evacuation {
namespace {

using api::ConditionType;
using api::EvacuationPhase;
using api::Reason;

constexpr std::size_t kMaxNamed = 5;

bool has_left(EvacuationPhase phase) {
  return phase == EvacuationPhase::kVerifying || phase == EvacuationPhase::kSucceeded;
}

const api::Condition* vote_of(const PodGroupMember& member) {
  return member.evacuation ? api::find_condition(member.evacuation->status.conditions, ConditionType::kGroupReady)
                           : nullptr;
}

bool has_voted(const PodGroupMember& member) {
  const api::Condition* vote = vote_of(member);
  if (!vote || vote->status != api::ConditionStatus::kTrue) return false;
  // A vote is valid while its attempt waits at the gate.
  return vote->reason == Reason::kLeaving || member.evacuation->status.phase == EvacuationPhase::kPreparing;
}

/// Returns e.g. "a, b, c and 4 more".
std::string listed(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kMaxNamed);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return shown == names.size() ? text : fmt::format("{} and {} more", text, names.size() - shown);
}

/// Why this member does not request a slot. Empty if it does or needs none.
std::string why_not_asking(const PodGroupMember& member) {
  if (is_done_leaving(member)) return {};
  if (!member.evacuation) return fmt::format("{} (no Evacuation)", member.pod);
  const api::Evacuation& evacuation = *member.evacuation;
  if (api::is_terminal(evacuation.status.phase))
    return fmt::format("{} ({} {})", member.pod, api::to_string(evacuation.status.phase), evacuation.status.reason);
  if (evacuation.spec.dry_run) return fmt::format("{} (dry run only)", member.pod);
  if (evacuation.spec.cancel.requested || evacuation.meta.is_terminating())
    return fmt::format("{} (being cancelled)", member.pod);
  if (evacuation.spec.suspend && !has_begun(member)) return fmt::format("{} (suspended)", member.pod);
  return {};
}

}  // namespace

bool counts_for_pod_group(const api::Evacuation& own, const api::Evacuation& other) {
  if (own.meta.key() == other.meta.key()) return false;
  if (own.status.started_at && other.meta.creation_timestamp > *own.status.started_at) return false;
  const base::TimePoint since = own.meta.creation_timestamp;
  if (other.spec.dry_run && api::is_terminal(other.status.phase)) return false;  // no pod left because of it
  if (api::is_terminal(other.status.phase)) return other.status.finished_at && *other.status.finished_at >= since;
  return !(has_left(other.status.phase) && other.status.started_at && *other.status.started_at < since);
}

bool takes_precedence(const api::Evacuation& a, const api::Evacuation& b) {
  if (a.spec.dry_run != b.spec.dry_run) return b.spec.dry_run;
  const bool a_ended = api::is_terminal(a.status.phase);
  const bool b_ended = api::is_terminal(b.status.phase);
  return a_ended != b_ended ? b_ended : a.meta.creation_timestamp > b.meta.creation_timestamp;
}

bool passes_pod_group_gate(const api::EvacuationStatus& before, const api::EvacuationStatus& after) {
  const auto leaves = [](const api::EvacuationStatus& status) {
    const auto* vote = api::find_condition(status.conditions, ConditionType::kGroupReady);
    return vote && vote->reason == Reason::kLeaving;
  };
  return leaves(after) && !leaves(before);
}

bool has_begun(const PodGroupMember& member) { return member.evacuation && member.evacuation->status.attempt > 0; }

bool is_leaving(const PodGroupMember& member) {
  const api::Condition* vote = vote_of(member);
  return (vote && vote->reason == Reason::kLeaving) || (member.evacuation && has_left(member.evacuation->status.phase));
}

bool is_done_leaving(const PodGroupMember& member) {
  if (!member.live)
    return !member.evacuation || api::is_terminal(member.evacuation->status.phase) ||
           has_left(member.evacuation->status.phase);
  return member.evacuation && has_left(member.evacuation->status.phase);
}

bool has_stayed(const PodGroupMember& member) {
  if (!member.live) return false;
  if (!member.evacuation) return member.was_asked;
  const EvacuationPhase phase = member.evacuation->status.phase;
  return api::is_terminal(phase) && phase != EvacuationPhase::kSucceeded;
}

std::string not_requested(const PodGroupView& pod_group) {
  std::vector<std::string> missing;
  for (const PodGroupMember& member : pod_group.members) {
    if (std::string why = why_not_asking(member); !why.empty()) missing.push_back(std::move(why));
  }
  return missing.empty() ? std::string() : listed(missing);
}

std::string not_prepared(const PodGroupView& pod_group) {
  std::vector<std::string> waiting;
  for (const PodGroupMember& member : pod_group.members) {
    if (is_done_leaving(member) || has_voted(member)) continue;
    const auto& evacuation = member.evacuation;
    if (!evacuation && !pod_group.alone()) continue;  // created after the PodGroup was admitted
    const auto& blockers = evacuation->status.blocked_by;
    waiting.push_back(fmt::format("{} ({}{}{})", member.pod, api::to_string(evacuation->status.phase),
                                  blockers.empty() ? "" : ": ", blockers.empty() ? "" : blockers.front().message));
  }
  return waiting.empty() ? std::string() : listed(waiting);
}

std::string waits_for_earlier(const PodGroupView& pod_group) {
  std::vector<std::string> earlier;
  for (const PodGroupMember& member : pod_group.members) {
    const bool ended = member.evacuation && api::is_terminal(member.evacuation->status.phase);
    if (!member.evacuation || ended || member.order >= pod_group.order || is_done_leaving(member)) continue;
    earlier.push_back(member.pod);
  }
  return earlier.empty() ? std::string() : listed(earlier);
}

std::vector<api::ObjectKey> admitted_together(const PodGroupView& pod_group) {
  std::vector<api::ObjectKey> keys;
  for (const PodGroupMember& member : pod_group.members) {
    if (!member.evacuation || member.evacuation->spec.suspend || is_leaving(member)) continue;
    const bool waits = is_between_attempts(member.evacuation->status.phase);
    if (waits && why_not_asking(member).empty()) keys.push_back(member.evacuation->meta.key());
  }
  return keys;
}

std::int32_t covered_together(const PodGroupView& pod_group, const api::PodDisruptionBudget& pdb) {
  std::int32_t count = 1;
  for (const PodGroupMember& member : pod_group.members) {
    if (member.live && member.order == pod_group.order && !is_done_leaving(member) && pdb.covers(*member.live)) ++count;
  }
  return count;
}

}  // namespace controllers::evacuation
