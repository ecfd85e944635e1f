#include "advisor/rolling/rolling_history.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "advisor/requests.hpp"
#include "advisor/rolling/codec.hpp"
#include "base/base64.hpp"
#include "test/unit/advisor/known_truth.hpp"

namespace running_history_test {

using advisor::Day;
using advisor::RollingHistory;
using base::minutes;
using testing::HasSubstr;

const base::TimePoint kStart = *base::parse_time("2026-11-02T00:00:00Z");
const base::TimePoint kLater = *base::parse_time("2026-12-24T00:00:00Z");
constexpr double kMiB = 1024.0 * 1024;

/// Daily wave of 0.1 to 0.5 cores and 100 to 300 MiB.
void feed(RollingHistory& history, base::TimePoint from, base::TimePoint to, base::Duration step = minutes(5)) {
  for (base::TimePoint time = from; time < to; time += step) {
    const double hours = std::chrono::duration<double, std::ratio<3600>>(time.time_since_epoch()).count();
    const double wave = 0.5 - 0.5 * std::cos(hours / 12 * 3.14159265358979);
    history.add(time, 0.1 + 0.4 * wave, (100 + 200 * wave) * kMiB, false);
  }
}

advisor::ContainerSpec app() {
  advisor::ContainerSpec spec;
  spec.name = "app";
  return spec;
}

RollingHistory fed(base::Duration time) {
  RollingHistory history;
  feed(history, kStart, kStart + time);
  return history;
}

advisor::Rules rules_until(base::TimePoint now, advisor::Profile profile = advisor::Profile::kStandard) {
  const Day to = advisor::day_of(now);
  return {profile, 95, to - RollingHistory::kMaxDays, to};
}

TEST(RollingHistory, GivesAdviceAfterThreeDaysLikeABatchOfSamples) {
  const advisor::ContainerSpec spec = app();
  const auto advice_after = [&](int days) {
    const auto time = std::chrono::hours(24 * days);
    return advisor::advise_container(spec, fed(time).history(), rules_until(kStart + time));
  };
  EXPECT_THAT(advice_after(2).no_advice_reason,
              HasSubstr("2 days of history with at least 12h, 3 are needed (576 samples"));
  const auto advice = advice_after(3);
  ASSERT_EQ(advice.no_advice_reason, "");
  EXPECT_EQ(advice.samples, 3U * 288);
  EXPECT_NEAR(*advice.recommended.cpu_limit, 0.5, 0.002) << "the mean of the daily peaks";
  EXPECT_NEAR(*advice.recommended.memory_limit / kMiB, 345, 1) << "the maximum and 15 %";
}

TEST(RollingHistory, EqualsSampleFold) {
  const advisor::WorkloadKey web{"shop", "Pod", "web"};
  advisor::Owners owners;
  owners.add_workload(web, 1);
  const base::TimePoint end = kStart + std::chrono::hours(24 * 5);
  advisor::SampleAggregator fold(owners, {kStart, end, {}});
  RollingHistory running;
  advising_test::Numbers numbers;
  for (base::TimePoint time = kStart; time < end; time += minutes(7)) {
    const double cpu = numbers.next();
    fold.add({time, "shop", "web", "app", cpu, cpu * kMiB});
    running.add(time, cpu, cpu * kMiB, false);
  }
  const auto folded = std::move(fold).finish().containers.at({web, "app"});
  const auto told = running.history();
  ASSERT_EQ(told.days.size(), folded.days.size());
  for (const auto& [day, usage] : folded.days) {
    EXPECT_EQ(told.days.at(day).samples, usage.samples);
    EXPECT_EQ(told.days.at(day).cpu_p95, usage.cpu_p95);
    EXPECT_EQ(told.days.at(day).memory_mean, usage.memory_mean);
  }
  EXPECT_EQ(told.cpu->count(), folded.cpu->count());
}

TEST(RollingHistory, ForgetsSamplesOlderThanTwoWeeks) {
  const auto history = fed(std::chrono::hours(24 * 40)).parts();
  EXPECT_EQ(history.closed.size(), static_cast<std::size_t>(RollingHistory::kMaxDays));
  EXPECT_EQ(history.closed.rbegin()->first + 1, *history.day);
  EXPECT_LE(history.sketches.size(), RollingHistory::kMaxSketches);
  EXPECT_EQ(history.samples, 40U * 288);
  RollingHistory paused = fed(std::chrono::hours(48));
  feed(paused, kStart + std::chrono::hours(24 * 60), kStart + std::chrono::hours(24 * 60 + 1));
  EXPECT_TRUE(paused.parts().closed.empty()) << "days of two months ago";
  EXPECT_TRUE(paused.parts().sketches.empty());
}

TEST(RollingHistory, CountsFaultsAndForgetsThemGradually) {
  struct Case {
    const char* name;
    double cpu;
    double memory;
  };
  const double nan = advisor::kUnknown;
  for (const Case& each : {Case{"negative", -1, nan}, Case{"infinite", std::numeric_limits<double>::infinity(), nan},
                           Case{"absurd cores", 1e9, nan}, Case{"absurd bytes", nan, 1e30}}) {
    RollingHistory history;
    for (int i = 0; i < 8; ++i) history.add(kStart + minutes(i), each.cpu, each.memory, false);
    EXPECT_TRUE(history.empty()) << each.name;
    EXPECT_EQ(history.parts().oddities.total(), 8U) << each.name;
    feed(history, kStart, kStart + std::chrono::hours(96));
    EXPECT_LE(history.parts().oddities.total(), 1U) << each.name;
  }
  RollingHistory late = fed(std::chrono::hours(36));
  late.add(kStart + minutes(1), 0.2, 1, false);
  EXPECT_EQ(late.parts().oddities.duplicates, 1U) << "its day is closed";
  EXPECT_EQ(late.parts().samples, 432U);
}

TEST(RollingHistory, SeparatesStartUps) {
  RollingHistory history = fed(std::chrono::hours(24));
  history.add(kStart + std::chrono::hours(25), 3, kMiB, true);
  const auto told = history.history();
  EXPECT_EQ(told.days.rbegin()->second.cpu_startup_peak, 3);
  EXPECT_TRUE(std::isnan(told.days.rbegin()->second.cpu_peak));
}

/// A restart at any time must not change the result. The new process reads the stored history before its first write,
/// which is after its first samples.
TEST(RollingHistory, MergedWithTheStoredHistoryEqualsOneProcess) {
  const auto end = std::chrono::hours(101);
  const auto whole = fed(end);
  for (const int cut : {0, 1, 23, 24, 25, 47, 72, 99, 100}) {
    SCOPED_TRACE(cut);
    const auto kept = advisor::decode_history(advisor::encode_history(fed(std::chrono::hours(cut))), kLater);
    ASSERT_TRUE(kept) << kept.error().message;
    RollingHistory next;
    const base::TimePoint begun = kStart + std::chrono::hours(cut);
    feed(next, begun, begun + minutes(20));
    next.merge(*kept);
    feed(next, begun + minutes(20), kStart + end);
    EXPECT_EQ(next.parts().samples, whole.parts().samples);
    EXPECT_EQ(next.parts().first, whole.parts().first);
    EXPECT_EQ(next.parts().last, whole.parts().last);
    const auto one = whole.history();
    const auto two = next.history();
    ASSERT_EQ(two.days.size(), one.days.size());
    for (const auto& [day, usage] : one.days) {
      EXPECT_EQ(two.days.at(day).samples, usage.samples);
      EXPECT_EQ(two.days.at(day).covered, usage.covered);
      EXPECT_EQ(two.days.at(day).cpu_peak, usage.cpu_peak);
      EXPECT_NEAR(two.days.at(day).cpu_mean, usage.cpu_mean, 1e-9);
      EXPECT_EQ(two.days.at(day).memory_peak, usage.memory_peak);
    }
    EXPECT_EQ(two.cpu->count(), one.cpu->count());
    EXPECT_EQ(two.cpu->quantile(0.9), one.cpu->quantile(0.9));
  }
}

TEST(RollingHistory, MergedOverMidnightKeepsTheBetterCoveredDay) {
  const RollingHistory kept = fed(std::chrono::hours(24) - minutes(30));
  RollingHistory next;
  feed(next, kStart + std::chrono::hours(24) - minutes(30), kStart + std::chrono::hours(24) + minutes(30));
  next.merge(kept);
  ASSERT_EQ(next.parts().closed.size(), 1U);
  EXPECT_EQ(next.parts().closed.begin()->second.samples, 282U) << "six of the last half hour are gone";
  EXPECT_EQ(next.parts().open.samples, 6U);
}

TEST(HistoryText, RoundTrips) {
  for (const int hours : {0, 1, 24, 100, 24 * 30}) {
    SCOPED_TRACE(hours);
    const std::string text = advisor::encode_history(fed(std::chrono::hours(hours)));
    EXPECT_LE(text.size(), 4096U);
    const auto read = advisor::decode_history(text, kLater);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(advisor::encode_history(*read), text);
  }
}

TEST(HistoryText, StaysWithinItsSizeLimitForTheWidestRange) {
  RollingHistory history;
  base::TimePoint time = kStart;
  for (int i = 0; i < 200'000; ++i, time += base::seconds(8)) {
    const double cores = advisor::kMinSketchCores * std::pow(4e7, (i * 7919 % 10'000) / 10'000.0);
    history.add(time, cores, 1e9, i % 100 == 0);
  }
  EXPECT_LE(advisor::encode_history(history).size(), advisor::kMaxHistoryText);
}

std::string with_byte(std::string text, std::size_t at, char value) {
  std::string bytes = *base::decode_base64(text);
  bytes.at(at) = value;
  return base::encode_base64(bytes);
}

TEST(HistoryText, RefusesHostileInputCompletely) {
  const std::string good = advisor::encode_history(fed(std::chrono::hours(100)));
  const std::string bytes = *base::decode_base64(good);
  struct Case {
    const char* name;
    std::string text;
    const char* why;
  };
  std::string nan_peak = bytes;
  // version, first (5), last (5), samples (2), 4 oddities, number of days, then day (3), samples (2), minutes (2), flag
  // for known kills, CPU peak.
  const std::size_t peak = 1 + 5 + 5 + 2 + 4 + 1 + 3 + 2 + 2 + 1 + 1;
  const double nan = advisor::kUnknown;
  std::memcpy(nan_peak.data() + peak, &nan, sizeof nan);
  std::string huge_peak = bytes;
  const double huge = 1e300;
  std::memcpy(huge_peak.data() + peak, &huge, sizeof huge);
  std::string negative_peak = bytes;
  const double negative = -0.5;
  std::memcpy(negative_peak.data() + peak, &negative, sizeof negative);
  const std::vector<Case> cases = {
      {"nothing", "", "version 0 is unknown"},
      {"not valid Base64", "???", "not valid Base64"},
      {"another version", with_byte(good, 0, 2), "version 2 is unknown"},
      {"cut off", base::encode_base64(bytes.substr(0, bytes.size() / 2)),
       "the values are not possible for a container"},
      {"something behind it", base::encode_base64(bytes + '\0'), "the values are not possible for a container"},
      {"NaN", base::encode_base64(nan_peak), "the values are not possible for a container"},
      {"huge", base::encode_base64(huge_peak), "the values are not possible for a container"},
      {"negative", base::encode_base64(negative_peak), "the values are not possible for a container"},
      {"very long", std::string(advisor::kMaxHistoryText + 1, 'A'),
       "bytes are more than the maximum size of a history"},
      {"a number that does not end", base::encode_base64(std::string(1, 1) + std::string(40, '\xFF')),
       "the values are not possible for a container"}};
  for (const Case& each : cases) {
    const auto read = advisor::decode_history(each.text, kLater);
    ASSERT_FALSE(read) << each.name;
    EXPECT_THAT(read.error().message, HasSubstr(each.why)) << each.name;
  }
  EXPECT_FALSE(advisor::decode_history(good, kStart)) << "its days have not come yet";
}

TEST(HistoryText, WithAnyChangedByteHasPossibleValues) {
  const std::string bytes = *base::decode_base64(advisor::encode_history(fed(std::chrono::hours(50))));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const char value : {'\0', '\x01', '\x7F', '\x80', '\xFF'}) {
      std::string changed = bytes;
      changed[at] = value;
      const auto read = advisor::decode_history(base::encode_base64(changed), kLater);
      if (!read) continue;
      const auto advice = advisor::advise_container(app(), read->history(), rules_until(kLater));
      if (advice.recommended.cpu_limit) {
        EXPECT_LE(*advice.recommended.cpu_limit, advisor::kMaxCores + 1) << at;
      }
    }
  }
}

TEST(SketchParts, ThatAreInvalidAreRefused) {
  using advisor::QuantileSketch;
  const auto of = [](QuantileSketch::Parts parts) {
    return QuantileSketch::of(advisor::kMinSketchCores, advisor::kMaxCores, std::move(parts)).has_value();
  };
  EXPECT_TRUE(of({}));
  EXPECT_TRUE(of({0, {1, 2, 3}, 4}));
  EXPECT_FALSE(of({0, std::vector<std::uint32_t>(QuantileSketch::kMaxBuckets + 1, 1), 0}));
  EXPECT_FALSE(of({30'000, {1}, 0})) << "above what any container uses";
  EXPECT_FALSE(of({-30'000, {1}, 0}));
  EXPECT_FALSE(of({0, {}, std::uint64_t{1} << 60}));
}

}  // namespace running_history_test
