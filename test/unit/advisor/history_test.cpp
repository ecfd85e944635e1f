#include "advisor/history.hpp"

#include <gtest/gtest.h>

#include "test/unit/advisor/known_truth.hpp"

namespace advising_history_test {

using namespace advisor;
using advising_test::kApp;
using advising_test::kMonday;
using advising_test::kPod;
using advising_test::kWeb;

const Day kDay = day_of(kMonday);

TEST(Day, ReadsAndWritesItself) {
  EXPECT_EQ(text_of(kDay), "2026-11-02");
  EXPECT_EQ(parse_day("2026-11-02"), kDay);
  EXPECT_EQ(day_of(start_of(kDay + 1) - base::Duration(1)), kDay);
  for (const char* text : {"", "2026-13-01", "2026-11-2", "2026-11-02T", "yesterday.."}) EXPECT_FALSE(parse_day(text));
}

class SampleFoldTest : public testing::Test {
 protected:
  void add(base::Duration at, double cpu, double memory = 1, const char* pod = kPod) {
    fold_.add({kMonday + at, "shop", pod, "app", cpu, memory});
  }
  Histories finish() { return std::move(fold_).finish(); }
  const DayUsage& day(const Histories& all, Day which = kDay) { return all.containers.at(kApp).days.at(which); }

