#include "kube/runtime/worker.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "kube/runtime/worker_pool.hpp"

namespace worker_test {

using base::seconds;
using kube::Requeue;

const api::ObjectKey kKey{"shop", "web-1"};

struct Bench {
  base::ManualClock clock{base::TimePoint(seconds(1'000'000))};
  kube::WorkQueue queue{clock};
  kube::WorkerCounts counts;
  base::Result<Requeue> answer = Requeue::await_change();
  int calls = 0;
  kube::Worker worker{queue,
                      [this](const api::ObjectKey&) {
                        ++calls;
                        return answer;
                      },
                      counts, base::Log()};
};

TEST(Worker, TakesAReadyKeyOnce) {
  Bench bench;
  EXPECT_FALSE(bench.worker.step());
  bench.queue.add(kKey);
  EXPECT_TRUE(bench.worker.step());
  EXPECT_FALSE(bench.worker.step());
  EXPECT_EQ(bench.counts.succeeded, 1);
}

TEST(Worker, RequeuesOnRequest) {
  Bench bench;
  bench.answer = Requeue::in(seconds(5));
  bench.queue.add(kKey);
  bench.worker.step();
  bench.clock.advance(seconds(4));
  EXPECT_FALSE(bench.worker.step());
  bench.clock.advance(seconds(1));
  EXPECT_TRUE(bench.worker.step());
}

TEST(Worker, BacksOffAfterErrorsAndForgetsThemAfterSuccess) {
  Bench bench;
  bench.answer = base::unavailable("later");
  bench.queue.add(kKey);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(bench.worker.step());
    EXPECT_FALSE(bench.worker.step()) << "not at once";
    bench.clock.set(*bench.queue.next_due());
  }
  EXPECT_EQ(bench.counts.failed, 5);
  bench.answer = Requeue::await_change();
  EXPECT_TRUE(bench.worker.step());
  bench.answer = base::unavailable("later");
  bench.queue.add(kKey);
  bench.worker.step();
  EXPECT_LE(*bench.queue.next_due() - bench.clock.now(), base::milliseconds(100)) << "starts over";
}

TEST(Worker, HonoursRetryAfter) {
  Bench bench;
  bench.answer = base::Error{base::ErrorCode::kThrottled, "busy", seconds(9)};
  bench.queue.add(kKey);
  bench.worker.step();
  EXPECT_EQ(*bench.queue.next_due() - bench.clock.now(), seconds(9));
}

TEST(Worker, BacksOffFromAServerThatAsksForNoDelay) {
  Bench bench;
  bench.answer = base::Error{base::ErrorCode::kThrottled, "Retry-After: 0", base::Duration::zero()};
  bench.queue.add(kKey);
  base::Duration before{};
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(bench.worker.step());
    ASSERT_FALSE(bench.worker.step()) << "not at once";
    const base::Duration now = *bench.queue.next_due() - bench.clock.now();
    EXPECT_GT(now, before) << "ever more slowly";
    before = now;
    bench.clock.set(*bench.queue.next_due());
  }
}

TEST(Worker, BacksOffIfRetryAfterIsAlwaysASecond) {
  Bench bench;
  bench.answer = base::Error{base::ErrorCode::kThrottled, "busy", seconds(1)};
  bench.queue.add(kKey);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(bench.worker.step());
    EXPECT_GE(*bench.queue.next_due() - bench.clock.now(), seconds(1));
    bench.clock.set(*bench.queue.next_due());
  }
  EXPECT_GT(*bench.queue.next_due(), base::TimePoint(seconds(1'000'000)) + seconds(30));
}

TEST(Worker, NeverWaitsLongerThanAMinuteForAServer) {
  Bench bench;
  bench.answer = base::Error{base::ErrorCode::kThrottled, "maintenance", std::chrono::hours(24)};
  bench.queue.add(kKey);
  bench.worker.step();
  EXPECT_EQ(*bench.queue.next_due() - bench.clock.now(), seconds(60));
}

TEST(Worker, SurvivesExceptions) {
  base::ManualClock clock{base::TimePoint(seconds(1))};
  kube::WorkQueue queue(clock);
  kube::WorkerCounts counts;
  int call = 0;
  kube::Worker worker(
      queue,
      [&](const api::ObjectKey&) -> base::Result<Requeue> {
        if (call++ == 0) throw std::runtime_error("bug");
        throw 7;
      },
      counts, base::Log());
  queue.add(kKey);
  EXPECT_TRUE(worker.step());
  clock.advance(seconds(60));
  EXPECT_TRUE(worker.step());
  EXPECT_EQ(counts.exceptions, 2);
  EXPECT_EQ(counts.failed, 2);
}

