#include "controllers/observability/notifications/queue.hpp"

#include <gmock/gmock.h>

namespace notification_queue_test {

using controllers::Notification;
using controllers::NotificationQueue;
using controllers::NotificationRank;
using testing::ElementsAre;

Notification of(NotificationRank rank, const std::string& ns, const std::string& name) {
  Notification told;
  told.rank = rank;
  told.object.ns = ns;
  told.object.name = name;
  return told;
}
Notification manual(const std::string& ns, int number) {
  return of(NotificationRank::kManual, ns, ns + std::to_string(number));
}
std::vector<std::string> names(const std::vector<Notification>& all) {
  std::vector<std::string> result;
  for (const Notification& each : all) result.push_back(each.object.name);
  return result;
}
std::string left_out(NotificationQueue& queue, Notification told) {
  const auto out = queue.push(std::move(told));
  return out ? out->object.name : "";
}

TEST(NotificationQueue, NamespacesTakeTurnsAndKeepTheirOrder) {
  NotificationQueue queue(10);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(left_out(queue, manual("a", i)), "");
  EXPECT_EQ(left_out(queue, manual("b", 0)), "");
  EXPECT_EQ(left_out(queue, manual("c", 0)), "");
  EXPECT_THAT(names(queue.take(3)), ElementsAre("a0", "b0", "c0"));
  queue.finish_batch();
  EXPECT_THAT(names(queue.take(2)), ElementsAre("a1", "a2"));
  queue.finish_batch();
  queue.take(9);
  queue.finish_batch();
  EXPECT_TRUE(queue.empty());
}

TEST(NotificationQueue, TheFullestNamespaceMakesRoom) {
  NotificationQueue queue(4);
  for (int i = 0; i < 4; ++i) queue.push(manual("a", i));
  EXPECT_EQ(left_out(queue, manual("a", 4)), "a4");
  EXPECT_EQ(left_out(queue, manual("b", 0)), "a3");
  EXPECT_EQ(left_out(queue, manual("b", 1)), "a2");
  EXPECT_EQ(left_out(queue, manual("b", 2)), "b2") << "both have their share";
}

TEST(NotificationQueue, PoliciesHaveReservedCapacityAndComeFirst) {
  NotificationQueue queue(3);
  for (int i = 0; i < 3; ++i) queue.push(manual("a", i));
  EXPECT_EQ(left_out(queue, of(NotificationRank::kEvacuationOfPolicy, "b", "e")), "a2");
  EXPECT_EQ(left_out(queue, of(NotificationRank::kPolicy, "", "p")), "a1");
  EXPECT_EQ(left_out(queue, manual("c", 0)), "c0") << "a manual one displaces none of them";
  EXPECT_EQ(left_out(queue, of(NotificationRank::kPolicy, "", "q")), "a0");
  EXPECT_EQ(left_out(queue, of(NotificationRank::kPolicy, "", "r")), "e");
  EXPECT_THAT(names(queue.take(1)), ElementsAre("p"));
}

TEST(NotificationQueue, ABatchInFlightIsNotDisplaced) {
  NotificationQueue queue(2);
  queue.push(manual("a", 0));
  queue.push(manual("a", 1));
  queue.take(2);
  EXPECT_EQ(left_out(queue, of(NotificationRank::kPolicy, "", "p")), "p");
  queue.finish_batch();
  EXPECT_TRUE(queue.empty());
}

TEST(NotificationQueue, ABatchStaysTheSameUntilItSettles) {
  NotificationQueue queue(10);
  for (int i = 0; i < 3; ++i) queue.push(manual("a", i));
  queue.push(manual("b", 0));
  EXPECT_THAT(names(queue.take(2)), ElementsAre("a0", "b0"));
  queue.push(of(NotificationRank::kPolicy, "", "p"));
  EXPECT_THAT(names(queue.take(2)), ElementsAre("a0", "b0")) << "the same message is tried again";
  queue.finish_batch();
  EXPECT_THAT(names(queue.take(2)), ElementsAre("a1", "p"));
}

const base::TimePoint kNow{};

TEST(NotificationQueue, DropsAllExceptAlertsOfPolicies) {
  NotificationQueue queue(10);
  queue.push(of(NotificationRank::kPolicy, "", "p"));
  queue.push(manual("a", 0));
  queue.take(2);
  EXPECT_THAT(names(queue.give_up(kNow)), ElementsAre("a0"));
  EXPECT_THAT(names(queue.take(2)), ElementsAre("p"));
  EXPECT_TRUE(queue.repeats());
  queue.finish_batch();
  EXPECT_TRUE(queue.empty());
}

TEST(NotificationQueue, KeptAlertsAreSentSinglyBetweenOthers) {
  NotificationQueue queue(10);
  queue.push(of(NotificationRank::kPolicy, "", "p"));
  queue.push(of(NotificationRank::kPolicy, "", "q"));
  queue.take(9);
  queue.give_up(kNow);
  queue.push(of(NotificationRank::kPolicy, "", "r"));
  queue.push(manual("a", 0));
  std::vector<std::string> order;
  for (int i = 0; i < 6; ++i) {
    std::string batch;
    for (const std::string& each : names(queue.take(1))) batch += each;
    order.push_back(batch);
    if (queue.repeats()) {
      EXPECT_TRUE(queue.give_up(kNow).empty());
    } else {
      queue.finish_batch();
    }
  }
  EXPECT_THAT(order, ElementsAre("p", "r", "q", "a0", "p", "q"));
}

TEST(NotificationQueue, AKeptAlertIsGivenUpAfterADay) {
  NotificationQueue queue(10);
  queue.push(of(NotificationRank::kPolicy, "", "p"));
  queue.take(1);
  queue.give_up(kNow);
  queue.take(1);
  EXPECT_TRUE(queue.give_up(kNow + NotificationQueue::kMaxKept - base::seconds(1)).empty());
  queue.take(1);
  EXPECT_THAT(names(queue.give_up(kNow + NotificationQueue::kMaxKept)), ElementsAre("p"));
  EXPECT_TRUE(queue.empty());
}

}  // namespace notification_queue_test
