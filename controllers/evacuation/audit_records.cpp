#include "controllers/evacuation/audit_records.hpp"

#include <algorithm>

#include "api/meta/condition.hpp"
#include "api/origin.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/events.hpp"
#include "controllers/admission/request.hpp"

namespace controllers::evacuation {
namespace {

using api::EvacuationPhase;
namespace decision = audit::decision;

/// Creates a record with the fields that join it with others: the pod, and the token, which the API server's audit log
/// shows as annotation evacuator.dev/evacuation-token of the Eviction.
audit::Record evacuation_record(const api::Evacuation& evacuation, std::string_view action, std::string_view what,
                                std::string_view reason) {
  audit::Record record;
  record.action = action;
  record.object = {"Evacuation", evacuation.meta.ns, evacuation.meta.name, evacuation.meta.uid};
  record.policy.name = api::policy_of(evacuation);
  record.decision = what;
  record.reason = reason;
  const auto tell = [&](const char* key, const std::string& value) {
    if (!value.empty()) record.detail[key] = value;
  };
  tell("pod", evacuation.spec.pod_ref.name);
  tell("podUid", evacuation.spec.pod_ref.uid.value);
  tell("node", evacuation.spec.node_name.value);
  tell("token", evacuation.status.token);
  tell("evictor", evacuation.status.evictor);
  tell("claimedPolicy", api::claimed_policy_of(evacuation));
  return record;
}

void add_intent(const api::Evacuation& before, const api::Evacuation& after, std::vector<audit::Record>& records) {
  const auto& intent = after.status.intent;
  if (!intent || intent->resolved || intent == before.status.intent) return;
  audit::Record record = evacuation_record(after, "CallIntended", decision::kPlanned, intent->action);
  record.detail["call"] = intent->action;
  record.detail["token"] = intent->token;
  if (!intent->pre_state.empty()) record.detail["preState"] = intent->pre_state;
  records.push_back(std::move(record));
}

void add_cancel(const api::Evacuation& before, const api::Evacuation& after, std::vector<audit::Record>& records) {
  const api::Condition* was = api::find_condition(before.status.conditions, api::ConditionType::kCancelAccepted);
  const api::Condition* is = api::find_condition(after.status.conditions, api::ConditionType::kCancelAccepted);
  if (!is || (was && was->status == is->status && was->reason == is->reason)) return;
  const bool accepted = is->status == api::ConditionStatus::kTrue;
  audit::Record record = evacuation_record(after, accepted ? "CancelAccepted" : "CancelRefused",
                                           accepted ? decision::kAllowed : decision::kRefused, is->reason);
  record.detail["message"] = is->message;
  if (!after.spec.cancel.reason.empty()) record.detail["cancelReason"] = after.spec.cancel.reason;
  records.push_back(std::move(record));
}

/// Only in Pending and Backoff; blockers named by an answer are in the record of that answer.
void add_holds(const api::Evacuation& before, const api::Evacuation& after, std::vector<audit::Record>& records) {
  if (!is_between_attempts(after.status.phase)) return;
  for (const api::Blocker& blocker : after.status.blocked_by) {
    const auto is_same = [&](const auto& each) { return each.kind == blocker.kind && each.name == blocker.name; };
    if (std::ranges::any_of(before.status.blocked_by, is_same)) continue;
    audit::Record record = evacuation_record(after, "EvacuationHeld", decision::kHeld, blocker.kind);
    record.detail["blocker"] = blocker.name;
    record.detail["message"] = blocker.message;
    records.push_back(std::move(record));
  }
}

std::string_view verdict_of(EvacuationPhase phase) {
  if (phase == EvacuationPhase::kSucceeded) return decision::kSucceeded;
  if (phase == EvacuationPhase::kCancelled) return decision::kCancelled;
  return phase == EvacuationPhase::kFailed ? decision::kFailed : decision::kProceeded;
}

void report_outcome(const api::Evacuation& evacuation, audit::Record& record) {
  const auto& outcome = evacuation.status.outcome;
  if (!outcome) return;
  record.detail["outcome"] = to_string(outcome->kind);
  if (!outcome->replacement) return;
  record.detail["replacement"] = outcome->replacement->name;
  record.detail["replacementNode"] = outcome->replacement->node.value;
}

void add_transition(const api::Evacuation& before, const api::Evacuation& after, std::vector<audit::Record>& records) {
  const api::EvacuationStatus& status = after.status;
  const bool same = before.status.phase == status.phase && before.status.attempt == status.attempt;
  if (same) return;
  const bool over = api::is_terminal(status.phase);
  audit::Record record =
      evacuation_record(after, over ? "EvacuationFinished" : "PhaseChanged", verdict_of(status.phase), status.reason);
  record.detail["from"] = to_string(before.status.phase);
  record.detail["to"] = to_string(status.phase);
  record.detail["attempt"] = std::to_string(status.attempt);
  record.detail["message"] = status.message;
  if (!after.spec.source.requester.empty()) record.detail["requester"] = after.spec.source.requester;
  if (over) report_outcome(after, record);
  records.push_back(std::move(record));
}

std::string_view decision_of(const evictors::CallResult& answer, std::string_view response_class) {
  if (!answer) return decision::kFailed;
  const bool in_background = response_class == to_string(evictors::ResponseClass::kAcceptedInBackground);
  return in_background || (answer->status >= 200 && answer->status < 300) ? decision::kAllowed : decision::kRefused;
}

}  // namespace

std::vector<audit::Record> records_of_status(const api::Evacuation& before, const api::Evacuation& after) {
  std::vector<audit::Record> records;
  add_cancel(before, after, records);
  add_transition(before, after, records);
  add_holds(before, after, records);
  add_intent(before, after, records);
  return records;
}

audit::Record record_of_answer(const api::Evacuation& evacuation, const evictors::Action& action,
                               const evictors::CallResult& answer, const std::optional<api::LastResponse>& meaning) {
  const std::string response_class = meaning ? meaning->response_class : "Unknown";
  audit::Record record =
      evacuation_record(evacuation, "CallAnswered", decision_of(answer, response_class), response_class);
  if (meaning && !meaning->message.empty()) record.detail["message"] = meaning->message;
  if (evacuation.status.intent) record.detail["token"] = evacuation.status.intent->token;
  record.detail["call"] = action.name;
  record.detail["request"] = action.request.method + " " + action.request.path;
  record.detail["code"] = std::to_string(answer ? answer->status : 0);
  if (!action.service.empty()) record.detail["service"] = action.service;
  if (evacuation.spec.dry_run) record.detail["dryRun"] = "true";
  if (!answer) record.detail["error"] = answer.error().message;
  return record;
}

audit::Record record_of_refused_write(const api::Evacuation& evacuation, const std::string& problem) {
  audit::Record record =
      evacuation_record(evacuation, "EvacuationStuck", decision::kFailed, to_string(api::EventReason::kWriteRefused));
  record.detail["phase"] = to_string(evacuation.status.phase);
  record.detail["message"] = problem;
  return record;
}

audit::Record record_of_takeover(const api::Evacuation& evacuation) {
  const api::EvacuationStatus& status = evacuation.status;
  audit::Record record = evacuation_record(evacuation, "EvacuationTakenOver", decision::kNoted, status.reason);
  record.detail["to"] = to_string(status.phase);
  record.detail["attempt"] = std::to_string(status.attempt);
  if (status.intent && !status.intent->resolved) record.detail["call"] = status.intent->action;
  if (!status.history.empty()) {
    const api::HistoryEntry& newest = status.history.back();
    record.detail["from"] = newest.from;
    record.detail["at"] = base::format_time(newest.time);
    record.detail["by"] = newest.actor;
    record.detail["message"] = newest.message;
  }
  report_outcome(evacuation, record);
  return record;
}

}  // namespace controllers::evacuation