TEST(Worker, RunsUntilStopped) {
  Bench bench;
  std::jthread thread([&](std::stop_token stop) { bench.worker.run(stop); });
  bench.queue.add(kKey);
  while (bench.counts.succeeded == 0) std::this_thread::yield();
  thread.request_stop();
  thread.join();
  EXPECT_EQ(bench.calls, 1);
}

// --- WorkerPool, on real threads

using std::chrono::milliseconds;

api::ObjectKey key_of(int number) { return {"shop", "web-" + std::to_string(number)}; }

/// Pool whose reconciles block until the test releases them.
class Crew {
 public:
  explicit Crew(std::size_t most, base::Duration patience = seconds(60))
      : pool_(
            queue, most,
            [this](std::size_t) {
              return kube::Worker(
                  queue, [this](const auto& key) { return work(key); }, counts, base::Log());
            },
            "test", patience) {
    pool_.start(stop_.get_token());
  }
  ~Crew() {
    remove_finalizer();
    stop_.request_stop();
  }

  bool wait_until_busy(int workers) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(30), [&] { return busy_ >= workers; });
  }
  bool wait_until_done(std::size_t keys) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(30), [&] { return done_.size() >= keys && busy_ == 0; });
  }
  bool wait_for_size(std::size_t size) const {
    const auto end = std::chrono::steady_clock::now() + seconds(30);
    while (pool_.size() != size && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return pool_.size() == size;
  }
  void remove_finalizer() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  std::size_t size() const { return pool_.size(); }
  std::vector<api::ObjectKey> done() const {
    const std::scoped_lock lock(mutex_);
    return done_;
  }
  int most_busy() const {
    const std::scoped_lock lock(mutex_);
    return most_busy_;
  }

  base::SystemClock clock;
  kube::WorkQueue queue{clock};
  kube::WorkerCounts counts;

 private:
  base::Result<Requeue> work(const api::ObjectKey& key) {
    std::unique_lock lock(mutex_);
    most_busy_ = std::max(most_busy_, ++busy_);
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --busy_;
    done_.push_back(key);
    changed_.notify_all();
    return Requeue::await_change();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int busy_ = 0;
  int most_busy_ = 0;
  std::vector<api::ObjectKey> done_;
  std::stop_source stop_;
  kube::WorkerPool pool_;
};

TEST(WorkerPool, IsOneThreadUntilThereIsWork) {
  Crew crew(8);
  EXPECT_EQ(crew.size(), 1U);
}

TEST(WorkerPool, GrowsWithTheWorkUpToItsLimit) {
  Crew crew(4);
  for (int i = 0; i < 10; ++i) crew.queue.add(key_of(i));
  EXPECT_TRUE(crew.wait_until_busy(4));
  EXPECT_EQ(crew.size(), 4U);
  crew.remove_finalizer();
  EXPECT_TRUE(crew.wait_until_done(10));
  EXPECT_EQ(crew.most_busy(), 4);
  EXPECT_EQ(crew.done().size(), 10U) << "each once";
}

TEST(WorkerPool, KeepsAnIdleWorkerWhileItMayGrow) {
  Crew crew(3);
  crew.queue.add(key_of(1));
  EXPECT_TRUE(crew.wait_until_busy(1));
  crew.queue.add_after(key_of(2), milliseconds(5));
  EXPECT_TRUE(crew.wait_until_busy(2)) << "a delayed key is not late because the others are busy";
}

TEST(WorkerPool, ShrinksToOneWorkerThatStillTakesKeys) {
  Crew crew(6, milliseconds(1));
  for (int i = 0; i < 6; ++i) crew.queue.add(key_of(i));
  EXPECT_TRUE(crew.wait_until_busy(6));
  crew.remove_finalizer();
  EXPECT_TRUE(crew.wait_until_done(6));
  EXPECT_TRUE(crew.wait_for_size(1));
  for (int i = 6; i < 12; ++i) crew.queue.add(key_of(i));
  EXPECT_TRUE(crew.wait_until_done(12)) << "and grows again";
}

TEST(WorkerPool, LosesNothingWhileItGrowsAndShrinks) {
  constexpr int kKeys = 3000;
  Crew crew(8, base::Duration::zero());
  crew.remove_finalizer();
  for (int i = 0; i < kKeys; ++i) {
    if (i % 3 == 0) {
      crew.queue.add_after(key_of(i), milliseconds(i % 7));
    } else {
      crew.queue.add(key_of(i));
    }
  }
  EXPECT_TRUE(crew.wait_until_done(kKeys));
  EXPECT_EQ(crew.done().size(), std::size_t{kKeys});
}

}  // namespace worker_test
