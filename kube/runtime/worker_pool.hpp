#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "kube/runtime/worker.hpp"

namespace kube {

/// Shows up in /proc/<pid>/task/*/comm; 15 characters count.
void name_this_thread(const std::string& name);

/// As many workers on one queue as there is work for. One always waits: whoever takes the last place of those that wait
/// starts one more, up to `most`. Who found nothing to do for `patience` ends, as long as another one waits.
class WorkerPool {
 public:
  using Make = std::function<Worker(std::size_t index)>;  ///< index below `most`; of no two at the same time
  static constexpr base::seconds kPatience{2};

  /// `queue` must outlive the pool. `make` is called by the new threads. REQUIRES: most >= 1.
  WorkerPool(WorkQueue& queue, std::size_t most, Make make, std::string name, base::Duration patience = kPatience);
  /// Joins them all. REQUIRES: the token of start() was told to stop.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Once. The keys in hand are finished after `stop`.
  void start(std::stop_token stop);
  std::size_t size() const;

 private:
  struct Slot {
    std::thread thread;
    bool runs = false;
  };
  void grow();
  void work(std::size_t index);
  bool may_leave(std::size_t index);

  WorkQueue& queue_;
  const Make make_;
  const std::string name_;
  const base::Duration patience_;
  std::stop_token stop_;
  mutable std::mutex mutex_;  ///< of what follows
  std::vector<Slot> slots_;
  bool closing_ = false;
};

}  // namespace kube
