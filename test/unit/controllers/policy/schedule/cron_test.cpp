#include "controllers/policy/schedule/cron.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace controllers {
namespace cron_test {

using testing::HasSubstr;

base::TimePoint at(std::string_view text) {
  const auto time = base::parse_time(text);
  EXPECT_TRUE(time) << text;
  return time.value_or(base::TimePoint());
}

std::string next(std::string_view expression, std::string_view zone, std::string_view after) {
  const auto cron = CronExpression::parse(expression);
  const auto where = TimeZone::find(zone);
  if (!cron || !where) return (cron ? where.error() : cron.error()).message;
  const auto found = cron->next_after(at(after), *where);
  return found ? base::format_time(*found) : "never";
}

struct NextCase {
  const char* name;
  const char* expression;
  const char* zone;
  const char* after;
  const char* want;  ///< expected time in UTC
};
class CronNext : public testing::TestWithParam<NextCase> {};

TEST_P(CronNext, ComesAt) {
  const NextCase& row = GetParam();
  EXPECT_EQ(next(row.expression, row.zone, row.after), row.want);
}

std::string case_name(const testing::TestParamInfo<NextCase>& info) { return info.param.name; }

// 21 November 2026 is a Saturday.
INSTANTIATE_TEST_SUITE_P(
    InUtc, CronNext,
    testing::Values(
        NextCase{"EachMinute", "* * * * *", "", "2026-11-21T12:00:00Z", "2026-11-21T12:01:00Z"},
        NextCase{"TheMinuteThatIsBeginning", "* * * * *", "", "2026-11-21T12:00:59.999999Z", "2026-11-21T12:01:00Z"},
        NextCase{"Steps", "*/15 * * * *", "", "2026-11-21T12:15:00Z", "2026-11-21T12:30:00Z"},
        NextCase{"AStepFromAValue", "50/5 * * * *", "", "2026-11-21T12:56:00Z", "2026-11-21T13:50:00Z"},
        NextCase{"Lists", "5,35 9,17 * * *", "", "2026-11-21T09:35:00Z", "2026-11-21T17:05:00Z"},
        NextCase{"Ranges", "0 9-11/2 * * *", "", "2026-11-21T09:00:00Z", "2026-11-21T11:00:00Z"},
        NextCase{"OverTheYear", "0 0 1 JAN *", "", "2026-11-21T12:00:00Z", "2027-01-01T00:00:00Z"},
        NextCase{"NamesOfAnyCase", "0 3 * jan-Mar mon", "", "2026-11-21T12:00:00Z", "2027-01-04T03:00:00Z"},
        NextCase{"SevenIsSunday", "0 3 * * 7", "", "2026-11-21T12:00:00Z", "2026-11-22T03:00:00Z"},
        NextCase{"FridayToSunday", "0 3 * * FRI-SUN", "", "2026-11-22T03:00:00Z", "2026-11-27T03:00:00Z"},
        NextCase{"SaturdayOrTheFirst", "0 3 1 * SAT", "", "2026-11-28T03:00:00Z", "2026-12-01T03:00:00Z"},
        NextCase{"BothDaysWithAStar", "0 3 * * SAT", "", "2026-11-21T12:00:00Z", "2026-11-28T03:00:00Z"},
        NextCase{"AnyDayByAQuestionMark", "0 3 ? * SAT", "", "2026-11-21T12:00:00Z", "2026-11-28T03:00:00Z"},
        NextCase{"AStepIsNoStar", "0 3 */10 * MON", "", "2026-11-21T12:00:00Z", "2026-11-23T03:00:00Z"},
        NextCase{"LeapDays", "0 0 29 2 *", "", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"},
        NextCase{"Hourly", "@hourly", "", "2026-11-21T12:00:00Z", "2026-11-21T13:00:00Z"},
        NextCase{"Daily", "@daily", "", "2026-11-21T12:00:00Z", "2026-11-22T00:00:00Z"},
        NextCase{"Weekly", "@weekly", "", "2026-11-22T00:00:00Z", "2026-11-29T00:00:00Z"},
        NextCase{"Monthly", " @monthly ", "", "2026-11-21T12:00:00Z", "2026-12-01T00:00:00Z"},
        NextCase{"Yearly", "@yearly", "", "2026-11-21T12:00:00Z", "2027-01-01T00:00:00Z"}),
    case_name);

// Berlin: 02:00 becomes 03:00 on 2026-03-29, 03:00 becomes 02:00 on 2026-10-25. New York: 02:00 → 03:00 on 2026-03-08,
// 02:00 → 01:00 on 2026-11-01. Like a CronJob, skipped times do not run and repeated times run twice.
INSTANTIATE_TEST_SUITE_P(
    AcrossClockChanges, CronNext,
    testing::Values(
        NextCase{"SkippedTimesDoNotRun", "30 2 * * *", "Europe/Berlin", "2026-03-28T02:00:00Z", "2026-03-30T00:30:00Z"},
        NextCase{"HoursGoOnInSpring", "0 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z"},
        NextCase{"TheHourAfterTheGap", "0 3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
        NextCase{"RepeatedTimesRun", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
        NextCase{"RepeatedTimesRunTwice", "30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z",
                 "2026-10-25T01:30:00Z"},
        NextCase{"ButNotThrice", "30 2 * * *", "Europe/Berlin", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"},
        NextCase{"BackIntoAnEarlierMinute", "30 1 * * *", "America/New_York", "2026-11-01T05:45:00Z",
                 "2026-11-01T06:30:00Z"},
        NextCase{"NewYorkInSpring", "0 2 * * *", "America/New_York", "2026-03-08T05:00:00Z", "2026-03-09T06:00:00Z"},
        NextCase{"HalfHoursOfKolkata", "0 9 * * *", "Asia/Kolkata", "2026-11-21T12:00:00Z", "2026-11-22T03:30:00Z"},
        NextCase{"ADayThatApiaSkipped", "0 12 30 12 *", "Pacific/Apia", "2011-12-29T00:00:00Z", "2012-12-29T22:00:00Z"},
        NextCase{"TheDayAfterIt", "0 12 31 12 *", "Pacific/Apia", "2011-12-29T00:00:00Z", "2011-12-30T22:00:00Z"},
        NextCase{"AMidnightThatIsSkipped", "0 0 4 11 *", "America/Sao_Paulo", "2018-11-01T00:00:00Z",
                 "2019-11-04T03:00:00Z"}),
    case_name);

struct RefusedCase {
  const char* expression;
  const char* problem;
};
class CronRefused : public testing::TestWithParam<RefusedCase> {};

TEST_P(CronRefused, SaysWhy) {
  const auto cron = CronExpression::parse(GetParam().expression);
  ASSERT_FALSE(cron);
  EXPECT_EQ(cron.error().code, base::ErrorCode::kInvalid);
  EXPECT_THAT(cron.error().message, HasSubstr(GetParam().problem));
}

INSTANTIATE_TEST_SUITE_P(
    Expressions, CronRefused,
    testing::Values(RefusedCase{"", "must have five fields"}, RefusedCase{"* * * *", "must have five fields"},
                    RefusedCase{"0 * * * * *", "must have five fields"},
                    RefusedCase{"60 * * * *", "minute: \"60\" is not a value, range or step from 0 to 59"},
                    RefusedCase{"* 24 * * *", "hour: \"24\""}, RefusedCase{"* * 0 * *", "day of the month: \"0\""},
                    RefusedCase{"* * * 13 *", "month: \"13\""}, RefusedCase{"* * * * 8", "day of the week: \"8\""},
                    RefusedCase{"* * * JANUARY *", "month: \"JANUARY\""}, RefusedCase{"5-1 * * * *", "\"5-1\""},
                    RefusedCase{"*/0 * * * *", "\"*/0\""}, RefusedCase{"1/2/3 * * * *", "\"1/2/3\""},
                    RefusedCase{"1-2-3 * * * *", "\"1-2-3\""}, RefusedCase{"1, * * * *", "\"\""},
                    RefusedCase{"-1 * * * *", "\"-1\""}, RefusedCase{"99999999999999999999 * * * *", "minute"},
                    RefusedCase{"0 0 30 2 *", "\"0 0 30 2 *\" never matches"},
                    RefusedCase{"0 0 31 4,6,9,11 *", "never matches"},
                    RefusedCase{"TZ=Europe/Berlin 0 3 * * *", "use spec.schedule.timeZone"},
                    RefusedCase{"CRON_TZ=UTC 0 3 * * *", "use spec.schedule.timeZone"},
                    RefusedCase{"@every 5m", "use spec.schedule.interval"}, RefusedCase{"@reboot", "is not one of"}));

TEST(CronExpression, OfADayThatOnlyAWeekdayGivesComes) {
  EXPECT_EQ(next("0 0 30 2 MON", "", "2026-01-31T00:00:00Z"), "2026-02-02T00:00:00Z");
}

TEST(TimeZone, IsFoundByItsExactNameOnly) {
  for (const char* known : {"", "UTC", "Etc/UTC", "Europe/Berlin", "America/Argentina/Ushuaia", "US/Eastern"})
    EXPECT_TRUE(TimeZone::find(known)) << known;
  for (const char* unknown : {"europe/berlin", "Europe", "CET+1", "localtime", "posixrules", "right/Europe/Berlin",
                              "../../../etc/passwd", "/etc/localtime", "Mars/Base"}) {
    const auto zone = TimeZone::find(unknown);
    ASSERT_FALSE(zone) << unknown;
    EXPECT_THAT(zone.error().message, HasSubstr("is not a time zone of the IANA database")) << unknown;
  }
}

/// A database compiled without future transitions would report winter time forever.
TEST(TimeZone, KnowsTheChangesToCome) {
  const auto berlin = *TimeZone::find("Europe/Berlin");
  EXPECT_EQ(berlin.period_at(at("2036-07-01T00:00:00Z")).offset, base::seconds(7200));
  EXPECT_EQ(berlin.period_at(at("2036-12-01T00:00:00Z")).offset, base::seconds(3600));
  EXPECT_EQ(berlin.period_at(at("2026-10-25T00:59:59.5Z")).end, at("2026-10-25T01:00:00Z"));
}

}  // namespace cron_test
}  // namespace controllers
