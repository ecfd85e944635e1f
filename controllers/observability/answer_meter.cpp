#include "controllers/observability/answer_meter.hpp"

#include <memory>

namespace controllers {

void ResponseMeter::count(int status, const std::string& peer) {
  const bool has_response = status != http_server::kNoResponse;
  const std::string code = has_response ? std::to_string(status) : "none";
  metrics_
      .counter("evacuator_server_answers_total", "Number of responses of the operator's own servers.",
               {{"server", server_}, {"code", code}})
      .increment();
  // Excludes 503, which failing readiness checks and failing API server calls return.
  if (has_response && (status < 400 || status >= 500)) return;
  const base::TimePoint now = steady_.now();
  const std::scoped_lock lock(mutex_);
  Refused& refused = refused_[status];
  ++refused.unlogged;
  if (refused.told != base::TimePoint::min() && now - refused.told < kLogInterval) return;
  log_.warning("requests were refused", {base::kv("server", server_), base::kv("code", code),
                                         base::kv("count", refused.unlogged), base::kv("newestFrom", peer)});
  refused = {.unlogged = 0, .told = now};
}

http_server::OnEnd metered_answers(std::string server, base::Metrics& metrics, const base::Clock& steady,
                                   base::Log log) {
  auto meter = std::make_shared<ResponseMeter>(std::move(server), metrics, steady, std::move(log));
  return [meter](int status, const std::string& peer) { meter->count(status, peer); };
}

}  // namespace controllers
