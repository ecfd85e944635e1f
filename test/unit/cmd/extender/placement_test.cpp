// Complete placements on virtual time: pods are created, scored, bound and started one after the other, while nodes and
// pods are measured at their own times. The tests check the final load of the nodes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <random>

#include "cmd/extender/decision.hpp"
#include "cmd/extender/load_poller.hpp"

namespace extender {
namespace placement_test {

using scheduling::kUnknownUsage;
using scheduling::MeasuredUsage;
using Kind = ScoreRule::Kind;

const base::TimePoint kStart{base::seconds(1'700'000'000)};
constexpr double kTick = 0.2;           ///< seconds
constexpr double kMilliOfNode = 4'000;  ///< four cores
constexpr std::size_t kKeptSamples = 20;
constexpr double kAlpha = 0.3;  ///< smoothing factor
constexpr double kTarget = 65;  ///< target of TargetLoadPacking in percent

/// Times are in seconds, loads and usage in percent of a node.
struct Setting {
  const char* name;
  double rate = 10;          ///< pods per second
  double requests = 2;       ///< request of a pod
  double use = 2;            ///< usage of a pod after its warm-up
  double warm = 0;           ///< duration of the linear warm-up from the start
  double bind = 0.3;         ///< maximum delay until the node name is visible on the pod
  bool spreads = true;       ///< whether the scheduler spreads pods of a workload
  double start = 2;          ///< maximum delay from the visible node name to the start
  double scrape = 15;        ///< interval between two samples of a node
  double window = 15;        ///< averaging window of a sample; 0 for instantaneous samples
  double told_window = -1;   ///< window that the source reports; negative for the real one
  double interval = 15;      ///< interval between two queries of the source
  double delay = 0;          ///< delay of node samples relative to pod samples in an answer
  bool has_pods = true;      ///< whether the source measures pods
  bool knows_usual = false;  ///< whether older pods of the workload run
  double others = 0;         ///< usage of other pods relative to their requests; 0 if there are none
  double most = 0.4;         ///< maximum fraction of the stock scheduler's deviation that may remain
  double above = 10;  ///< maximum mean excess of the fullest node over the target of TargetLoadPacking, in points
  double stray = 0;   ///< additional excess allowed for a single seed, in points
  int seeds = 4;      ///< number of seeds for TargetLoadPacking
  double noise = 1;   ///< deviation of a node's own load
  int nodes = 12;
  int pods = 200;
};

struct Pod {
  api::Pod object;
  int node = -1;
  double bound = 0, running = 0;
  bool is_seen_bound = false, is_seen_running = false;
};

class World {
 public:
  World(const Setting& setting, std::uint64_t seed) : setting_(setting), numbers_(seed) {
    past_.resize(static_cast<std::size_t>(setting_.nodes), {0});
    samples_.resize(past_.size());
    smooth_.resize(past_.size(), -1);
    noise_.resize(past_.size());
    for (int i = 0; i < setting_.nodes; ++i) {
      phases_.push_back(any(setting_.scrape));
      nodes_.push_back(node(i));
    }
    std::ranges::sort(nodes_, {}, [](const auto& each) { return each->meta.name; });
    for (const auto& each : nodes_) names_.push_back(each->meta.name);
  }

  /// Returns the final loads. Without `rule` only the scheduler's own scores apply.
  std::vector<double> play(const std::optional<ScoreRule>& rule) {
    if (rule) config_.rules = {*rule};
    const double first = 330;  // all stored samples are older
    double next_pod = first;
    double next_question = 0;
    const double end = first + setting_.pods / setting_.rate + setting_.warm + 60;
    for (now_ = 0; now_ < end; now_ += kTick) {
      if (rule) pass();
      if (rule && now_ >= next_question) {
        ask();
        next_question = now_ + setting_.interval * (0.9 + any(0.2));
      }
      while (now_ >= next_pod && static_cast<int>(pods_.size()) < setting_.pods) {
        place(rule.has_value());
        next_pod += 1 / setting_.rate;
      }
      if (rule) tell();
    }
    std::vector<double> loads;
    for (int i = 0; i < setting_.nodes; ++i)
      loads.push_back(base_of(i) + counts_[static_cast<std::size_t>(i)] * setting_.use);
    return loads;
  }

 private:
  static base::TimePoint at(double second) {
    return kStart + base::Duration(static_cast<base::Duration::rep>(second * 1e6));
  }
  static base::Duration length(double seconds) {
    return base::Duration(static_cast<base::Duration::rep>(seconds * 1e6));
  }
  double any(double most) { return std::uniform_real_distribution<double>(0, std::max(most, 1e-9))(numbers_); }
  static double base_of(int node) { return node % 2 == 0 ? 50 : 5; }
  static std::string name_of(int node) { return "n" + std::to_string(100 + node); }
  static std::shared_ptr<const api::Node> node(int number) {
    api::Node made;
    made.meta.name = name_of(number);
    made.allocatable = {{"cpu", api::Quantity::from_milli(static_cast<std::int64_t>(kMilliOfNode))}};
    return std::make_shared<const api::Node>(std::move(made));
  }

  /// Returns the pod's usage up to `time`, in percent times seconds.
  double used_until(const Pod& pod, double time) const {
    const double age = std::max(time - pod.running, 0.0);
    const double warming = std::min(age, setting_.warm);
    const double cold = setting_.warm > 0 ? warming * warming / (2 * setting_.warm) : 0;
    return setting_.use * (cold + age - warming);
  }
  double mean_use(const Pod& pod, double from, double to) const {
    return to > from ? (used_until(pod, to) - used_until(pod, from)) / (to - from) : 0;
  }

  void pass() {
    constexpr double kForget = kTick / 10;  // a deviation decays within about ten seconds
    const double surprise = setting_.noise * std::sqrt(2 * kForget);
    std::vector<double> sums;
    for (std::size_t i = 0; i < past_.size(); ++i) {
      noise_[i] += -noise_[i] * kForget + surprise * normal_(numbers_);
      sums.push_back(past_[i].back() + std::max(base_of(static_cast<int>(i)) + noise_[i], 0.0) * kTick);
    }
    for (const Pod& pod : pods_)
      sums[static_cast<std::size_t>(pod.node)] += used_until(pod, now_) - used_until(pod, now_ - kTick);
    for (std::size_t i = 0; i < past_.size(); ++i) past_[i].push_back(sums[i]);
  }
  double mean_load(std::size_t node, double from, double to) const {
    const auto place = [&](double time) {
      return static_cast<std::size_t>(std::clamp(time / kTick, 0.0, static_cast<double>(past_[node].size() - 1)));
    };
    const std::size_t begin = std::min(place(from), place(to) - 1);
    return (past_[node][place(to)] - past_[node][begin]) / (static_cast<double>(place(to) - begin) * kTick);
  }
  /// Returns the time of the newest sample at `time`.
  double scraped(std::size_t node, double time) const {
    return std::floor((time - phases_[node]) / setting_.scrape) * setting_.scrape + phases_[node];
  }

  void ask() {
    auto measured = std::make_shared<MeasuredUsage>();
    measured->source = "m";
    measured->resources = {{"cpu", false, length(setting_.told_window < 0 ? setting_.window : setting_.told_window)}};
    for (std::size_t i = 0; i < past_.size(); ++i) sample(i, *measured);
    if (setting_.has_pods) add_pods(*measured);
    poller_.replace(make_load_model(measured, {"cpu"}, nodes_, running_pods()), at(now_));
  }
  void sample(std::size_t node, MeasuredUsage& measured) {
    const double time = scraped(node, now_ - setting_.delay);
    if (time <= 1) return;
    auto& kept = samples_[node];
    if (kept.empty() || at(time) > kept.back().first) {
      const double percent = mean_load(node, time - std::max(setting_.window, kTick), time);
      kept.emplace_back(at(time), std::llround(percent / 100 * kMilliOfNode));
      smooth_[node] = smooth_[node] < 0 ? percent : kAlpha * percent + (1 - kAlpha) * smooth_[node];
      if (kept.size() > kKeptSamples) kept.pop_front();
    }
    MeasuredUsage::Node entry;
    entry.name = name_of(static_cast<int>(node));
    entry.time = kept.back().first;
    entry.now = {std::llround(smooth_[node] / 100 * kMilliOfNode)};
    for (const auto& [when, amount] : kept) {
      entry.times.push_back(when);
      entry.samples.push_back(amount);
    }
    measured.nodes.push_back(std::move(entry));
  }
  /// A rate needs two scrapes.
  void add_pods(MeasuredUsage& measured) const {
    std::vector<MeasuredUsage::Pod> pods;
    std::vector<std::int64_t> amounts;
    const auto add = [&](MeasuredUsage::Pod pod, double percent) {
      pods.push_back(std::move(pod));
      amounts.push_back(std::llround(percent / 100 * kMilliOfNode));
    };
    if (setting_.knows_usual) add({"shop", "a-old"}, setting_.use);
    for (int i = 0; i < others(); ++i) add({"shop", other_name(i)}, setting_.others * setting_.requests);
    for (const Pod& pod : pods_) {
      const double time = scraped(static_cast<std::size_t>(pod.node), now_);
      if (pod.running + (setting_.window > 0 ? setting_.scrape : 0) > time) continue;
      const double from = std::max(time - std::max(setting_.window, kTick), pod.running);
      add({pod.object.meta.ns, pod.object.meta.name}, mean_use(pod, from, time));
    }
    measured.pods = scheduling::SharedVector(std::move(pods));
    measured.pod_amounts = scheduling::SharedVector(std::move(amounts));
  }
  std::vector<std::shared_ptr<const api::Pod>> running_pods() const {
    std::vector<std::shared_ptr<const api::Pod>> all;
    if (setting_.knows_usual) {
      api::Pod old = made("a-old");
      old.node_name = {name_of(0)};
      old.start_time = kStart - std::chrono::hours(1);
      all.push_back(std::make_shared<const api::Pod>(std::move(old)));
    }
    for (int i = 0; i < others(); ++i) {
      api::Pod other = made(other_name(i));
      other.node_name = {name_of(0)};
      other.start_time = kStart - std::chrono::hours(1);
      other.meta.owner_references.front().uid = "other";
      all.push_back(std::make_shared<const api::Pod>(std::move(other)));
    }
    for (const Pod& pod : pods_) all.push_back(std::make_shared<const api::Pod>(pod.object));
    return all;
  }
  int others() const { return setting_.others > 0 ? 20 : 0; }
  static std::string other_name(int number) { return "b-" + std::to_string(10 + number); }

  api::Pod made(const std::string& name) const {
    api::Pod pod;
    pod.meta.ns = "shop";
    pod.meta.name = name;
    pod.meta.uid = "uid-" + name;
    pod.meta.creation_timestamp = at(now_);
    pod.meta.owner_references = {{"apps/v1", "ReplicaSet", "web", "rs", true}};
    pod.phase = api::PodPhase::kPending;
    pod.containers.resize(1);
    pod.containers.front().requests = {
        {"cpu", api::Quantity::from_milli(std::llround(setting_.requests / 100 * kMilliOfNode))}};
    return pod;
  }

  /// Places a pod with the sum that kube-scheduler builds: its own scores for capacity and spreading, and the
  /// extender's with weight 5.
  void place(bool has_extender) {
    Pod pod;
    pod.object = made("p" + std::to_string(1'000 + pods_.size()));
    poller_.on_pod(nullptr, &pod.object, at(now_));
    std::vector<double> points = own_points();
    if (has_extender) {
      const auto board = poller_.board();
      ExtenderArgs args;
      args.pod = pod.object;
      args.nodes = names_;
      const auto loads = poller_.loads(args.nodes, args.pod, true, at(now_));
      const auto decision = prioritize(config_, args, board.get(), loads, std::nullopt);
      if (const auto likely = predicted_node(decision, poller_.siblings(args.nodes, args.pod)))
        poller_.expect(args.pod, args.nodes[*likely], at(now_));
      for (std::size_t i = 0; i < points.size(); ++i) points[i] += 50 * decision.scores[i];
    }
    for (double& each : points) each += any(0.5);  // ties are broken at random
    pod.node = static_cast<int>(std::ranges::max_element(points) - points.begin());
    pod.bound = now_ + any(setting_.bind);
    pod.running = pod.bound + any(setting_.start);
    ++counts_[static_cast<std::size_t>(pod.node)];
    pods_.push_back(std::move(pod));
  }
  std::vector<double> own_points() const {
    std::vector<double> points;
    const auto [least, most] = std::ranges::minmax(counts_);
    for (const int count : counts_) {
      const double room = std::max(100 - count * setting_.requests, 0.0);
      points.push_back(room + (most > 0 && setting_.spreads ? 200.0 * (most + least - count) / most : 200));
    }
    return points;
  }

  void tell() {
    for (Pod& pod : pods_) {
      if (pod.is_seen_running) continue;
      const api::Pod before = pod.object;
      if (!pod.is_seen_bound && now_ >= pod.bound) {
        pod.is_seen_bound = true;
        pod.object.node_name = {name_of(pod.node)};
        poller_.on_pod(&before, &pod.object, at(now_));
      } else if (pod.is_seen_bound && !pod.is_seen_running && now_ >= pod.running) {
        pod.is_seen_running = true;
        pod.object.phase = api::PodPhase::kRunning;
        pod.object.start_time = at(pod.bound);
        poller_.on_pod(&before, &pod.object, at(now_));
      }
    }
  }

  const Setting setting_;
  std::mt19937_64 numbers_;
  double now_ = 0;
  std::vector<std::shared_ptr<const api::Node>> nodes_;
  std::vector<std::string> names_;
  std::vector<double> phases_;
  std::vector<std::vector<double>> past_;  ///< per node, the cumulated load up to each tick
  std::vector<double> noise_;
  std::vector<std::deque<std::pair<base::TimePoint, std::int64_t>>> samples_;
  std::vector<double> smooth_;
  std::vector<Pod> pods_;
  std::vector<int> counts_ = std::vector<int>(static_cast<std::size_t>(setting_.nodes));  ///< number of pods per node
  std::normal_distribution<double> normal_;
  ExtenderConfig config_;
  LoadPoller poller_{{"cpu"}};
};

double deviation_of(const std::vector<double>& loads) {
  const auto count = static_cast<double>(loads.size());
  double mean = 0;
  for (const double load : loads) mean += load / count;
  double squares = 0;
  for (const double load : loads) squares += (load - mean) * (load - mean) / count;
  return std::sqrt(squares);
}

ScoreRule risk() {
  ScoreRule rule;
  rule.risk.resources = {"cpu"};
  return rule;
}
ScoreRule packing() { return {.kind = Kind::kTargetLoadPacking, .target = {{"cpu", kTarget}}}; }

class Placement : public ::testing::TestWithParam<Setting> {
 protected:
  static constexpr int kSeeds = 4;
  /// Records the result as a property for --gtest_output.
  static void show(int seed, double stock, double aware) {
    RecordProperty("stock_" + std::to_string(seed), std::to_string(stock));
    RecordProperty("aware_" + std::to_string(seed), std::to_string(aware));
  }
};

TEST_P(Placement, LeavesLittleOfTheStockSchedulersDeviation) {
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const double stock = deviation_of(World(GetParam(), seed).play(std::nullopt));
    const double aware = deviation_of(World(GetParam(), seed).play(risk()));
    show(seed, stock, aware);
    EXPECT_LE(aware, stock * GetParam().most) << "seed " << seed << ", stock " << stock;
  }
}

TEST_P(Placement, PacksUpToTheTarget) {
  const double most = kTarget + GetParam().above;
  double mean = 0;
  for (int seed = 1; seed <= GetParam().seeds; ++seed) {
    const double stock = std::ranges::max(World(GetParam(), seed).play(std::nullopt));
    const double aware = std::ranges::max(World(GetParam(), seed).play(packing()));
    show(seed, stock, aware);
    mean += aware / GetParam().seeds;
    EXPECT_LE(aware, most + GetParam().stray) << "seed " << seed << ", stock " << stock;
  }
  EXPECT_LE(mean, most);
}

INSTANTIATE_TEST_SUITE_P(
    , Placement,
    ::testing::Values(
        Setting{
            .name = "Ideal", .rate = 1, .bind = 0.1, .start = 0.1, .scrape = 1, .window = 0, .interval = 1, .noise = 0},
        Setting{.name = "MetricsServer"}, Setting{.name = "Burst", .rate = 20}, Setting{.name = "Slowly", .rate = 1},
        Setting{.name = "VerySlowly", .rate = 0.3},
        Setting{.name = "NodesAreTheNewestWithoutAWindow", .scrape = 5, .window = 0, .interval = 5},
        Setting{.name = "PodsAreMeasuredLater", .scrape = 2, .window = 0, .interval = 5, .delay = 4},
        Setting{.name = "PodsAreMeasuredMuchLater", .scrape = 2, .window = 0, .interval = 5, .delay = 10},
        Setting{.name = "LongWindow", .rate = 5, .scrape = 30, .window = 120, .interval = 30},
        Setting{.name = "NodesOnly", .has_pods = false},
        Setting{.name = "NodesOnlyWithALongWindow",
                .rate = 5,
                .scrape = 30,
                .window = 120,
                .interval = 30,
                .has_pods = false},
        Setting{.name = "PodsGetWarm", .warm = 30, .stray = 10, .seeds = 20},
        Setting{.name = "PodsGetWarmSlowly", .rate = 5, .warm = 60, .above = 45},
        Setting{.name = "NodesOnlyAndPodsGetWarm", .warm = 30, .has_pods = false, .stray = 10, .seeds = 20},
        Setting{.name = "PodsStartLate", .rate = 5, .start = 40},
        Setting{.name = "PodsAreBoundLate", .rate = 5, .bind = 8, .most = 0.5},
        Setting{.name = "BurstIsBoundLateAndNobodySpreads",
                .rate = 50,
                .bind = 2,
                .spreads = false,
                .scrape = 2,
                .window = 0,
                .interval = 5,
                .most = 0.3},
        Setting{.name = "RequestsAreTooHigh", .rate = 5, .requests = 4, .others = 0.5},
        // If the first of the best nodes is expected instead of predicted_node(), the mean is 73.3, and the worst case
        // is also 76.
        Setting{.name = "RequestsAreTooHighAndNothingElseRuns",
                .rate = 5,
                .requests = 4,
                .most = 0.6,
                .stray = 2,
                .seeds = 20},
        Setting{.name = "RequestsAreTooLow", .rate = 5, .requests = 0.5, .above = 40, .stray = 5, .seeds = 20},
        Setting{.name = "UseIsKnown", .rate = 10, .requests = 0.5, .knows_usual = true},
        Setting{.name = "Noisy", .rate = 5, .stray = 2, .seeds = 20, .noise = 5}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace placement_test
}  // namespace extender
