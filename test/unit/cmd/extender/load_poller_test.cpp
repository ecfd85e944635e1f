#include "cmd/extender/load_poller.hpp"

#include <gtest/gtest.h>

namespace extender {
namespace keeper_test {

using scheduling::kUnknownUsage;
using scheduling::MeasuredUsage;

const base::TimePoint kNow{base::seconds(1'700'000'000)};

std::shared_ptr<const api::Node> node(const std::string& name) {
  api::Node made;
  made.meta.name = name;
  made.allocatable = {{"cpu", api::Quantity::from_milli(4'000)}};
  return std::make_shared<const api::Node>(std::move(made));
}

api::Pod pod(const std::string& name, const std::string& node, const std::string& owner = "rs") {
  api::Pod made;
  made.meta.ns = "shop";
  made.meta.name = name;
  made.meta.uid = "uid-" + name;
  made.meta.creation_timestamp = kNow;
  if (!owner.empty()) made.meta.owner_references = {{"apps/v1", "ReplicaSet", "web", owner, true}};
  made.node_name = {node};
  made.containers.resize(1);
  made.containers.front().requests = {{"cpu", api::Quantity::from_milli(1'000)}};
  return made;
}

api::Pod old(const std::string& name, const std::string& node) {
  api::Pod made = pod(name, node, "known");
  made.start_time = kNow - std::chrono::hours(1);
  return made;
}
api::Pod running(api::Pod made) {
  made.phase = api::PodPhase::kRunning;
  return made;
}

/// n1 and n2 use half of their cores. The usage of n3 is unknown.
MeasuredUsage usage(bool has_pods = true) {
  MeasuredUsage measured;
  measured.source = "m";
  measured.resources = {{"cpu", false}};
  for (const char* name : {"n1", "n2", "n3"}) {
    MeasuredUsage::Node entry;
    entry.name = name;
    entry.time = kNow;
    entry.now = {2'000};
    entry.samples = {1'600, 2'400, 2'000};
    if (entry.name == "n3") entry.problem = "its newest sample is 7m old";
    measured.nodes.push_back(entry);
  }
  if (!has_pods) return measured;
  measured.pods = {{"shop", "old-1"}, {"shop", "old-2"}};
  measured.pod_amounts = {100, 300};
  return measured;
}

std::shared_ptr<const LoadModel> board(MeasuredUsage measured = usage(), std::vector<std::string> resources = {"cpu"}) {
  const std::vector<std::shared_ptr<const api::Pod>> pods = {std::make_shared<const api::Pod>(old("old-1", "n1")),
                                                             std::make_shared<const api::Pod>(old("old-2", "n2"))};
  return make_load_model(std::make_shared<const MeasuredUsage>(std::move(measured)), std::move(resources),
                         {node("n1"), node("n2"), node("n3")}, pods);
}

double cpu_of(LoadPoller& keeper, const std::string& name, base::TimePoint now = kNow) {
  const auto loads = keeper.loads({name}, pod("asked", ""), false, now);
  return loads.front() ? loads.front()->mean.front() : -1;
}

TEST(LoadModel, HasMeanDeviationAndWorkloadUsage) {
  const auto made = board();
  ASSERT_TRUE(made->nodes.contains("n1"));
  EXPECT_DOUBLE_EQ(made->nodes.at("n1").load.mean.front(), 50);
  EXPECT_NEAR(made->nodes.at("n1").load.deviation.front(), 8.165, 0.001);
  EXPECT_FALSE(made->nodes.contains("n3"));
  EXPECT_EQ(made->usual.at("known").warm, std::vector<double>{200});
  EXPECT_EQ(made->use_of("shop", "old-2"), std::vector<double>{300});
  EXPECT_EQ(made->use_of("shop", "old-3"), std::vector<double>{-1});
}

TEST(LoadModel, TakesTheNewestSampleWhereItIsHigher) {
  MeasuredUsage measured = usage();
  measured.nodes[0].samples = {2'000, 3'000};
  EXPECT_DOUBLE_EQ(board(measured)->nodes.at("n1").load.mean.front(), 75);
}

TEST(LoadModel, APercentageNeedsNoCapacity) {
  MeasuredUsage measured = usage(false);
  measured.resources = {{"io", true}};
  measured.nodes[0].now = {30'000};
  measured.nodes[0].samples.clear();
  EXPECT_DOUBLE_EQ(board(measured, {"io"})->nodes.at("n1").load.mean.front(), 30);
}

TEST(LoadModel, AnUnmeasuredResourceIsIgnored) {
  const auto made = board(usage(), {"cpu", "memory"});
  EXPECT_TRUE(made->is_measured(0));
  EXPECT_FALSE(made->is_measured(1));
  EXPECT_TRUE(made->nodes.contains("n1"));
}

TEST(LoadModel, AnUnusableSourceKnowsNothing) {
  MeasuredUsage measured = usage();
  measured.problem = "no answer";
  EXPECT_TRUE(board(measured)->nodes.empty());
  MeasuredUsage unknown = usage();
  unknown.nodes[0].now = {kUnknownUsage};
  EXPECT_FALSE(board(unknown)->nodes.contains("n1"));
}

TEST(LoadPoller, KnowsNothingBeforeSomethingIsMeasured) {
  LoadPoller keeper({"cpu"});
  EXPECT_FALSE(keeper.loads({"n1"}, pod("p", ""), true, kNow).front());
}

/// Returns a model with a sample of n1 at `time` that uses `used` millicores. `of_pod` is the sample of the new pod.
std::shared_ptr<const LoadModel> later_board(base::TimePoint time, std::int64_t used,
                                             std::optional<std::int64_t> of_pod = {}, base::Duration window = {},
                                             base::Duration lag = {}) {
  MeasuredUsage measured = usage();
  measured.resources.front().window = window;
  measured.resources.front().lag = lag;
  measured.nodes[0].time = time;
  measured.nodes[0].now = {used};
  measured.nodes[0].samples = {2'000, used};
  measured.nodes[0].times = {kNow - base::seconds(60), time};
  if (of_pod) {
    auto pods = measured.pods.get();
    pods.insert(pods.begin(), {"shop", "new"});
    measured.pods = scheduling::SharedVector(std::move(pods));
    auto amounts = measured.pod_amounts.get();
    amounts.insert(amounts.begin(), *of_pod);
    measured.pod_amounts = scheduling::SharedVector(std::move(amounts));
  }
  return board(std::move(measured));
}

struct Sampled {
  const char* name;
  base::seconds running{0};  ///< time when it starts, after kNow; negative if it does not run yet
  base::seconds sample{0};   ///< time of the node's sample, after kNow
  std::int64_t used = 2'000;
  std::optional<std::int64_t> of_pod{};
  base::seconds window{0}, lag{0};
  double want = 0;  ///< percent
};

class NewPod : public ::testing::TestWithParam<Sampled> {};

/// The pod requests one core of four, which is 25 %, and its node is half full.
TEST_P(NewPod, CountsUntilTheNodesSampleIncludesIt) {
  const Sampled& row = GetParam();
  LoadPoller keeper({"cpu"});
  keeper.replace(board(), kNow);
  const api::Pod waiting = pod("new", "");
  const api::Pod bound = pod("new", "n1");
  keeper.on_pod(&waiting, &bound, kNow);
  const api::Pod started = running(bound);
  if (row.running >= base::seconds(0)) keeper.on_pod(&bound, &started, kNow + row.running);
  keeper.replace(later_board(kNow + row.sample, row.used, row.of_pod, row.window, row.lag), kNow + base::minutes(5));
  EXPECT_NEAR(cpu_of(keeper, "n1"), row.want, 1e-9);
}

using base::seconds;
INSTANTIATE_TEST_SUITE_P(
    LoadPoller, NewPod,
    ::testing::Values(
        Sampled{.name = "TheSampleIsOfBefore", .running = seconds(10), .sample = seconds(5), .want = 75},
        Sampled{.name = "ItsOwnFigureIsNewerThanTheNodes",
                .running = seconds(10),
                .sample = seconds(5),
                .of_pod = 1'000,
                .want = 75},
        Sampled{.name = "TheSampleShowsIt",
                .running = seconds(10),
                .sample = seconds(10),
                .used = 3'000,
                .of_pod = 1'000,
                .want = 75},
        Sampled{
            .name = "ItsOwnFigureComesLater", .running = seconds(10), .sample = seconds(30), .used = 3'000, .want = 75},
        Sampled{.name = "AMeanShowsAPart",
                .running = seconds(10),
                .sample = seconds(15),
                .used = 2'250,
                .of_pod = 1'000,
                .window = seconds(20),
                .want = 75},
        Sampled{.name = "ASampleMayBeOlderThanItsTime",
                .running = seconds(10),
                .sample = seconds(30),
                .lag = seconds(30),
                .want = 75},
        Sampled{.name = "ItPullsItsImage", .running = seconds(-1), .sample = seconds(200), .want = 75},
        Sampled{.name = "ItGetsWarm",
                .running = seconds(0),
                .sample = seconds(30),
                .used = 2'200,
                .of_pod = 200,
                .want = 75},
        Sampled{.name = "ItUsesMoreThanItAsksFor",
                .running = seconds(0),
                .sample = seconds(30),
                .used = 3'600,
                .of_pod = 1'600,
                .want = 90},
        Sampled{.name = "ItIsWarmAndUsesLess",
                .running = seconds(0),
                .sample = seconds(100),
                .used = 2'200,
                .of_pod = 200,
                .want = 55}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(LoadPoller, AnUnknownWorkloadUsesTheAverageShareOfItsRequests) {
  MeasuredUsage measured = usage();
  std::vector<MeasuredUsage::Pod> names;
  std::vector<std::int64_t> amounts;
  std::vector<std::shared_ptr<const api::Pod>> pods;
  const auto own = [&] {
    measured.pods = scheduling::SharedVector(names);
    measured.pod_amounts = scheduling::SharedVector(amounts);
    LoadPoller keeper({"cpu"});
    keeper.replace(make_load_model(std::make_shared<const MeasuredUsage>(measured), {"cpu"}, {node("n1")}, pods), kNow);
    return keeper.loads({"n1"}, pod("asked", ""), true, kNow).front()->mean.front() - 50;
  };
  for (int i = 10; i < 30; ++i) {
    EXPECT_DOUBLE_EQ(own(), 25) << pods.size() << " are too few";
    pods.push_back(std::make_shared<const api::Pod>(old("p-" + std::to_string(i), "n1")));
    names.push_back({"shop", "p-" + std::to_string(i)});
    amounts.push_back(300);
  }
  EXPECT_NEAR(own(), 7.5, 1e-9);
  amounts.assign(20, 1);
  EXPECT_NEAR(own(), 2.5, 1e-9) << "a tenth at least";
}

TEST(LoadPoller, ALoadThatRoseBecausePodsCameIsNoVariation) {
  LoadPoller keeper({"cpu"});
  keeper.replace(board(), kNow);
  const api::Pod waiting = pod("new", "");
  const api::Pod started = running(pod("new", "n1"));
  keeper.on_pod(&waiting, &started, kNow);
  const auto deviation = [&] { return keeper.loads({"n1"}, pod("asked", ""), false, kNow).front()->deviation.front(); };
  keeper.replace(later_board(kNow + base::seconds(30), 3'000, 1'000), kNow + base::seconds(30));
  EXPECT_NEAR(deviation(), 0, 1e-9);
  keeper.replace(later_board(kNow + base::seconds(200), 2'400, 400), kNow + base::seconds(200));
  EXPECT_NEAR(deviation(), 0, 1e-9) << "what it uses in fact counts before it came, too";
  EXPECT_EQ(keeper.placed(), 1U) << "a sample of before is kept";
}

TEST(LoadPoller, APodIsDroppedOnceAllSamplesShowIt) {
  LoadPoller keeper({"cpu"});
  keeper.replace(board(), kNow);
  const api::Pod waiting = pod("new", "");
  const api::Pod started = running(pod("new", "n1"));
  keeper.on_pod(&waiting, &started, kNow - base::minutes(2));
  keeper.replace(later_board(kNow, 3'000, 1'000), kNow);
  EXPECT_EQ(keeper.placed(), 0U);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1"), 75);
}

TEST(LoadPoller, NewPodsDoNotDefineUsualUsage) {
  MeasuredUsage measured = usage();
  measured.pods = {{"shop", "young"}};
  measured.pod_amounts = {100};
  const auto made = [&](std::int64_t of_pod) {
    measured.pod_amounts = {of_pod};
    return make_load_model(std::make_shared<const MeasuredUsage>(measured), {"cpu"}, {node("n1")},
                           {std::make_shared<const api::Pod>(running(pod("young", "n2")))});
  };
  LoadPoller keeper({"cpu"});
  const auto own = [&] { return keeper.loads({"n1"}, pod("asked", ""), true, kNow).front()->mean.front() - 50; };
  keeper.replace(made(100), kNow);
  EXPECT_DOUBLE_EQ(own(), 25) << "its request";
  keeper.replace(made(1'400), kNow);
  EXPECT_DOUBLE_EQ(own(), 35) << "it uses more already";
}

TEST(LoadPoller, WorkloadUsageWinsOverRequests) {
  LoadPoller keeper({"cpu"});
  keeper.replace(board(), kNow);
  const api::Pod waiting = pod("new", "", "known");
  const api::Pod bound = pod("new", "n1", "known");
  keeper.on_pod(&waiting, &bound, kNow);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1"), 55);
}

TEST(LoadPoller, TheAskedPodIsAddedToEachCandidateAndNeverTwice) {
  LoadPoller keeper({"cpu"});
  keeper.replace(board(), kNow);
  const api::Pod asked = pod("p", "");
  keeper.expect(asked, "n1", kNow);
  const auto loads = keeper.loads({"n1", "n2", "n3", "n4"}, asked, true, kNow);
  EXPECT_DOUBLE_EQ(loads[0]->mean.front(), 75);
  EXPECT_DOUBLE_EQ(loads[1]->mean.front(), 75);
  EXPECT_FALSE(loads[2]);
  EXPECT_FALSE(loads[3]);
}

TEST(LoadPoller, AnExpectedPodCountsUntilItShowsElsewhereOrLongEnoughNowhere) {
  LoadPoller keeper({"cpu"});
  keeper.replace(board(), kNow);
  keeper.expect(pod("p", ""), "n1", kNow);
  keeper.expect(pod("q", ""), "n1", kNow);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1"), 100);
  const api::Pod waiting = pod("p", "");
  const api::Pod bound = pod("p", "n2");
  keeper.on_pod(&waiting, &bound, kNow);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1"), 75);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n2"), 75);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1", kNow + LoadPoller::kExpectedFor), 50);
}

TEST(LoadPoller, APodThatLeavesOrEndsCountsNoMore) {
  LoadPoller keeper({"cpu"});
  keeper.replace(board(), kNow);
  const api::Pod waiting = pod("p", "");
  const api::Pod bound = pod("p", "n1");
  keeper.on_pod(&waiting, &bound, kNow);
  api::Pod done = bound;
  done.phase = api::PodPhase::kSucceeded;
  keeper.on_pod(&bound, &done, kNow);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1"), 50);
  keeper.on_pod(&waiting, &bound, kNow);
  keeper.on_pod(&bound, nullptr, kNow);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1"), 50);
}

TEST(LoadPoller, APodThatIsRemovedBeforeItHasANodeIsExpectedNoMore) {
  LoadPoller keeper({"cpu"});
  keeper.replace(board(), kNow);
  const api::Pod waiting = pod("p", "");
  keeper.expect(waiting, "n1", kNow);
  keeper.on_pod(&waiting, &waiting, kNow);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1"), 75) << "it waits";
  keeper.on_pod(&waiting, nullptr, kNow);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1"), 50);
}

TEST(LoadPoller, SiblingsAreTheBoundAndTheExpectedPodsOfAWorkload) {
  LoadPoller keeper({"cpu"});
  keeper.replace(board(), kNow);
  const auto siblings = [&](const std::string& of) { return keeper.siblings({"n1", "n2", "n9"}, pod(of, "")); };
  const api::Pod waiting = pod("p", "");
  const api::Pod bound = pod("p", "n2");
  api::Pod old = pod("old", "n1");
  old.start_time = kNow - base::minutes(30);
  const api::Pod other = pod("other", "n1", "another");
  const api::Pod bare = pod("bare", "n1", "");
  for (const api::Pod& each : {old, other, bare}) keeper.on_pod(nullptr, &each, kNow);
  keeper.expect(waiting, "n1", kNow);
  EXPECT_EQ(siblings("asked"), (std::vector<std::size_t>{2, 0, 0}));
  EXPECT_EQ(siblings("p"), (std::vector<std::size_t>{1, 0, 0})) << "without itself";
  EXPECT_EQ(keeper.siblings({"n1"}, bare), std::vector<std::size_t>{0}) << "it has no workload";
  keeper.on_pod(&waiting, &bound, kNow);
  EXPECT_EQ(siblings("asked"), (std::vector<std::size_t>{1, 1, 0}));
  const api::Pod orphan = pod("p", "n2", "");
  keeper.on_pod(&bound, &orphan, kNow);
  EXPECT_EQ(siblings("asked"), (std::vector<std::size_t>{1, 0, 0}));
  keeper.on_pod(&orphan, &bound, kNow);
  EXPECT_EQ(siblings("asked"), (std::vector<std::size_t>{1, 1, 0})) << "adopted";
  keeper.on_pod(&bound, nullptr, kNow);
  keeper.on_pod(&old, nullptr, kNow);
  EXPECT_EQ(siblings("asked"), (std::vector<std::size_t>{0, 0, 0}));
}

TEST(LoadPoller, AnExpectedSiblingEndsWithItsExpectation) {
  LoadPoller keeper({"cpu"});
  keeper.replace(board(), kNow);
  const auto siblings = [&] { return keeper.siblings({"n1"}, pod("asked", "")).front(); };
  keeper.expect(pod("p", ""), "n1", kNow);
  EXPECT_EQ(siblings(), 1U);
  keeper.replace(board(), kNow + LoadPoller::kExpectedFor);
  EXPECT_EQ(siblings(), 0U);
  keeper.expect(pod("p", ""), "n1", kNow);
  cpu_of(keeper, "n1", kNow + base::minutes(1));
  EXPECT_EQ(siblings(), 0U) << "without an answer of the source, too";
}

TEST(LoadPoller, OldPodsOfTheFirstListAreMeasuredAlready) {
  LoadPoller keeper({"cpu"});
  api::Pod old = pod("p", "n1");
  old.start_time = kNow - base::minutes(20);
  keeper.on_pod(nullptr, &old, kNow);
  EXPECT_EQ(keeper.placed(), 0U);
}

}  // namespace keeper_test
}  // namespace extender
