#include "base/metrics.hpp"

#include <gmock/gmock.h>

namespace metrics_test {

using testing::HasSubstr;
using testing::Not;

TEST(MetricsBounds, AFamilyHasAnEnd) {
  base::Metrics metrics;
  const auto count = [&](const std::string& reason) {
    metrics.counter("hits_total", "Hits.", {{"reason", reason}, {"kind", "a"}}).increment();
  };
  for (std::size_t i = 0; i < base::Metrics::kMostSeries + 5; ++i) count(std::to_string(i));
  count("0");  // a known one
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

}  // namespace metrics_test
