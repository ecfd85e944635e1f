#include "controllers/policy/usage/collector.hpp"

#include <gmock/gmock.h>

#include <map>

namespace usage_collector_test {

using base::seconds;
using controllers::UsageCollector;
using controllers::WantedUsage;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The answer of all fake sources, and the number of sources and requests.
struct World {
  base::Result<usage::Samples> answer = base::unavailable("no answer: timeout");
  int made = 0;
  int asked = 0;
};

class FakeSource final : public usage::Source {
 public:
  explicit FakeSource(World& world) : world_(world) { ++world_.made; }
  base::Result<usage::Samples> sample() override {
    ++world_.asked;
    return world_.answer;
  }
  base::Result<std::vector<usage::Series>> history(base::TimePoint, base::TimePoint, base::Duration) override {
    return base::Error{base::ErrorCode::kUnsupported, "it keeps none"};
  }

 private:
  World& world_;
};

class Collector : public testing::Test {
 protected:
  api::UsageSource source(const std::string& name, base::Duration interval = seconds(30)) const {
    api::UsageSource made;
    made.name = name;
    made.interval = interval;
    return made;
  }
  usage::Samples cpu(double cores) const {
    usage::Samples samples;
    samples.columns = {{"cpu", usage::Unit::kAmount}};
    samples.nodes = {{"node-a", clock.now(), {cores}}};
    return samples;
  }
  void collect_all() {
    while (const auto key = queue.try_take()) {
      const auto again = collector.collect(*key);
      queue.done(*key);
      if (again && again->after) queue.add_after(*key, *again->after);
    }
  }

  base::ManualClock clock{base::parse_time("2026-11-23T12:00:00Z").value()};
  base::Metrics metrics;
  World world;
  kube::WorkQueue queue{clock};
  UsageCollector collector{
      {.make_source = [this](const api::UsageSource&) { return std::make_unique<FakeSource>(world); },
       .clock = clock,
       .log = base::Log(),
       .metrics = metrics},
      queue};
};

TEST_F(Collector, AsksAtItsIntervalAndHasTheFiguresAtOnce) {
  world.answer = cpu(2);
  collector.set("balance", {{"server", source("server")}});
  EXPECT_EQ(collector.figures("balance").measured.at(0)->problem, "the source has not responded yet");
  collect_all();
  EXPECT_THAT(collector.figures("balance").measured.at(0)->nodes.at(0).now, ElementsAre(2000));
  clock.advance(seconds(29));
  collect_all();
  EXPECT_EQ(world.asked, 1);
  clock.advance(seconds(1));
  collect_all();
  EXPECT_EQ(world.asked, 2);
}

TEST_F(Collector, RebuildsFiguresOnlyAfterAChange) {
  world.answer = cpu(2);
  collector.set("balance", {{"server", source("server")}});
  collect_all();
  const auto first = collector.figures("balance").measured.at(0);
  clock.advance(seconds(29));
  EXPECT_EQ(collector.figures("balance").measured.at(0), first);
  clock.advance(seconds(1));
  world.answer = cpu(4);
  collect_all();
  const auto second = collector.figures("balance").measured.at(0);
  EXPECT_GT(second->nodes.at(0).now.at(0), first->nodes.at(0).now.at(0));
  clock.advance(source("server").max_age);
  EXPECT_EQ(collector.figures("balance").measured.at(0), second);
  clock.advance(seconds(1));
  EXPECT_THAT(collector.figures("balance").measured.at(0)->nodes.at(0).problem, HasSubstr("old"));
}

TEST_F(Collector, HoldsNoFiguresThatAnAnswerHasOutdated) {
  world.answer = cpu(2);
  collector.set("balance", {{"server", source("server")}});
  collector.set("pack", {{"metrics", source("metrics")}});
  collect_all();
  const std::weak_ptr<const scheduling::MeasuredUsage> first = collector.figures("balance").measured.at(0);
  const std::weak_ptr<const scheduling::MeasuredUsage> second = collector.figures("pack").measured.at(0);
  EXPECT_FALSE(first.expired());
  clock.advance(seconds(30));
  collect_all();
  EXPECT_TRUE(first.expired()) << "they would hold the pods of the answer before";
  EXPECT_TRUE(second.expired());
}

TEST_F(Collector, AsksOnceForPoliciesThatWantTheSame) {
  world.answer = cpu(2);
  collector.set("balance", {{"server", source("server")}});
  collector.set("pack", {{"metrics", source("metrics")}});
  collect_all();
  EXPECT_EQ(world.asked, 1);
  EXPECT_EQ(collector.figures("pack").measured.at(0)->source, "metrics");
  EXPECT_EQ(collector.figures("balance").measured.at(0)->source, "server");
}

TEST_F(Collector, CountsAPodThatLeftNoLonger) {
  world.answer = cpu(3);
  world.answer->pod_columns = world.answer->columns;
  world.answer->pods = {{"shop", "p"}};
  world.answer->pod_values = {0.5};
  collector.set("balance", {{"server", source("server")}});
  collect_all();
  api::Pod pod;
  pod.meta.ns = "shop";
  pod.meta.name = "p";
  pod.node_name = {"node-a"};
  clock.advance(seconds(5));
  collector.on_pod(&pod, nullptr);
  EXPECT_THAT(collector.figures("balance").measured.at(0)->nodes.at(0).now, ElementsAre(2500));
}

// --- forecasts follow pods

/// All nodes fill up equally, so that the forecast has quality. Pod shop/p is on node-a.
class Forecasts : public Collector {
 protected:
  static constexpr base::Duration kStep = base::minutes(5);

