#include "test/soak/invariants.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/well_known.hpp"
#include "test/soak/replica.hpp"

namespace soak {
namespace {

using api::EvacuationPhase;
using api::Json;

/// Our keys on a pod, by whose token-carrying ones a leftover shows.
constexpr const char* kTokenKeys[] = {"handoff.evacuator.dev/request", "handoff.evacuator.dev/abort"};
constexpr base::milliseconds kLeastGap{150};  // I15: between two calls about one pod
constexpr std::size_t kEnoughViolations = 20;

/// A pod that leaves by somebody else's hand was not admitted, whatever its phase was (T0c from Backoff).
bool left_by_others(const api::EvacuationStatus& status) {
  return status.outcome && status.outcome->kind != api::OutcomeKind::kEvicted;
}

bool holds_slot(const api::EvacuationStatus& status) {
  const EvacuationPhase phase = status.phase;
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

Invariants::Invariants(simulator::ApiServer& server) : server_(server) {
  simulator::Webhook guard;
  guard.name = "guard.soak";
  guard.review = [this](const simulator::AdmissionRequest& request) { return review(request); };
  server_.add_webhook(std::move(guard));
}

void Invariants::violated(const std::string& what) {
  if (violations_.size() < kEnoughViolations) violations_.push_back(what);
}

std::optional<simulator::Denial> Invariants::review(const simulator::AdmissionRequest& request) {
  if (request.user.name != kOurUser || request.resource.plural != "pods") return std::nullopt;
  if (request.subresource == "eviction") {
    check_eviction(request);
  } else if (request.verb == "delete") {
    violated("I2: we deleted pod " + request.key.name);
  }
  return std::nullopt;
}

/// I3, I8, I10, I17: what an eviction call of ours must look like, at the moment when the server gets it.
void Invariants::check_eviction(const simulator::AdmissionRequest& request) {
  const Json& body = *request.object;
  const std::string token = body["metadata"]["annotations"].value("evacuator.dev/evacuation-token", "");
  const Json preconditions = body.value("deleteOptions", Json::object()).value("preconditions", Json::object());
  if (!preconditions.contains("uid")) violated("I8: an eviction of " + request.key.name + " without UID precondition");
  bool intended = false;
  for (const auto& object : server_.store().list(kube::kEvacuations, request.key.ns)) {
    const auto evacuation = api::decode_evacuation(*object);
    const auto intent = evacuation ? evacuation->status.intent : std::nullopt;
    if (!intent || intent->token != token || intent->resolved || intent->action != "PostEviction") continue;
    intended = true;
    if (evacuation->spec.dry_run && !request.dry_run) violated("I17: a real call for a dry run, token " + token);
    if (evacuation->spec.pod_ref.uid.value != preconditions.value("uid", "")) violated("I8: another UID, " + token);
  }
  if (!intended) violated("I3: an eviction without a durable unresolved intent, token " + token);
  const auto pod = server_.store().get(kube::kPods, request.key);
  if (!pod || request.dry_run || (*pod)["metadata"].value("uid", "") != preconditions.value("uid", "")) return;
  const Json annotations = annotations_of(*pod);
  const bool required = annotations.value("handoff.evacuator.dev/mode", "") == "required";
  if (required && annotations.value("handoff.evacuator.dev/ready-to-evict", "") != token) {
    violated("I10: pod " + request.key.name + " was evicted without its word, token " + token);
  }
}

void Invariants::check() {
  Holders holders;
  std::map<std::string, std::string> acting;  // pod uid → Evacuation
  for (const auto& object : server_.store().list(kube::kEvacuations)) {
    const std::string uid = (*object)["metadata"].value("uid", "");
    const std::string version = (*object)["metadata"].value("resourceVersion", "");
    if (known_[uid].version != version) {
      auto evacuation = api::decode_evacuation(*object);
      if (!evacuation) {
        violated("an Evacuation became unreadable: " + evacuation.error().message);
        continue;
      }
      check_change(*evacuation);
      known_[uid] = {version, evacuation->status.phase, evacuation->status.attempt};
      latest_[uid] = *std::move(evacuation);
    }
    const api::Evacuation& evacuation = latest_[uid];
    count(evacuation, holders);
    if (evacuation.status.attempt == 0 || api::is_terminal(evacuation.status.phase)) continue;
    const auto [other, alone] = acting.emplace(evacuation.spec.pod_ref.uid.value, evacuation.meta.name);
    if (!alone) violated(fmt::format("I1: {} and {} act on one pod", other->second, evacuation.meta.name));
  }
  check_limits(holders);
}

/// I5, I6, and I16 at the moment of the claim.
void Invariants::check_change(const api::Evacuation& evacuation) {
  const Known& before = known_[evacuation.meta.uid];
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
}

void Invariants::check_terminal(const api::Evacuation& evacuation) {
  const auto& status = evacuation.status;
  ended_.insert(evacuation.meta.uid);
  ++endings_[fmt::format("{}/{}", api::to_string(status.phase), status.reason)];
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
  const bool whole = late && evacuation.spec.hold_slot_until == api::HoldSlotUntil::kReplacementReady;
  if (holds_slot(evacuation.status) || whole) {
    ++holders.total;
    ++holders.by_node[evacuation.spec.node_name.value];
  }
  if ((holds_slot(evacuation.status) || late) && !evacuation.status.workload_group.empty()) {
    holders.by_workload[evacuation.status.workload_group].push_back(
        fmt::format("{} {}/{}", evacuation.meta.name, api::to_string(phase), evacuation.status.reason));
  }
}

/// I7. The operator runs with the default configuration.
void Invariants::check_limits(const Holders& holders) {
  const auto over = [](int used, const std::optional<api::IntOrPercent>& limit) {
    return limit && !limit->percent && used > limit->value;
  };
  const auto& limits = config_.in_flight;
  if (over(holders.total, limits.total)) violated(fmt::format("I7: {} in flight", holders.total));
  for (const auto& [node, used] : holders.by_node) {
    if (over(used, limits.per_node)) violated(fmt::format("I7: {} in flight on node {}", used, node));
  }
  for (const auto& [group, used] : holders.by_workload) {
    if (over(static_cast<int>(used.size()), limits.per_workload))
      violated(fmt::format("I7: {} in flight of workload {}", fmt::join(used, " and "), group));
  }
}

/// I2 and I15 over the whole run.
void Invariants::check_journal() {
  std::map<std::string, simulator::JournalEntry> last;
  for (const auto& entry : server_.journal().entries()) {
    if (entry.user != kOurUser || entry.resource != "pods") continue;
    if (entry.verb == "delete" || entry.verb == "deletecollection") violated("I2: we deleted pod " + entry.key.name);
    if (entry.verb == "update") violated("I13: we updated pod " + entry.key.name);
    if (entry.subresource != "eviction" || entry.code == 201) continue;
    const std::string pod = entry.key.to_string();
    const auto before = last.find(pod);
    if (before != last.end() && entry.time - before->second.time < kLeastGap) {
      violated(fmt::format("I15: pod {} was asked for again at {} (answer {}) right after {} (answer {})", pod,
                           base::format_micro_time(entry.time), entry.code,
                           base::format_micro_time(before->second.time), before->second.code));
    }
    last[pod] = entry;
  }
}

/// I13: no pod carries a token of ours, unless its Evacuation says so.
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
}

}  // namespace soak
