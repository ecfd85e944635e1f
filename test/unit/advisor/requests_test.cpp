#include "advisor/requests.hpp"

#include <gmock/gmock.h>

#include "test/unit/advisor/known_truth.hpp"

namespace advising_requests_test {

using namespace advisor;
using advising_test::history_of;
using advising_test::kApp;
using advising_test::kGiB;
using advising_test::kMonday;
using advising_test::kWeb;
using advising_test::rules_of;
using advising_test::truths;
using testing::Contains;
using testing::HasSubstr;

const Day kDay = day_of(kMonday);

/// Day with known values.
DayUsage day_of_peak(double peak) {
  return {.samples = 288,
          .covered = std::chrono::hours(24),
          .cpu_peak = peak,
          .cpu_mean = peak / 4,
          .cpu_p95 = peak / 2,
          .memory_peak = kGiB,
          .memory_mean = kGiB / 2};
}
ContainerHistory days_of(std::initializer_list<double> peaks) {
  ContainerHistory history;
  Day day = kDay;
  for (const double peak : peaks) history.days[day++] = day_of_peak(peak);
  return history;
}
ContainerSpec spec_of(double cpu = 1, double memory = 2 * kGiB) {
  ContainerSpec spec;
  spec.name = "app";
  spec.is_in_template = true;
  spec.resources = {cpu, cpu, memory, memory};
  return spec;
}

TEST(Profiles, FollowTheirFormulas) {
  const ContainerHistory history = days_of({0.4, 0.5, 0.6});
  const Advice core = advise_container(spec_of(), history, rules_of(Profile::kCore));
  EXPECT_EQ(core.recommended.cpu_request, 0.5);
  EXPECT_EQ(core.recommended.cpu_limit, 0.5);
  const Advice standard = advise_container(spec_of(), history, rules_of(Profile::kStandard));
  EXPECT_NEAR(standard.burstiness, 0.5, 1e-12);
  EXPECT_EQ(standard.recommended.cpu_request, 0.375) << "(0.9 - 0.3 * 0.5) * 0.5";
  EXPECT_EQ(standard.recommended.cpu_limit, 0.5);
  for (const Advice& advice : {core, standard}) {
    EXPECT_EQ(advice.recommended.memory_request, 1178 * kGiB / 1024) << "1 GiB + 15 %, in full MiB";
    EXPECT_EQ(advice.recommended.memory_limit, advice.recommended.memory_request);
    EXPECT_EQ(advice.no_advice_reason, "");
    EXPECT_EQ(advice.days, 3);
  }
}

/// Compares the result for every known workload and every profile with the exact values.
TEST(Profiles, MeetTheKnownTruth) {
  for (const auto& truth : truths()) {
    const auto points = advising_test::series_of(truth, 14);
    const ContainerHistory history = history_of(points);
    const double peaks = advising_test::mean_of_peaks(points);
    const auto cpu = advising_test::cpu_of(points);
    double memory = 0;
    for (const auto& point : points) memory = std::max(memory, point.memory);
    const Advice core = advise_container(spec_of(), history, rules_of(Profile::kCore));
    EXPECT_NEAR(*core.recommended.cpu_request, peaks, 0.001) << truth.name;
    EXPECT_NEAR(*core.recommended.memory_request, memory * 1.15, kGiB / 1024) << truth.name;
    const Advice standard = advise_container(spec_of(), history, rules_of(Profile::kStandard));
    EXPECT_LE(*standard.recommended.cpu_request, 0.9 * peaks + 0.001) << truth.name;
    EXPECT_GE(*standard.recommended.cpu_request, 0.6 * peaks - 0.001) << truth.name;
    for (const double p : {50.0, 90.0, 95.0, 99.0}) {
      const Advice percentile = advise_container(spec_of(), history, rules_of(Profile::kPercentile, 14, p));
      const double exact = std::max(advising_test::exact_quantile(cpu, p / 100), kMinCores);
      EXPECT_NEAR(*percentile.recommended.cpu_request, exact, 0.02 * exact + 0.001) << truth.name << " p" << p;
      EXPECT_GE(*percentile.recommended.cpu_limit, *percentile.recommended.cpu_request);
      EXPECT_LE(*percentile.percentile_low, *percentile.percentile_high);
    }
  }
}

TEST(Profiles, ExcludeStartUps) {
  auto points = advising_test::series_of(truths()[0], 4);
  points[0].cpu = 6;  // A Java process starts
  points[1].cpu = 5;
  const Owners owners = [] {
    Owners with = advising_test::web_owners();
    with.add_pod("shop", advising_test::kPod, kWeb, kMonday);
    return with;
  }();
  SampleAggregator fold(owners, {kMonday, kMonday + std::chrono::hours(240), base::minutes(10)});
  for (const auto& point : points) fold.add({point.time, "shop", advising_test::kPod, "app", point.cpu, point.memory});
  const Histories all = std::move(fold).finish();
  const Advice advice = advise_container(spec_of(), all.containers.at(kApp), rules_of(Profile::kCore));
  EXPECT_EQ(advice.recommended.cpu_limit, 0.5);
  EXPECT_EQ(advice.startup_peak, 6);
  EXPECT_THAT(advice.reasons, Contains(HasSubstr("startup uses 6000m: with a limit of 500m it starts more slowly")));
  EXPECT_EQ(advice.risk, Level::kMedium);
}

TEST(NoAdvice, IsBetterThanWrongAdvice) {
  const auto why = [](const ContainerHistory& history, Profile profile = Profile::kStandard) {
    const Advice advice = advise_container(spec_of(), history, rules_of(profile));
    EXPECT_EQ(advice.recommended, Resources());
    EXPECT_EQ(advice.confidence, Level::kNone);
    return advice.no_advice_reason;
  };
  EXPECT_EQ(why({}), "no history (0 samples)");
  EXPECT_EQ(why(days_of({1, 1})), "2 days of history with at least 12h, 3 are needed (576 samples, 2d in all)");
  ContainerHistory minutes = days_of({1, 1, 1, 1});
  for (auto& [day, usage] : minutes.days) usage.samples = 2, usage.covered = base::minutes(10);
  EXPECT_EQ(why(minutes), "0 days of history with at least 12h, 3 are needed (8 samples, 40m in all)");
  ContainerHistory odd = days_of({1, 1, 1});
  odd.oddities.negative = 100;
  EXPECT_EQ(why(odd), "100 of 964 samples are negative, implausible, duplicate or out of time order");
  ContainerHistory all_odd;
  all_odd.oddities.absurd = 100;
  EXPECT_EQ(why(all_odd), "100 of 100 samples are negative, implausible, duplicate or out of time order");
  EXPECT_EQ(why(days_of({1, 1, 1}), Profile::kPercentile),
            "profile Percentile needs individual samples, daily aggregates are not sufficient (864 samples)");
  ContainerHistory empty = days_of({1, 1, 1});
  for (auto& [day, usage] : empty.days) usage.cpu_peak = usage.memory_peak = kUnknown;
  EXPECT_EQ(why(empty), "no CPU and no memory samples on 3 days (864 samples)");
  ContainerHistory outside;
  for (Day day = kDay - 5; day < kDay; ++day) outside.days[day] = day_of_peak(1);
  EXPECT_EQ(why(outside), "no history (0 samples)") << "of the days that were asked for";
}

TEST(NoAdvice, IsGivenForFewerThanThreeDays) {
  ContainerHistory history = days_of({1, 1, 1, 1});
  for (Day day = kDay; day < kDay + 2; ++day) history.days[day].cpu_peak = kUnknown;
  const Advice advice = advise_container(spec_of(), history, rules_of(Profile::kStandard));
  EXPECT_FALSE(advice.recommended.cpu_request);
  EXPECT_TRUE(advice.recommended.memory_request);
  EXPECT_THAT(advice.reasons, Contains("CPU has samples for 2 days, 3 are needed"));
  for (auto& [day, usage] : history.days) usage.memory_peak = day == kDay ? 1e9 : kUnknown;
  EXPECT_EQ(advise_container(spec_of(), history, rules_of(Profile::kStandard)).no_advice_reason,
            "no CPU and no memory samples on 3 days (1152 samples)");
}

TEST(Advice, DoesNotTrustUsageCappedByALimit) {
  ContainerHistory killed = days_of({0.5, 0.5, 0.5});
  killed.days[kDay + 1].oom_kills = 2;
  const Advice memory = advise_container(spec_of(1, 2 * kGiB), killed, rules_of(Profile::kCore));
  EXPECT_EQ(memory.recommended.memory_limit, 2356 * kGiB / 1024) << "above the limit that killed";
  EXPECT_EQ(memory.risk, Level::kHigh);
  EXPECT_THAT(memory.reasons, Contains(HasSubstr("2 OOM kills")));
  ContainerHistory throttled = days_of({0.5, 0.5, 0.5});
  throttled.days[kDay].throttled = 0.3;
  const Advice cpu = advise_container(spec_of(1), throttled, rules_of(Profile::kStandard));
  EXPECT_EQ(cpu.recommended.cpu_limit, 1) << "not lowered";
  EXPECT_EQ(cpu.recommended.cpu_request, 1);
  EXPECT_EQ(cpu.risk, Level::kHigh);
  throttled.days[kDay].throttled = 0.04;
  EXPECT_EQ(advise_container(spec_of(1), throttled, rules_of(Profile::kStandard)).recommended.cpu_limit, 0.5);
}

TEST(Advice, ReportsLeaksGapsAndConfidence) {
  const auto find = [](const char* name) {
    const auto all = truths();
    return *std::ranges::find(all, name, &advising_test::Truth::name);
  };
  const auto advise = [](const ContainerHistory& history) {
    return advise_container(spec_of(), history, rules_of(Profile::kStandard));
  };
  const Advice leak = advise(history_of(advising_test::series_of(find("leak"), 14)));
  EXPECT_EQ(leak.risk, Level::kHigh);
  EXPECT_THAT(leak.reasons, Contains(HasSubstr("a leak?")));
  EXPECT_EQ(leak.confidence, Level::kHigh);
  EXPECT_THAT(advise(history_of(advising_test::series_of(find("daily wave"), 14))).reasons,
              Not(Contains(HasSubstr("a leak?"))));
  EXPECT_EQ(advise(history_of(advising_test::series_of(find("constant"), 8))).confidence, Level::kMedium);
  EXPECT_EQ(advise(history_of(advising_test::series_of(find("constant"), 3))).confidence, Level::kLow);
  ContainerHistory gap = history_of(advising_test::series_of(find("constant"), 9));
  gap.days.erase(kDay + 4);
  const Advice with_gap = advise(gap);
  EXPECT_EQ(with_gap.missing_days, 1);
  EXPECT_EQ(with_gap.confidence, Level::kLow);
  EXPECT_THAT(with_gap.reasons, Contains("1 of 9 days are missing"));
}

TEST(Advice, ReportsNewLimits) {
  ContainerSpec spec;
  spec.resources.cpu_request = 0.5;
  const ContainerHistory history = days_of({0.5, 0.5, 0.5});
  const Advice advice = advise_container(spec, history, rules_of(Profile::kCore));
  EXPECT_EQ(advice.risk, Level::kMedium);
  EXPECT_THAT(advice.reasons, Contains("a memory limit is added: containers that exceed it are killed"));
  EXPECT_THAT(advice.reasons, Contains("a CPU limit is added: containers that exceed it are throttled"));
  spec.resources = {0.5, 0.5, kGiB, kGiB};
  EXPECT_EQ(advise_container(spec, history, rules_of(Profile::kCore)).risk, Level::kLow);
}

TEST(Advice, ReportsConflicts) {
  Inventory inventory;
  Workload& web = inventory.workloads[kWeb];
  web.key = kWeb;
  web.replicas = 3;
  web.containers = {spec_of()};
  web.containers[0].heap = {4 * kGiB, 75.0};
  inventory.autoscalers = {{"HorizontalPodAutoscaler", "shop", "web", "Deployment", "web", true, false, ""},
                           {"VerticalPodAutoscaler", "shop", "v", "Deployment", "web", true, true, "Auto"},
                           {"HorizontalPodAutoscaler", "other", "web", "Deployment", "web", true, false, ""}};
  Histories histories;
  histories.containers[kApp] = days_of({0.5, 0.5, 0.5});
  histories.containers[{kWeb, "old"}] = days_of({0.5, 0.5});
  histories.containers[{{"shop", "Deployment", "gone"}, "x"}] = days_of({0.5});
  const auto all = advise_requests(inventory, histories, rules_of(Profile::kCore));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].no_advice_reason, "the workload no longer exists: its 1 days (288 samples) are not used");
  EXPECT_EQ(all[2].no_advice_reason,
            "the workload no longer has this container (renamed?): its 2 days (576 samples) are not used");
  std::string conflicts;
  for (const Conflict& conflict : all[1].conflicts) conflicts += conflict.resource + " " + conflict.with + "; ";
  EXPECT_EQ(conflicts, "memory MaxRAMPercentage; memory -Xmx; cpu HPA web; cpu VPA v; memory VPA v; ");
  EXPECT_TRUE(all[1].conflicts_in("cpu"));
  EXPECT_EQ(all[1].replicas, 3);
}

}  // namespace advising_requests_test