  void SetUp() override {
    api::UsageSource wanted = source("server", pause);
    wanted.max_age = 2 * kStep;
    wanted.forecast.emplace();
    collector.set("balance", {{"server", wanted}});
    for (int i = 0; i < 100 * (kStep / pause); ++i) answer({{"p", 1}});
    ASSERT_GT(foreseen("node-a"), 1000);
    ASSERT_EQ(difference(), 0);
  }
  /// `more` is the additional usage of node-a in cores.
  void answer(const std::map<std::string, double>& pods, double more = 0) {
    usage::Samples samples;
    samples.columns = samples.pod_columns = {{"cpu", usage::Unit::kAmount}};
    load += 0.02 * static_cast<double>(pause.count()) / static_cast<double>(kStep.count());
    samples.nodes = {{"node-a", clock.now(), {load + more}}, {"node-b", clock.now(), {load}}};
    for (const auto& [name, cores] : pods) {
      samples.pods.push_back({"shop", name});
      samples.pod_values.push_back(cores);
    }
    world.answer = samples;
    collect_all();
    clock.advance(pause);
  }
  std::int64_t foreseen(const std::string& node) {
    for (const auto& each : collector.figures("balance").measured.at(0)->nodes) {
      if (each.name == node && !each.foreseen.empty()) return each.foreseen.at(0);
    }
    return scheduling::kUnknownUsage;
  }
  /// Returns the difference between the forecasts of node-a and node-b.
  std::int64_t difference() { return foreseen("node-a") - foreseen("node-b"); }
  api::Pod pod(const std::string& name, const std::string& node) const {
    api::Pod made;
    made.meta.ns = "shop";
    made.meta.name = name;
    made.meta.creation_timestamp = clock.now();
    made.node_name = {node};
    made.phase = api::PodPhase::kRunning;
    return made;
  }

