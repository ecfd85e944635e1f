#include "controllers/policy/cycle/cycle_traces.hpp"

#include <cstdint>
#include <utility>

#include "api/core/codec.hpp"

namespace controllers {

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
