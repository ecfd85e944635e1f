#include "planner/plan/cycle_limits.hpp"

#include <gmock/gmock.h>

namespace planner {
namespace cycle_limits_test {

using scheduling::kNoNode;
using scheduling::NamespaceIndex;
using scheduling::NodeIndex;
using strategies::NominationResult;

struct Place {
  NodeIndex node;
  NamespaceIndex ns;
};

struct LimitCase {
  std::string name;
  api::PerCycleLimits limits;
  std::vector<Place> counted;
  Place next;
  std::string want;  ///< Reason of the refusal, empty if one more move is allowed
};

class Limits : public testing::TestWithParam<LimitCase> {};

TEST_P(Limits, AreHit) {
  CycleLimits limits(GetParam().limits);
  for (const Place& place : GetParam().counted) limits.count(place.node, place.ns);
  const auto hit = limits.hit(GetParam().next.node, GetParam().next.ns);
  EXPECT_EQ(hit ? hit->refusal.reason : "", GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    PerCycle, Limits,
    testing::Values(LimitCase{"NoneByDefault", {}, {{0, 0}, {0, 0}, {0, 0}}, {0, 0}, ""},
                    LimitCase{"ZeroAllowsNone", {0, {}, {}}, {}, {0, 0}, "TotalLimit"},
                    LimitCase{"TheLastOneMayGo", {2, {}, {}}, {{0, 0}}, {1, 1}, ""},
                    LimitCase{"TotalOverAllPlaces", {2, {}, {}}, {{0, 0}, {1, 1}}, {2, 2}, "TotalLimit"},
                    LimitCase{"NodeOfItsOwnPods", {{}, 1, {}}, {{0, 0}}, {0, 1}, "NodeLimit"},
                    LimitCase{"NodeLeavesOtherNodes", {{}, 1, {}}, {{0, 0}}, {1, 0}, ""},
                    LimitCase{"NodeSkipsPodsWithoutOne", {{}, 0, {}}, {}, {kNoNode, 0}, ""},
                    LimitCase{"PodsWithoutANodeCountInTotal", {1, {}, {}}, {{kNoNode, 0}}, {0, 0}, "TotalLimit"},
                    LimitCase{"NamespaceOverAllNodes", {{}, {}, 1}, {{0, 7}}, {1, 7}, "NamespaceLimit"},
                    LimitCase{"NamespaceLeavesOthers", {{}, {}, 1}, {{0, 7}}, {1, 8}, ""},
                    LimitCase{"TotalIsToldFirst", {1, 1, 1}, {{0, 0}}, {0, 0}, "TotalLimit"},
                    LimitCase{"NodeIsToldBeforeNamespace", {{}, 1, 1}, {{0, 0}}, {0, 0}, "NodeLimit"}),
    [](const auto& test) { return test.param.name; });

TEST(Limits, DetermineHowAStrategyContinues) {
  EXPECT_EQ(CycleLimits({0, {}, {}}).hit(0, 0)->result, NominationResult::kTotalLimit);
  EXPECT_EQ(CycleLimits({{}, 0, {}}).hit(0, 0)->result, NominationResult::kNodeLimit);
  EXPECT_EQ(CycleLimits({{}, {}, 0}).hit(0, 0)->result, NominationResult::kNamespaceLimit);
}

/// Test clock and a limit of 100 minutes.
class Time : public testing::Test {
 protected:
  bool is_over_after(int minutes, NamespaceIndex next) {
    now_ += base::minutes(minutes);
    return time_.is_over_for(next);
  }

  base::Duration now_ = base::minutes(500);
  CycleTime time_{base::minutes(100), [this] { return now_; }};
};

constexpr NamespaceIndex kGreedy = 7;
constexpr NamespaceIndex kShop = 9;

TEST_F(Time, RunsFromTheFirstCallOn) { EXPECT_FALSE(is_over_after(400, kShop)); }

TEST_F(Time, ASlowNamespaceLeavesTheOthersTheirShare) {
  EXPECT_FALSE(is_over_after(0, kGreedy));
  EXPECT_FALSE(is_over_after(50, kGreedy)) << "time is not scarce yet";
  EXPECT_TRUE(is_over_after(1, kGreedy));
  EXPECT_FALSE(is_over_after(0, kShop));
  EXPECT_FALSE(is_over_after(20, kShop)) << "less than half of 50 minutes";
  EXPECT_TRUE(is_over_after(0, kGreedy));
  EXPECT_TRUE(is_over_after(0, kGreedy));
  EXPECT_FALSE(is_over_after(0, kShop));
  EXPECT_TRUE(is_over_after(10, kShop));
  EXPECT_FALSE(time_.is_over()) << "others still have theirs";
}

/// Namespaces that need little time do not reduce the share of a namespace that needs more.
TEST_F(Time, UnusedTimeOfANamespaceIsLeftToTheOthers) {
  is_over_after(0, kGreedy);
  is_over_after(45, kShop);
  for (NamespaceIndex small = 100; small < 140; ++small) is_over_after(small == 100 ? 10 : 0, small);
  EXPECT_FALSE(is_over_after(0, kShop)) << "10 minutes, among 42 namespaces that share 50";
  EXPECT_TRUE(is_over_after(0, kGreedy));
}

TEST_F(Time, IsNotSharedIfThereIsOnlyOneNamespace) {
  time_ = CycleTime(
      base::minutes(100), [this] { return now_; }, false);
  is_over_after(0, kGreedy);
  EXPECT_FALSE(is_over_after(99, kGreedy));
  EXPECT_TRUE(is_over_after(2, kGreedy));
  EXPECT_TRUE(time_.is_over());
}

TEST_F(Time, EndsForAllAtTheLimit) {
  is_over_after(0, kGreedy);
  EXPECT_TRUE(is_over_after(101, kShop));
  EXPECT_TRUE(time_.is_over());
}

TEST_F(Time, OutsideOfNamespacesCountsForAll) {
  is_over_after(0, kShop);
  time_.leave_namespace();
  EXPECT_FALSE(is_over_after(70, kShop));
  EXPECT_TRUE(is_over_after(31, kShop));
  EXPECT_TRUE(time_.is_over());
}

TEST(TimeWithoutALimit, IsNeverOver) {
  CycleTime time(std::nullopt, [] { return base::minutes(1000); });
  EXPECT_FALSE(time.is_over_for(kShop));
}

}  // namespace cycle_limits_test
}  // namespace planner
