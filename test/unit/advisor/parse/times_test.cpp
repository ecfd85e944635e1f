#include "advisor/parse/times.hpp"

#include <gtest/gtest.h>

namespace advising_times_test {

using advisor::epoch_time;
using advisor::parse_history_time;

TEST(HistoryTime, AcceptsCommonFormats) {
  const std::pair<const char*, const char*> table[] = {{"2026-11-21T12:00:00Z", "2026-11-21T12:00:00.000000Z"},
                                                       {"2026-11-21T13:30:00+0130", "2026-11-21T12:00:00.000000Z"},
                                                       {"2026-11-21T13:30:00+01:30", "2026-11-21T12:00:00.000000Z"},
                                                       {"2026-11-21T07:00:00.5-0500", "2026-11-21T12:00:00.500000Z"},
                                                       {"2026-11-21 12:00:00+00:00", "2026-11-21T12:00:00.000000Z"},
                                                       {"2026-11-21 12:00:00Z", "2026-11-21T12:00:00.000000Z"},
                                                       {"1795262400", "2026-11-21T12:00:00.000000Z"},
                                                       {"1795262400.25", "2026-11-21T12:00:00.250000Z"},
                                                       {"1795262400250", "2026-11-21T12:00:00.250000Z"}};
  for (const auto& [text, expected] : table) {
    const auto time = parse_history_time(text);
    ASSERT_TRUE(time) << text;
    EXPECT_EQ(base::format_micro_time(*time), expected) << text;
  }
}

TEST(HistoryTime, IsInvalidWithoutAnOffsetOrWithOtherText) {
  for (const char* text : {"",
                           "2026-11-21",
                           "2026-11-21T12:00:00",
                           "2026-11-21 12:00:00",
                           "2026-11-21T12:00:00+2500",
                           "2026-11-21T12:00:00+00",
                           "12:00:00+0000",
                           "+0000",
                           "-0500",
                           "Sat Nov 21 12:00:00 UTC 2026",
                           "179526240",
                           "17952624000",
                           "-1795262400",
                           "1795262400.",
                           "1795262400.x",
                           "1795262400.-5",
                           "1795262400250.5",
                           "1795262400.12345678901",
                           "0000000001",
                           "1.8e9"})
    EXPECT_FALSE(parse_history_time(text)) << text;
}

}  // namespace advising_times_test
