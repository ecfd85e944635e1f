#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "base/result.hpp"
#include "controllers/advice/advice_config.hpp"
#include "controllers/advice/advice_store.hpp"
#include "kube/client.hpp"
#include "kube/runtime/requeue.hpp"
#include "kube/runtime/work_queue.hpp"
#include "kube/runtime/worker.hpp"
#include "usage/parse/metrics_server.hpp"

namespace controllers::advice {

/// Maintains a ResourceAdvice for each workload: samples container usage, and writes each status at most once per
/// interval, at the workload's fixed offset, and only if there is news. Determines workloads from pods and their
/// owners only. Of an existing ResourceAdvice it trusts only the status, which no other client may write. Writes only
/// to the namespace whose pods were measured. Applies no advice. Use from one thread at a time.
///
/// Samples after a workload's last write are lost if the process ends without flush().
class AdvicePoller {
 public:
  /// Maximum number of writes per reconcile(), so that other writes get their share of the client's rate limit.
  static constexpr std::size_t kMaxWrites = 5;
  /// Pause after the server reported a missing right or a missing kind.
  static constexpr base::minutes kRefusedFor{10};

  struct Dependencies {
    kube::Client& client;
    const base::Clock& clock;  ///< Clock for dating samples
    std::function<Cluster()> cluster;
    ContainerSampler sample;
    base::Metrics& metrics;
    base::Log log;
  };

  AdvicePoller(Dependencies dependencies, const ResourceAdviceConfig& config);

  /// Samples if it is time, writes what is due, and returns when to requeue. The only key is key().
  base::Result<kube::Requeue> reconcile(const api::ObjectKey& key);
  /// For an orderly shutdown: writes the workloads with news until `time` has passed or a write fails.
  void flush(base::Duration time);
  static api::ObjectKey key() { return {"", "resourceadvices"}; }

 private:
  void sample(base::TimePoint now);
  void write_due(base::TimePoint now);
  base::Status write(const advisor::WorkloadKey& key, StoredAdvice& kept, base::TimePoint now);
  base::Status load(const advisor::WorkloadKey& key, StoredAdvice& kept, base::TimePoint now, bool& is_there);
  base::Status create(const advisor::WorkloadKey& key, const StoredAdvice& kept);
  void tell(const char* what, const std::string& text, std::string& told) const;

  Dependencies deps_;
  const ResourceAdviceConfig config_;
  AdviceStore store_;
  std::optional<base::TimePoint> next_sample_;
  base::TimePoint refused_until_{};
  std::string last_sample_problem_;  ///< Last logged problem of each sort
  std::string last_write_problem_;
};

/// Queue, poller and counters of the advice controller.
struct Service {
  Service(AdvicePoller::Dependencies dependencies, const base::Clock& steady, const ResourceAdviceConfig& config)
      : queue(steady), log(dependencies.log), keeper(std::move(dependencies), config) {}
  /// Time limit of the flush at the end of run().
  static constexpr base::seconds kFlushTime{5};

  kube::Worker worker() {
    return kube::Worker(
        queue, [this](const api::ObjectKey& key) { return keeper.reconcile(key); }, counts, log);
  }

  /// Works until stopped, then writes the remaining news within kFlushTime.
  void run(std::stop_token stop) {
    worker().run(stop);
    keeper.flush(kFlushTime);
  }

  kube::WorkQueue queue;
  base::Log log;
  AdvicePoller keeper;
  kube::WorkerCounts counts;
};

}  // namespace controllers::advice
