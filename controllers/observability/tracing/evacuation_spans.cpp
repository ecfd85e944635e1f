#include "controllers/observability/tracing/evacuation_spans.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/origin.hpp"

namespace controllers {
namespace {

using tracing::Attribute;
using tracing::Span;

/// Spans that ended earlier than this before a takeover were sent by the previous process.
constexpr base::minutes kMayBeUnsent{2};

std::int64_t microseconds(base::TimePoint time) { return time.time_since_epoch().count(); }

/// One stay of the Evacuation in a phase.
struct PhaseInterval {
  std::string phase;
  std::int32_t attempt = 0;
  base::TimePoint entered{};
  base::TimePoint left{};
  std::string reason;  ///< Reason for leaving the phase
};

std::string id_of(const std::string& trace, const PhaseInterval& stay) {
  return tracing::span_id_of(trace,
                             fmt::format("phase/{}/{}/{}", stay.attempt, stay.phase, microseconds(stay.entered)));
}

/// The stay that began with the newest transition.
PhaseInterval current_stay(const api::Evacuation& evacuation) {
  const auto& history = evacuation.status.history;
  if (history.empty())
    return {std::string(to_string(api::EvacuationPhase::kPending)), 0, evacuation.meta.creation_timestamp, {}, {}};
  return {history.back().to, history.back().attempt, history.back().time, {}, {}};
}

/// Returns the stays that ended in history entries from `first_entry` on, if the history shows their start. One write
/// may end several stays.
std::vector<PhaseInterval> ended_intervals(const api::Evacuation& evacuation, std::size_t first_entry) {
  std::vector<PhaseInterval> stays;
  const auto& history = evacuation.status.history;
  for (std::size_t i = first_entry; i < history.size(); ++i) {
    const api::HistoryEntry& left = history[i];
    if (i > 0 && history[i - 1].to == left.from) {
      stays.push_back({left.from, history[i - 1].attempt, history[i - 1].time, left.time, left.reason});
    } else if (i == 0 && left.from == to_string(api::EvacuationPhase::kPending) && evacuation.status.attempt <= 1) {
      // A cached finished Evacuation lacks most entries. After more attempts, this entry may belong to a later stay.
      stays.push_back({left.from, 0, evacuation.meta.creation_timestamp, left.time, left.reason});
    }
  }
  return stays;
}

/// Returns the index of the first entry that `before` does not contain.
std::size_t first_new_entry(const api::EvacuationStatus& before, const api::EvacuationStatus& after) {
  if (before.history.empty()) return 0;
  const auto known = std::find(after.history.rbegin(), after.history.rend(), before.history.back());
  return static_cast<std::size_t>(after.history.rend() - known);
}

void add_text(std::vector<Attribute>& attributes, const char* key, std::string value) {
  if (!value.empty()) attributes.push_back({key, std::move(value)});
}

Span span_of_stay(const api::Evacuation& evacuation, const PhaseInterval& stay) {
  const std::string trace = trace_id_of(evacuation);
  Span span{.trace_id = trace, .id = id_of(trace, stay), .parent = life_span_id_of(trace), .name = stay.phase};
  span.start = stay.entered;
  span.end = stay.left;
  span.attributes = {{"evacuator.attempt", std::int64_t{stay.attempt}}};
  add_text(span.attributes, "evacuator.reason", stay.reason);
  return span;
}

/// Returns identifying attributes only, without free text of users or pods.
std::vector<Attribute> identity_of(const api::Evacuation& evacuation) {
  std::vector<Attribute> attributes;
  add_text(attributes, "evacuator.evacuation", evacuation.meta.key().to_string());
  add_text(attributes, "evacuator.evacuation.uid", evacuation.meta.uid);
  add_text(attributes, "k8s.namespace.name", evacuation.meta.ns);
  add_text(attributes, "k8s.pod.name", evacuation.spec.pod_ref.name);
  add_text(attributes, "k8s.pod.uid", evacuation.spec.pod_ref.uid.value);
  add_text(attributes, "k8s.node.name", evacuation.spec.node_name.value);
  const std::string& policy = api::policy_of(evacuation);
  add_text(attributes, "evacuator.policy", policy);
  if (!policy.empty()) add_text(attributes, "evacuator.strategy", evacuation.spec.source.strategy);
  return attributes;
}

/// REQUIRES: the Evacuation has ended.
Span span_of_life(const api::Evacuation& evacuation, base::TimePoint now) {
  const api::EvacuationStatus& status = evacuation.status;
  const std::string trace = trace_id_of(evacuation);
  Span span{.trace_id = trace, .id = life_span_id_of(trace), .name = "evacuation"};
  span.start = evacuation.meta.creation_timestamp;
  span.end = status.finished_at.value_or(now);
  span.attributes = identity_of(evacuation);
  add_text(span.attributes, "evacuator.evictor", status.evictor);
  span.attributes.push_back({"evacuator.attempts", std::int64_t{status.attempt}});
  span.attributes.push_back({"evacuator.dry_run", evacuation.spec.dry_run});
  add_text(span.attributes, "evacuator.result", std::string(to_string(status.phase)));
  add_text(span.attributes, "evacuator.reason", status.reason);
  if (status.outcome) add_text(span.attributes, "evacuator.outcome", std::string(to_string(status.outcome->kind)));
  if (status.phase == api::EvacuationPhase::kFailed) span.problem = status.reason.empty() ? "Failed" : status.reason;
  return span;
}

}  // namespace

std::string trace_id_of(const api::Evacuation& evacuation) { return tracing::trace_id_of(evacuation.meta.uid); }

std::string life_span_id_of(const std::string& trace_id) { return tracing::span_id_of(trace_id, "evacuation"); }

std::vector<Span> spans_of_status(const api::Evacuation& before, const api::Evacuation& after, base::TimePoint now) {
  std::vector<Span> spans;
  if (api::is_terminal(before.status.phase)) return spans;
  for (const PhaseInterval& each : ended_intervals(after, first_new_entry(before.status, after.status)))
    spans.push_back(span_of_stay(after, each));
  if (api::is_terminal(after.status.phase)) spans.push_back(span_of_life(after, now));
  return spans;
}

std::string call_span_id_of(const api::Evacuation& evacuation, const evictors::Action& action, base::TimePoint now) {
  const std::string name = fmt::format("call/{}/{}/{}", evacuation.status.attempt, action.name, microseconds(now));
  return tracing::span_id_of(trace_id_of(evacuation), name);
}

Span span_of_answer(const api::Evacuation& evacuation, const evictors::Action& action,
                    const evictors::CallResult& answer, const std::optional<api::LastResponse>& meaning,
                    base::TimePoint now) {
  const std::string trace = trace_id_of(evacuation);
  const auto& intent = evacuation.status.intent;
  Span span{.trace_id = trace,
            .id = tracing::span_id_in(action.request.traceparent),
            .parent = id_of(trace, current_stay(evacuation)),
            .name = action.name,
            .kind = tracing::SpanKind::kClient};
  span.start = intent ? std::min(intent->time, now) : now;
  span.end = now;
  span.attributes = {{"evacuator.attempt", std::int64_t{evacuation.status.attempt}},
                     {"http.request.method", action.request.method}};
  add_text(span.attributes, "url.path", action.request.path);
  add_text(span.attributes, "evacuator.service", action.service);
  if (answer) span.attributes.push_back({"http.response.status_code", std::int64_t{answer->status}});
  const std::string meant = meaning ? meaning->response_class : std::string();
  add_text(span.attributes, "evacuator.response_class", meant);
  if (!answer) span.problem = "no response: " + std::string(to_string(answer.error().code));
  if (answer && answer->status >= 400) span.problem = meant.empty() ? std::to_string(answer->status) : meant;
  return span;
}

std::vector<Span> spans_of_takeover(const api::Evacuation& evacuation, const std::string& replica,
                                    base::TimePoint now) {
  std::vector<Span> spans;
  for (const PhaseInterval& each : ended_intervals(evacuation, 0)) {
    if (now - each.left <= kMayBeUnsent) spans.push_back(span_of_stay(evacuation, each));
  }
  if (api::is_terminal(evacuation.status.phase)) {
    spans.push_back(span_of_life(evacuation, now));
    return spans;
  }
  const std::string trace = trace_id_of(evacuation);
  Span mark{.trace_id = trace,
            .id = tracing::span_id_of(trace, fmt::format("takeover/{}/{}", replica, microseconds(now))),
            .parent = life_span_id_of(trace),
            .name = "taken over"};
  mark.start = mark.end = now;
  mark.attributes = {{"evacuator.attempt", std::int64_t{evacuation.status.attempt}}};
  add_text(mark.attributes, "evacuator.phase", std::string(to_string(evacuation.status.phase)));
  add_text(mark.attributes, "evacuator.replica", replica);
  spans.push_back(std::move(mark));
  return spans;
}

std::string EvacuationTracer::trace_of(const api::Evacuation& evacuation) const {
  if (!spans_) return {};
  std::string trace = trace_id_of(evacuation);
  return spans_->wants(trace) ? trace : std::string();
}

void EvacuationTracer::on_status(const api::Evacuation& before, const api::Evacuation& after, base::TimePoint now) {
  inner_.on_status(before, after, now);
  if (trace_of(after).empty()) return;
  for (tracing::Span& span : spans_of_status(before, after, now)) spans_->add(std::move(span));
}

std::string EvacuationTracer::context_of_call(const api::Evacuation& evacuation, const evictors::Action& action,
                                              base::TimePoint now) const {
  const std::string trace = trace_of(evacuation);
  return trace.empty() ? trace : tracing::traceparent_of(trace, call_span_id_of(evacuation, action, now));
}

void EvacuationTracer::on_answer(const api::Evacuation& evacuation, const evictors::Action& action,
                                 const evictors::CallResult& answer, const std::optional<api::LastResponse>& meaning,
                                 base::TimePoint now) {
  inner_.on_answer(evacuation, action, answer, meaning, now);
  if (!trace_of(evacuation).empty()) spans_->add(span_of_answer(evacuation, action, answer, meaning, now));
}

void EvacuationTracer::on_taken_over(const api::Evacuation& evacuation, base::TimePoint now) {
  if (trace_of(evacuation).empty()) return;
  for (tracing::Span& span : spans_of_takeover(evacuation, replica_, now)) spans_->add(std::move(span));
}

}  // namespace controllers
