#include "base/metrics.hpp"

#include <gmock/gmock.h>

namespace metrics_test {

using testing::HasSubstr;
using testing::Not;

TEST(MetricsBounds, AFamilyHasAMaximumNumberOfSeries) {
  base::Metrics metrics;
  const auto count = [&](const std::string& reason) {
    metrics.counter("hits_total", "Hits.", {{"reason", reason}, {"kind", "a"}}).increment();
  };
  for (std::size_t i = 0; i < base::Metrics::kMaxSeries + 5; ++i) count(std::to_string(i));
  count("0");  // An existing series
  std::string text = metrics.render();
  EXPECT_THAT(text, HasSubstr("hits_total{kind=\"other\",reason=\"other\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("hits_total{kind=\"a\",reason=\"0\"} 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("reason=\"10001\"")));
  metrics.forget("reason", "7");
  count("new");
  text = metrics.render();
  EXPECT_THAT(text, HasSubstr("hits_total{kind=\"a\",reason=\"new\"} 1\n")) << "one has made room";
  metrics.gauge("level", "Level.", {{"reason", "x"}}).set(3);
  EXPECT_THAT(metrics.render(), HasSubstr("level{reason=\"x\"} 3\n")) << "other families are not affected";
}

TEST(OpenMetrics, GoldenBytes) {
  base::Metrics metrics;
  metrics.counter("hits_total", "Hits, \"quoted\" \\ and so on.", {{"reason", "a\"b\\c\nd"}}).increment(3);
  metrics.counter("odd", "A counter without its ending.").increment();
  metrics.gauge("level", "Level.").set(0.25);
  const auto histogram = metrics.histogram("took_seconds", "Took.", {0.5, 1, 10}, {{"phase", "x"}});
  const std::string trace = "0123456789abcdef0123456789abcdef";
  const base::TimePoint at = *base::parse_time("2026-11-25T12:00:00.5Z");
  histogram.observe(0.25, {trace, at - base::seconds(1)});
  histogram.observe(0.5, {"fedcba9876543210fedcba9876543210", at});
  histogram.observe(3, {"", at});
  histogram.observe(70, {trace, at});
  EXPECT_EQ(metrics.render_openmetrics(),
            "# TYPE hits counter\n# HELP hits Hits, \\\"quoted\\\" \\\\ and so on.\n"
            "hits_total{reason=\"a\\\"b\\\\c\\nd\"} 3\n"
            "# TYPE odd unknown\n# HELP odd A counter without its ending.\nodd 1\n"
            "# TYPE level gauge\n# HELP level Level.\nlevel 0.25\n"
            "# TYPE took_seconds histogram\n# HELP took_seconds Took.\n"
            "took_seconds_bucket{phase=\"x\",le=\"0.5\"} 2 # {trace_id=\"fedcba9876543210fedcba9876543210\"} 0.5 "
            "1795608000.500\n"
            "took_seconds_bucket{phase=\"x\",le=\"1.0\"} 2\n"
            "took_seconds_bucket{phase=\"x\",le=\"10.0\"} 3\n"
            "took_seconds_bucket{phase=\"x\",le=\"+Inf\"} 4 # {trace_id=\"0123456789abcdef0123456789abcdef\"} 70 "
            "1795608000.500\n"
            "took_seconds_count{phase=\"x\"} 4\ntook_seconds_sum{phase=\"x\"} 73.75\n# EOF\n");
  EXPECT_THAT(metrics.render(), Not(HasSubstr("trace_id"))) << "the text format knows none";
  metrics.forget("phase", "x");
  metrics.histogram("took_seconds", "Took.", {0.5, 1, 10}, {{"phase", "x"}}).observe(0.1);
  EXPECT_THAT(metrics.render_openmetrics(), Not(HasSubstr("trace_id"))) << "what is forgotten is gone as a whole";
}

}  // namespace metrics_test
