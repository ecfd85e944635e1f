#include "kube/runtime/worker_pool.hpp"

#include <pthread.h>

#include <algorithm>
#include <system_error>

namespace kube {

void name_this_thread(const std::string& name) {
  constexpr std::size_t kMax = 15;
  pthread_setname_np(pthread_self(), name.substr(0, kMax).c_str());
}

WorkerPool::WorkerPool(WorkQueue& queue, std::size_t most, Make make, std::string name, base::Duration patience)
    : queue_(queue), make_(std::move(make)), name_(std::move(name)), patience_(patience), slots_(most) {}

WorkerPool::~WorkerPool() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  for (Slot& each : slots_) {
    if (each.thread.joinable()) each.thread.join();
  }
}

void WorkerPool::start(std::stop_token stop) {
  stop_ = std::move(stop);
  grow();
}

std::size_t WorkerPool::size() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(slots_, &Slot::runs));
}

void WorkerPool::grow() {
  const std::scoped_lock lock(mutex_);
  if (closing_ || stop_.stop_requested()) return;
  const auto free = std::ranges::find_if(slots_, [](const Slot& each) { return !each.runs; });
  if (free == slots_.end()) return;
  if (free->thread.joinable()) free->thread.join();  // the worker has left its loop and is about to end
  const auto index = static_cast<std::size_t>(free - slots_.begin());
  try {
    free->thread = std::thread([this, index] { work(index); });
    free->runs = true;
  } catch (const std::system_error&) {
    // The system has no more threads. The running workers continue.
    if (std::ranges::none_of(slots_, &Slot::runs)) throw;
  }
}

void WorkerPool::work(std::size_t index) {
  name_this_thread(name_);
  Worker worker = make_(index);
  for (;;) {
    const auto key = queue_.take(stop_, patience_);
    if (key) {
      if (queue_.idle_workers() == 0) grow();
      worker.work_on(*key);
    } else if (may_leave(index)) {
      return;
    }
  }
}

bool WorkerPool::may_leave(std::size_t index) {
  const std::scoped_lock lock(mutex_);
  if (!stop_.stop_requested() && queue_.idle_workers() == 0) return false;
  slots_[index].runs = false;
  return true;
}

}  // namespace kube