  double load = 4;
  base::Duration pause = kStep;  ///< interval between answers
};

TEST_F(Forecasts, LagBehindAnUnexplainedStep) {
  for (int i = 0; i < 2; ++i) answer({}, -1);  // the second answer closes the step of the first
  EXPECT_GT(difference(), -900);
}

TEST_F(Forecasts, FallWithAPodThatLeaves) {
  const api::Pod gone = pod("p", "node-a");
  collector.on_pod(&gone, nullptr);
  for (int i = 0; i < 2; ++i) answer({}, -1);  // the second answer closes the step of the first
  EXPECT_NEAR(static_cast<double>(difference()), -1000, 10);
}

/// The containers have stopped, but the pod still exists. What the forecast has learned from complete steps in between
/// is subtracted a second time.
TEST_F(Forecasts, FallWithAPodWhoseMetricsEndedBeforeIt) {
  const api::Pod gone = pod("p", "node-a");
  answer({}, -1);
  EXPECT_GT(difference(), -900);
  collector.on_pod(&gone, nullptr);
  EXPECT_LT(difference(), -990);
  for (int i = 0; i < 2; ++i) answer({}, -1);
  EXPECT_LT(difference(), -990);
  EXPECT_GT(difference(), -1400);
  for (int i = 0; i < 20; ++i) answer({}, -1);
  EXPECT_NEAR(static_cast<double>(difference()), -1000, 60);
}

/// Ten answers per step.
class FrequentForecasts : public Forecasts {
 protected:
  FrequentForecasts() { pause = kStep / 10; }
};

TEST_F(FrequentForecasts, FallOnceWithAPodWhoseMetricsEndedInTheSameStep) {
  const api::Pod gone = pod("p", "node-a");
  for (int i = 0; i < 4; ++i) answer({{"p", 1}});
  for (int i = 0; i < 4; ++i) answer({}, -1);
  collector.on_pod(&gone, nullptr);
  for (int i = 0; i < 12; ++i) answer({}, -1);
  EXPECT_NEAR(static_cast<double>(difference()), -1000, 10);
}

TEST_F(Forecasts, StayWhereAPodsMetricsEndedLongBeforeIt) {
  const api::Pod gone = pod("p", "node-a");
  for (int i = 0; i < 4; ++i) answer({});
  collector.on_pod(&gone, nullptr);
  answer({});
  EXPECT_EQ(difference(), 0);
}

TEST_F(Forecasts, RiseWithANewPodOnceItIsMeasured) {
  const api::Pod added = pod("q", "node-a");
  collector.on_pod(nullptr, &added);
  answer({{"p", 1}});
  EXPECT_EQ(difference(), 0);
  for (int i = 0; i < 2; ++i) answer({{"p", 1}, {"q", 0.5}}, 0.5);
  EXPECT_NEAR(static_cast<double>(difference()), 500, 10);
}

TEST_F(Forecasts, DoNotCountExistingPodsAgain) {
  api::Pod old = pod("p", "node-a");
  old.meta.creation_timestamp -= std::chrono::hours(24);
  collector.on_pod(nullptr, &old);
  answer({{"p", 1}});
  answer({{"p", 1}});
  EXPECT_EQ(difference(), 0);
}

TEST_F(Forecasts, AreLeftAloneByAPodThatWasNeverMeasured) {
  const api::Pod brief = pod("brief", "node-a");
  collector.on_pod(nullptr, &brief);
  collector.on_pod(&brief, nullptr);
  answer({{"p", 1}});
  EXPECT_EQ(difference(), 0);
}

TEST_F(Collector, TakesTenThousandNodesInOneAnswer) {
  usage::Samples samples;
  samples.columns = {{"cpu", usage::Unit::kAmount}};
  for (int i = 0; i < 10'000; ++i) samples.nodes.push_back({"node-" + std::to_string(10'000 + i), clock.now(), {1}});
  world.answer = samples;
  collector.set("balance", {{"server", source("server")}});
  collect_all();
  const auto figures = collector.figures("balance").measured.at(0);
  ASSERT_EQ(figures->nodes.size(), 10'000U);
  EXPECT_THAT(figures->nodes.back().now, ElementsAre(1000));
}

TEST_F(Collector, StopsQueryingSourcesWithoutAPolicy) {
  collector.set("balance", {{"server", source("server")}});
  collector.set("pack", {{"server", source("server")}});
  collect_all();
  collector.drop("balance");
  clock.advance(seconds(30));
  collect_all();
  EXPECT_EQ(world.asked, 2) << "somebody wants it still";
  collector.drop("pack");
  clock.advance(seconds(30));
  collect_all();
  EXPECT_EQ(world.asked, 2);
  EXPECT_EQ(queue.depth(), 0U);
  EXPECT_THAT(collector.figures("pack").measured, IsEmpty());
}

