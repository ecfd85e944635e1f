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

/// Sets the thread's name in /proc/<pid>/task/*/comm, limited to 15 characters.
void name_this_thread(const std::string& name);

/// Pool of workers on one queue. Grows by one worker when the last idle worker takes a job, up to `most`. A worker idle
/// for `patience` exits unless it is the last idle one.
class WorkerPool {
 public:
  using Make = std::function<Worker(std::size_t index)>;  ///< index is below `most` and unique among running workers
  static constexpr base::seconds kPatience{2};

  /// `queue` must outlive the pool. New threads call `make`. REQUIRES: most >= 1.
  WorkerPool(WorkQueue& queue, std::size_t most, Make make, std::string name, base::Duration patience = kPatience);
  /// Joins all threads. REQUIRES: a stop was requested on the token passed to start().
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Call once. After `stop`, workers finish their current keys.
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
  mutable std::mutex mutex_;  ///< guards the members below
  std::vector<Slot> slots_;
  bool closing_ = false;
};

}  // namespace kube
