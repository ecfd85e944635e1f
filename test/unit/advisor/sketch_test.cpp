#include "advisor/sketch.hpp"

#include <gtest/gtest.h>

#include "test/unit/advisor/known_truth.hpp"

namespace advising_sketch_test {

using advising_test::exact_quantile;
using advisor::QuantileSketch;

constexpr double kPromised = 0.02;

/// Compares quantiles of the sketch with exact ones for every known workload and for distributions that are hard for
/// sketches.
TEST(QuantileSketch, IsWithinTwoPercentOfExactQuantiles) {
  advising_test::Numbers numbers;
  std::vector<std::pair<std::string, std::vector<double>>> tables;
  for (const auto& truth : advising_test::truths())
    tables.emplace_back(truth.name, advising_test::cpu_of(advising_test::series_of(truth, 14)));
  std::vector<double> uniform, exponential, two_peaks;
  for (int i = 0; i < 50'000; ++i) {
    uniform.push_back(numbers.next());
    exponential.push_back(-std::log(1 - numbers.next()) * 1e-2);
    two_peaks.push_back(numbers.next() < 0.9 ? 0.001 + 0.0001 * numbers.next() : 30 + numbers.next());
  }
  tables.emplace_back("uniform", uniform);
  tables.emplace_back("exponential", exponential);
  tables.emplace_back("two peaks", two_peaks);
  for (const auto& [name, values] : tables) {
    QuantileSketch sketch(advisor::kMinSketchCores);
    for (const double value : values) sketch.add(value);
    for (const double q : {0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0}) {
      const double exact = exact_quantile(values, q);
      if (exact < advisor::kMinSketchCores) continue;
      EXPECT_NEAR(sketch.quantile(q) / exact, 1, kPromised) << name << " p" << q * 100;
    }
    EXPECT_LE(sketch.bucket_count(), QuantileSketch::kMaxBuckets) << name;
  }
}

TEST(QuantileSketch, KeepsItsMemoryAndUpperQuantilesForAnyRange) {
  QuantileSketch sketch(1e-4);
  std::vector<double> values;
  for (int i = 0; i < 30'000; ++i) values.push_back(std::pow(10.0, -4 + 19.0 * i / 30'000));
  for (const double value : values) sketch.add(value);
  EXPECT_LE(sketch.bucket_count(), QuantileSketch::kMaxBuckets);
  for (const double q : {0.6, 0.9, 0.99}) EXPECT_NEAR(sketch.quantile(q) / exact_quantile(values, q), 1, kPromised);
  std::ranges::reverse(values);
  QuantileSketch downwards(1e-4);
  for (const double value : values) downwards.add(value);
  EXPECT_EQ(downwards.quantile(0.9), sketch.quantile(0.9));
  EXPECT_LE(downwards.bucket_count(), QuantileSketch::kMaxBuckets);
}

/// Buckets as Prometheus computes them: ceil(ln(value) / width).
TEST(QuantileSketch, BucketsEqualValues) {
  advising_test::Numbers numbers;
  QuantileSketch values(1e-4), buckets(1e-4);
  for (int i = 0; i < 20'000; ++i) {
    const double value = std::exp(14 * numbers.next() - 10);  // Some values are below 1e-4
    values.add(value);
    buckets.add_bucket(static_cast<int>(std::ceil(std::log(value) / QuantileSketch::bucket_width())), 1);
  }
  EXPECT_EQ(buckets.count(), values.count());
  for (const double q : {0.0, 0.01, 0.25, 0.5, 0.95, 1.0}) EXPECT_EQ(buckets.quantile(q), values.quantile(q)) << q;
  buckets.add_bucket(std::numeric_limits<int>::min(), 1'000'000);
  EXPECT_EQ(buckets.quantile(0.5), 0) << "-Inf is nothing";
}

TEST(QuantileSketch, MergedEqualsASingleSketch) {
  QuantileSketch all(1e-4), left(1e-4), right(1e-4);
  advising_test::Numbers numbers;
  for (int i = 0; i < 2000; ++i) {
    const double value = i % 10 == 0 ? 0 : std::exp(8 * numbers.next() - 4);
    all.add(value);
    (i % 3 == 0 ? left : right).add(value);
  }
  left.merge(right);
  EXPECT_EQ(left.count(), all.count());
  for (const double q : {0.0, 0.05, 0.5, 0.9, 1.0}) EXPECT_EQ(left.quantile(q), all.quantile(q)) << q;
}

TEST(QuantileSketch, CountsZeroAsZero) {
  QuantileSketch sketch(1e-4);
  EXPECT_EQ(sketch.quantile(0.5), 0);
  sketch.add(0);
  sketch.add(-1);
  sketch.add(5, 0);
  EXPECT_EQ(sketch.count(), 2U);
  EXPECT_EQ(sketch.quantile(1), 0);
  sketch.add(3, 8);
  EXPECT_EQ(sketch.quantile(0.2), 0);
  EXPECT_NEAR(sketch.quantile(0.3), 3, 0.03);
}

}  // namespace advising_sketch_test