TEST_F(Collector, KeepsSamplesWhenAPolicyAddsASource) {
  world.answer = cpu(2);
  collector.set("balance", {{"server", source("server")}});
  collect_all();
  collector.set("balance", {{"server", source("server")}, {"fast", source("fast", seconds(5))}});
  EXPECT_THAT(collector.figures("balance").measured.at(0)->nodes.at(0).now, ElementsAre(2000));
  collect_all();
  EXPECT_EQ(world.made, 2);
}

TEST_F(Collector, ReportsAFailureUntilTheNextAnswer) {
  collector.set("balance", {{"server", source("server")}});
  collect_all();
  EXPECT_EQ(collector.figures("balance").measured.at(0)->problem, "no answer: timeout");
  world.answer = cpu(1);
  clock.advance(seconds(30));
  collect_all();
  EXPECT_EQ(collector.figures("balance").measured.at(0)->problem, "");
}

TEST(WantedUsage, OfUpstreamsMetricsIsTheFirstSourceOfItsType) {
  api::UsageSource server;
  server.name = "server";
  api::UsageSource prometheus;
  prometheus.name = "prometheus";
  prometheus.type = api::UsageSourceType::kPrometheus;
  prometheus.forecast.emplace();
  prometheus.queries = {{.resource = "cpu", .query = "cpu"}};
  scheduling::UsageNeed by_server{.metrics_server = true};
  scheduling::UsageNeed by_query{.query = "load"};
  scheduling::UsageNeed by_name{.source = "prometheus"};
  const auto wanted = controllers::wanted_usage({server, prometheus}, {by_server, by_query, by_name});
  ASSERT_EQ(wanted.size(), 4U);
  EXPECT_EQ(wanted[2].key, "KubernetesMetrics");
  EXPECT_EQ(wanted[2].source, server);
  EXPECT_EQ(wanted[3].key, "Prometheus: load");
  EXPECT_EQ(wanted[3].source.queries.at(0).query, "load");
  EXPECT_EQ(wanted[3].source.queries.at(0).resource, "MetricResource");
  EXPECT_EQ(wanted[3].source.smoothing.method, api::SmoothingMethod::kLatest);
  EXPECT_FALSE(wanted[3].source.forecast);
}

TEST(WantedUsage, AResourceThatNoSourceMeasuresIsAPolicyError) {
  const std::vector<scheduling::UsageNeed> needs = {{.source = "x"}, {.metrics_server = true}, {.query = "load"}};
  std::vector<std::string> texts;
  for (const api::FieldError& error : controllers::unmet_usage({}, needs)) texts.push_back(error.to_string());
  EXPECT_THAT(
      texts,
      ElementsAre("spec.strategies: there is no source \"x\" in spec.usageSources",
                  "spec.strategies: metricsUtilization requires a source of type MetricsServer in spec.usageSources",
                  "spec.strategies: metricsUtilization requires a source of type Prometheus in spec.usageSources"));
}

TEST_F(Collector, ReportsProblemsTogetherWithTheFigures) {
  world.answer = cpu(2);
  world.answer->problems = {"query cpu: no data"};
  collector.set("balance", {{"server", source("server")}});
  EXPECT_EQ(collector.figures("balance").health.at(0).problem, "the source has not responded yet");
  collect_all();
  EXPECT_THAT(collector.figures("balance").health.at(0).complaints, ElementsAre("query cpu: no data"));
  world.answer = base::unavailable("HTTP 401");
  clock.advance(seconds(30));
  collect_all();
  EXPECT_EQ(collector.figures("balance").health.at(0).problem, "HTTP 401");
  EXPECT_THAT(collector.figures("balance").health.at(0).complaints, IsEmpty()) << "they were about another answer";
  EXPECT_EQ(collector.figures("balance").measured.at(0)->problem, "") << "what is known is good still";
}

