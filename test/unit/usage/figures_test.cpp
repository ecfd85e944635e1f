#include "usage/figures.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace usage_figures_test {

using api::SmoothingMethod;
using usage::kUnknown;

struct SmoothCase {
  const char* name;
  api::UsageSmoothing settings;
  std::vector<double> values;
  double want;
};
api::UsageSmoothing by(SmoothingMethod method, double number = 0) {
  return {method, base::minutes(5), number, number, number};
}

class Smooth : public testing::TestWithParam<SmoothCase> {};
TEST_P(Smooth, ReturnsOneValue) {
  const double figure = usage::smooth(GetParam().values, GetParam().settings);
  if (std::isnan(GetParam().want)) {
    EXPECT_TRUE(std::isnan(figure)) << figure;
  } else {
    EXPECT_DOUBLE_EQ(figure, GetParam().want);
  }
}
INSTANTIATE_TEST_SUITE_P(
    Usage, Smooth,
    testing::Values(SmoothCase{"Latest", by(SmoothingMethod::kLatest), {1, 2, 3}, 3},
                    SmoothCase{"LatestThatIsKnown", by(SmoothingMethod::kLatest), {1, 2, kUnknown}, 2},
                    SmoothCase{"Mean", by(SmoothingMethod::kMean), {1, kUnknown, 5}, 3},
                    SmoothCase{"Ewma", by(SmoothingMethod::kEwma, 0.5), {4, 8, 2}, 4},
                    SmoothCase{"EwmaOfOne", by(SmoothingMethod::kEwma, 0.1), {7}, 7},
                    SmoothCase{"Percentile", by(SmoothingMethod::kPercentile, 90), {9, 1, 5, 3, 7}, 9},
                    SmoothCase{"Median", by(SmoothingMethod::kPercentile, 50), {9, 1, 5, 3, 7}, 5},
                    SmoothCase{"Lowest", by(SmoothingMethod::kPercentile, 0), {9, 1, 5}, 1},
                    SmoothCase{"MeanPlusSigma", by(SmoothingMethod::kMeanPlusSigma, 2), {2, 4, 4, 4, 5, 5, 7, 9}, 9},
                    SmoothCase{"Nothing", by(SmoothingMethod::kMean), {}, kUnknown},
                    SmoothCase{"NothingKnown", by(SmoothingMethod::kMean), {kUnknown, kUnknown}, kUnknown}),
    [](const auto& test) { return test.param.name; });

}  // namespace usage_figures_test
