#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "kube/runtime/informer.hpp"
#include "kube/runtime/work_queue.hpp"
#include "kube/runtime/worker_pool.hpp"

namespace controllers {

/// Follows all caches with as few threads as possible. A kind that only waits for watch events needs no thread. A kind
/// that lists or waits for a response has its own thread, so a list or watch that hangs delays no other kind.
class CacheFollowers {
 public:
  /// `clock` must be steady. The reflectors must outlive this object.
  CacheFollowers(std::vector<kube::Reflector*> reflectors, const base::Clock& clock, const base::Log& log,
                 base::Duration patience = kube::WorkerPool::kPatience);
  /// Closes the watches. REQUIRES: the stop token passed to start() has been stopped.
  ~CacheFollowers();
  CacheFollowers(const CacheFollowers&) = delete;
  CacheFollowers& operator=(const CacheFollowers&) = delete;

  /// Starts the threads. Call once.
  void start(std::stop_token stop);
  std::size_t threads() const { return pool_->size(); }

 private:
  base::Duration take_turn(const api::ObjectKey& key) noexcept;

  const std::vector<kube::Reflector*> reflectors_;
  kube::WorkQueue queue_;  ///< Keys are indexes into reflectors_
  kube::WorkerCounts counts_;
  std::stop_token stop_;
  std::unique_ptr<kube::WorkerPool> pool_;
};

}  // namespace controllers
