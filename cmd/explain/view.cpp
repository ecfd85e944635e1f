#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/origin.hpp"
#include "cmd/drain/progress.hpp"
#include "cmd/evacuation_view.hpp"
#include "cmd/explain/opinion.hpp"
#include "cmd/table.hpp"

namespace cmd::plugin {
namespace {

constexpr std::size_t kHistoryShown = 8;

std::string asker_of(const api::Evacuation& evacuation) {
  const api::EvacuationSource& source = evacuation.spec.source;
  const std::string& policy = api::policy_of(evacuation);
  if (!policy.empty()) return fmt::format("policy {} ({})", policy, one_line(source.strategy));
  const std::string& claimed = api::claimed_policy_of(evacuation);
  const std::string who = source.requester.empty() ? "an unknown requester" : one_line(source.requester);
  return claimed.empty()
             ? who
             : fmt::format("{}, manual (it names policy {}, which did not create it)", who, one_line(claimed));
}

std::string reason_of(const api::Evacuation& evacuation) {
  return evacuation.spec.reason.empty() ? "" : ": " + one_line(evacuation.spec.reason);
}

std::string place_of(const Explanation& explanation, base::TimePoint now) {
  const api::Pod& pod = *explanation.pod;
  std::string text = pod.node_name.empty() ? "not scheduled yet" : "on node " + pod.node_name.value;
  text += fmt::format(", {}", pod.phase == api::PodPhase::kNone ? "no phase yet" : to_string(pod.phase));
  if (pod.meta.is_terminating()) text += ", terminating";
  if (pod.meta.creation_timestamp == base::TimePoint{}) return text + ", of unknown age";
  return text + fmt::format(", {} old", base::format_age(now - pod.meta.creation_timestamp));
}

std::string history_of(const api::Evacuation& evacuation, base::TimePoint now) {
  const auto& history = evacuation.status.history;
  std::string text;
  const std::size_t from = history.size() > kHistoryShown ? history.size() - kHistoryShown : 0;
  for (std::size_t i = from; i < history.size(); ++i) {
    const api::HistoryEntry& entry = history[i];
    text += fmt::format("    {:>6} ago  {:<11} {}{}\n", base::format_age(now - entry.time), entry.to, entry.reason,
                        entry.message.empty() ? "" : ": " + one_line(entry.message));
  }
  return text;
}

std::string blockers_of(const api::Evacuation& evacuation, base::TimePoint now) {
  std::string text;
  const PodProgress progress = progress_state_of(evacuation);
  if (api::is_terminal(evacuation.status.phase) || progress == PodProgress::kSuspended) return text;
  for (const api::Blocker& blocker : evacuation.status.blocked_by) {
    text += fmt::format(
        "    held by {}{}{} for {}\n", blocker.kind, blocker.name.empty() ? "" : " " + one_line(blocker.name),
        blocker.message.empty() ? "" : ": " + one_line(blocker.message), base::format_age(now - blocker.since));
  }
  return text;
}

std::string evacuation_text(const api::Evacuation& evacuation, base::TimePoint now, bool colour) {
  const api::EvacuationStatus& status = evacuation.status;
  std::string text = fmt::format("  {}  {}{}, {} ago by {}{}\n", evacuation.meta.name,
                                 paint(to_string(status.phase), tone_of(progress_state_of(evacuation)), colour),
                                 status.reason.empty() ? "" : " (" + status.reason + ")",
                                 base::format_age(now - evacuation.meta.creation_timestamp), asker_of(evacuation),
                                 reason_of(evacuation));
  text += fmt::format("    from node {}", evacuation.spec.node_name.value);
  if (!status.evictor.empty()) text += fmt::format(" by {}, attempt {}", status.evictor, status.attempt);
  if (status.outcome && status.outcome->replacement) {
    const auto& replacement = *status.outcome->replacement;
    text += fmt::format("; replaced by {} on node {}", replacement.name, replacement.node.value);
  }
  text += "\n";
  if (progress_state_of(evacuation) == PodProgress::kSuspended)
    text += fmt::format("    waits for approval: kubectl evacuator approve {} -n {}\n", evacuation.meta.name,
                        evacuation.meta.ns);
  text += blockers_of(evacuation, now);
  if (status.deadline && !api::is_terminal(status.phase))
    text += fmt::format("    deadline of this phase: {}\n", base::format_time(*status.deadline));
  return text + history_of(evacuation, now);
}

std::string budget_text(const BudgetFact& budget) {
  std::string text = fmt::format("  {}: {} disruptions allowed now (needs {} healthy pods, has {} of {})", budget.name,
                                 budget.allowed, budget.desired, budget.healthy, budget.expected);
  if (budget.never) text += "; it can never allow a disruption: it requires all of its pods to be healthy";
  return text + "\n";
}

std::string verdict_words(const PolicyOpinion& opinion) {
  switch (opinion.verdict) {
    case PolicyVerdict::kNominates:
      return opinion.target.empty() ? "would move it (no node is predicted for a replacement)"
                                    : "would move it to " + opinion.target;
    case PolicyVerdict::kRefused: return "would move it, but refuses: " + opinion.rule;
    case PolicyVerdict::kProtected: return "does not nominate it, and would refuse: " + opinion.rule;
    case PolicyVerdict::kNotNominated: return "does not nominate it";
    case PolicyVerdict::kOutOfScope: return "does not apply to it";
    case PolicyVerdict::kNotEvaluated: return "could not be evaluated";
  }
  std::abort();
}

std::string admission_text(const AdmissionFact& fact) {
  std::string text = fact.immediately ? "a slot is available"
                                      : fmt::format("it would wait for {}: {}",
                                                    fact.limit.empty() ? "a slot" : fact.limit, one_line(fact.message));
  if (fact.until && !fact.immediately) text += fmt::format(", until {}", base::format_time(*fact.until));
  text = "    " + text + "\n";
  for (const std::string& note : fact.notes) text += "    " + one_line(note) + "\n";
  return text;
}

std::string opinion_text(const PolicyOpinion& opinion, base::TimePoint now, bool colour) {
  const Tone tone = opinion.verdict == PolicyVerdict::kNominates ? Tone::kStrong
                    : opinion.verdict == PolicyVerdict::kRefused ? Tone::kWaiting
                                                                 : Tone::kPlain;
  std::string text = fmt::format("  {} ({}{}) {}\n", opinion.policy, to_string(opinion.mode),
                                 opinion.suspended ? ", suspended" : "", paint(verdict_words(opinion), tone, colour));
  if (!opinion.strategy.empty()) {
    text += fmt::format("    {}: {}\n", opinion.strategy, one_line(opinion.message));
  } else if (!opinion.message.empty()) {
    text += fmt::format("    {}\n", one_line(opinion.message));
  }
  if (opinion.admission) text += admission_text(*opinion.admission);
  if (opinion.last_cycle)
    text += fmt::format("    last cycle {} ago{}\n", base::format_age(now - *opinion.last_cycle),
                        opinion.in_published ? "; it is in the published plan" : "");
  return text;
}

std::string past_text(const PastDecision& past, base::TimePoint now) {
  std::string text = fmt::format("  {:>6} ago  {:<13} {}", base::format_age(now - past.time), past.action, past.reason);
  if (!past.policy.empty())
    text += fmt::format(" (policy {}{}{})", past.policy, past.strategy.empty() ? "" : ", ", past.strategy);
  return text + (past.message.empty() ? "\n" : ": " + one_line(past.message) + "\n");
}

std::string heading(std::string_view words, bool colour) { return "\n" + paint(words, Tone::kStrong, colour) + "\n"; }

api::Json evacuation_json(const api::Evacuation& evacuation) {
  api::Json json = {{"name", evacuation.meta.name},
                    {"created", base::format_time(evacuation.meta.creation_timestamp)},
                    {"podUID", evacuation.spec.pod_ref.uid.value},
                    {"node", evacuation.spec.node_name.value},
                    {"askedBy", asker_of(evacuation)},
                    {"why", evacuation.spec.reason}};
  const api::Json status = api::encode_status(evacuation.status);
  for (const char* field : {"phase", "reason", "message", "evictor", "attempt", "blockedBy", "outcome", "history"}) {
    if (status.contains(field)) json[field] = status[field];
  }
  return json;
}

api::Json admission_json(const AdmissionFact& fact) {
  api::Json json = {
      {"atOnce", fact.immediately}, {"limit", fact.limit}, {"message", fact.message}, {"notes", fact.notes}};
  if (fact.until) json["until"] = base::format_time(*fact.until);
  return json;
}

api::Json opinion_json(const PolicyOpinion& opinion) {
  api::Json json = {{"policy", opinion.policy},       {"mode", to_string(opinion.mode)},
                    {"suspended", opinion.suspended}, {"verdict", to_string(opinion.verdict)},
                    {"strategy", opinion.strategy},   {"rule", opinion.rule},
                    {"message", opinion.message},     {"target", opinion.target},
                    {"inPlan", opinion.in_published}};
  if (opinion.last_cycle) json["lastCycle"] = base::format_time(*opinion.last_cycle);
  if (opinion.admission) json["admission"] = admission_json(*opinion.admission);
  return json;
}

}  // namespace

std::string render(const Explanation& explanation, base::TimePoint now, bool colour) {
  std::string text = fmt::format("pod/{} in {}: {}\n", explanation.key.name, explanation.key.ns,
                                 paint(one_line(conclusion(explanation)), Tone::kStrong, colour));
  if (explanation.pod) text += "  " + place_of(explanation, now) + "\n";
  if (explanation.now)
    text += fmt::format("  now is {}, {}\n", base::format_time(*explanation.now), one_line(explanation.now_source));
  if (!explanation.created_by.empty()) text += heading("It replaced", colour);
  for (const api::Evacuation& each : explanation.created_by)
    text += fmt::format("  pod {} of node {}, evacuated {} ago by {}{}\n", each.spec.pod_ref.name,
                        each.spec.node_name.value, base::format_age(now - each.meta.creation_timestamp), asker_of(each),
                        reason_of(each));
  if (!explanation.of_pod.empty()) text += heading("Evacuations", colour);
  for (const api::Evacuation& each : explanation.of_pod) text += evacuation_text(each, now, colour);
  if (!explanation.budgets.empty()) text += heading("PodDisruptionBudgets", colour);
  for (const BudgetFact& budget : explanation.budgets) text += budget_text(budget);
  if (explanation.budgets.size() > 1) text += "  (two budgets cover the pod: the API server refuses every eviction)\n";
  if (!explanation.policies.empty()) text += heading("Policies, evaluated on the cluster as it is now", colour);
  for (const PolicyOpinion& opinion : explanation.policies) text += opinion_text(opinion, now, colour);
  if (!explanation.cycles.empty()) text += heading("The policies' last cycles", colour);
  for (const CycleVerdict& verdict : explanation.cycles) text += cycle_text(verdict, now);
  if (!explanation.past.empty()) text += heading("Earlier decisions in the audit log", colour);
  for (const PastDecision& past : explanation.past) text += past_text(past, now);
  if (explanation.manual)
    text += heading("If it is evacuated manually now", colour) + admission_text(*explanation.manual);
  if (!explanation.problems.empty()) text += heading("Not known", colour);
  for (const std::string& problem : explanation.problems) text += "  " + one_line(problem) + "\n";
  return text;
}

api::Json as_json(const Explanation& explanation) {
  api::Json json = {{"namespace", explanation.key.ns},
                    {"pod", explanation.key.name},
                    {"exists", explanation.pod.has_value()},
                    {"conclusion", conclusion(explanation)}};
  for (const char* list : {"evacuations", "replaced", "disruptionBudgets", "policies", "cycles", "past", "problems"})
    json[list] = api::Json::array();
  if (explanation.now) {
    json["now"] = base::format_time(*explanation.now);
    json["nowSource"] = explanation.now_source;
  }
  if (explanation.pod) {
    json["uid"] = explanation.pod->meta.uid;
    json["node"] = explanation.pod->node_name.value;
  }
  for (const auto& each : explanation.of_pod) json["evacuations"].push_back(evacuation_json(each));
  for (const auto& each : explanation.created_by) json["replaced"].push_back(evacuation_json(each));
  for (const BudgetFact& budget : explanation.budgets) {
    json["disruptionBudgets"].push_back({{"name", budget.name},
                                         {"disruptionsAllowed", budget.allowed},
                                         {"currentHealthy", budget.healthy},
                                         {"desiredHealthy", budget.desired},
                                         {"expectedPods", budget.expected},
                                         {"canNeverAllow", budget.never}});
  }
  for (const PolicyOpinion& opinion : explanation.policies) json["policies"].push_back(opinion_json(opinion));
  for (const CycleVerdict& verdict : explanation.cycles) json["cycles"].push_back(cycle_json(verdict));
  for (const PastDecision& past : explanation.past) {
    json["past"].push_back({{"time", base::format_time(past.time)},
                            {"policy", past.policy},
                            {"action", past.action},
                            {"decision", past.decision},
                            {"reason", past.reason},
                            {"strategy", past.strategy},
                            {"cycle", past.cycle},
                            {"message", past.message}});
  }
  if (explanation.manual) json["manual"] = admission_json(*explanation.manual);
  for (const std::string& problem : explanation.problems) json["problems"].push_back(problem);
  return json;
}

}  // namespace cmd::plugin
