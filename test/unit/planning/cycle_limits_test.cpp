#include "planning/cycle_limits.hpp"

#include <gmock/gmock.h>

namespace planning {
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
  std::string want;  ///< reason of the refusal; "": one more may go
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
    [](const auto& info) { return info.param.name; });

TEST(Limits, SayHowAStrategyGoesOn) {
  EXPECT_EQ(CycleLimits({0, {}, {}}).hit(0, 0)->result, NominationResult::kTotalLimit);
  EXPECT_EQ(CycleLimits({{}, 0, {}}).hit(0, 0)->result, NominationResult::kNodeLimit);
  EXPECT_EQ(CycleLimits({{}, {}, 0}).hit(0, 0)->result, NominationResult::kNamespaceLimit);
}

}  // namespace cycle_limits_test
}  // namespace planning
