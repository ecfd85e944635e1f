#include "controllers/policy/schedule/calendar.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/policy/schedule/schedule.hpp"

namespace controllers {
namespace calendar_test {

using base::minutes;
using testing::ElementsAre;
using testing::IsEmpty;

base::TimePoint at(std::string_view text) {
  const auto time = base::parse_time(text);
  EXPECT_TRUE(time) << text;
  return time.value_or(base::TimePoint());
}

std::string told(std::optional<base::TimePoint> time) { return time ? base::format_time(*time) : "never"; }

api::Weekdays days(std::initializer_list<std::size_t> of) {
  api::Weekdays set;
  for (const std::size_t each : of) set.set(each);
  return set;
}

/// Start and end are numbers of the form HHMM.
api::WeeklyWindow weekly(int start, int end, api::Weekdays on = api::Weekdays(0x7f)) {
  return {on, minutes(start / 100 * 60 + start % 100), minutes(end / 100 * 60 + end % 100)};
}

Calendar calendar(const api::PolicySchedule& schedule, const char* zone = "") {
  const auto found = TimeZone::find(zone);
  EXPECT_TRUE(found) << zone;
  return {schedule, *found};
}

struct OpenCase {
  const char* name;
  api::WeeklyWindow window;
  const char* zone;
  const char* time;
  bool open;
  const char* opens;    ///< expected next_open(time)
  const char* changes;  ///< expected next_change(time)
};
class Windows : public testing::TestWithParam<OpenCase> {};

TEST_P(Windows, OpenAndClose) {
  const OpenCase& row = GetParam();
  api::PolicySchedule schedule;
  schedule.windows = {row.window};
  const Calendar seen = calendar(schedule, row.zone);
  EXPECT_EQ(seen.at(at(row.time)), row.open ? Opening::kOpen : Opening::kOutsideWindow);
  EXPECT_EQ(told(seen.next_open(at(row.time))), row.opens);
  EXPECT_EQ(told(seen.next_change(at(row.time))), row.changes);
}

// 21 November 2026 is a Saturday.
INSTANTIATE_TEST_SUITE_P(
    Days, Windows,
    testing::Values(OpenCase{"Before", weekly(2200, 2330), "", "2026-11-21T12:00:00Z", false, "2026-11-21T22:00:00Z",
                             "2026-11-21T22:00:00Z"},
                    OpenCase{"Inside", weekly(2200, 2330), "", "2026-11-21T22:00:00Z", true, "2026-11-21T22:00:00Z",
                             "2026-11-21T23:30:00Z"},
                    OpenCase{"AtTheEnd", weekly(2200, 2330), "", "2026-11-21T23:30:00Z", false, "2026-11-22T22:00:00Z",
                             "2026-11-22T22:00:00Z"},
                    OpenCase{"UntilMidnight", weekly(2200, 2400), "", "2026-11-21T23:59:59Z", true,
                             "2026-11-21T23:59:59Z", "2026-11-22T00:00:00Z"},
                    OpenCase{"OverMidnightAtTheEndOfTheWeek", weekly(2200, 400, days({6})), "", "2026-11-22T03:59:00Z",
                             true, "2026-11-22T03:59:00Z", "2026-11-22T04:00:00Z"},
                    OpenCase{"OverMidnightNotOnOtherDays", weekly(2200, 400, days({6})), "", "2026-11-21T03:00:00Z",
                             false, "2026-11-21T22:00:00Z", "2026-11-21T22:00:00Z"},
                    OpenCase{"AWholeDay", weekly(0, 2400, days({1})), "", "2026-11-21T12:00:00Z", false,
                             "2026-11-23T00:00:00Z", "2026-11-23T00:00:00Z"},
                    OpenCase{"Always", weekly(0, 2400), "", "2026-11-21T12:00:00Z", true, "2026-11-21T12:00:00Z",
                             "never"},
                    OpenCase{"ByTheZonesClock", weekly(900, 1000), "Asia/Kolkata", "2026-11-21T12:00:00Z", false,
                             "2026-11-22T03:30:00Z", "2026-11-22T03:30:00Z"},
                    OpenCase{"ByTheZonesDay", weekly(0, 100, days({0})), "Pacific/Apia", "2026-11-21T10:30:00Z", false,
                             "2026-11-21T11:00:00Z", "2026-11-21T11:00:00Z"}),
    [](const auto& test) { return std::string(test.param.name); });

INSTANTIATE_TEST_SUITE_P(
    ClockChanges, Windows,
    testing::Values(OpenCase{"EndsAtTheGap", weekly(2200, 230), "Europe/Berlin", "2026-03-29T00:59:00Z", true,
                             "2026-03-29T00:59:00Z", "2026-03-29T01:00:00Z"},
                    OpenCase{"BeginsAfterTheGap", weekly(230, 400), "Europe/Berlin", "2026-03-29T00:59:00Z", false,
                             "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z"},
                    OpenCase{"InsideTheGapIsSkipped", weekly(210, 250), "Europe/Berlin", "2026-03-29T00:00:00Z", false,
                             "2026-03-30T00:10:00Z", "2026-03-30T00:10:00Z"},
                    OpenCase{"InTheRepeatedHourFirst", weekly(210, 250), "Europe/Berlin", "2026-10-25T00:20:00Z", true,
                             "2026-10-25T00:20:00Z", "2026-10-25T00:50:00Z"},
                    OpenCase{"InTheRepeatedHourAgain", weekly(210, 250), "Europe/Berlin", "2026-10-25T00:50:00Z", false,
                             "2026-10-25T01:10:00Z", "2026-10-25T01:10:00Z"},
                    OpenCase{"OverTheRepeatedHour", weekly(2200, 400), "America/New_York", "2026-11-01T02:00:00Z", true,
                             "2026-11-01T02:00:00Z", "2026-11-01T09:00:00Z"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Blackouts, CloseWindows) {
  api::PolicySchedule schedule;
  schedule.windows = {weekly(2000, 400)};
  schedule.blackouts = {{weekly(2100, 2200), {}, {}},
                        {std::nullopt, at("2026-11-22T02:00:00Z"), at("2026-11-23T21:30:00Z")}};
  const Calendar seen = calendar(schedule);
  EXPECT_EQ(seen.at(at("2026-11-21T20:30:00Z")), Opening::kOpen);
  EXPECT_EQ(told(seen.next_change(at("2026-11-21T20:30:00Z"))), "2026-11-21T21:00:00Z");
  EXPECT_EQ(seen.at(at("2026-11-21T21:00:00Z")), Opening::kBlackout);
  EXPECT_EQ(told(seen.next_open(at("2026-11-21T21:00:00Z"))), "2026-11-21T22:00:00Z");
  EXPECT_EQ(seen.at(at("2026-11-22T02:00:00Z")), Opening::kBlackout);
  EXPECT_EQ(told(seen.next_open(at("2026-11-22T02:00:00Z"))), "2026-11-23T22:00:00Z");
  EXPECT_EQ(told(seen.next_change(at("2026-11-22T02:00:00Z"))), "2026-11-23T22:00:00Z") << "the one ends in the other";
  EXPECT_EQ(seen.at(at("2026-11-23T12:00:00Z")), Opening::kBlackout);
}

TEST(Blackouts, OfManyYearsEndToo) {
  api::PolicySchedule schedule;
  schedule.blackouts = {{std::nullopt, at("2026-01-01T00:00:00Z"), at("2090-01-01T00:00:00Z")}};
  EXPECT_EQ(told(calendar(schedule).next_open(at("2026-11-21T12:00:00Z"))), "2090-01-01T00:00:00Z");
}

struct ProblemCase {
  const char* name;
  api::PolicySchedule schedule;
  std::vector<std::string> problems;
};
class ScheduleProblems : public testing::TestWithParam<ProblemCase> {};

TEST_P(ScheduleProblems, AreReported) {
  std::vector<std::string> lines;
  for (const auto& each : schedule_problems(GetParam().schedule, api::FieldPath("spec.schedule")))
    lines.push_back(each.to_string());
  EXPECT_EQ(lines, GetParam().problems);
}

api::PolicySchedule made(const char* cron, const char* zone, std::vector<api::WeeklyWindow> windows = {},
                         std::vector<api::WeeklyWindow> blackouts = {}) {
  api::PolicySchedule schedule;
  schedule.cron = cron;
  schedule.time_zone = zone;
  schedule.windows = std::move(windows);
  for (const api::WeeklyWindow& each : blackouts) schedule.blackouts.push_back({each, {}, {}});
  return schedule;
}

INSTANTIATE_TEST_SUITE_P(
    Schedules, ScheduleProblems,
    testing::Values(
        ProblemCase{"None", made("", ""), {}},
        ProblemCase{"ZoneAndCronTogether",
                    made("0 0 30 2 *", "Mars/Base"),
                    {"spec.schedule.timeZone: \"Mars/Base\" is not a time zone of the IANA database, such as "
                     "Europe/Berlin (case-sensitive)",
                     "spec.schedule.cron: \"0 0 30 2 *\" never matches: none of its months has such a day"}},
        ProblemCase{"NeverOpen",
                    made("", "", {weekly(2200, 200)}, {weekly(2100, 2400), weekly(0, 300)}),
                    {"spec.schedule.blackouts: leave no time in which a cycle may start"}},
        ProblemCase{"BlackoutOfAllTime",
                    made("", "", {}, {weekly(0, 2400)}),
                    {"spec.schedule.blackouts: leave no time in which a cycle may start"}},
        ProblemCase{"NeverAtATimeOfCron",
                    made("0 12 * * *", "", {weekly(2200, 200)}),
                    {"spec.schedule.cron: all of its times are outside of the windows or inside the blackouts"}},
        ProblemCase{"CronOnADayOfTheWindow", made("0 23 * * *", "", {weekly(2200, 200, days({6}))}), {}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Schedule, ByIntervalStartsAtOnceOrAtTheOpening) {
  const auto always = *Schedule::read(made("", ""));
  EXPECT_EQ(told(always.first(at("2026-11-21T12:00:00Z"))), "2026-11-21T12:00:00Z");
  EXPECT_EQ(told(always.after(at("2026-11-21T12:00:00Z"))), "2026-11-21T12:05:00Z");
  const auto nightly = *Schedule::read(made("", "", {weekly(2200, 200)}));
  EXPECT_EQ(told(nightly.first(at("2026-11-21T12:00:00Z"))), "2026-11-21T22:00:00Z");
  EXPECT_EQ(told(nightly.after(at("2026-11-22T01:58:00Z"))), "2026-11-22T22:00:00Z");
}

TEST(Schedule, ByCronSkipsTimesOutsideOfWindows) {
  const auto nightly = *Schedule::read(made("0 */6 * * *", "", {weekly(2200, 200)}));
  EXPECT_EQ(told(nightly.first(at("2026-11-21T00:00:00Z"))), "2026-11-21T00:00:00Z");
  EXPECT_EQ(told(nightly.after(at("2026-11-21T00:00:00Z"))), "2026-11-22T00:00:00Z");
}

TEST(Schedule, WithoutATimeInTenYearsSaysSo) {
  // 29 February is a Monday every 28 years; the next time is in 2044.
  const auto rare = *Schedule::read(made("0 3 29 2 *", "", {weekly(0, 2400, days({1}))}));
  EXPECT_EQ(told(rare.first(at("2026-11-21T00:00:00Z"))), "never");
  EXPECT_EQ(told(rare.first(at("2043-11-21T00:00:00Z"))), "2044-02-29T03:00:00Z");
}

}  // namespace calendar_test
}  // namespace controllers
