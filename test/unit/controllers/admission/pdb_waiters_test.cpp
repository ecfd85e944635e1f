#include "controllers/admission/pdb_waiters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace controllers {
namespace budget_lines_test {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

const api::ObjectKey kPdb{"shop", "web"};
const api::ObjectKey kOther{"shop", "db"};

api::ObjectKey key(const char* name) { return {"shop", name}; }

PdbWaitList::Place place(std::int32_t priority, int since, std::int32_t together = 0) {
  return {priority, base::TimePoint(base::seconds(since)), together};
}

TEST(PdbWaitList, WakesAsManyAsTheBudgetAllowsByPriorityThenTheLongestWaiting) {
  PdbWaitList lines;
  lines.wait(key("late"), kPdb, place(0, 20));
  lines.wait(key("early"), kPdb, place(0, 10));
  lines.wait(key("urgent"), kPdb, place(5, 30));
  EXPECT_THAT(lines.wake(kPdb, 2), ElementsAre(key("urgent"), key("early")));
  EXPECT_TRUE(lines.is_woken(key("early")));
  EXPECT_FALSE(lines.is_woken(key("late")));
  EXPECT_THAT(lines.wake(kPdb, 0), IsEmpty());
}

/// The reconciler repeats the reconcile of a woken Evacuation until it takes the wake.
TEST(PdbWaitList, KeepsNoWakeOfOneThatIsGone) {
  PdbWaitList lines;
  lines.wait(key("gone"), kPdb, place(0, 10));
  EXPECT_THAT(lines.wake(kPdb, 1), ElementsAre(key("gone")));
  lines.forget(key("gone"));
  EXPECT_FALSE(lines.is_woken(key("gone")));
  EXPECT_THAT(lines.wake(kPdb, 1), IsEmpty());
}

TEST(PdbWaitList, TakesTurns) {
  PdbWaitList lines;
  lines.wait(key("a"), kPdb, place(0, 10));
  lines.wait(key("b"), kPdb, place(0, 20));
  EXPECT_THAT(lines.wake(kPdb, 1), ElementsAre(key("a")));
  lines.wait(key("a"), kPdb, place(0, 10));
  EXPECT_THAT(lines.wake(kPdb, 1), ElementsAre(key("b"))) << "a keeps its turn when it waits again";
}

TEST(PdbWaitList, WakesEverybodyWhenTheBudgetIsGone) {
  PdbWaitList lines;
  lines.wait(key("a"), kPdb, place(0, 10));
  lines.wait(key("worker"), kPdb, place(0, 20, 3));
  lines.wait(key("elsewhere"), kOther, place(0, 20));
  EXPECT_THAT(lines.wake(kPdb, std::nullopt), UnorderedElementsAre(key("a"), key("worker")));
}

TEST(PdbWaitList, WakesAPodGroupOnceAllOfItMayGo) {
  PdbWaitList lines;
  lines.wait(key("worker-0"), kPdb, place(0, 10, 2));
  lines.wait(key("worker-1"), kPdb, place(0, 10, 2));
  EXPECT_THAT(lines.wake(kPdb, 1), IsEmpty());
  EXPECT_THAT(lines.wake(kPdb, 2), UnorderedElementsAre(key("worker-0"), key("worker-1")));
  EXPECT_FALSE(lines.is_woken(key("worker-0"))) << "it waits for its group, not for a call's delay";
}

TEST(PdbWaitList, KeepsEachEvacuationInOneLineOnly) {
  PdbWaitList lines;
  lines.wait(key("a"), kPdb, place(0, 10));
  lines.wait(key("a"), kOther, place(0, 10));
  EXPECT_THAT(lines.wake(kPdb, 5), IsEmpty());
  EXPECT_THAT(lines.wake(kOther, 5), ElementsAre(key("a")));
  lines.leave(key("a"));
  lines.leave(key("a"));
  EXPECT_THAT(lines.wake(kOther, 5), IsEmpty());
}

TEST(PdbWaitList, WakesOnce) {
  PdbWaitList lines;
  EXPECT_FALSE(lines.take_wake(key("a")));
  lines.wake_waiter(key("a"));
  EXPECT_TRUE(lines.take_wake(key("a")));
  EXPECT_FALSE(lines.take_wake(key("a")));
}

}  // namespace budget_lines_test
}  // namespace controllers
