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

/// Keeps caches current on as many threads as have something to do. A kind that waits for news of its watch needs none;
/// one that lists, or waits for an answer, has its own, so that a list or a watch that hangs holds up no other kind.
class CacheFollowers {
 public:
  /// `clock`: a steady one. The reflectors must outlive this.
  CacheFollowers(std::vector<kube::Reflector*> reflectors, const base::Clock& clock, const base::Log& log,
                 base::Duration patience = kube::WorkerPool::kPatience);
  /// Closes the watches. REQUIRES: the token of start() was told to stop.
  ~CacheFollowers();
  CacheFollowers(const CacheFollowers&) = delete;
  CacheFollowers& operator=(const CacheFollowers&) = delete;

  /// Once.
  void start(std::stop_token stop);
  std::size_t threads() const { return pool_->size(); }

 private:
  kube::Worker follower(const base::Log& log);
  base::Duration take_turn(const api::ObjectKey& key) noexcept;

  const std::vector<kube::Reflector*> reflectors_;
  kube::WorkQueue queue_;  ///< of their numbers
  kube::WorkerCounts counts_;
  std::stop_token stop_;
  std::unique_ptr<kube::WorkerPool> pool_;
};

}  // namespace controllers
