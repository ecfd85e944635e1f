#include "controllers/policy/cycle/cycle_trace.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "api/core/codec.hpp"
#include "controllers/observability/tracing/evacuation_spans.hpp"

namespace controllers {
namespace {

/// Above the number in practice: a policy has some dozens of strategies, each of which runs a few times.
constexpr std::size_t kMaxSpans = 256;

}  // namespace

CycleTrace::CycleTrace(const std::string& policy, const std::string& uid, const std::string& cycle,
                       base::TimePoint start)
    : id_(tracing::trace_id_of(uid + "/" + cycle)) {
  cycle_ = {.trace_id = id_, .id = tracing::span_id_of(id_, "cycle"), .name = "cycle"};
  cycle_.start = start;
  cycle_.attributes = {{"evacuator.policy", policy}, {"evacuator.cycle", cycle}};
}

void CycleTrace::begin(std::map<std::string, tracing::Span, std::less<>>& open, std::string_view name,
                       std::string parent, base::TimePoint now) {
  if (ended_.size() + open.size() >= kMaxSpans) return;
  const std::string id =
      tracing::span_id_of(id_, fmt::format("{}/{}/{}", parent, name, now.time_since_epoch().count()));
  tracing::Span span{.trace_id = id_, .id = id, .parent = std::move(parent), .name = std::string(name)};
  span.start = now;
  open.insert_or_assign(std::string(name), std::move(span));
}

void CycleTrace::end(std::map<std::string, tracing::Span, std::less<>>& open, std::string_view name,
                     base::TimePoint now) {
  const auto found = open.find(name);
  if (found == open.end()) return;
  found->second.end = now;
  ended_.push_back(std::move(found->second));
  open.erase(found);
}

void CycleTrace::begin_phase(std::string_view phase, base::TimePoint now) {
  const std::scoped_lock lock(mutex_);
  begin(phases_, phase, cycle_.id, now);
  const auto begun = phases_.find(phase);
  phase_id_ = begun == phases_.end() ? cycle_.id : begun->second.id;
}

void CycleTrace::end_phase(std::string_view phase, base::TimePoint now) {
  const std::scoped_lock lock(mutex_);
  end(phases_, phase, now);
}

void CycleTrace::begin_strategy(std::string_view strategy, base::TimePoint now) {
  const std::scoped_lock lock(mutex_);
  begin(strategies_, strategy, phase_id_, now);
}

void CycleTrace::end_strategy(std::string_view strategy, base::TimePoint now) {
  const std::scoped_lock lock(mutex_);
  end(strategies_, strategy, now);
}

void CycleTrace::link(const std::string& evacuation_uid) {
  const std::string trace = tracing::trace_id_of(evacuation_uid);
  const std::scoped_lock lock(mutex_);
  cycle_.links.push_back({trace, life_span_id_of(trace)});
}

std::vector<tracing::Span> CycleTrace::finish(std::vector<tracing::Attribute> attributes, std::string problem,
                                              base::TimePoint now) {
  const std::scoped_lock lock(mutex_);
  std::ranges::move(attributes, std::back_inserter(cycle_.attributes));
  cycle_.problem = std::move(problem);
  cycle_.end = now;
  std::vector<tracing::Span> spans = std::move(ended_);
  spans.push_back(std::move(cycle_));
  return spans;
}

void CycleTraces::begin(const api::ObjectMeta& policy, const std::string& cycle, base::TimePoint now) {
  if (spans_ == nullptr) return;
  auto trace = std::make_unique<CycleTrace>(policy.name, policy.uid, cycle, now);
  if (spans_->wants(trace->id())) traces_.insert_or_assign(policy.name, std::move(trace));
}

CycleTrace* CycleTraces::of(const std::string& policy) const {
  const auto found = traces_.find(policy);
  return found == traces_.end() ? nullptr : found->second.get();
}

std::string CycleTraces::id_of(const std::string& policy) const {
  const CycleTrace* trace = of(policy);
  return trace ? trace->id() : std::string();
}

void CycleTraces::link(const std::string& policy, std::string_view made) const {
  CycleTrace* const trace = of(policy);
  if (trace == nullptr) return;
  const auto meta = api::decode_meta(made);
  if (meta && spans_->wants(tracing::trace_id_of(meta->uid))) trace->link(meta->uid);
}

void CycleTraces::end(const std::string& policy, const api::LastCycle& summary, std::string problem,
                      base::TimePoint now) {
  const auto found = traces_.find(policy);
  if (found == traces_.end()) return;
  for (tracing::Span& span : found->second->finish({{"evacuator.nodes", std::int64_t{summary.nodes}},
                                                    {"evacuator.pods", std::int64_t{summary.pods}},
                                                    {"evacuator.nominated", std::int64_t{summary.nominated}},
                                                    {"evacuator.created", std::int64_t{summary.created}}},
                                                   std::move(problem), now))
    spans_->add(std::move(span));
  traces_.erase(found);
}

}  // namespace controllers
