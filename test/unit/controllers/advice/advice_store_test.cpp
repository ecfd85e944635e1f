#include "controllers/advice/advice_store.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "advisor/rolling/codec.hpp"
#include "controllers/advice/status.hpp"

namespace controllers::advice {
namespace book_test {

using advisor::WorkloadKey;
using base::minutes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const base::TimePoint kStart = *base::parse_time("2026-11-02T00:00:00Z");
const WorkloadKey kWeb{"shop", "Deployment", "web"};
constexpr double kMiB = 1024.0 * 1024;

Advised of_pods(const WorkloadKey& key, const std::vector<std::string>& pods,
                const std::vector<std::string>& containers = {"app"}) {
  Advised advised;
  AdvisedWorkload& workload = advised.workloads[key];
  workload.owner = {"apps/v1", key.kind, key.name, "uid-" + key.name, false};
  workload.replicas = static_cast<int>(pods.size());
  for (const std::string& name : containers) {
    advisor::ContainerSpec spec;
    spec.name = name;
    spec.resources.cpu_request = 1;
    spec.resources.memory_request = 512 * kMiB;
    workload.containers.push_back(spec);
  }
  for (const std::string& pod : pods) advised.pods[pod_key(key.ns, pod)] = {key, kStart - minutes(60)};
  return advised;
}

void add(Advised& to, Advised more) {
  to.workloads.merge(more.workloads);
  to.pods.merge(more.pods);
}

usage::ContainerSample sample_of(std::string_view pod, base::TimePoint time, double cpu = 0.25,
                                 double memory = 100 * kMiB, std::string_view container = "app") {
  return {"shop", pod, container, time, cpu, memory};
}

struct AdviceBook : testing::Test {
  AdviceBook() { begin(); }
  std::unique_ptr<AdviceStore> book;
  void begin() {
    book = std::make_unique<AdviceStore>(
        AdviceStore::Settings{.interval = minutes(30), .startup = minutes(5), .max_age = minutes(5)});
  }

