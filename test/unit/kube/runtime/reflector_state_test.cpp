#include <gmock/gmock.h>

#include "kube/runtime/reflector_state.hpp"
#include "test/unit/kube/runtime/reflector_fixture.hpp"

/// The states of a reflector, its back-off and the size of its pages.
namespace kube {

// Used by GoogleTest to print states.
void PrintTo(const ReflectorState& state, std::ostream* out) {
  std::visit(base::Overload{
                 [&](const NeedsList& s) { *out << "MustList{" << s.failures << ", " << s.page_shift << "}"; },
                 [&](const Streaming& s) { *out << "Streaming{" << s.failures << "}"; },
                 [&](const MustWatch& s) { *out << "MustWatch{" << s.resource_version << ", " << s.failures << "}"; },
                 [&](const Watching& s) {
                   *out << "Watching{" << s.resource_version << ", " << s.failures << ", " << s.progressed << "}";
                 },
             },
             state);
}

namespace reflector_state_test {

using namespace reflector_fixture;

struct StepCase {
  const char* name;
  ReflectorState from;
  ReflectorInput input;
  ReflectorState want;
};
class NextStateTest : public ::testing::TestWithParam<StepCase> {};

TEST_P(NextStateTest, IsAsExpected) { EXPECT_EQ(next_state(GetParam().from, GetParam().input), GetParam().want); }

INSTANTIATE_TEST_SUITE_P(
    Reflector, NextStateTest,
    ::testing::Values(
        StepCase{"ListLeadsToWatch", NeedsList{}, Listed{"7"}, MustWatch{"7"}},
        StepCase{"ListKeepsTheCountSoThat410sCannotSpin", NeedsList{2}, Listed{"7"}, MustWatch{"7", 2}},
        StepCase{"FailedListIsRepeated", NeedsList{}, ListFailed{kDown}, NeedsList{1}},
        StepCase{"HeavyListIsRepeatedInSmallerPages", NeedsList{}, ListFailed{kLost}, NeedsList{1, -1}},
        StepCase{"PagesDoNotShrinkForEver", NeedsList{9, -5}, ListFailed{kLost}, NeedsList{10, -5}},
        StepCase{"ExpiredTokenIsMetWithLargerPages", NeedsList{}, ListFailed{kGoneError}, NeedsList{1, 1}},
        StepCase{"PagesDoNotGrowForEver", NeedsList{3, 3}, ListFailed{kGoneError}, NeedsList{4, 3}},
        StepCase{"AStreamedListIsRead", NeedsList{}, ListOpened{}, Streaming{}},
        StepCase{"AStreamedListIsTheBeginningOfItsWatch", Streaming{}, Listed{"7"}, Watching{"7", 0, true}},
        StepCase{"AStreamedListThatFailsIsRepeated", Streaming{}, ListFailed{kDown}, NeedsList{1}},
        StepCase{"AStreamedListThatIsLostSaysNothingOfPages", Streaming{}, ListFailed{kLost}, NeedsList{1}},
        StepCase{"AStreamedListThatExpiresSaysNothingOfPages", Streaming{2}, ListFailed{kGoneError}, NeedsList{3}},
        StepCase{"AStreamedListHasNoVersionYet", Streaming{}, Changed{"7"}, Streaming{}},
        StepCase{"OpenedWatchKeepsTheVersion", MustWatch{"7"}, WatchOpened{}, Watching{"7"}},
        StepCase{"RefusedWatchIsTriedAgain", MustWatch{"7"}, WatchRefused{kDown}, MustWatch{"7", 1}},
        StepCase{"RefusedFor410Lists", MustWatch{"7"}, WatchRefused{kGoneError}, NeedsList{1}},
        StepCase{"RefusedAsInvalidLists", MustWatch{"7", 2}, WatchRefused{kBad}, NeedsList{3}},
        StepCase{"VersionAheadOfTheServerListsInTheEnd", MustWatch{"7", 3}, WatchRefused{kLost}, NeedsList{4}},
        StepCase{"OutageDoesNotList", MustWatch{"7", 90}, WatchRefused{kDown}, MustWatch{"7", 91}},
        StepCase{"ChangeMovesTheVersion", Watching{"7", 3}, Changed{"8"}, Watching{"8", 0, true}},
        StepCase{"ChangeWithoutVersionKeepsIt", Watching{"7"}, Changed{""}, Watching{"7", 0, true}},
        StepCase{"Error410Lists", Watching{"8", 0, true}, ServerError{kGoneError}, NeedsList{1}},
        StepCase{"OtherErrorResumes", Watching{"8", 0, true}, ServerError{kDown}, MustWatch{"8", 1}},
        StepCase{"MalformedLineLists", Watching{"8"}, Malformed{}, NeedsList{1}},
        StepCase{"EndResumesWhereItWas", Watching{"8", 2, true}, StreamEnded{}, MustWatch{"8", 0}},
        StepCase{"QuietWatchThatLastedIsNoFailure", Watching{"8", 2}, StreamEnded{}, MustWatch{"8", 0}},
        StepCase{"FruitlessWatchBacksOff", Watching{"8", 2}, StreamEnded{true}, MustWatch{"8", 3}},
        StepCase{"ShortButFruitfulWatchDoesNot", Watching{"8", 0, true}, StreamEnded{true}, MustWatch{"8", 0}},
        StepCase{"StrayInputIsIgnored", NeedsList{1}, Changed{"9"}, NeedsList{1}},
        StepCase{"StrayListIsIgnored", Watching{"8"}, Listed{"9"}, Watching{"8"}}),
    [](const auto& test) { return test.param.name; });

TEST(NextState, ServerThatAlwaysSaysGoneIsAskedEverMoreSlowly) {
  ReflectorState state = NeedsList{};
  for (int round = 1; round <= 5; ++round) {
    state = next_state(state, Listed{"7"});
    state = next_state(state, WatchRefused{kGoneError});
    EXPECT_EQ(failures_of(state), round);
  }
}

TEST(ReflectorBackoff, GrowsWithJitterToItsMaximum) {
  const auto delay = [](int failures, double random) {
    return reflector_backoff(failures, milliseconds(200), milliseconds(30'000), random);
  };
  EXPECT_EQ(delay(0, 0.9), milliseconds(0));
  EXPECT_EQ(delay(1, 0.0), milliseconds(100));
  EXPECT_EQ(delay(1, 0.5), milliseconds(150));
  EXPECT_EQ(delay(2, 0.0), milliseconds(200));
  EXPECT_EQ(delay(1'000'000, 0.0), milliseconds(15'000));
  EXPECT_LT(delay(1'000'000, 0.999), milliseconds(30'000));
}

TEST(PageLimit, FollowsTheShift) {
  EXPECT_EQ(page_limit({0, 0}, 500), 500);
  EXPECT_EQ(page_limit({0, -1}, 500), 250);
  EXPECT_EQ(page_limit({0, -5}, 500), 20);
  EXPECT_EQ(page_limit({0, 3}, 500), 4000);
  EXPECT_EQ(page_limit({0, -2}, 3), 3);
  EXPECT_EQ(page_limit({0, 2}, 0), 0) << "no paging wanted";
}

}  // namespace reflector_state_test
}  // namespace kube
