#include "controllers/policy/audit_records.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace controllers {
namespace {

audit::Record policy_record(const api::ObjectMeta& policy, std::string_view action, std::string_view decision,
                            std::string_view reason) {
  audit::Record record;
  record.action = action;
  record.object = {"DeschedulerPolicy", "", policy.name, policy.uid};
  record.policy = {policy.name, policy.generation};
  record.decision = decision;
  record.reason = reason;
  return record;
}

audit::Record record_of_nomination(const api::DeschedulerPolicy& policy, const api::PlannedMove& move,
                                   const std::string& cycle) {
  audit::Record record = policy_record(policy.meta, "PodNominated", audit::decision::kPlanned, move.strategy);
  record.object = {"Pod", move.ns, move.pod, move.uid};
  record.detail = {{"cycle", cycle},
                   {"mode", std::string(to_string(policy.spec.mode))},
                   {"node", move.from},
                   {"strategy", move.strategy},
                   {"message", move.reason}};
  if (!move.to.empty()) record.detail["predictedNode"] = move.to;
  return record;
}

audit::Record record_of_refusal(const api::DeschedulerPolicy& policy, const api::RefusedPod& refusal,
                                const std::string& cycle) {
  audit::Record record = policy_record(policy.meta, "PodRefused", audit::decision::kRefused, refusal.reason);
  record.object = {"Pod", refusal.ns, refusal.pod, refusal.uid};
  record.detail = {
      {"cycle", cycle}, {"node", refusal.node}, {"strategy", refusal.strategy}, {"message", refusal.message}};
  if (!refusal.subject.empty()) record.detail["subject"] = refusal.subject;
  if (refusal.wanted) record.detail["wanted"] = std::to_string(*refusal.wanted);
  if (refusal.available) record.detail["available"] = std::to_string(*refusal.available);
  return record;
}

std::string counts_of(const std::vector<api::ReasonCount>& refused) {
  std::string text;
  for (const api::ReasonCount& each : refused)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", each.reason, each.count);
  return text;
}

}  // namespace

std::vector<audit::Record> news_of_cycle(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome,
                                         CycleMemory& memory) {
  const bool same_edition = memory.generation == policy.meta.generation;
  CycleMemory next{policy.meta.generation, {}};
  std::vector<audit::Record> news;
  const auto is_news = [&](CycleMemory::Key key) {
    const bool known = same_edition && memory.seen.contains(key);
    return next.seen.insert(std::move(key)).second && !known;
  };
  const std::string& cycle = outcome.summary.id;
  for (std::size_t i = 0; i < std::min(outcome.moves.size(), kMaxAuditedPods); ++i) {
    const api::PlannedMove& move = outcome.moves[i];
    if (is_news({move.strategy, "", move.uid})) news.push_back(record_of_nomination(policy, move, cycle));
  }
  for (std::size_t i = 0; i < std::min(outcome.refusals.size(), kMaxAuditedPods); ++i) {
    const api::RefusedPod& refusal = outcome.refusals[i];
    if (is_news({refusal.strategy, refusal.reason, refusal.uid}))
      news.push_back(record_of_refusal(policy, refusal, cycle));
  }
  memory = std::move(next);
  return news;
}

audit::Record record_of_cycle(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome) {
  const api::LastCycle& summary = outcome.summary;
  const bool failed = !outcome.problems.empty();
  audit::Record record =
      policy_record(policy.meta, "CyclePlanned", failed ? audit::decision::kFailed : audit::decision::kPlanned,
                    failed ? "CycleProblems" : "Planned");
  record.detail = {{"cycle", summary.id},
                   {"mode", std::string(to_string(policy.spec.mode))},
                   {"nodes", std::to_string(summary.nodes)},
                   {"pods", std::to_string(summary.pods)},
                   {"nominated", std::to_string(summary.nominated)},
                   {"created", std::to_string(summary.created)},
                   {"refused", counts_of(summary.refused)}};
  if (failed) record.detail["message"] = fmt::format("{}", fmt::join(outcome.problems, "; "));
  return record;
}

audit::Record record_of_creation(const api::DeschedulerPolicy& policy, const api::PlannedMove& move,
                                 const api::Evacuation& evacuation, const base::Error* error) {
  audit::Record record = policy_record(policy.meta, error ? "EvacuationNotCreated" : "EvacuationCreated",
                                       error ? audit::decision::kRefused : audit::decision::kAllowed,
                                       error ? to_string(error->code) : std::string_view(move.strategy));
  record.object = {"Evacuation", evacuation.meta.ns, evacuation.meta.name, evacuation.meta.uid};
  record.detail = {{"pod", move.pod}, {"podUid", move.uid}, {"node", move.from}, {"strategy", move.strategy}};
  record.detail["message"] = error ? error->message : move.reason;
  return record;
}

audit::Record record_of_invalid(const api::ObjectMeta& policy, std::string_view problem) {
  audit::Record record = policy_record(policy, "PolicyRefused", audit::decision::kRefused, "InvalidSpec");
  record.detail["message"] = problem;
  return record;
}

}  // namespace controllers
