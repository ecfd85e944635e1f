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

BudgetLines::Place place(std::int32_t priority, int since, std::int32_t together = 0) {
  return {priority, base::TimePoint(base::seconds(since)), together};
}

TEST(BudgetLines, WakesAsManyAsTheBudgetAllowsByPriorityThenTheLongestWaiting) {
  BudgetLines lines;
  lines.wait(key("late"), kPdb, place(0, 20));
  lines.wait(key("early"), kPdb, place(0, 10));
  lines.wait(key("urgent"), kPdb, place(5, 30));
  EXPECT_THAT(lines.wake(kPdb, 2), ElementsAre(key("urgent"), key("early")));
  EXPECT_TRUE(lines.is_poked(key("early")));
  EXPECT_FALSE(lines.is_poked(key("late")));
  EXPECT_THAT(lines.wake(kPdb, 0), IsEmpty());
}

TEST(BudgetLines, TakesTurns) {
  BudgetLines lines;
  lines.wait(key("a"), kPdb, place(0, 10));
  lines.wait(key("b"), kPdb, place(0, 20));
  EXPECT_THAT(lines.wake(kPdb, 1), ElementsAre(key("a")));
  lines.wait(key("a"), kPdb, place(0, 10));
  EXPECT_THAT(lines.wake(kPdb, 1), ElementsAre(key("b"))) << "a keeps its turn when it waits again";
}

TEST(BudgetLines, WakesEverybodyWhenTheBudgetIsGone) {
  BudgetLines lines;
  lines.wait(key("a"), kPdb, place(0, 10));
  lines.wait(key("worker"), kPdb, place(0, 20, 3));
  lines.wait(key("elsewhere"), kOther, place(0, 20));
  EXPECT_THAT(lines.wake(kPdb, std::nullopt), UnorderedElementsAre(key("a"), key("worker")));
}

TEST(BudgetLines, WakesAGangOnceAllOfItMayGo) {
  BudgetLines lines;
  lines.wait(key("worker-0"), kPdb, place(0, 10, 2));
  lines.wait(key("worker-1"), kPdb, place(0, 10, 2));
  EXPECT_THAT(lines.wake(kPdb, 1), IsEmpty());
  EXPECT_THAT(lines.wake(kPdb, 2), UnorderedElementsAre(key("worker-0"), key("worker-1")));
  EXPECT_FALSE(lines.is_poked(key("worker-0"))) << "it waits for its group, not for a call's delay";
}

TEST(BudgetLines, HoldsEachInOneLineAtMost) {
  BudgetLines lines;
  lines.wait(key("a"), kPdb, place(0, 10));
  lines.wait(key("a"), kOther, place(0, 10));
  EXPECT_THAT(lines.wake(kPdb, 5), IsEmpty());
  EXPECT_THAT(lines.wake(kOther, 5), ElementsAre(key("a")));
  lines.leave(key("a"));
  lines.leave(key("a"));
  EXPECT_THAT(lines.wake(kOther, 5), IsEmpty());
}

TEST(BudgetLines, GivesAPokeOnce) {
  BudgetLines lines;
  EXPECT_FALSE(lines.take_poke(key("a")));
  lines.poke(key("a"));
  EXPECT_TRUE(lines.take_poke(key("a")));
  EXPECT_FALSE(lines.take_poke(key("a")));
}

}  // namespace budget_lines_test
}  // namespace controllers
