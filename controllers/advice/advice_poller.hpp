#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "base/result.hpp"
#include "controllers/advice/advice_config.hpp"
#include "controllers/advice/advice_store.hpp"
#include "kube/client.hpp"
#include "kube/resource.hpp"
#include "kube/runtime/requeue.hpp"
#include "kube/runtime/work_queue.hpp"
#include "kube/runtime/worker.hpp"
#include "usage/parse/metrics_server.hpp"

namespace controllers::advice {

/// What containers use now, as usage::sample_containers() tells it.
using ContainerSampler = std::function<base::Result<std::vector<std::string>>(const usage::EachContainer& each)>;

/// Keeps a ResourceAdvice current for every workload: samples what containers use, and writes each status at most once
/// an interval, at the workload's own moment in it, and only with news. Whose pods they are it takes from pods and
/// their owners alone; of a ResourceAdvice that is there it believes nothing but its status, which nobody else may
/// write, and writes only into the namespace whose pods were measured. It applies nothing. One thread at a time.
///
/// What came after the last write of a workload is lost when the process ends without flush().
class AdvicePoller {
 public:
  /// Writes of one reconcile(), which is once a second at most: others get their turn at the client's rate limit.
  static constexpr std::size_t kMaxWrites = 5;
  /// After the server said that a right or the kind is missing.
  static constexpr base::minutes kRefusedFor{10};

  struct Dependencies {
    kube::Client& client;
    const base::Clock& clock;  ///< that samples are dated by
    std::function<Cluster()> cluster;
    ContainerSampler sample;
    base::Metrics& metrics;
    base::Log log;
  };

  AdvicePoller(Dependencies dependencies, const ResourceAdviceConfig& config);

  /// Samples when it is time, writes what is due, and says when to come again. There is one key: kKey.
  base::Result<kube::Requeue> reconcile(const api::ObjectKey& key);
  /// Writes the news of as many as fit into `time`, for a process that ends in good order; the first failure ends it.
  void flush(base::Duration time);
  static api::ObjectKey key() { return {"", "resourceadvices"}; }

 private:
  void sample(base::TimePoint now);
  void write_due(base::TimePoint now);
  base::Status write(const advising::WorkloadKey& key, StoredAdvice& kept, base::TimePoint now);
  base::Status load(const advising::WorkloadKey& key, StoredAdvice& kept, base::TimePoint now, bool& is_there);
  base::Status create(const advising::WorkloadKey& key, const StoredAdvice& kept);
  void tell(const char* what, const std::string& text, std::string& told) const;
  void publish(std::size_t left_out);

  Dependencies deps_;
  const ResourceAdviceConfig config_;
  AdviceStore book_;
  std::optional<base::TimePoint> next_sample_;
  base::TimePoint refused_until_{};
  std::string told_sample_;  ///< the newest complaint of each sort that is in the log
  std::string told_write_;
};

/// Queue, keeper and counts, for whoever assembles a process.
struct Service {
  Service(AdvicePoller::Dependencies dependencies, const base::Clock& steady, const ResourceAdviceConfig& config)
      : queue(steady), log(dependencies.log), keeper(std::move(dependencies), config) {}
  /// What run() spends at its end.
  static constexpr base::seconds kFlushTime{5};

  kube::Worker worker() {
    return kube::Worker(
        queue, [this](const api::ObjectKey& key) { return keeper.reconcile(key); }, counts, log);
  }

  /// Works until stopped, and leaves nothing unwritten as far as time allows.
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
