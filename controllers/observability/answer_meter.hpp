#pragma once

#include <map>
#include <mutex>
#include <string>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "http_server/server.hpp"

namespace controllers {

/// Counts what one server of the process answers, by code, and logs what it refuses: for each code a line a minute at
/// most, with how many there were since the line before and who asked last. Nothing of a request is logged. Codes are
/// our own, so the series are few. Thread-safe.
class AnswerMeter {
 public:
  static constexpr base::seconds kToldEvery{60};

  /// `metrics` and `steady` must outlive it. `server`: "metrics", "webhook", "health".
  AnswerMeter(std::string server, base::Metrics& metrics, const base::Clock& steady, base::Log log)
      : server_(std::move(server)), metrics_(metrics), steady_(steady), log_(std::move(log)) {}

  /// As serving::OnEnd.
  void count(int status, const std::string& peer);

 private:
  struct Refused {
    std::uint64_t untold = 0;
    base::TimePoint told = base::TimePoint::min();
  };

  const std::string server_;
  base::Metrics& metrics_;
  const base::Clock& steady_;
  const base::Log log_;
  std::mutex mutex_;
  std::map<int, Refused> refused_;  ///< by code; guarded by mutex_
};

/// What ServerOptions::on_end may be. It keeps its meter.
serving::OnEnd metered_answers(std::string server, base::Metrics& metrics, const base::Clock& steady, base::Log log);

}  // namespace controllers
