#include "kube/runtime/worker.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

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

TEST(Worker, TakesWhatIsReadyOnce) {
  Bench bench;
  EXPECT_FALSE(bench.worker.step());
  bench.queue.add(kKey);
  EXPECT_TRUE(bench.worker.step());
  EXPECT_FALSE(bench.worker.step());
  EXPECT_EQ(bench.counts.succeeded, 1);
}

TEST(Worker, ComesBackWhenAsked) {
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

TEST(Worker, WaitsAsLongAsTheServerAsked) {
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

TEST(Worker, BacksOffFromAServerThatAlwaysAsksForASecond) {
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

}  // namespace worker_test
