#include "controllers/policy/usage/rounds.hpp"

#include <gmock/gmock.h>

#include "planner/strategies/utilization/usage_args.hpp"

namespace usage_rounds_test {

using base::minutes;
using base::seconds;
using controllers::UsageRounds;
using scheduling::kUnknownUsage;
using scheduling::MeasuredUsage;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using usage::kUnknown;

static_assert(controllers::kSamplesForHysteresis >= strategies::kMaxHysteresisSamples, "else some are never kept");

const base::TimePoint kNoon = base::parse_time("2026-11-23T12:00:00Z").value();

api::UsageSource source(api::SmoothingMethod method = api::SmoothingMethod::kLatest) {
  api::UsageSource made;
  made.name = "server";
  made.smoothing.method = method;
  return made;
}

usage::Samples cpu(double cores, base::TimePoint time, const std::string& node = "node-a") {
  usage::Samples samples;
  samples.columns = {{"cpu", usage::Unit::kAmount}};
  samples.nodes = {{node, time, {cores}}};
  return samples;
}

const MeasuredUsage::Node& only_node(const MeasuredUsage& figures) {
  EXPECT_EQ(figures.nodes.size(), 1U);
  return figures.nodes.at(0);
}

TEST(UsageRounds, AreInThousandths) {
  UsageRounds rounds(source());
  rounds.add(cpu(1.5, kNoon), kNoon);
  const MeasuredUsage figures = rounds.figures("server", kNoon);
  EXPECT_EQ(figures.source, "server");
  EXPECT_EQ(figures.problem, "");
  EXPECT_THAT(figures.resources, ElementsAre(MeasuredUsage::Resource{"cpu", false}));
  EXPECT_THAT(only_node(figures).now, ElementsAre(1500));
  EXPECT_EQ(only_node(figures).problem, "");
}

TEST(UsageRounds, AreSmoothedOverTheWindowOnly) {
  UsageRounds rounds(source(api::SmoothingMethod::kMean));
  rounds.add(cpu(100, kNoon - minutes(6)), kNoon - minutes(6));
  rounds.add(cpu(1, kNoon - minutes(4)), kNoon - minutes(4));
  rounds.add(cpu(3, kNoon), kNoon);
  EXPECT_THAT(only_node(rounds.figures("server", kNoon)).now, ElementsAre(2000));
  EXPECT_THAT(only_node(rounds.figures("server", kNoon)).samples, ElementsAre(100'000, 1000, 3000));
}

TEST(UsageRounds, CountTheSameSampleOnce) {
  UsageRounds rounds(source());
  for (int i = 0; i < 3; ++i) rounds.add(cpu(1, kNoon), kNoon + seconds(30 * i));
  EXPECT_THAT(only_node(rounds.figures("server", kNoon)).samples, ElementsAre(1000));
}

TEST(UsageRounds, ReportAMissingFirstAnswer) {
  UsageRounds rounds(source());
  EXPECT_EQ(rounds.figures("server", kNoon).problem, "the source has not responded yet");
  rounds.fail("no answer: timeout");
  EXPECT_EQ(rounds.figures("server", kNoon).problem, "no answer: timeout");
}

TEST(UsageRounds, OutliveAnAnswerThatFailsUntilTheyAreTooOld) {
  UsageRounds rounds(source());
  rounds.add(cpu(1, kNoon), kNoon);
  rounds.fail("no answer: timeout");
  EXPECT_EQ(rounds.figures("server", kNoon + minutes(2)).problem, "");
  EXPECT_EQ(only_node(rounds.figures("server", kNoon + minutes(2))).problem, "");
  EXPECT_EQ(only_node(rounds.figures("server", kNoon + minutes(7))).problem, "its newest sample is 7m old");
}

TEST(UsageRounds, FromAClockThatIsAheadAreDistinguished) {
  UsageRounds rounds(source());
  rounds.add(cpu(1, kNoon + minutes(5)), kNoon);
  EXPECT_THAT(only_node(rounds.figures("server", kNoon)).problem, HasSubstr("5m in the future"));
}

TEST(UsageRounds, AreGoodAgainWithTheFirstSampleAfterOneFromTheFuture) {
  UsageRounds rounds(source(api::SmoothingMethod::kMean));
  rounds.add(cpu(3, kNoon - seconds(30)), kNoon - seconds(30));
  rounds.add(cpu(100, kNoon + std::chrono::hours(6)), kNoon);
  rounds.add(cpu(1, kNoon + seconds(30)), kNoon + seconds(30));
  const MeasuredUsage::Node node = only_node(rounds.figures("server", kNoon + seconds(30)));
  EXPECT_EQ(node.problem, "");
  EXPECT_EQ(node.time, kNoon + seconds(30));
  EXPECT_THAT(node.samples, ElementsAre(3000, 1000)) << "nothing of the wrong one is left";
  EXPECT_THAT(node.now, ElementsAre(2000));
}

TEST(UsageRounds, OfAClockThatStaysAheadKeepTheNewestOnly) {
  UsageRounds rounds(source());
  for (int i = 0; i < 3; ++i) {
    const base::TimePoint now = kNoon + seconds(30 * i);
    rounds.add(cpu(i + 1, now + std::chrono::hours(6)), now);
    EXPECT_THAT(only_node(rounds.figures("server", now)).problem, HasSubstr("6h in the future"));
    EXPECT_THAT(only_node(rounds.figures("server", now)).samples, ElementsAre(1000 * (i + 1)));
  }
}

TEST(UsageRounds, AreUnknownAndNeverZeroWithoutAFigure) {
  for (const double value : {kUnknown, -1.0, static_cast<double>(INFINITY)}) {
    UsageRounds rounds(source());
    rounds.add(cpu(value, kNoon), kNoon);
    EXPECT_THAT(only_node(rounds.figures("server", kNoon)).now, ElementsAre(kUnknownUsage)) << value;
    EXPECT_EQ(only_node(rounds.figures("server", kNoon)).problem, "its newest sample has no usable value") << value;
  }
}

TEST(UsageRounds, OfANodeThatIsGoneAreForgottenAfterAWhile) {
  UsageRounds rounds(source());
  rounds.add(cpu(1, kNoon, "gone"), kNoon);
  rounds.add(cpu(1, kNoon + minutes(19), "node-a"), kNoon + minutes(19));
  EXPECT_EQ(rounds.figures("server", kNoon + minutes(19)).nodes.size(), 2U);
  rounds.add(cpu(1, kNoon + minutes(21), "node-a"), kNoon + minutes(21));
  EXPECT_EQ(rounds.figures("server", kNoon + minutes(21)).nodes.size(), 1U);
}

TEST(UsageRounds, HavePodsOfTheNewestAnswer) {
  UsageRounds rounds(source());
  usage::Samples samples = cpu(1, kNoon);
  samples.pod_columns = {{"memory", usage::Unit::kAmount}, {"cpu", usage::Unit::kAmount}};
  samples.pods = {{"shop", "api"}, {"shop", "web"}};
  samples.pod_values = {100, 0.25, kUnknown, 0.5};
  rounds.add(samples, kNoon);
  const MeasuredUsage figures = rounds.figures("server", kNoon);
  EXPECT_THAT(figures.resources,
              ElementsAre(MeasuredUsage::Resource{"cpu", false}, MeasuredUsage::Resource{"memory", false}));
  EXPECT_THAT(figures.pods, ElementsAre(MeasuredUsage::Pod{"shop", "api"}, MeasuredUsage::Pod{"shop", "web"}));
  EXPECT_THAT(figures.pod_amounts, ElementsAre(250, 100'000, 500, kUnknownUsage));
  EXPECT_THAT(only_node(figures).now, ElementsAre(1000, kUnknownUsage));
  rounds.add(cpu(1, kNoon + seconds(30)), kNoon + seconds(30));
  EXPECT_THAT(rounds.figures("server", kNoon).pods, IsEmpty());
}

TEST(UsageRounds, FiguresShareThePodsOfTheAnswer) {
  UsageRounds rounds(source());
  usage::Samples samples = cpu(1, kNoon);
  samples.pod_columns = samples.columns;
  samples.pods = {{"shop", "api"}, {"shop", "web"}};
  samples.pod_values = {0.25, 0.5};
  rounds.add(samples, kNoon);
  const MeasuredUsage first = rounds.figures("server", kNoon);
  const MeasuredUsage second = rounds.figures("server", kNoon);
  EXPECT_EQ(&first.pods.get(), &second.pods.get());
  EXPECT_EQ(&first.pod_amounts.get(), &second.pod_amounts.get());
  rounds.leave("node-a", {"shop", "api"}, kNoon - minutes(60), kNoon);
  const MeasuredUsage third = rounds.figures("server", kNoon);
  EXPECT_THAT(third.pods, ElementsAre(MeasuredUsage::Pod{"shop", "web"}));
  EXPECT_THAT(third.pod_amounts, ElementsAre(500));
  EXPECT_THAT(first.pods, SizeIs(2)) << "whoever has figures keeps them";
  EXPECT_EQ(&third.pods.get(), &rounds.figures("server", kNoon).pods.get());
}

TEST(UsageRounds, OfALongWindowAreThinnedOutAndHaveTheNewest) {
  api::UsageSource day = source(api::SmoothingMethod::kMean);
  day.smoothing.window = std::chrono::hours(24);
  day.interval = seconds(5);
  day.max_age = minutes(2);
  UsageRounds rounds(day);
  for (int i = 0; i <= 17'280; ++i) rounds.add(cpu(i < 17'280 ? 1 : 2, kNoon + seconds(5 * i)), kNoon + seconds(5 * i));
  const base::TimePoint end = kNoon + seconds(5 * 17'280);
  const MeasuredUsage::Node node = only_node(rounds.figures("server", end));
  EXPECT_EQ(node.samples.back(), 2000);
  EXPECT_EQ(node.samples.size(), controllers::kSamplesForHysteresis);
  EXPECT_EQ(node.time, end);
  EXPECT_NEAR(static_cast<double>(node.now[0]), 1000 + 1000.0 / controllers::kMaxRounds, 1);
}

TEST(UsageRounds, StartOverWhenTheColumnsChange) {
  UsageRounds rounds(source());
  rounds.add(cpu(1, kNoon), kNoon);
  usage::Samples other = cpu(2, kNoon + seconds(30));
  other.columns[0].resource = "memory";
  rounds.add(other, kNoon + seconds(30));
  EXPECT_THAT(only_node(rounds.figures("server", kNoon + seconds(30))).samples, ElementsAre(2000));
}

// --- pods that left

const base::TimePoint kEarlier = kNoon - std::chrono::hours(1);

usage::Samples with_pod(double cores, double of_pod, base::TimePoint time) {
  usage::Samples samples = cpu(cores, time);
  samples.pod_columns = samples.columns;
  samples.pods = {{"shop", "cart-0"}};
  samples.pod_values = {of_pod};
  return samples;
}

TEST(UsageRounds, OfANodeThatAPodLeftCountWithoutItUntilMeasuredAgain) {
  UsageRounds rounds(source(api::SmoothingMethod::kMean));
  rounds.add(with_pod(3, 0.5, kNoon - seconds(30)), kNoon - seconds(30));
  rounds.add(with_pod(3, 0.5, kNoon), kNoon);
  rounds.leave("node-a", {"shop", "cart-0"}, kEarlier, kNoon + seconds(5));
  EXPECT_THAT(only_node(rounds.figures("server", kNoon)).now, ElementsAre(2500));
  EXPECT_THAT(only_node(rounds.figures("server", kNoon)).samples, ElementsAre(2500, 2500));
  rounds.add(cpu(2.4, kNoon + seconds(30)), kNoon + seconds(30));
  EXPECT_THAT(only_node(rounds.figures("server", kNoon)).samples, ElementsAre(2500, 2500, 2400));
}

/// Otherwise a cycle before the next answer would move the same number of pods again.
TEST(UsageRounds, ForeseeLessOfANodeThatAPodLeftUntilTheNextAnswer) {
  UsageRounds rounds(source());
  rounds.add(with_pod(3, 0.5, kNoon), kNoon);
  rounds.foresee({{"node-a", {4000}}, {"node-b", {4000}}});
  rounds.leave("node-a", {"shop", "cart-0"}, kEarlier, kNoon + seconds(5));
  EXPECT_THAT(only_node(rounds.figures("server", kNoon)).foreseen, ElementsAre(3500));
  rounds.foresee({{"node-a", {3600}}});
  EXPECT_THAT(only_node(rounds.figures("server", kNoon)).foreseen, ElementsAre(3600));
}

TEST(UsageRounds, LateSamplesExcludeAPodThatLeft) {
  UsageRounds rounds(source());
  rounds.add(with_pod(3, 0.5, kNoon), kNoon);
  rounds.leave("node-a", {"shop", "cart-0"}, kEarlier, kNoon + seconds(20));
  rounds.add(cpu(3, kNoon + seconds(15)), kNoon + seconds(30));
  EXPECT_THAT(only_node(rounds.figures("server", kNoon)).now, ElementsAre(2500));
}

TEST(UsageRounds, ThatAreMeansCountTheRestOfAPodThatLeftInTheirWindow) {
  UsageRounds rounds(source());
  const auto sample = [](double cores, base::TimePoint time) {
    usage::Samples samples = with_pod(cores, 0.4, time);
    samples.columns.front().window = seconds(60);
    return samples;
  };
  rounds.add(sample(3, kNoon), kNoon);
  rounds.leave("node-a", {"shop", "cart-0"}, kEarlier, kNoon + seconds(15));
  rounds.add(sample(2.9, kNoon + seconds(30)), kNoon + seconds(30));
  EXPECT_THAT(only_node(rounds.figures("server", kNoon)).samples, ElementsAre(2600, 2600)) << "three quarters of it";
  rounds.add(sample(2.6, kNoon + seconds(75)), kNoon + seconds(75));
  EXPECT_THAT(only_node(rounds.figures("server", kNoon)).samples, ElementsAre(2600, 2600, 2600)) << "nothing of it";
}

TEST(UsageRounds, HaveSampleTimesAndWindows) {
  UsageRounds rounds(source());
  const auto sample = [](base::TimePoint time, base::seconds window) {
    usage::Samples samples = cpu(3, time);
    samples.columns.front().window = window;
    samples.columns.front().lag = seconds(30);
    return samples;
  };
  rounds.add(sample(kNoon, seconds(15)), kNoon);
  rounds.add(sample(kNoon + seconds(20), seconds(16)), kNoon + seconds(20));
  const MeasuredUsage figures = rounds.figures("server", kNoon);
  EXPECT_THAT(only_node(figures).times, ElementsAre(kNoon, kNoon + seconds(20))) << "another window forgets nothing";
  EXPECT_EQ(figures.resources.front().window, seconds(16));
  EXPECT_EQ(figures.resources.front().lag, seconds(30));
}

/// The sample includes the pod because it was scraped before the pod left, but its timestamp is later.
TEST(UsageRounds, ThatMayBeOlderThanTheirDateCountWithoutAPodThatJustLeft) {
  UsageRounds rounds(source());
  const auto sample = [](double cores, base::TimePoint time) {
    usage::Samples samples = with_pod(cores, 0.5, time);
    samples.columns.front().lag = seconds(30);
    return samples;
  };
  rounds.add(sample(3, kNoon), kNoon);
  rounds.leave("node-a", {"shop", "cart-0"}, kEarlier, kNoon + seconds(5));
  rounds.add(sample(3, kNoon + seconds(6)), kNoon + seconds(6));
  EXPECT_THAT(only_node(rounds.figures("server", kNoon)).samples, ElementsAre(2500, 2500));
  rounds.add(sample(2.6, kNoon + seconds(35)), kNoon + seconds(35));
  EXPECT_THAT(only_node(rounds.figures("server", kNoon)).samples, ElementsAre(2500, 2500, 2600))
      << "half a minute is over";
}

TEST(UsageRounds, MeansThatMayBeOlderCountForTheMaximumAge) {
  UsageRounds rounds(source());
  const auto sample = [](double cores, base::TimePoint time) {
    usage::Samples samples = with_pod(cores, 0.4, time);
    samples.columns.front().window = seconds(60);
    samples.columns.front().lag = seconds(30);
    return samples;
  };
  rounds.add(sample(3, kNoon), kNoon);
  rounds.leave("node-a", {"shop", "cart-0"}, kEarlier, kNoon + seconds(15));
  rounds.add(sample(3, kNoon + seconds(30)), kNoon + seconds(30));
  EXPECT_THAT(only_node(rounds.figures("server", kNoon)).samples, ElementsAre(2600, 2600)) << "all of it";
  rounds.add(sample(2.8, kNoon + seconds(75)), kNoon + seconds(75));
  EXPECT_THAT(only_node(rounds.figures("server", kNoon)).samples, ElementsAre(2600, 2600, 2600)) << "half of it";
}

TEST(UsageRounds, FromBeforeAPodBeganAreNotAboutIt) {
  UsageRounds rounds(source());
  rounds.add(with_pod(6, 0, kNoon - seconds(60)), kNoon - seconds(60));
  rounds.add(with_pod(10, 4, kNoon), kNoon);
  rounds.leave("node-a", {"shop", "cart-0"}, kNoon - seconds(30), kNoon + seconds(10));
  EXPECT_THAT(only_node(rounds.figures("server", kNoon)).samples, ElementsAre(6000, 6000));
}

TEST(UsageRounds, AreNotAboutALaterPodOfTheSameName) {
  UsageRounds rounds(source());
  rounds.add(with_pod(3, 0.5, kNoon), kNoon);
  rounds.leave("node-a", {"shop", "cart-0"}, kNoon + seconds(1), kNoon + seconds(5));
  EXPECT_THAT(only_node(rounds.figures("server", kNoon)).now, ElementsAre(3000));
}

TEST(UsageRounds, ForgetAPodThatLeft) {
  UsageRounds rounds(source());
  rounds.add(with_pod(3, 0.5, kNoon), kNoon);
  const std::uint64_t before = rounds.version();
  for (int i = 0; i < 2; ++i) rounds.leave("node-a", {"shop", "cart-0"}, kEarlier, kNoon + seconds(5));
  EXPECT_THAT(rounds.figures("server", kNoon).pods, IsEmpty());
  EXPECT_THAT(only_node(rounds.figures("server", kNoon)).now, ElementsAre(2500)) << "it leaves once";
  EXPECT_GT(rounds.version(), before);
}

TEST(UsageRounds, NeverFallBelowNothingWithAPodThatLeaves) {
  UsageRounds rounds(source());
  rounds.add(with_pod(0.2, 0.5, kNoon), kNoon);
  rounds.leave("node-a", {"shop", "cart-0"}, kEarlier, kNoon + seconds(5));
  rounds.leave("unknown", {"shop", "cart-1"}, kEarlier, kNoon + seconds(5));
  EXPECT_THAT(only_node(rounds.figures("server", kNoon)).now, ElementsAre(0));
}

// --- problems of the source

TEST(UsageHealth, HasFewAndShortComplaints) {
  UsageRounds rounds(source());
  usage::Samples samples = cpu(1, kNoon);
  samples.problems.assign(100, std::string(10'000, 'x'));
  rounds.add(samples, kNoon);
  const auto complaints = rounds.health().complaints;
  ASSERT_EQ(complaints.size(), 6U);
  EXPECT_LE(complaints[0].size(), 400U);
  EXPECT_EQ(complaints[5], "and 95 more");
  rounds.fail(std::string(10'000, 'x'));
  EXPECT_LE(rounds.health().problem.size(), 400U);
}

TEST(UsageHealth, ReportsTheSubstituteOfPodFigures) {
  UsageRounds rounds(source());
  usage::Samples samples = cpu(1, kNoon);
  samples.pod_columns = {{"cpu", usage::Unit::kAmount}, {"memory", usage::Unit::kAmount}};
  samples.problems = {"listing pods: HTTP 503"};
  rounds.add(samples, kNoon);
  EXPECT_THAT(rounds.health().complaints,
              ElementsAre("no pod is measured: pods get a share of the node's usage in proportion to their requests",
                          "listing pods: HTTP 503"));
  samples.pods = {{"shop", "a"}};
  samples.pod_values = {1, kUnknown};
  samples.problems.clear();
  rounds.add(samples, kNoon);
  EXPECT_THAT(rounds.health().complaints, ElementsAre("memory of no pod is measured: the pods' requests are used"));
}

TEST(UsageHealth, NamesTheColumnsThatNodesAreToHave) {
  usage::Samples samples;
  samples.columns = {{"cpu", usage::Unit::kPercent}, {"memory", usage::Unit::kPercent}};
  samples.nodes = {{"node-a", kNoon, {50, kUnknown}}};
  UsageRounds by_query(source());
  by_query.add(samples, kNoon);
  EXPECT_THAT(by_query.health().columns, ElementsAre("cpu", "memory"));
  api::UsageSource watcher = source();
  watcher.type = api::UsageSourceType::kLoadWatcher;
  UsageRounds by_watcher(watcher);
  by_watcher.add(samples, kNoon);
  EXPECT_THAT(by_watcher.health().columns, ElementsAre("cpu")) << "some libraries of it measure no memory";
}

TEST(UsageRounds, KnowTheUsualUsageOfPods) {
  UsageRounds rounds(source());
  const auto answer = [&](double first, double second, base::TimePoint time) {
    usage::Samples samples = cpu(4, time);
    samples.pod_columns = {{"cpu", usage::Unit::kAmount}};
    samples.pods = {{"shop", "db-0"}, {"shop", "web-1"}};
    samples.pod_values = {first, second};
    rounds.add(std::move(samples), time);
  };
  answer(1, 3, kNoon);
  answer(3, 3, kNoon + seconds(30));
  MeasuredUsage figures = rounds.figures("server", kNoon + seconds(30));
  EXPECT_THAT(figures.pod_amounts.get(), ElementsAre(3000, 3000));
  EXPECT_THAT(figures.pod_means.get(), ElementsAre(2000, 3000));
  rounds.leave("node-a", {"shop", "db-0"}, kNoon - minutes(10), kNoon + minutes(1));
  figures = rounds.figures("server", kNoon + minutes(1));
  EXPECT_THAT(figures.pods, SizeIs(1));
  EXPECT_THAT(figures.pod_means.get(), ElementsAre(3000)) << "of the pod that is still there";
}

}  // namespace usage_rounds_test
