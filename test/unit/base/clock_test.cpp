#include "base/clock.hpp"

#include <gtest/gtest.h>

namespace base {
namespace clock_test {

using std::chrono::hours;

TEST(FormatTime, WritesWholeSecondsInUtc) {
  EXPECT_EQ(format_time(TimePoint(seconds(0))), "1970-01-01T00:00:00Z");
  EXPECT_EQ(format_time(TimePoint(seconds(1795232140) + Duration(999999))), "2026-11-21T03:35:40Z");
}

TEST(FormatMicroTime, WritesSixDecimals) {
  EXPECT_EQ(format_micro_time(TimePoint(Duration(1))), "1970-01-01T00:00:00.000001Z");
}

TEST(FormatMicroTime, RoundTripsAnyDigits) {
  for (const char* text : {"0000-01-01T00:00:00.000000Z", "0099-12-31T09:08:07.060504Z", "1969-12-31T23:59:59.999999Z",
                           "2024-02-29T20:10:05.100000Z", "9999-12-31T23:59:59.000009Z"}) {
    const auto time = parse_time(text);
    ASSERT_TRUE(time) << text;
    EXPECT_EQ(format_micro_time(*time), text);
  }
  EXPECT_EQ(format_micro_time(parse_time("9999-12-31T23:59:59Z").value() + seconds(2)), "10000-01-01T00:00:01.000000Z");
}

struct TimeCase {
  const char* name;
  const char* text;
  std::optional<Duration> since_epoch;
};
class ParseTime : public testing::TestWithParam<TimeCase> {};
TEST_P(ParseTime, Reads) {
  std::optional<Duration> got;
  if (const auto time = parse_time(GetParam().text)) got = time->time_since_epoch();
  EXPECT_EQ(got, GetParam().since_epoch);
}
INSTANTIATE_TEST_SUITE_P(Rfc3339, ParseTime,
                         testing::Values(TimeCase{"Plain", "1970-01-01T00:01:00Z", minutes(1)},
                                         TimeCase{"Fraction", "1970-01-01T00:00:00.5Z", milliseconds(500)},
                                         TimeCase{"NineDecimals", "1970-01-01T00:00:00.123456789Z", Duration(123456)},
                                         TimeCase{"Offset", "1970-01-01T02:00:00+02:00", seconds(0)},
                                         TimeCase{"NegativeOffset", "1969-12-31T22:30:00-01:30", seconds(0)},
                                         TimeCase{"LeapDay", "2024-02-29T00:00:00Z", seconds(1709164800)},
                                         TimeCase{"NoLeapDay", "2023-02-29T00:00:00Z", std::nullopt},
                                         TimeCase{"MissingZone", "1970-01-01T00:00:00", std::nullopt},
                                         TimeCase{"Trailing", "1970-01-01T00:00:00Zx", std::nullopt},
                                         TimeCase{"EmptyFraction", "1970-01-01T00:00:00.Z", std::nullopt},
                                         TimeCase{"Hour24", "1970-01-01T24:00:00Z", std::nullopt},
                                         TimeCase{"Empty", "", std::nullopt},
                                         TimeCase{"Garbage", "yesterday", std::nullopt}),
                         [](const auto& test) { return test.param.name; });

struct DurationCase {
  const char* name;
  const char* text;
  std::optional<Duration> want;
};
class ParseDuration : public testing::TestWithParam<DurationCase> {};
TEST_P(ParseDuration, Reads) { EXPECT_EQ(parse_duration(GetParam().text), GetParam().want); }
INSTANTIATE_TEST_SUITE_P(
    Go, ParseDuration,
    testing::Values(DurationCase{"Minutes", "5m", minutes(5)},
                    DurationCase{"Mixed", "1h30m10s", hours(1) + minutes(30) + seconds(10)},
                    DurationCase{"Decimal", "1.5h", minutes(90)}, DurationCase{"LeadingDot", ".5s", milliseconds(500)},
                    DurationCase{"Millis", "300ms", milliseconds(300)}, DurationCase{"Zero", "0", Duration(0)},
                    DurationCase{"Negative", "-5s", -seconds(5)}, DurationCase{"NoUnit", "5", std::nullopt},
                    DurationCase{"NoNumber", "s", std::nullopt}, DurationCase{"Empty", "", std::nullopt},
                    DurationCase{"UnknownUnit", "5d", std::nullopt},
                    DurationCase{"TooLong", "9999999999h", std::nullopt}),
    [](const auto& test) { return test.param.name; });

TEST(FormatDuration, FormatsLikeGo) {
  EXPECT_EQ(format_duration(Duration(0)), "0s");
  EXPECT_EQ(format_duration(minutes(5)), "5m0s");
  EXPECT_EQ(format_duration(hours(1) + minutes(30)), "1h30m0s");
  EXPECT_EQ(format_duration(milliseconds(1500)), "1.5s");
  EXPECT_EQ(format_duration(-seconds(5)), "-5s");
}

TEST(FormatDuration, IsReadBackByParse) {
  for (const Duration d : {Duration(1), Duration(milliseconds(20)), Duration(seconds(61)), Duration(hours(25))}) {
    EXPECT_EQ(parse_duration(format_duration(d)), d);
  }
}

TEST(FormatAge, FormatsLikeKubectl) {
  EXPECT_EQ(format_age(seconds(5)), "5s");
  EXPECT_EQ(format_age(seconds(119)), "119s");
  EXPECT_EQ(format_age(seconds(200)), "3m20s");
  EXPECT_EQ(format_age(minutes(45)), "45m");
  EXPECT_EQ(format_age(hours(4)), "4h");
  EXPECT_EQ(format_age(hours(7) + minutes(5)), "7h5m");
  EXPECT_EQ(format_age(hours(30)), "30h");
  EXPECT_EQ(format_age(hours(24 * 12)), "12d");
  EXPECT_EQ(format_age(-seconds(3)), "0s");
}

TEST(ManualClock, MovesOnlyOnRequest) {
  ManualClock clock{TimePoint(seconds(100))};
  EXPECT_EQ(clock.now(), TimePoint(seconds(100)));
  clock.advance(seconds(5));
  EXPECT_EQ(clock.now(), TimePoint(seconds(105)));
}

}  // namespace clock_test
}  // namespace base
