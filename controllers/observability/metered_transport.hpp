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

/// Sends by another transport and counts: how long answers took by verb and code, what API Priority and Fairness
/// refused, which watches are open and since when. Labels are of fixed sets: verbs, codes from 100 to 599, kinds that
/// this program watches. Thread-safe. Streams may outlive neither it nor the metrics.
class MeteredTransport final : public kube::Transport {
 public:
  /// All must outlive it. `steady`: what durations go by; `wall`: what Prometheus compares with its own time.
  MeteredTransport(kube::Transport& inner, base::Metrics& metrics, const base::Clock& steady, const base::Clock& wall)
      : inner_(inner), metrics_(metrics), steady_(steady), wall_(wall) {}

  base::Result<kube::Response> round_trip(const kube::Request& request) override;
  base::Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Request& request) override;
  base::Result<std::unique_ptr<kube::WatchStream>> list(const kube::Request& request) override;

 private:
  /// `code`: kNoCode where no answer came.
  void count(std::string_view verb, int code, base::TimePoint began);
  base::Histogram durations_of(std::string_view verb, int code);

  kube::Transport& inner_;
  base::Metrics& metrics_;
  const base::Clock& steady_;
  const base::Clock& wall_;
  std::mutex mutex_;
  std::map<std::pair<std::string_view, int>, base::Histogram> durations_;  ///< guarded by mutex_
};

}  // namespace controllers
