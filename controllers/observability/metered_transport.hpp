#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/metrics.hpp"
#include "kube/transport.hpp"

namespace controllers {

/// Transport decorator that records metrics: latency by verb and code, rejections by API Priority and Fairness, and
/// open watches with their start times. Label values are bounded: verbs, codes from 100 to 599, and kinds that this
/// program watches. Thread-safe. Streams must not outlive this object or the metrics.
class MeteredTransport final : public kube::Transport {
 public:
  /// All references must outlive this object. `steady` measures durations; `wall` provides timestamps that Prometheus
  /// compares with its own clock.
  MeteredTransport(kube::Transport& inner, base::Metrics& metrics, const base::Clock& steady, const base::Clock& wall)
      : inner_(inner), metrics_(metrics), steady_(steady), wall_(wall) {}

  base::Result<kube::Response> round_trip(const kube::Request& request) override;
  base::Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Request& request) override;
  base::Result<std::unique_ptr<kube::WatchStream>> list(const kube::Request& request) override;

 private:
  /// `code` is kNoCode if no response came.
  void count(std::string_view verb, int code, base::TimePoint began);

  kube::Transport& inner_;
  base::Metrics& metrics_;
  const base::Clock& steady_;
  const base::Clock& wall_;
  std::mutex mutex_;
  std::map<std::pair<std::string_view, int>, base::Histogram> durations_;  ///< Guarded by mutex_
};

}  // namespace controllers
