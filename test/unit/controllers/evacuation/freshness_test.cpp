#include "controllers/evacuation/freshness.hpp"

#include <gtest/gtest.h>

namespace controllers {
namespace freshness_test {

TEST(Freshness, BeginsWithTheCaches) {
  const evacuation::Freshness fresh;
  EXPECT_TRUE(fresh.may_write_cached());
  EXPECT_FALSE(fresh.evacuation_is_live());
  EXPECT_FALSE(fresh.pod_is_live());
  EXPECT_FALSE(fresh.pod_group_is_live());
  EXPECT_FALSE(fresh.has_documents());
}

TEST(Freshness, DoesNotTrustTheCacheAgainAfterAConflict) {
  evacuation::Freshness fresh;
  fresh.mark_live();
  fresh.write_conflicted();
  EXPECT_FALSE(fresh.evacuation_is_live());
  EXPECT_FALSE(fresh.may_write_cached());
  fresh.mark_live();
  EXPECT_TRUE(fresh.evacuation_is_live());
}

TEST(Freshness, DistinguishesARefusalFromADeletedEvacuation) {
  evacuation::Freshness fresh;
  fresh.write_refused();
  EXPECT_TRUE(fresh.write_was_refused());
  EXPECT_FALSE(fresh.evacuation_is_gone());
  fresh.mark_gone();
  EXPECT_TRUE(fresh.evacuation_is_gone());
  EXPECT_FALSE(fresh.write_was_refused());
}

TEST(Freshness, OfThePodEndsWithACallThatMayChangeIt) {
  evacuation::Freshness fresh;
  fresh.pod_arrived();
  EXPECT_TRUE(fresh.pod_is_live());
  fresh.pod_may_differ();
  EXPECT_FALSE(fresh.pod_is_live());
}

}  // namespace freshness_test
}  // namespace controllers
