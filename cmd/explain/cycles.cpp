#include "cmd/explain/cycles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/descheduler_policy/status.hpp"
#include "cmd/table.hpp"

namespace cmd::plugin {
namespace {

void add_verdicts_of(const api::DeschedulerPolicy& policy, const api::ObjectKey& pod, const std::string& uid,
                     std::vector<CycleVerdict>& verdicts) {
  std::vector<const api::PastDecision*> about_it;
  for (const api::PastDecision& decision : policy.status.history.decisions) {
    if (decision.ns == pod.ns && decision.pod == pod.name) about_it.push_back(&decision);
  }
  if (about_it.empty()) return;
  const auto& cycles = policy.status.history.cycles;
  for (std::size_t i = cycles.size(); i-- > 0;) {
    const auto& cycle = cycles[i];
    CycleVerdict verdict{.policy = policy.meta.name, .cycle = cycle.number, .start = cycle.start};
    bool named = false;
    for (const api::PastDecision* decision : about_it) {
      if (!std::ranges::binary_search(decision->cycles, cycle.number)) continue;
      named = true;
      verdict.decision = *decision;
      verdict.of_earlier_pod = !uid.empty() && decision->uid != uid;
      verdicts.push_back(verdict);
    }
    if (named) continue;
    verdict.left_out = cycle.left_out;
    verdicts.push_back(verdict);
  }
}

std::string decision_words(const api::PastDecision& decision) {
  if (!decision.nominated)
    return fmt::format("refused: {} ({}): {}", decision.reason, decision.strategy, decision.message);
  const std::string to = decision.to.empty() ? "" : " to " + decision.to;
  return fmt::format("nominated{} ({}): {}", to, decision.strategy, decision.message);
}

std::string verdict_text(const CycleVerdict& verdict) {
  if (!verdict.decision && verdict.left_out == 0) return "no strategy nominated or refused it";
  if (!verdict.decision)
    return fmt::format("not among the recorded decisions ({} were not recorded)", verdict.left_out);
  return decision_words(*verdict.decision) + (verdict.of_earlier_pod ? " [an earlier pod of this name]" : "");
}

std::string_view verdict_word(const CycleVerdict& verdict) {
  if (verdict.decision) return verdict.decision->nominated ? "Nominated" : "Refused";
  return verdict.left_out > 0 ? "NotKept" : "NotNamed";
}

}  // namespace

std::vector<CycleVerdict> cycle_verdicts(const std::vector<api::DeschedulerPolicy>& policies, const api::ObjectKey& pod,
                                         const std::string& uid) {
  std::vector<CycleVerdict> verdicts;
  for (const api::DeschedulerPolicy& policy : policies) add_verdicts_of(policy, pod, uid, verdicts);
  return verdicts;
}

std::string cycle_text(const CycleVerdict& verdict, base::TimePoint now) {
  return fmt::format("  {:>6} ago  {} #{}  {}\n", base::format_age(now - verdict.start), verdict.policy, verdict.cycle,
                     one_line(verdict_text(verdict)));
}

api::Json cycle_json(const CycleVerdict& verdict) {
  api::Json json = verdict.decision ? api::encode_past_decision(*verdict.decision) : api::Json::object();
  for (const char* known : {"namespace", "pod", "cycles"}) json.erase(known);
  json["policy"] = verdict.policy;
  json["cycle"] = verdict.cycle;
  json["start"] = base::format_time(verdict.start);
  json["decision"] = verdict_word(verdict);
  if (verdict.left_out > 0) json["leftOut"] = verdict.left_out;
  return json;
}

}  // namespace cmd::plugin