  std::uint64_t samples(std::string_view container = "app") {
    const StoredAdvice* kept = book->find(kWeb);
    if (kept == nullptr) return 0;
    const auto at = kept->histories.find(container);
    return at == kept->histories.end() ? 0 : at->second.parts().samples;
  }
  /// Records one sample per minute of one pod.
  void live(base::TimePoint from, base::TimePoint to, const std::function<void(base::TimePoint)>& each = {}) {
    for (base::TimePoint now = from; now < to; now += minutes(1)) {
      book->follow(of_pods(kWeb, {"web-1"}), now);
      book->sample(sample_of("web-1", now), now);
      for (const WorkloadKey& key : book->due(now)) {
        if (each) each(now);
        book->written(key, now, true);
      }
    }
  }
  api::ResourceAdviceStatus status(base::TimePoint now) { return advice_status(kWeb, *book->find(kWeb), {}, now); }
};

TEST_F(AdviceBook, TakesOnlySamplesThatAreNewAndOfItsOwnPods) {
  const base::TimePoint now = kStart + minutes(10);
  struct Case {
    const char* name;
    usage::ContainerSample sample;
    std::uint64_t expected;
  };
  book->follow(of_pods(kWeb, {"web-1"}, {"app", "log"}), now);
  for (const Case& each : {Case{"the first", sample_of("web-1", now), 1},
                           Case{"the same time in one answer", sample_of("web-1", now, 1, 1, "log"), 1},
                           Case{"a stranger", sample_of("api-1", now), 1},
                           Case{"another container", sample_of("web-1", now, 1, 1, "injected"), 1},
                           Case{"older", sample_of("web-1", now - minutes(1)), 1},
                           Case{"far too old", sample_of("web-1", now - minutes(6)), 1},
                           Case{"from the future", sample_of("web-1", now + minutes(6)), 1}}) {
    book->sample(each.sample, now);
    EXPECT_EQ(samples(), each.expected) << each.name;
  }
  EXPECT_EQ(samples("log"), 1U) << "containers of one pod have one time";
  book->follow(of_pods(kWeb, {"web-1"}, {"app", "log"}), now + minutes(1));
  book->sample(sample_of("web-1", now), now + minutes(1));
  EXPECT_EQ(samples(), 1U) << "nothing new was measured";
  book->sample(sample_of("web-1", now + minutes(1)), now + minutes(1));
  EXPECT_EQ(samples(), 2U);
  EXPECT_THAT(book->find(kWeb)->histories, SizeIs(2));
}

TEST_F(AdviceBook, WritesOncePerIntervalAndOnlyChanges) {
  std::vector<base::TimePoint> writes;
  live(kStart, kStart + minutes(300), [&](base::TimePoint now) { writes.push_back(now); });
  ASSERT_THAT(writes, SizeIs(10));
  for (std::size_t i = 1; i < writes.size(); ++i) EXPECT_EQ(writes[i] - writes[i - 1], minutes(30));
  book->follow(of_pods(kWeb, {"web-1"}), kStart + minutes(400));
  EXPECT_FALSE(book->due(kStart + minutes(400)).empty()) << "what came since the last write";
  book->written(kWeb, kStart + minutes(400), true);
  book->follow(of_pods(kWeb, {"web-1"}), kStart + minutes(900));
  EXPECT_THAT(book->due(kStart + minutes(900)), IsEmpty()) << "nothing was measured since";
  EXPECT_EQ(book->next_due(), std::nullopt);
}

TEST_F(AdviceBook, RetriesAFailedWriteInTheNextRound) {
  book->follow(of_pods(kWeb, {"web-1"}), kStart);
  book->sample(sample_of("web-1", kStart), kStart);
  const base::TimePoint first = *book->next_due();
  EXPECT_THAT(book->due(first), ElementsAre(kWeb));
  book->written(kWeb, first, false);
  EXPECT_EQ(*book->next_due(), first + minutes(30));
}

TEST_F(AdviceBook, SpreadsTheWritesOverTheInterval) {
  Advised many;
  for (int i = 0; i < 600; ++i) {
    const WorkloadKey key{"shop", "Deployment", fmt::format("w{}", i)};
    add(many, of_pods(key, {fmt::format("w{}-1", i)}));
  }
  book->follow(many, kStart);
  for (int i = 0; i < 600; ++i) book->sample(sample_of(fmt::format("w{}-1", i), kStart), kStart);
  std::size_t before = 0;
  for (int minute = 1; minute <= 30; ++minute) {
    const std::size_t due = book->due(kStart + minutes(minute)).size();
    EXPECT_LE(due - before, 45U) << minute;
    before = due;
  }
  EXPECT_EQ(before, 600U);
}

TEST_F(AdviceBook, ForgetsADeletedWorkloadOnceItsLastStatusIsWritten) {
  live(kStart, kStart + minutes(40));
  ASSERT_NE(book->find(kWeb), nullptr);
  book->find(kWeb)->is_loaded = true;
  const base::TimePoint gone = kStart + minutes(41);
  book->follow({}, gone);
  ASSERT_THAT(book->due(gone), ElementsAre(kWeb)) << "at once";
  book->written(kWeb, gone, true);
  EXPECT_EQ(book->size(), 0U);
}

TEST_F(AdviceBook, WritesNothingForShortLivedWorkloadsExceptCronJobs) {
  const WorkloadKey night{"shop", "CronJob", "night"};
  Advised both = of_pods(kWeb, {"web-1"});
  add(both, of_pods(night, {"night-1"}));
  book->follow(std::move(both), kStart);
  book->sample(sample_of("web-1", kStart), kStart);
  book->sample(sample_of("night-1", kStart), kStart);
  book->follow({}, kStart + minutes(1));
  EXPECT_THAT(book->due(kStart + minutes(1)), ElementsAre(night));
}

TEST_F(AdviceBook, IsBoundedForAnyNumberOfWorkloads) {
  for (int round = 0; round < 50; ++round) {
    const base::TimePoint now = kStart + minutes(round);
    Advised found;
    for (int i = 0; i < 200; ++i) {
      const std::string name = fmt::format("w{}-{}", round, i);
      add(found, of_pods({"shop", "CronJob", name}, {name}));
    }
    book->follow(found, now);
    for (int i = 0; i < 200; ++i) book->sample(sample_of(fmt::format("w{}-{}", round, i), now), now);
    EXPECT_LE(book->size(), 400U) << round;
  }
}

TEST_F(AdviceBook, AdvisesAfterThreeDaysAndSaysWhyNotBefore) {
  live(kStart, kStart + std::chrono::hours(48));
  auto said = status(kStart + std::chrono::hours(48));
  ASSERT_THAT(said.conditions, SizeIs(1));
  EXPECT_EQ(said.conditions[0].status, api::ConditionStatus::kFalse);
  EXPECT_EQ(said.conditions[0].reason, "InsufficientHistory");
  EXPECT_THAT(said.conditions[0].message,
              HasSubstr("app: 2 days of history with at least 12h, 3 are needed (2880 samples"));
  EXPECT_FALSE(said.containers.at(0).recommended);
  EXPECT_EQ(said.cpu_text, "1000m");
  EXPECT_EQ(said.confidence, "");
  live(kStart + std::chrono::hours(48), kStart + std::chrono::hours(72));
  said = status(kStart + std::chrono::hours(72));
  EXPECT_EQ(said.conditions[0].reason, "Advised");
  EXPECT_EQ(said.conditions[0].message, "1 container with advice by 4320 samples");
  EXPECT_EQ(said.cpu_text, "1000m → 225m") << "no bursts: 0.9 of the peak";
  EXPECT_EQ(said.memory_text, "512Mi → 115Mi");
  EXPECT_EQ(said.confidence, "Low");
  EXPECT_EQ(said.workload_text, "Deployment/web");
  ASSERT_TRUE(said.containers.at(0).recommended);
  EXPECT_EQ(said.containers[0].recommended->memory_limit, "115Mi");
}

TEST_F(AdviceBook, ContinuesFromTheStatusAfterAFailover) {
  const base::TimePoint cut = kStart + std::chrono::hours(40);
  live(kStart, cut);
  const auto kept = *api::decode_resource_advice(
      {{"metadata", {{"name", "deployment-web"}}}, {"status", api::encode_status(status(cut))}});
  begin();
  live(cut, cut + minutes(20));
  EXPECT_THAT(load_histories(kept.status, *book->find(kWeb), cut + minutes(20)), IsEmpty());
  live(cut + minutes(20), kStart + std::chrono::hours(72));
  const auto said = status(kStart + std::chrono::hours(72));
  EXPECT_EQ(said.conditions[0].message, "1 container with advice by 4320 samples") << "none is lost";
  EXPECT_EQ(said.containers[0].first_sample, kStart);
  EXPECT_EQ(said.cpu_text, "1000m → 225m");
}

TEST_F(AdviceBook, StartsAgainIfTheStoredHistoryIsHostile) {
  live(kStart, kStart + minutes(10));
  api::ResourceAdviceStatus forged;
  for (const char* name : {"app", "unknown"}) {
    api::ContainerAdvice& container = forged.containers.emplace_back();
    container.name = name;
    container.sketch = "AQIDBA==";
  }
  EXPECT_THAT(load_histories(forged, *book->find(kWeb), kStart + minutes(10)),
              ElementsAre(HasSubstr("container app: ")));
  EXPECT_EQ(samples(), 10U);
}

TEST_F(AdviceBook, BoundsTheSizeOfAStatusForAnyCpuUsage) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < api::kMaxAdvisedContainers; ++i) names.push_back(fmt::format("c{}", i));
  advisor::RollingHistory wide;
  for (int i = 0; i < 100'000; ++i)
    wide.add(kStart + base::seconds(16 * i), 1e-4 * std::pow(4e7, (i * 7919 % 10'000) / 10'000.0), kMiB, false);
  book->follow(of_pods(kWeb, {"web-1"}, names), kStart);
  for (const std::string& name : names) book->find(kWeb)->histories[name] = wide;
  const auto said = status(kStart + minutes(27'000));
  std::size_t all = 0;
  for (const auto& container : said.containers) all += container.sketch.size();
  EXPECT_LE(all, kMaxSketchBytes);
  EXPECT_GE(all, kMaxSketchBytes / 2);
  EXPECT_NE(said.containers.front().sketch, "");
  EXPECT_EQ(said.containers.back().sketch, "") << "no room was left";
  EXPECT_TRUE(said.containers.back().first_sample) << "it has advice all the same";
}

TEST_F(AdviceBook, ColumnsHaveOnlyValuesThatAllContainersHave) {
  Advised found = of_pods(kWeb, {"web-1"}, {"app", "log"});
  found.workloads[kWeb].containers[1].resources = {};
  book->follow(std::move(found), kStart);
  book->sample(sample_of("web-1", kStart), kStart);
  const auto said = status(kStart);
  EXPECT_EQ(said.cpu_text, "1000m");
  EXPECT_EQ(said.container_count, 2);
  EXPECT_EQ(said.containers[1].no_advice_reason, "no history (0 samples)");
  EXPECT_EQ(said.containers[1].sketch, "");
}

}  // namespace book_test
}  // namespace controllers::advice
