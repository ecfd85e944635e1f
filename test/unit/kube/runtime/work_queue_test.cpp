#include "kube/runtime/work_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace kube {
namespace work_queue_test {

using base::milliseconds;
using base::seconds;

const api::ObjectKey kA{"ns", "a"};
const api::ObjectKey kB{"ns", "b"};

class WorkQueueTest : public ::testing::Test {
 protected:
  base::ManualClock clock{base::TimePoint{} + seconds(1'000'000)};
  WorkQueue queue{clock, {milliseconds(100), milliseconds(1000)}};
};

TEST_F(WorkQueueTest, ReturnsKeysInTheOrderOfArrival) {
  queue.add(kB);
  queue.add(kA);
  EXPECT_EQ(queue.depth(), 2u);
  EXPECT_EQ(queue.try_take(), kB);
  EXPECT_EQ(queue.try_take(), kA);
  EXPECT_EQ(queue.try_take(), std::nullopt);
}

TEST_F(WorkQueueTest, NamespacesTakeTurns) {
  for (const bool is_urgent : {false, true}) {
    const auto add = [&](const api::ObjectKey& key) { is_urgent ? queue.add_urgent(key) : queue.add(key); };
    for (int i = 0; i < 1500; ++i) add({"flood", "invalid-" + std::to_string(i)});
    add({"shop", "web-1"});
    add({"bank", "db-0"});
    add({"shop", "web-2"});
    std::vector<std::string> taken;
    for (int i = 0; i < 6; ++i) taken.push_back(queue.try_take()->name);
    EXPECT_EQ(taken, (std::vector<std::string>{"invalid-0", "web-1", "db-0", "invalid-1", "web-2", "invalid-2"}));
    while (const auto key = queue.try_take()) queue.done(*key);
    EXPECT_EQ(queue.depth(), 0U);
    queue.done({"shop", "web-1"});
    queue.done({"bank", "db-0"});
    queue.done({"shop", "web-2"});
    for (int i = 0; i < 3; ++i) queue.done({"flood", "invalid-" + std::to_string(i)});
  }
}

TEST_F(WorkQueueTest, UrgentKeysGoFirstWithoutStarvingOthers) {
  for (int i = 0; i < 2; ++i) queue.add({"ns", "ordinary-" + std::to_string(i)});
  for (int i = 0; i < 5; ++i) queue.add_urgent({"ns", "urgent-" + std::to_string(i)});
  EXPECT_EQ(queue.depth(), 7u);
  std::vector<std::string> taken;
  while (const auto key = queue.try_take()) taken.push_back(key->name);
  EXPECT_EQ(taken, (std::vector<std::string>{"urgent-0", "urgent-1", "urgent-2", "ordinary-0", "urgent-3", "urgent-4",
                                             "ordinary-1"}));
}

TEST_F(WorkQueueTest, DeduplicatesAdds) {
  for (int i = 0; i < 5; ++i) queue.add(kA);
  EXPECT_EQ(queue.try_take(), kA);
  EXPECT_EQ(queue.try_take(), std::nullopt);
}

TEST_F(WorkQueueTest, NeverHandsAKeyToTwoWorkers) {
  queue.add(kA);
  ASSERT_EQ(queue.try_take(), kA);
  queue.add(kA);
  EXPECT_EQ(queue.try_take(), std::nullopt) << "it is in hand";
  queue.done(kA);
  EXPECT_EQ(queue.try_take(), kA) << "the add while in hand is not lost";
  queue.done(kA);
  EXPECT_EQ(queue.try_take(), std::nullopt);
}

TEST_F(WorkQueueTest, IgnoresDoneForAKeyThatIsNotInProgress) {
  queue.add(kA);
  queue.done(kA);
  EXPECT_EQ(queue.try_take(), kA);
  EXPECT_EQ(queue.try_take(), std::nullopt);
}

TEST_F(WorkQueueTest, DelaysUntilDue) {
  queue.add_after(kA, seconds(5));
  EXPECT_EQ(queue.next_due(), clock.now() + seconds(5));
  EXPECT_EQ(queue.depth(), 1u);
  clock.advance(milliseconds(4999));
  EXPECT_EQ(queue.try_take(), std::nullopt);
  clock.advance(milliseconds(1));
  EXPECT_EQ(queue.try_take(), kA);
  EXPECT_EQ(queue.next_due(), std::nullopt);
}

TEST_F(WorkQueueTest, EarliestDelayWins) {
  queue.add_after(kA, seconds(5));
  queue.add_after(kA, seconds(9));
  EXPECT_EQ(queue.next_due(), clock.now() + seconds(5));
  queue.add_after(kA, seconds(2));
  EXPECT_EQ(queue.next_due(), clock.now() + seconds(2));
  clock.advance(seconds(10));
  EXPECT_EQ(queue.try_take(), kA);
  queue.done(kA);
  EXPECT_EQ(queue.try_take(), std::nullopt) << "one entry, not three";
}

TEST_F(WorkQueueTest, ZeroOrNegativeDelayIsNow) {
  queue.add_after(kA, seconds(0));
  queue.add_after(kB, seconds(-3));
  EXPECT_EQ(queue.try_take(), kA);
  EXPECT_EQ(queue.try_take(), kB);
}

TEST_F(WorkQueueTest, HugeDelayDoesNotOverflow) {
  queue.add_after(kA, base::Duration::max());
  EXPECT_EQ(queue.next_due(), base::TimePoint::max());
  EXPECT_EQ(queue.try_take(), std::nullopt);
}

TEST_F(WorkQueueTest, DueKeysComeInOrderOfTime) {
  queue.add_after(kA, seconds(2));
  queue.add_after(kB, seconds(1));
  clock.advance(seconds(3));
  EXPECT_EQ(queue.try_take(), kB);
  EXPECT_EQ(queue.try_take(), kA);
}

TEST_F(WorkQueueTest, BackOffDoublesPerKeyUpToItsMaximum) {
  for (const int want_ms : {100, 200, 400, 800, 1000, 1000}) {
    queue.add_rate_limited(kA);
    EXPECT_EQ(queue.next_due(), clock.now() + milliseconds(want_ms));
    clock.advance(milliseconds(want_ms));
    ASSERT_EQ(queue.try_take(), kA);
    queue.done(kA);
  }
  queue.add_rate_limited(kB);
  EXPECT_EQ(queue.next_due(), clock.now() + milliseconds(100)) << "another key starts at the base";
}

TEST_F(WorkQueueTest, ForgetStartsTheBackOffOver) {
  for (int i = 0; i < 100; ++i) queue.add_rate_limited(kA);  // The delay must not overflow either
  clock.advance(seconds(2));
  ASSERT_EQ(queue.try_take(), kA);
  queue.forget(kA);
  queue.done(kA);
  queue.add_rate_limited(kA);
  EXPECT_EQ(queue.next_due(), clock.now() + milliseconds(100));
}

TEST_F(WorkQueueTest, DelayedKeyInProgressComesAfterDone) {
  queue.add(kA);
  ASSERT_EQ(queue.try_take(), kA);
  queue.add_after(kA, seconds(1));
  clock.advance(seconds(1));
  EXPECT_EQ(queue.try_take(), std::nullopt);
  queue.done(kA);
  EXPECT_EQ(queue.try_take(), kA);
}

TEST_F(WorkQueueTest, TakeReturnsNothingOnceStopped) {
  std::stop_source stop;
  stop.request_stop();
  queue.add(kA);
  EXPECT_EQ(queue.take(stop.get_token()), std::nullopt);
}

TEST_F(WorkQueueTest, StopWakesWaitingWorkers) {
  std::atomic<int> ended = 0;
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < 3; ++i) {
      workers.emplace_back([&](std::stop_token stop) {
        EXPECT_EQ(queue.take(stop), std::nullopt);
        ++ended;
      });
    }
  }  // The jthread destructors stop and join
  EXPECT_EQ(ended, 3);
}

