#include "usage/promql_range.hpp"

#include <gtest/gtest.h>

#include <string>

namespace usage_promql_range_test {

using base::seconds;

struct RangeCase {
  const char* name;
  const char* promql;
  base::Duration longest;
};
class Range : public testing::TestWithParam<RangeCase> {};

TEST_P(Range, IsTheMaximumOfTheExpression) { EXPECT_EQ(usage::longest_mean(GetParam().promql), GetParam().longest); }

INSTANTIATE_TEST_SUITE_P(
    Of, Range,
    testing::Values(RangeCase{"None", "node_load1", {}}, RangeCase{"Empty", "", {}},
                    RangeCase{"Rate", "sum(rate(node_cpu_seconds_total[3m])) by (node)", seconds(180)},
                    RangeCase{"Longest", "rate(a[1m]) + rate(b[90s])", seconds(90)},
                    RangeCase{"Parts", "rate(a[1m30s])", seconds(90)},
                    RangeCase{"Milliseconds", "rate(a[1500ms])", base::milliseconds(1500)},
                    RangeCase{"Blanks", "rate(a[ 5m ])", seconds(300)},
                    RangeCase{"Subquery", "avg_over_time(max(a)[5m:30s])", seconds(300)},
                    RangeCase{"SubqueryWithoutStep", "avg_over_time(a[5m:])", seconds(300)},
                    RangeCase{"AtMostAnHour", "avg_over_time(a[52w])", usage::kMaxRange},
                    RangeCase{"InQuotes", R"(rate(a{mode=~"[5m]"}[1m]))", seconds(60)},
                    RangeCase{"InEscapedQuotes", R"(rate(a{mode=~"\"[5m]"}[1m]))", seconds(60)},
                    RangeCase{"InBackticks", R"(rate(a{mode=~`\`}[1m]))", seconds(60)},
                    RangeCase{"QuoteThatNeverEnds", R"(rate(a{mode="[5m])", {}},
                    RangeCase{"OfTheMeanOnly", "max_over_time(rate(a[1m])[5m:30s])", seconds(60)},
                    RangeCase{"OfALook", "irate(a[5m]) + last_over_time(b[1h])", {}},
                    RangeCase{"OfACondition", "rate(a[1m]) and count_over_time(up[1h]) > 0", seconds(60)},
                    RangeCase{"Years", "rate(a[300000y])", usage::kMaxRange},
                    RangeCase{"TooManyClosed", ")))rate(a[1m])", seconds(60)}, RangeCase{"NoFunction", "a[5m]", {}},
                    RangeCase{"BracketThatNeverEnds", "rate(a[5m", {}}, RangeCase{"NoUnit", "rate(a[5])", {}},
                    RangeCase{"Negative", "rate(a[-5m])", {}}, RangeCase{"Huge", "rate(a[99999999999999999999m])", {}},
                    RangeCase{"Nothing", "rate(a[])", {}}),
    [](const auto& test) { return test.param.name; });

}  // namespace usage_promql_range_test