TEST_F(Collector, LogsFaultsOfAnswersOnceAndAgainWhenTheyChange) {
  testing::internal::CaptureStderr();
  UsageCollector logging{
      {.make_source = [this](const api::UsageSource&) { return std::make_unique<FakeSource>(world); },
       .clock = clock,
       .log = base::Log::to_stderr(base::LogLevel::kInfo, base::LogFormat::kText),
       .metrics = metrics},
      queue};
  world.answer = cpu(2);
  logging.set("balance", {{"server", source("server")}});
  const auto key = queue.try_take().value();
  for (const char* fault : {"query cpu: no data", "query cpu: no data", "query cpu: 3 values are negative"}) {
    world.answer->problems = {fault};
    ASSERT_TRUE(logging.collect(key));
  }
  const std::string text = testing::internal::GetCapturedStderr();
  const auto count = [&](const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("query cpu: no data"), 1U) << text;
  EXPECT_EQ(count("3 values are negative"), 1U) << text;
}

// --- sources that block workers

/// Simulates other workers that continue while a source is asked, in the same thread.
class Places : public Collector {
 protected:
  /// Fails after `takes`. Meanwhile the next source of `names` is asked.
  class Chained final : public usage::Source {
   public:
    Chained(Places& test, std::string name) : test_(test), name_(std::move(name)) {}
    base::Result<usage::Samples> sample() override {
      test_.asked.push_back(name_);
      test_.ask_next();
      if (name_ == test_.good) return test_.cpu(1);
      test_.clock.advance(test_.takes);
      return base::unavailable("no answer: timeout");
    }
    base::Result<std::vector<usage::Series>> history(base::TimePoint, base::TimePoint, base::Duration) override {
      return base::Error{base::ErrorCode::kUnsupported, "it keeps none"};
    }

   private:
    Places& test_;
    const std::string name_;
  };

  /// Each source has a different interval, which identifies it.
  void want(const std::vector<std::string>& names) {
    std::vector<WantedUsage> wanted;
    for (std::size_t i = 0; i < names.size(); ++i) {
      wanted.push_back({names[i], source(names[i], seconds(30 + static_cast<int>(i)))});
      by_interval[wanted.back().source.interval] = names[i];
    }
    chained.set("balance", wanted);
    while (const auto key = queue.try_take()) keys.push_back(*key);
  }
  /// Asks all of them concurrently, in this order. Returns the order of the requests.
  std::vector<std::string> ask(std::vector<std::size_t> order) {
    asked.clear();
    left.assign(order.rbegin(), order.rend());
    ask_next();
    return asked;
  }
  void ask_next() {
    if (left.empty()) return;
    const std::size_t next = left.back();
    left.pop_back();
    const auto again = chained.collect(keys.at(next));
    EXPECT_TRUE(again && again->after);
    if (!left.empty()) ask_next();
  }

  std::string good;
  base::Duration takes = seconds(10);
  std::vector<std::string> asked;
  std::vector<std::size_t> left;
  std::vector<api::ObjectKey> keys;
  std::map<base::Duration, std::string> by_interval;
  UsageCollector chained{{.make_source =
                              [this](const api::UsageSource& made) {
                                return std::make_unique<Chained>(*this, by_interval.at(made.interval));
                              },
                          .clock = clock,
                          .log = base::Log(),
                          .metrics = metrics},
                         queue};
};

TEST_F(Places, LeaveAWorkerToSourcesThatAnswer) {
  good = "good";
  want({"a", "b", "c", "d", "e", "good"});
  EXPECT_THAT(ask({5}), ElementsAre("good"));
  EXPECT_THAT(ask({0, 1, 2, 3, 4, 5}), ElementsAre("a", "b", "c", "good")) << "new ones take three places of four";
  EXPECT_THAT(ask({3, 4, 5}), ElementsAre("d", "e", "good"));
  EXPECT_THAT(ask({0, 1, 2, 3, 4, 5}), ElementsAre("a", "b", "good")) << "stalled ones take two";
  EXPECT_THAT(ask({2, 3, 4}), ElementsAre("c", "d")) << "and each has its turn";
}

TEST_F(Places, AreFreeForSourcesThatFailAtOnce) {
  takes = base::milliseconds(10);
  good = "f";
  want({"a", "b", "c", "f"});
  EXPECT_THAT(ask({0, 1}), ElementsAre("a", "b"));
  EXPECT_THAT(ask({0, 1, 2, 3}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(ask({3}), ElementsAre("f")) << "nothing is held";
}

}  // namespace usage_collector_test
