#include "test/soak/watches/invariants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/eviction_request.hpp"
#include "api/meta/well_known.hpp"
#include "api/origin.hpp"
#include "test/soak/replica.hpp"
#include "test/soak/world/postgres.hpp"

namespace soak {
namespace {

using api::EvacuationPhase;
using api::Json;

/// Annotations of a pod that contain a token. A leftover one identifies its Evacuation.
constexpr const char* kTokenKeys[] = {"handoff.evacuator.dev/request", "handoff.evacuator.dev/abort",
                                      "evacuator.dev/evacuation-token"};
constexpr std::size_t kEnoughViolations = 20;

/// A pod that leaves without an eviction was not admitted, whatever the phase was (T0c from Backoff).
bool left_by_others(const api::EvacuationStatus& status) {
  return status.outcome && status.outcome->kind != api::OutcomeKind::kEvicted;
}

/// Returns true if the Evacuation continues after it lost its slot (T38).
bool goes_on_without_slot(const api::EvacuationStatus& status) {
  const auto* slot = api::find_condition(status.conditions, "SlotAcquired");
  return slot && slot->status == api::ConditionStatus::kFalse && slot->reason == "NoProgress";
}

bool holds_slot(const api::EvacuationStatus& status) {
  const EvacuationPhase phase = status.phase;
  if (goes_on_without_slot(status)) return false;
  if (phase == EvacuationPhase::kEvicting && left_by_others(status)) return false;
  return phase == EvacuationPhase::kPreparing || phase == EvacuationPhase::kRequesting ||
         phase == EvacuationPhase::kInProgress || phase == EvacuationPhase::kEvicting ||
         phase == EvacuationPhase::kAborting;
}

Json annotations_of(const Json& pod) { return pod["metadata"].value("annotations", Json::object()); }

bool pod_is_there(const simulator::Store& store, const api::Evacuation& evacuation) {
  const auto pod = store.get(kube::kPods, {evacuation.meta.ns, evacuation.spec.pod_ref.name});
  if (!pod || (*pod)["metadata"].value("uid", "") != evacuation.spec.pod_ref.uid.value) return false;
  const std::string phase = (*pod).value("status", Json::object()).value("phase", "");
  return phase != "Succeeded" && phase != "Failed";
}

}  // namespace

Invariants::Invariants(simulator::ApiServer& server)
    : server_(server),
      evacuations_([](const Json& object) { return api::decode_evacuation(object); }),
      calls_(server, evacuations_, [this](const std::string& what) { violated(what); }),
      pod_groups_(server.store(), [this](const std::string& what) { violated(what); }),
      placements_(server.store(), [this](const std::string& what) { violated(what); }),
      policies_(server, [this](const std::string& what) { violated(what); }) {}

void Invariants::violated(const std::string& what) {
  if (violations_.size() < kEnoughViolations) violations_.push_back(what);
}

void Invariants::look_at_pods(bool is_current) {
  const std::uint64_t revision = server_.store().revision();
  if (std::exchange(looked_at_, revision) == revision) return;
  check();
  placements_.check_pods(latest_, is_current);
}

/// Checks each Evacuation that is new or changed. Returns their UIDs.
std::vector<std::string> Invariants::adopt(const std::vector<simulator::Object>& stored) {
  std::vector<std::string> changed;
  for (const auto& object : stored) {
    const auto& evacuation = evacuations_.of(object);
    if (!checked_.insert(object.get()).second) continue;
    if (!evacuation) {
      violated("an Evacuation became unreadable: " + evacuation.error().message);
      continue;
    }
    check_change(*evacuation);
    latest_[evacuation->meta.uid] = *evacuation;
    changed.push_back(evacuation->meta.uid);
  }
  return changed;
}

/// Only changed Evacuations are checked: deleting one can only reduce the counts of these limits.
void Invariants::check() {
  const std::uint64_t revision = server_.store().revision();
  if (std::exchange(checked_at_, revision) == revision) return;
  const auto stored = server_.store().list(kube::kEvacuations);
  const auto changed = adopt(stored);
  if (changed.empty()) return;
  Holders holders;
  std::map<std::string, std::string> acting;  // pod UID → Evacuation
  for (const auto& object : stored) {
    const auto& evacuation = evacuations_.of(object);
    if (!evacuation) continue;
    count(*evacuation, holders);
    if (evacuation->status.attempt == 0 || api::is_terminal(evacuation->status.phase)) continue;
    if (evacuation->spec.dry_run) continue;  // CallWatch checks dry runs
    const auto [other, alone] = acting.emplace(evacuation->spec.pod_ref.uid.value, evacuation->meta.name);
    if (!alone) violated(fmt::format("I1: {} and {} act on one pod", other->second, evacuation->meta.name));
  }
  check_limits(holders);
  check_targets(stored);
  for (const std::string& uid : changed) pod_groups_.check(latest_[uid], latest_);
}

/// Checks I5 and I6, and I16 at the moment of the claim.
void Invariants::check_change(const api::Evacuation& evacuation) {
  KnownState& before = known_[evacuation.meta.uid];
  const auto& status = evacuation.status;
  const std::string& name = evacuation.meta.name;
  if (api::is_terminal(before.phase) && status.phase != before.phase) {
    violated(fmt::format("I5: {} left {} for {}", name, api::to_string(before.phase), api::to_string(status.phase)));
  }
  const bool complete = api::is_true(status.conditions, "Complete");
  if (complete != api::is_terminal(status.phase)) violated("I5: Complete does not fit the phase of " + name);
  if (status.attempt < before.attempt) violated("I6: the attempt of " + name + " went backwards");
  if (status.attempt > evacuation.spec.retry.max_attempts) violated("I6: too many attempts of " + name);
  if (status.attempt > 0 && status.token != evacuation.current_token()) violated("I6: token and attempt of " + name);
  if (api::is_terminal(status.phase) && !api::is_terminal(before.phase)) check_terminal(evacuation);
  if (status.attempt > before.attempt && !api::is_terminal(status.phase)) policies_.check_begun(evacuation);
  placements_.check(evacuation);
  check_words(evacuation, before);
  check_stuck(evacuation, before);
  const bool waited = before.phase == EvacuationPhase::kPending || before.phase == EvacuationPhase::kBackoff;
  if (waited && status.phase == EvacuationPhase::kEvicting && left_by_others(status)) before.left_without_slot = true;
  before.phase = status.phase;
  before.attempt = status.attempt;
  before.conditions.clear();
  for (const auto& each : status.conditions) {
    if (each.status == api::ConditionStatus::kTrue) before.conditions.insert(each.type + "/" + each.reason);
  }
}

/// I11: each reported answer of a handoff's owner is on the pod, with the token of this attempt.
void Invariants::check_words(const api::Evacuation& evacuation, const KnownState& before) {
  static const std::vector<std::pair<std::string, std::vector<std::string>>> kWords = {
      {"HandoffAcknowledged/Acknowledged", {"ack", "heartbeat", "progress", "pre-done", "ready-to-evict", "failed"}},
      {"ReadyToEvict/Ready", {"ready-to-evict"}},
      {"RollbackComplete/Complete", {"aborted", "failed"}}};
  if (evacuation.status.adapter != "generic") return;
  const auto pod = server_.store().get(kube::kPods, {evacuation.meta.ns, evacuation.spec.pod_ref.name});
  if (!pod || (*pod)["metadata"].value("uid", "") != evacuation.spec.pod_ref.uid.value) return;
  const Json annotations = annotations_of(*pod);
  const std::string& token = evacuation.status.token;
  const auto said = [&](const std::string& word) {
    const std::string value = annotations.value("handoff.evacuator.dev/" + word, "");
    return value.starts_with(token) && (value.size() == token.size() || std::isdigit(value[token.size()]) == 0);
  };
  // The rollback may concern a hook, which is unknown to the pod's owner.
  const bool hooked =
      std::ranges::any_of(evacuation.status.refs, [](const auto& r) { return r.first.ends_with("Hook"); });
  for (const auto& [claim, words] : kWords) {
    const std::string type = claim.substr(0, claim.find('/'));
    if (hooked && type == "RollbackComplete") continue;
    const auto* condition = api::find_condition(evacuation.status.conditions, type);
    const bool claims = condition && condition->status == api::ConditionStatus::kTrue &&
                        type + "/" + condition->reason == claim && !before.conditions.contains(claim);
    if (claims && std::ranges::none_of(words, said))
      violated(
          fmt::format("I11: {} says {}, but its pod says no such thing for {}", evacuation.meta.name, claim, token));
  }
}

/// I14: after an incomplete rollback there is no further attempt.
void Invariants::check_stuck(const api::Evacuation& evacuation, KnownState& known) {
  const auto& status = evacuation.status;
  if (known.stuck && (status.attempt != known.attempt || !api::is_terminal(status.phase)))
    violated(fmt::format("I14: {} goes on ({}) after a rollback that was not complete", evacuation.meta.name,
                         api::to_string(status.phase)));
  const auto* rollback = api::find_condition(status.conditions, "RollbackComplete");
  known.stuck |= rollback && rollback->status == api::ConditionStatus::kFalse && rollback->reason != "InProgress";
}

void Invariants::check_terminal(const api::Evacuation& evacuation) {
  const auto& status = evacuation.status;
  ended_.insert(evacuation.meta.uid);
  ++endings_[fmt::format("{}/{}", api::to_string(status.phase), status.reason)];
  if (const auto* hinted = api::find_condition(status.conditions, "PlacementHinted")) ++endings_[hinted->reason];
  const auto* rollback = api::find_condition(status.conditions, "RollbackComplete");
  if (rollback && rollback->status == api::ConditionStatus::kFalse) not_rolled_back_.insert(evacuation.meta.uid);
  const bool claims = status.phase == EvacuationPhase::kSucceeded && !evacuation.spec.dry_run;
  if (claims && pod_is_there(server_.store(), evacuation)) {
    violated("I16: " + evacuation.meta.name + " succeeded, but its pod is still there");
  }
}

void Invariants::count(const api::Evacuation& evacuation, Holders& holders) const {
  const auto phase = evacuation.status.phase;
  const bool late = phase == EvacuationPhase::kVerifying && !left_by_others(evacuation.status);
  const auto known = known_.find(evacuation.meta.uid);
  const bool took_none = known != known_.end() && known->second.left_without_slot;
  const bool is_returned = goes_on_without_slot(evacuation.status) && !took_none &&
                           phase != EvacuationPhase::kBackoff && phase != EvacuationPhase::kPending &&
                           !api::is_terminal(phase);
  const bool whole = late && !is_returned && evacuation.spec.hold_slot_until == api::HoldSlotUntil::kReplacementReady;
  if (holds_slot(evacuation.status) || whole) {
    ++holders.total;
    if (!api::origin_is_verified(evacuation)) ++holders.manual;
    ++holders.by_namespace[evacuation.meta.ns];
    if (!evacuation.spec.node_name.empty()) ++holders.by_node[evacuation.spec.node_name.value];
  }
  if ((holds_slot(evacuation.status) || late || is_returned) && !evacuation.status.workload_group.empty()) {
    const std::string& pod_group = evacuation.status.group;
    holders.by_workload[evacuation.status.workload_group][pod_group.empty() ? evacuation.meta.uid : pod_group] =
        fmt::format("{} {}/{}", evacuation.meta.name, api::to_string(phase), evacuation.status.reason);
  }
}

/// Checks I7.
void Invariants::check_limits(const Holders& holders) {
  const auto over = [](int used, const std::optional<api::IntOrPercent>& limit) {
    return limit && !limit->percent && used > limit->value;
  };
  const auto& limits = config_.in_flight;
  if (over(holders.total, limits.total)) violated(fmt::format("I7: {} in flight", holders.total));
  const bool has_total = limits.total && !limits.total->percent;
  if (has_total && holders.manual > limits.total->value - limits.total->value / 5)
    violated(fmt::format("I7: {} manual ones in flight, of {} in all", holders.manual, limits.total->value));
  for (const auto& [node, used] : holders.by_node) {
    if (over(used, limits.per_node)) violated(fmt::format("I7: {} in flight on node {}", used, node));
  }
  for (const auto& [ns, used] : holders.by_namespace) {
    if (over(used, limits.per_namespace)) violated(fmt::format("I7: {} in flight in namespace {}", used, ns));
  }
  for (const auto& [group, used] : holders.by_workload) {
    if (!over(static_cast<int>(used.size()), limits.per_workload)) continue;
    std::string whom;
    for (const auto& [id, who] : used) whom += (whom.empty() ? "" : " and ") + who;
    violated(fmt::format("I7: {} in flight of workload {}", whom, group));
  }
}

/// I7: the number of concurrent moves with the same predicted target stays within its limit. Moves whose actual target
/// is known count for that node and are excluded here.
void Invariants::check_targets(const std::vector<simulator::Object>& stored) {
  const auto& limit = config_.in_flight.per_target_node;
  if (!limit || limit->percent) return;
  std::map<std::string, std::set<std::string>> by_target;
  for (const auto& object : stored) {
    const auto& each = evacuations_.of(object);
    if (!each || !api::origin_is_verified(*each) || !holds_slot(each->status) || !each->status.target_node.empty())
      continue;
    if (each->status.outcome && each->status.outcome->replacement) continue;
    const auto* target = each->meta.annotations.find(api::well_known::kPredictedTargetAnnotation);
    if (!target || target->empty()) continue;
    const std::string& pod_group = each->status.group;
    by_target[*target].insert(pod_group.empty() ? each->meta.uid : pod_group);
  }
  for (const auto& [node, whom] : by_target) {
    if (std::ssize(whom) > limit->value) violated(fmt::format("I7: {} on their way to node {}", whom.size(), node));
  }
}

/// Checks I2 and I13 over the complete run.
void Invariants::check_journal() {
  for (const auto& entry : server_.journal().entries()) {
    if (entry.user != kOurUser || entry.resource != "pods") continue;
    if (entry.verb == "delete" || entry.verb == "deletecollection") violated("I2: we deleted pod " + entry.key.name);
    if (entry.verb == "update") violated("I13: we updated pod " + entry.key.name);
  }
}

/// A surge restores the replica count: at the end it is the last one that a user has set.
void Invariants::check_replicas() {
  for (const auto& [key, wanted] : replicas_) {
    const auto object = server_.store().get(kube::kDeployments, key);
    if (!object) continue;
    const Json& found = (*object)["spec"]["replicas"];
    const std::string mark =
        (*object)["metadata"].value("annotations", Json::object()).value("surge.evacuator.dev/in-progress", "");
    const bool stuck =
        std::ranges::any_of(not_rolled_back_, [&](const auto& uid) { return mark.find(uid) != std::string::npos; });
    if (stuck) continue;
    if (!mark.empty()) violated("I13: the mark of a surge is left on " + key.name + ": " + mark);
    if (found != wanted)
      violated(fmt::format("I13: {} has {} replicas, a person wanted {}", key.name, found.dump(), wanted));
  }
}

/// I13: no pod has a token of the operator, unless its Evacuation reports an incomplete rollback.
void Invariants::check_leftovers() {
  for (const auto& pod : server_.store().list(kube::kPods)) {
    const Json annotations = annotations_of(*pod);
    const std::string name = (*pod)["metadata"].value("name", "");
    if ((*pod)["metadata"].contains("deletionTimestamp")) continue;
    for (const char* key : kTokenKeys) {
      const std::string token = annotations.value(key, "");
      const std::string uid = token.substr(0, token.rfind('.'));
      if (!token.empty() && !not_rolled_back_.contains(uid)) {
        violated(fmt::format("I13: {} of a finished Evacuation is left on pod {}: {}", key, name, token));
      }
    }
    if (annotations.value("example.com/foreign", "untouched") != "untouched")
      violated("I13: a foreign annotation of pod " + name + " was changed");
  }
}

/// Returns a description of the Evacuation's end.
std::string Invariants::told(const std::string& uid) const {
  const auto found = latest_.find(uid);
  if (found == latest_.end()) return uid;
  const auto& status = found->second.status;
  return fmt::format("{}: {}/{} by {} ({})", found->second.meta.name, api::to_string(status.phase), status.reason,
                     status.evictor, status.message);
}

/// I13: no EvictionRequest of the operator outlives its Evacuation.
void Invariants::check_requests() {
  for (const auto& object : server_.store().list(kube::kEvictionRequests)) {
    const std::string name = (*object)["metadata"].value("name", "");
    const std::string uid = name.starts_with("evac-") ? name.substr(5) : "";
    if (ended_.contains(uid) && !not_rolled_back_.contains(uid))
      violated(fmt::format("I13: the request of a finished Evacuation is left: {} of {}", name, told(uid)));
  }
}

/// I13: no hook of a finished Evacuation is still running.
void Invariants::check_jobs() {
  for (const auto& job : server_.store().list(kube::kJobs)) {
    const Json labels = (*job)["metadata"].value("labels", Json::object());
    const std::string uid = labels.value("evacuator.dev/evacuation-uid", "");
    if (ended_.contains(uid) && !not_rolled_back_.contains(uid) && !has_ended(*job))
      violated("I13: a hook of a finished Evacuation still runs: " + (*job)["metadata"].value("name", ""));
  }
}

/// I13: no switchover is pending for a finished Evacuation.
void Invariants::check_databases() {
  if (!not_rolled_back_.empty()) return;
  for (const auto& cluster : server_.store().list(kCnpgClusters)) {
    const Json status = cluster->value("status", Json::object());
    const std::string target = status.value("targetPrimary", "");
    if (target != status.value("currentPrimary", ""))
      violated(fmt::format("I13: {} is left to become primary: {}", target, status.dump()));
  }
}

/// I12: at the end no EvictionRequest waits for the operator.
void Invariants::check_turns() {
  for (const auto& object : server_.store().list(kube::kNativeEvictions)) {
    const auto eviction = api::decode_native_eviction(object->dump());
    const auto* active = eviction ? eviction->active() : nullptr;
    if (active && !eviction->is_final() && active->name == api::well_known::kNativeResponder &&
        !active->completion_time)
      violated("I12: a native Eviction still waits for us: " + (*object)["status"].dump());
  }
}

void Invariants::check_end() {
  check();
  for (const auto& object : server_.store().list(kube::kEvacuations)) {
    const api::Evacuation& evacuation = latest_[(*object)["metadata"].value("uid", "")];
    const auto phase = evacuation.status.phase;
    if (!api::is_terminal(phase)) {
      violated(fmt::format("I12: {} is still {} ({})", evacuation.meta.name, api::to_string(phase),
                           evacuation.status.reason));
    } else if (!evacuation.meta.finalizers.empty()) {
      violated("I12: the finalizer of " + evacuation.meta.name + " was not removed");
    }
  }
  check_journal();
  check_leftovers();
  check_replicas();
  check_requests();
  check_jobs();
  check_databases();
  check_turns();
  policies_.check_end();
  if (policies_.waves() > 0) endings_["plans in waves"] += policies_.waves();
}

}  // namespace soak
