#include "cmd/once/watch.hpp"

#include <gtest/gtest.h>

namespace once_watch_test {

using base::seconds;
using controllers::OnceReport;
using Step = cmd::OnceWatch::Step;

constexpr base::TimePoint kStart{};
const cmd::OnceWatch::Limits kLimits{
    .timeout = seconds(100), .patience = seconds(20), .quiet = seconds(1), .cleanup_timeout = seconds(15)};

OnceReport busy() {
  OnceReport report;
  report.unfinished_count = 1;
  return report;
}
OnceReport done(bool is_tidy = true) {
  OnceReport report;
  report.is_tidy = is_tidy;
  return report;
}

TEST(OnceWatch, GivesWayToALeaderWhenItsLeaseWouldHaveRunOut) {
  cmd::OnceWatch watch(kLimits, kStart);
  EXPECT_EQ(watch.look(kStart + seconds(30), nullptr), Step::kGoOn) << "the server was not even reached";
  watch.start_lease_timeout(kStart + seconds(30));
  EXPECT_EQ(watch.look(kStart + seconds(49), nullptr), Step::kGoOn);
  EXPECT_EQ(watch.look(kStart + seconds(50), nullptr), Step::kRefused);
}

TEST(OnceWatch, IsDoneAfterAQuietMomentOnly) {
  cmd::OnceWatch watch(kLimits, kStart);
  const OnceReport all = done();
  const OnceReport one = busy();
  EXPECT_EQ(watch.look(kStart, &all), Step::kGoOn);
  EXPECT_EQ(watch.look(kStart + seconds(1), &one), Step::kGoOn) << "another one was made";
  EXPECT_EQ(watch.look(kStart + seconds(2), &all), Step::kGoOn);
  EXPECT_EQ(watch.look(kStart + seconds(3), &all), Step::kDone);
}

TEST(OnceWatch, WaitsForTaintsForALimitedTime) {
  cmd::OnceWatch watch(kLimits, kStart);
  const OnceReport untidy = done(false);
  EXPECT_EQ(watch.look(kStart, &untidy), Step::kGoOn);
  EXPECT_EQ(watch.look(kStart + seconds(14), &untidy), Step::kGoOn);
  EXPECT_EQ(watch.look(kStart + seconds(15), &untidy), Step::kDone);
}

TEST(OnceWatch, EndsInTime) {
  cmd::OnceWatch watch(kLimits, kStart);
  const OnceReport one = busy();
  EXPECT_EQ(watch.look(kStart + seconds(99), &one), Step::kGoOn);
  EXPECT_EQ(watch.look(kStart + seconds(100), &one), Step::kTimedOut);
}

struct Ending {
  const char* name;
  void (*change)(OnceReport&);
  Step step;
  const char* error;  ///< empty on success
};
class OnceEndings : public testing::TestWithParam<Ending> {};

TEST_P(OnceEndings, AreReportedCorrectly) {
  OnceReport report = done();
  GetParam().change(report);
  const auto status = cmd::once_status(report, GetParam().step, seconds(90));
  EXPECT_EQ(status ? "" : status.error().message, GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    OnceWatch, OnceEndings,
    testing::Values(Ending{"AllWell", [](OnceReport& r) { r.succeeded_count = 3; }, Step::kDone, ""},
                    Ending{"NothingToDo", [](OnceReport&) {}, Step::kDone, ""},
                    Ending{"SomebodyElsesDecisions", [](OnceReport& r) { r.cancelled_count = r.suspended_count = 1; },
                           Step::kDone, ""},
                    Ending{"OneFailed", [](OnceReport& r) { r.failed_count = 1; }, Step::kDone,
                           "1 Evacuations failed, 0 are unfinished, 0 policies have a problem, 0 have had no cycle"},
                    Ending{"APolicyIsInvalid",
                           [](OnceReport& r) {
                             r.cycles.push_back({"p", "invalid", false, true});
                           },
                           Step::kDone,
                           "0 Evacuations failed, 0 are unfinished, 1 policies have a problem, 0 have had no cycle"},
                    Ending{"OutOfTime", [](OnceReport& r) { r.unfinished_count = 2; }, Step::kTimedOut,
                           "not complete within 90s: 0 Evacuations failed, 2 are unfinished, 0 policies have a "
                           "problem, 0 have had no cycle"},
                    Ending{"StoppedBeforeACycle", [](OnceReport& r) { r.waiting_policies.push_back("p"); }, Step::kGoOn,
                           "ended before completion: 0 Evacuations failed, 0 are unfinished, 0 policies have a "
                           "problem, 1 have had no cycle"}),
    [](const auto& test) { return test.param.name; });

}  // namespace once_watch_test