TEST_F(WorkQueueTest, TakeSeesAManualClockMove) {
  queue.add_after(kA, seconds(3600));
  std::jthread worker([&](std::stop_token stop) { EXPECT_EQ(queue.take(stop), kA); });
  clock.advance(seconds(3600));
  worker.join();
}

TEST_F(WorkQueueTest, AddWakesAWaitingWorker) {
  std::jthread worker([&](std::stop_token stop) { EXPECT_EQ(queue.take(stop), kA); });
  queue.add(kA);
  worker.join();
}

TEST(WorkQueueRealTime, WakesWhenADelayEnds) {
  const base::SystemClock clock;
  WorkQueue queue(clock);
  queue.add_after(kB, seconds(60));
  queue.add_after(kA, milliseconds(20));
  const base::TimePoint start = clock.now();
  EXPECT_EQ(queue.take({}), kA);
  EXPECT_GE(clock.now() - start, milliseconds(20));
}

TEST(WorkQueueRealTime, ManyWorkersShareManyKeysWithoutOverlap) {
  constexpr int kKeys = 50;
  constexpr int kRounds = 40;
  const base::SystemClock clock;
  WorkQueue queue(clock, {milliseconds(1), milliseconds(2)});
  std::vector<std::atomic<int>> in_hand(kKeys);
  std::vector<std::atomic<int>> worked(kKeys);
  std::atomic<int> finished = 0;
  std::stop_source all_done;
  const auto work = [&] {
    while (auto key = queue.take(all_done.get_token())) {
      const auto index = static_cast<std::size_t>(std::stoi(key->name));
      EXPECT_EQ(in_hand[index].fetch_add(1), 0) << "two workers hold " << key->name;
      const int rounds = ++worked[index];
      if (rounds < kRounds) rounds % 3 == 0 ? queue.add_rate_limited(*key) : queue.add(*key);
      in_hand[index].fetch_sub(1);
      queue.done(*key);
      if (rounds == kRounds && ++finished == kKeys) all_done.request_stop();
    }
  };
  for (int i = 0; i < kKeys; ++i) queue.add({"", std::to_string(i)});
  std::vector<std::jthread> workers;
  for (int i = 0; i < 4; ++i) workers.emplace_back(work);
  workers.clear();
  EXPECT_EQ(finished, kKeys);
}

}  // namespace work_queue_test
}  // namespace kube