  Owners owners_ = advising_test::web_owners();
  SampleAggregator fold_{owners_, {kMonday, kMonday + std::chrono::hours(48), base::minutes(5)}};
};

TEST_F(SampleFoldTest, AddsUpADay) {
  add(std::chrono::hours(0), 0.1, 100);
  add(std::chrono::hours(1), 0.3, 300);
  add(std::chrono::hours(1) + base::minutes(1), 0.2, kUnknown);
  const Histories all = finish();
  EXPECT_EQ(day(all).samples, 3U);
  EXPECT_EQ(day(all).covered, std::chrono::hours(2));
  EXPECT_EQ(day(all).cpu_peak, 0.3);
  EXPECT_NEAR(day(all).cpu_mean, 0.2, 1e-12);
  EXPECT_NEAR(day(all).cpu_p95, 0.3, 0.003);
  EXPECT_EQ(day(all).memory_peak, 300);
  EXPECT_EQ(day(all).memory_mean, 200);
  EXPECT_TRUE(std::isnan(day(all).cpu_startup_peak)) << "it was there before the first sample";
}

TEST_F(SampleFoldTest, SeparatesStartUps) {
  add(std::chrono::hours(0), 0.1);
  const auto noon = std::chrono::hours(12);
  add(noon, 4, 900, "web-7d4b9c6f5-zzzzz");
  add(noon + base::minutes(4), 3, 100, "web-7d4b9c6f5-zzzzz");
  add(noon + base::minutes(5), 0.2, 100, "web-7d4b9c6f5-zzzzz");
  const Histories all = finish();
  EXPECT_EQ(day(all).cpu_startup_peak, 4);
  EXPECT_EQ(day(all).cpu_peak, 0.2);
  EXPECT_EQ(day(all).memory_peak, 900) << "memory that is missing at a start kills, too";
  EXPECT_EQ(all.containers.at(kApp).cpu->count(), 2U);
}

TEST_F(SampleFoldTest, KnowsTheStartOfExistingPods) {
  owners_.add_pod("shop", kPod, kWeb, kMonday - base::minutes(2));
  add(base::minutes(1), 4);
  add(base::minutes(4), 0.2);
  const Histories all = finish();
  EXPECT_EQ(day(all).cpu_startup_peak, 4);
  EXPECT_EQ(day(all).cpu_peak, 0.2);
}

TEST_F(SampleFoldTest, CountsImpossibleSamples) {
  add(base::minutes(1), -1);
  add(base::minutes(2), std::numeric_limits<double>::infinity());
  add(base::minutes(3), 1e9, 1e30);
  add(base::minutes(3), 0.1);
  add(base::minutes(2), 0.1);
  add(base::minutes(4), 0.1);
  add(std::chrono::hours(72), 0.1);
  const Histories all = finish();
  const DiscardedSamples& odd = all.containers.at(kApp).oddities;
  EXPECT_EQ(odd.negative, 1U);
  EXPECT_EQ(odd.not_finite, 1U);
  EXPECT_EQ(odd.absurd, 1U) << "a sample of which both figures are odd counts once";
  EXPECT_EQ(odd.duplicates, 2U) << "the same log twice counts once";
  EXPECT_EQ(day(all).cpu_peak, 0.1);
  EXPECT_FALSE(all.containers.at(kApp).days.contains(kDay + 3));
}

TEST_F(SampleFoldTest, ReportsSamplesWithoutAWorkload) {
  add(base::minutes(1), 1, 1, "other-7d4b9c6f5-x2x9z");
  const Histories all = finish();
  EXPECT_TRUE(all.containers.empty());
  EXPECT_EQ(all.unknown_pods, 1U);
  EXPECT_EQ(all.examples, std::vector<std::string>{"shop/other-7d4b9c6f5-x2x9z"});
}

TEST(BucketFold, FillsTheSketchesOfWorkloads) {
  const Owners owners = advising_test::web_owners();
  Histories all;
  BucketFold fold(owners, all);
  QuantileSketch want(kMinSketchCores);
  std::vector<std::int32_t> buckets;
  for (int i = 1; i <= 400; ++i) {
    want.add(0.001 * i);
    buckets.push_back(QuantileSketch::index_of(0.001 * i));
  }
  const std::span<const std::int32_t> all_buckets(buckets);
  fold.add("shop", kPod, "app", all_buckets.first(300));
  fold.add("shop", kPod, "app", all_buckets.subspan(300));
  fold.add("shop", kPod, "app", {});
  fold.add("shop", "other-7d4b9c6f5-x2x9z", "app", all_buckets);
  ASSERT_EQ(all.containers.size(), 1U);
  const ContainerHistory& history = all.containers.at(kApp);
  EXPECT_EQ(history.cpu->count(), 400U);
  for (const double q : {0.05, 0.5, 0.95, 1.0}) EXPECT_EQ(history.cpu->quantile(q), want.quantile(q));
  EXPECT_EQ(history.oddities.total(), 0U);
}

TEST(BucketFold, CountsZerosAndOmitsAbsurdValues) {
  const Owners owners = advising_test::web_owners();
  Histories all;
  BucketFold fold(owners, all);
  constexpr auto kNothing = std::numeric_limits<std::int32_t>::min();
  constexpr auto kEverything = std::numeric_limits<std::int32_t>::max();
  const std::vector<std::int32_t> buckets = {kNothing, kNothing, QuantileSketch::index_of(0.5), kEverything,
                                             QuantileSketch::index_of(kMaxCores) + 1};
  fold.add("shop", kPod, "app", buckets);
  const ContainerHistory& history = all.containers.at(kApp);
  EXPECT_EQ(history.cpu->count(), 3U);
  EXPECT_EQ(history.cpu->quantile(0.5), 0);
  EXPECT_NEAR(history.cpu->quantile(1), 0.5, 0.005);
  EXPECT_EQ(history.oddities.absurd, 2U);
}

class DayFoldTest : public testing::Test {
 protected:
  void add(DayMetric metric, const char* pod, double value) { fold_.add(metric, "shop", pod, "app", value); }
  DayUsage finish() { return fold_.finish(told_).at(kApp); }

