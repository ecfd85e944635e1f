#include "controllers/policy/gates/gate_poller.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace controllers {
namespace {

constexpr int kIntervalsThatCount = 3;
constexpr std::size_t kMaxQuestion = 256;

std::string question_of(const api::PolicyGate& gate) {
  switch (gate.type) {
    case api::GateType::kPrometheus: {
      const bool fits = gate.query.size() <= kMaxQuestion;
      return (fits ? gate.query : base::truncate_utf8(gate.query, kMaxQuestion) + "…") + " is ";
    }
    case api::GateType::kAlertmanager: return "active: ";
    case api::GateType::kWebhook: return "";
  }
  return "";
}

}  // namespace

void GatePoller::set(const std::string& policy, const std::vector<api::PolicyGate>& gates,
                     const std::vector<api::UsageSource>& sources) {
  const std::scoped_lock lock(mutex_);
  Gates before = std::exchange(policies_[policy], {});
  Gates& now = policies_[policy];
  for (const api::PolicyGate& each : gates) {
    const auto source = std::ranges::find(sources, each.source, &api::UsageSource::name);
    const bool has_own = each.source.empty() || source == sources.end();
    api::UsageEndpoint endpoint = has_own ? each.endpoint : source->endpoint;
    const auto same = std::ranges::find_if(
        before, [&](const auto& known) { return known->spec == each && known->endpoint == endpoint; });
    if (same != before.end()) {
      now.push_back(*same);
      before.erase(same);
      continue;
    }
    now.push_back(std::make_shared<Gate>(each, std::move(endpoint)));
    told_.erase(policy);  // so that its first answer triggers a notification
    queue_.add({policy, each.name});
  }
  if (now.empty()) {
    policies_.erase(policy);
    told_.erase(policy);
  }
  // Series can only be dropped by one label, so those of other policies' gates with the same name are republished.
  for (const auto& gone : before) deps_.metrics.forget("gate", gone->spec.name);
  for (const auto& [name, each] : policies_) {
    if (before.empty() && name != policy) continue;
    for (const auto& gate : each) publish(name, *gate);
  }
}

std::shared_ptr<GatePoller::Gate> GatePoller::find(const api::ObjectKey& key) const {
  const std::scoped_lock lock(mutex_);
  const auto policy = policies_.find(key.ns);
  if (policy == policies_.end()) return nullptr;
  const auto gate = std::ranges::find_if(policy->second, [&](const auto& each) { return each->spec.name == key.name; });
  return gate == policy->second.end() ? nullptr : *gate;
}

base::Result<GateAnswer> GatePoller::ask_now(const std::string& policy, Gate& gate) {
  const std::scoped_lock lock(gate.request_mutex);
  if (!gate.client && deps_.make_client)
    gate.client = deps_.make_client(gate.endpoint, max_answer_bytes(gate.spec.type));
  if (!gate.client) return base::Error{base::ErrorCode::kUnsupported, "gates are not polled in this process"};
  return ask_gate(*gate.client, policy, gate.spec, gate.endpoint);
}

base::Result<kube::Requeue> GatePoller::ask(const api::ObjectKey& key) {
  const auto gate = find(key);
  if (!gate) return kube::Requeue::await_change();
  const auto place = limiter_.take(gate->asked);
  if (!place) return kube::Requeue::in(kube::SlowPeerLimiter::kRetryInterval);
  const auto answer = ask_now(key.ns, *gate);
  if (answer) place->note_answer();
  if (keep(key, *gate, answer) && deps_.changed) deps_.changed(key.ns);
  return kube::Requeue::in(gate->spec.interval);
}

/// Stores the answer. Returns whether the verdict of the policy's gates changed.
bool GatePoller::keep(const api::ObjectKey& key, Gate& gate, const base::Result<GateAnswer>& answer) {
  const std::scoped_lock lock(mutex_);
  const std::string problem = answer ? std::string() : answer.error().message;
  if (!problem.empty() && problem != gate.problem)
    deps_.log.warning("a gate did not respond",
                      {base::kv("policy", key.ns), base::kv("gate", key.name), base::kv("problem", problem)});
  gate.was_asked = true;
  gate.problem = problem;
  if (answer) {
    gate.answer = *answer;
    gate.answered_at = deps_.clock.now();
  }
  const auto policy = policies_.find(key.ns);
  const auto is_it = [&](const auto& each) { return each.get() == &gate; };
  if (policy == policies_.end() || std::ranges::none_of(policy->second, is_it)) return false;
  publish(key.ns, gate);
  const GateVerdict verdict = verdict_of(policy->second);
  const LastVerdict said{verdict.kind, verdict.is_pending};
  const auto [told, is_first] = told_.try_emplace(key.ns, said);
  return std::exchange(told->second, said) != said || is_first;
}

GateVerdict GatePoller::verdict_of(const Gate& gate) const {
  const base::Duration age = deps_.clock.now() - gate.answered_at;
  const bool counts = gate.answer && age <= kIntervalsThatCount * gate.spec.interval;
  if (counts && !gate.answer->holds) return {};
  if (counts) {
    return {GateVerdict::Kind::kHolds, false,
            fmt::format("gate {} holds: {}{}", gate.spec.name, question_of(gate.spec), gate.answer->value)};
  }
  if (gate.spec.on_error == api::GateOnError::kIgnore) return {};
  const std::string why = !gate.was_asked        ? "it has not been queried yet"
                          : gate.problem.empty() ? "its last response is too old"
                                                 : gate.problem;
  return {GateVerdict::Kind::kUnanswered, !gate.was_asked,
          fmt::format("gate {} has no response: {}", gate.spec.name, why)};
}

/// A gate that holds takes precedence over one without an answer; otherwise the order of the spec applies.
GateVerdict GatePoller::verdict_of(const Gates& gates) const {
  GateVerdict all;
  for (const auto& gate : gates) {
    GateVerdict one = verdict_of(*gate);
    if (one.kind == GateVerdict::Kind::kHolds) return one;
    if (one.stops() && (!all.stops() || (all.is_pending && !one.is_pending))) all = std::move(one);
  }
  return all;
}

GateVerdict GatePoller::verdict(const std::string& policy) const {
  const std::scoped_lock lock(mutex_);
  const auto known = policies_.find(policy);
  return known == policies_.end() ? GateVerdict{} : verdict_of(known->second);
}

void GatePoller::publish(const std::string& policy, const Gate& gate) {
  deps_.metrics
      .gauge("evacuator_gate_holding",
             "1 if the gate holds evictions of the policy, or has no response and onError is Hold.",
             {{"policy", policy}, {"gate", gate.spec.name}})
      .set(verdict_of(gate).stops() ? 1 : 0);
}

}  // namespace controllers
