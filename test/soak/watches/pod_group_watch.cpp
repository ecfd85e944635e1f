#include "test/soak/watches/pod_group_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/meta/condition.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"
#include "controllers/evacuation/phases/group_view.hpp"

namespace soak {
namespace {

using api::EvacuationPhase;
using api::Json;

/// Caches may lag while the server fails. Members created less than this time before the PodGroup began are excluded.
constexpr base::minutes kMayBeUnseen{10};

const api::Condition* vote_of(const api::Evacuation& evacuation) {
  return api::find_condition(evacuation.status.conditions, api::ConditionType::kGroupReady);
}

bool says_leaving(const api::Evacuation& evacuation) {
  const auto* vote = vote_of(evacuation);
  return vote && vote->reason == api::Reason::kLeaving;
}

bool has_left(const api::Evacuation& evacuation) {
  return evacuation.status.phase == EvacuationPhase::kVerifying ||
         evacuation.status.phase == EvacuationPhase::kSucceeded;
}

bool has_voted(const api::Evacuation& evacuation) {
  const auto* vote = vote_of(evacuation);
  if (!vote || vote->status != api::ConditionStatus::kTrue) return false;
  return vote->reason == api::Reason::kLeaving || evacuation.status.phase == EvacuationPhase::kPreparing;
}

bool same_pod_group(const api::Evacuation& own, const api::Evacuation& other) {
  return own.meta.ns == other.meta.ns && own.status.group == other.status.group && !other.spec.dry_run &&
         controllers::evacuation::counts_for_pod_group(own, other);
}

}  // namespace

PodGroupWatch::PodGroupWatch(simulator::Store& store, Report report)
    : store_(store), pods_([](const Json& pod) { return api::decode_pod(pod.dump()); }), report_(std::move(report)) {}

/// Returns the current pods of the PodGroup that are on a node and not terminating.
std::vector<PodGroupWatch::Member> PodGroupWatch::others_of(const api::Evacuation& own, const Evacuations& all) {
  std::vector<Member> others;
  for (const auto& object : store_.list(kube::kPods, own.meta.ns)) {
    const auto& pod = pods_.of(object);
    if (!pod || pod->meta.uid == own.spec.pod_ref.uid.value || !api::is_active_member(*pod)) continue;
    const auto pod_group = api::pod_group_of(*pod);
    Member member{nullptr, &*pod, pod_group ? pod_group->order : 0};
    for (const auto& [uid, each] : all) {
      if (each.spec.pod_ref.uid.value != pod->meta.uid || each.spec.dry_run) continue;
      if (!controllers::evacuation::counts_for_pod_group(own, each)) continue;
      if (!member.evacuation || controllers::evacuation::takes_precedence(each, *member.evacuation))
        member.evacuation = &each;
    }
    const bool asked_as_one = member.evacuation && member.evacuation->status.group == own.status.group;
    if ((pod_group && pod_group->name == own.status.group) || asked_as_one) others.push_back(member);
  }
  return others;
}

bool PodGroupWatch::left_before(const api::Evacuation& own, const Evacuations& all) const {
  return std::ranges::any_of(all, [&](const auto& each) {
    return each.first != own.meta.uid && same_pod_group(own, each.second) &&
           (leaving_.contains(each.first) || has_left(each.second));
  });
}

void PodGroupWatch::check(const api::Evacuation& now, const Evacuations& all) {
  if (now.status.group.empty() || now.spec.dry_run) return;
  const bool calls = now.status.phase == EvacuationPhase::kRequesting && called_.insert(now.meta.uid).second;
  const bool passes = says_leaving(now) && leaving_.insert(now.meta.uid).second;
  if (!calls && !passes) return;
  const auto others = others_of(now, all);
  if (!left_before(now, all)) check_votes(now, others);
  if (calls) check_order(now, others);
}

namespace {

/// Returns the start time, or the creation time if the start was written by a clock that was ahead or was corrected
/// since.
base::TimePoint begun_at(const api::Evacuation& own) {
  const auto& started = own.status.started_at;
  const bool is_final = started && std::ranges::any_of(own.status.history, [&](const api::HistoryEntry& each) {
                          return each.time == *started;
                        });
  const bool is_plausible = is_final && *started - own.meta.creation_timestamp < std::chrono::hours(1);
  return is_plausible ? *started : own.meta.creation_timestamp;
}

}  // namespace

void PodGroupWatch::check_votes(const api::Evacuation& own, const std::vector<Member>& others) {
  const base::TimePoint begun = begun_at(own);
  for (const Member& each : others) {
    const bool may_be_unseen = each.pod->meta.creation_timestamp > begun - kMayBeUnseen;
    if (!each.evacuation) {
      if (!may_be_unseen)
        report_(fmt::format("PodGroup {}: {} leaves, but nobody asked {} to", own.status.group, own.meta.name,
                            each.pod->meta.name));
    } else if (!has_voted(*each.evacuation) && !has_left(*each.evacuation)) {
      report_(fmt::format("PodGroup {}: {} leaves while {} is {} ({}) and has not voted", own.status.group,
                          own.meta.name, each.evacuation->meta.name, api::to_string(each.evacuation->status.phase),
                          each.evacuation->status.reason));
    }
  }
}

void PodGroupWatch::check_order(const api::Evacuation& own, const std::vector<Member>& others) {
  const auto pod = store_.get(kube::kPods, {own.meta.ns, own.spec.pod_ref.name});
  const auto pod_group = pod && pods_.of(pod) ? api::pod_group_of(*pods_.of(pod)) : std::nullopt;
  if (!pod_group) return;
  for (const Member& each : others) {
    if (!each.evacuation || each.order >= pod_group->order) continue;
    const auto phase = each.evacuation->status.phase;
    if (api::is_terminal(phase) || has_left(*each.evacuation)) continue;
    report_(fmt::format("PodGroup {}: {} leaves before {} ({})", own.status.group, own.meta.name,
                        each.evacuation->meta.name, api::to_string(phase)));
  }
}

}  // namespace soak
