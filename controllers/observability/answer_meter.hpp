#pragma once

#include <map>
#include <mutex>
#include <string>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "http_server/server.hpp"

namespace controllers {

/// Counts the responses of one of the operator's servers by code, and logs rejected requests: at most one line per
/// code and minute, with the number of requests since the previous line and the latest peer. Logs no content of
/// requests. All codes are our own, so the number of series is bounded. Thread-safe.
class ResponseMeter {
 public:
  static constexpr base::seconds kLogInterval{60};

  /// `metrics` and `steady` must outlive this object. `server` is "metrics", "webhook" or "health".
  ResponseMeter(std::string server, base::Metrics& metrics, const base::Clock& steady, base::Log log)
      : server_(std::move(server)), metrics_(metrics), steady_(steady), log_(std::move(log)) {}

  /// Implements http_server::OnEnd.
  void count(int status, const std::string& peer);

 private:
  struct Refused {
    std::uint64_t unlogged = 0;
    base::TimePoint told = base::TimePoint::min();
  };

  const std::string server_;
  base::Metrics& metrics_;
  const base::Clock& steady_;
  const base::Log log_;
  std::mutex mutex_;
  std::map<int, Refused> refused_;  ///< By code; guarded by mutex_
};

/// Returns a callback for ServerOptions::on_end that owns its meter.
http_server::OnEnd metered_answers(std::string server, base::Metrics& metrics, const base::Clock& steady,
                                   base::Log log);

}  // namespace controllers