  const Owners owners_ = advising_test::web_owners();
  DayFold fold_{owners_, base::minutes(5)};
  Histories told_;
};

TEST_F(DayFoldTest, WeighsPodsByTheirSamples) {
  add(DayMetric::kSamples, "web-7d4b9c6f5-bbbbb", 270);
  add(DayMetric::kSamples, "web-7d4b9c6f5-ccccc", 30);
  add(DayMetric::kCpuMean, "web-7d4b9c6f5-bbbbb", 1);
  add(DayMetric::kCpuMean, "web-7d4b9c6f5-ccccc", 2);
  add(DayMetric::kCpuPeak, "web-7d4b9c6f5-bbbbb", 3);
  add(DayMetric::kCpuPeak, "web-7d4b9c6f5-ccccc", 5);
  add(DayMetric::kMemoryPeak, "web-7d4b9c6f5-ccccc", 1e9);
  add(DayMetric::kThrottled, "web-7d4b9c6f5-bbbbb", 0.25);
  add(DayMetric::kOomKills, "web-7d4b9c6f5-bbbbb", 1.02);
  add(DayMetric::kCpuPeak, "web-7d4b9c6f5-bbbbb", -1);
  add(DayMetric::kCpuPeak, "web-7d4b9c6f5-bbbbb", kUnknown);
  const DayUsage usage = finish();
  EXPECT_EQ(usage.samples, 300U);
  EXPECT_EQ(usage.covered, std::chrono::hours(24));
  EXPECT_NEAR(usage.cpu_mean, 1.1, 1e-12);
  EXPECT_EQ(usage.cpu_peak, 5);
  EXPECT_EQ(usage.memory_peak, 1e9);
  EXPECT_EQ(usage.throttled, 0.25);
  EXPECT_EQ(usage.oom_kills, 2U);
  EXPECT_EQ(told_.containers.at(kApp).oddities.negative, 1U);
}

TEST_F(DayFoldTest, AHundredPodsOfMinutesDoNotCoverADay) {
  Owners owners;
  owners.add_workload(kWeb, 100);
  DayFold fold(owners, base::minutes(5));
  for (char c : std::string("bcdfghjkl"))
    fold.add(DayMetric::kSamples, "shop", std::string("web-7d4b9c6f5-bbbb") + c, "app", 12);
  EXPECT_EQ(fold.finish(told_).at(kApp).covered, std::chrono::hours(1));
}

TEST(Histories, AReportedDayCountsIfItIsPossible) {
  const DayUsage good{288, std::chrono::hours(24), 1.5, 0.25, 0.75, 4, 1 << 30, 1 << 29, 0.25, 3};
  const auto told = [&](auto member, double value) {
    DayUsage usage = good;
    usage.*member = value;
    Histories all;
    add_reported_day(all, kApp, kDay, usage);
    return all.containers.at(kApp);
  };
  EXPECT_EQ(told(&DayUsage::cpu_mean, kUnknown).days.size(), 1U);
  EXPECT_EQ(told(&DayUsage::cpu_mean, kUnknown).oddities.total(), 0U);
  EXPECT_EQ(told(&DayUsage::cpu_mean, -0.1).oddities.negative, 288U);
  EXPECT_EQ(told(&DayUsage::memory_peak, INFINITY).oddities.not_finite, 288U);
  for (const auto& [member, value] :
       {std::pair(&DayUsage::cpu_peak, 5'000.0), std::pair(&DayUsage::cpu_startup_peak, 5'000.0),
        std::pair(&DayUsage::memory_peak, 2 * kMaxBytes), std::pair(&DayUsage::throttled, 57.0),
        std::pair(&DayUsage::cpu_mean, 1.6), std::pair(&DayUsage::cpu_p95, 1.6),
        std::pair(&DayUsage::memory_mean, 2e9)}) {
    const ContainerHistory history = told(member, value);
    EXPECT_EQ(history.oddities.absurd, 288U) << value;
    EXPECT_TRUE(history.days.empty()) << value;
  }
}

TEST(Histories, TheBetterCoveredReportOfADayCounts) {
  Histories all;
  for (const int hours : {23, 24, 1})
    add_reported_day(all, kApp, kDay, {.samples = 1, .covered = std::chrono::hours(hours), .memory_peak = 1.0 * hours});
  EXPECT_EQ(all.containers.at(kApp).days.at(kDay).memory_peak, 24);
}

TEST(Histories, TheBetterCoveredDayCounts) {
  Histories all, other;
  all.containers[kApp].days[kDay] = {.samples = 3, .covered = std::chrono::hours(3), .cpu_peak = 1};
  other.containers[kApp].days[kDay] = {.samples = 9, .covered = std::chrono::hours(9), .cpu_peak = 2};
  other.containers[kApp].days[kDay + 1] = {.samples = 1, .covered = std::chrono::hours(1), .cpu_peak = 3};
  add_histories(all, other);
  EXPECT_EQ(all.containers[kApp].days[kDay].cpu_peak, 2);
  EXPECT_EQ(all.containers[kApp].days[kDay + 1].cpu_peak, 3);
}

}  // namespace advising_history_test
