#include "test/scenarios/load/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "api/meta/well_known.hpp"
#include "scheduling/scoring/resource_scores.hpp"
#include "usage/figures.hpp"

namespace load {
namespace {

const base::TimePoint kBegin = base::parse_time("2026-06-01T00:00:00Z").value();  // a Monday
constexpr std::size_t kSamples = 20;                                              // that are shown for hysteresis
constexpr std::int64_t kMebi = std::int64_t{1} << 20;
constexpr double kCrowded = 90;
constexpr int kUntainted = 300;  // what TaintToleration gives a node without a taint, weight included
constexpr base::Duration kReturn = std::chrono::hours(2);
const char* const kSource = "load";

std::string node_name(std::size_t node) { return fmt::format("n{:04}", node); }

std::shared_ptr<const api::Node> node_object(std::size_t number, double cores) {
  api::Node node;
  node.meta.name = node_name(number);
  node.meta.labels = {{std::string(api::well_known::kHostnameLabel), node.meta.name}};
  node.conditions.push_back({"Ready", api::ConditionStatus::kTrue, "", "", 0, {}});
  node.allocatable = {{"cpu", api::Quantity::from_milli(std::llround(1000 * cores))},
                      {"memory", api::Quantity::from_units(64 * 1024 * kMebi)},
                      {"pods", api::Quantity::from_units(110)}};
  node.capacity = node.allocatable;
  return std::make_shared<const api::Node>(std::move(node));
}

planning::PlanSpec plan_spec(const Rule& rule, int nodes, int nodes_a_move) {
  const std::string text = fmt::format(
      R"({{"apiVersion":"evacuator.dev/v1alpha1","kind":"DeschedulerPolicy","metadata":{{"name":"load"}},"spec":{}}})",
      rule.spec);
  auto policy = api::decode_descheduler_policy(text);
  if (!policy) throw std::runtime_error(rule.name + ": " + policy.error().message);
  policy->spec.limits.per_cycle.total = std::max(nodes / nodes_a_move, 1);
  return planning::PlanSpec(policy->spec);
}

double deviation_of(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / n);
}

std::int64_t milli(double cores) { return std::max<std::int64_t>(std::llround(1000 * cores), 0); }

}  // namespace

Rule no_descheduling() { return {"none", ""}; }

Rule upstream_static() {
  return {"upstream 20/50", R"({"compatibility":"Upstream",
    "usageSources":[{"name":"load","type":"MetricsServer"}],
    "strategies":[{"name":"LowNodeUtilization","args":{"thresholds":{"cpu":20},"targetThresholds":{"cpu":50},
      "metricsUtilization":{"source":"KubernetesMetrics"}}}]})"};
}

Rule upstream_deviation() {
  return {"upstream 10:10", R"({"compatibility":"Upstream",
    "usageSources":[{"name":"load","type":"MetricsServer"}],
    "strategies":[{"name":"LowNodeUtilization","args":{"thresholds":{"cpu":10},"targetThresholds":{"cpu":10},
      "useDeviationThresholds":true,"metricsUtilization":{"source":"KubernetesMetrics"}}}]})"};
}

Rule ours(bool forecast, const Choices& choices) {
  Rule rule;
  rule.name = forecast ? "ours, forecast" : "ours";
  rule.spec = fmt::format(
      R"({{"usageSources":[{{"name":"load","type":"MetricsServer"}}],"evictability":{{"minPodAge":"2h"}},
      "strategies":[{{"name":"LowNodeUtilization","args":{{"thresholds":{{"cpu":{}}},"targetThresholds":{{"cpu":{}}},
      "useDeviationThresholds":true,
      "usage":{{"source":"load","forecast":{},"hysteresis":{{"samples":{},"of":{}}},"softTaint":true}}}}}}]}})",
      choices.low, choices.high, forecast, choices.samples, choices.of);
  rule.forecast = forecast;
  rule.soft_taints = true;
  rule.window = base::minutes(choices.window);
  rule.settings.horizon = base::minutes(choices.horizon);
  rule.settings.percentile = choices.percentile;
  return rule;
}

World::World(const Model& model, const Settings& settings, Rule rule)
    : rule_(std::move(rule)),
      settings_(settings),
      kinds_(model.pods()),
      chance_(settings.seed ^ 0x6368616e6365),
      pods_(model.pods().size(), -1) {
  const Parameters& p = settings.parameters;
  const auto nodes = static_cast<std::size_t>(p.nodes);
  for (const int node : place_by_requests(model, settings.seed)) places_.push_back({node, kBegin, 0, -1, {}, 0});
  for (std::size_t node = 0; node < nodes; ++node) input_.nodes.push_back(node_object(node, p.node_cores));
  for (std::size_t pod = 0; pod < places_.size(); ++pod) input_.pods.push_back(object_of(pod));
  samples_.resize(nodes);
  sums_.assign(nodes, 0);
  if (!rule_.spec.empty()) spec_.emplace(plan_spec(rule_, p.nodes, settings.nodes_a_move));
  if (rule_.forecast) history_.emplace(rule_.settings);
}

base::TimePoint World::now() const { return kBegin + time_; }

std::shared_ptr<const api::Pod> World::object_of(std::size_t number) const {
  const Model::Pod& kind = kinds_[number];
  const Place& place = places_[number];
  const std::string owner = fmt::format("w{:05}", kind.workload);
  api::Pod pod;
  pod.meta.ns = kSource;
  pod.meta.name = fmt::format("p{:06}-{:04}", number, place.generation);
  pod.meta.uid = "uid-" + pod.meta.name;
  pod.meta.creation_timestamp = place.generation == 0 ? kBegin : place.moved;
  pod.meta.labels = {{"app", owner}};
  pod.meta.owner_references.push_back({"apps/v1", "ReplicaSet", owner, "uid-of-" + owner, true});
  pod.start_time = pod.meta.creation_timestamp;
  pod.node_name = {node_name(static_cast<std::size_t>(place.node))};
  pod.phase = api::PodPhase::kRunning;
  pod.conditions.push_back({"Ready", api::ConditionStatus::kTrue, "", "", 0, {}});
  pod.containers.push_back({"main", "img", {}, {}, {}, false});
  pod.containers[0].requests = {{"cpu", api::Quantity::from_milli(kind.request)},
                                {"memory", api::Quantity::from_units(kind.memory * kMebi)}};
  return std::make_shared<const api::Pod>(std::move(pod));
}

double World::use_of(const Model& model, std::size_t pod) const {
  const Place& place = places_[pod];
  if (now() < place.runs) return 0;
  const Parameters& p = settings_.parameters;
  const double age = std::chrono::duration<double>(now() - place.runs).count();
  return model.use()[pod] * (place.generation > 0 && age < p.warm_up ? p.warm_up_factor : 1);
}

/// What is above a node's capacity waits: its pods get less each, and so much is measured.
void World::sample(Model& model) {
  time_ = model.time();
  const double cores = settings_.parameters.node_cores;
  std::vector<double> wanted(samples_.size());
  for (std::size_t pod = 0; pod < places_.size(); ++pod) {
    pods_[pod] = use_of(model, pod);
    wanted[static_cast<std::size_t>(places_[pod].node)] += pods_[pod];
  }
  for (std::size_t node = 0; node < wanted.size(); ++node) sums_[node] += std::min(wanted[node] / cores, 1.0) * 100;
  ++count_;
  if (!spec_) return;
  for (std::size_t pod = 0; pod < places_.size(); ++pod) {
    if (now() < places_[pod].runs) {
      pods_[pod] = -1;
      continue;
    }
    const double all = wanted[static_cast<std::size_t>(places_[pod].node)];
    pods_[pod] *= all > cores ? cores / all : 1;
  }
  usage::Samples samples;
  samples.columns = {{"cpu", usage::Unit::kAmount}};
  for (std::size_t node = 0; node < wanted.size(); ++node) {
    const double value = std::max(model.measured(std::min(wanted[node], cores)), 0.0);
    samples_[node].push_back(value);
    if (samples_[node].size() > std::max<std::size_t>(rule_.window / Model::kStep, kSamples))
      samples_[node].pop_front();
    if (history_) samples.nodes.push_back({node_name(node), now(), {value}});
  }
  if (history_) history_->add(samples, now());
}

scheduling::MeasuredUsage::Node World::figures_of(std::size_t number) const {
  scheduling::MeasuredUsage::Node node;
  node.name = node_name(number);
  node.time = now();
  const auto last = [&](std::size_t count) {
    const auto& all = samples_[number];
    return std::vector<double>(all.end() - static_cast<std::ptrdiff_t>(std::min(count, all.size())), all.end());
  };
  api::UsageSmoothing smoothing;
  if (rule_.window != smoothing.window) smoothing.method = api::SmoothingMethod::kMean;
  const std::int64_t memory = 16 * 1024 * kMebi * 1000;  // nobody balances it here
  node.now = {milli(usage::smooth(last(static_cast<std::size_t>(rule_.window / Model::kStep)), smoothing)), memory};
  for (const double value : last(kSamples)) node.samples.insert(node.samples.end(), {milli(value), memory});
  if (!history_) return node;
  const auto forecasts = history_->of(node.name, now());
  if (!forecasts.empty() && forecasts[0].trusted) node.foreseen = {milli(forecasts[0].peak), memory};
  return node;
}

std::shared_ptr<const scheduling::MeasuredUsage> World::measured(const std::string& source) const {
  auto usage = std::make_shared<scheduling::MeasuredUsage>();
  usage->source = source;
  usage->resources = {{"cpu", false}, {"memory", false}};
  for (std::size_t node = 0; node < samples_.size(); ++node) usage->nodes.push_back(figures_of(node));
  for (std::size_t pod = 0; pod < places_.size(); ++pod) {
    if (pods_[pod] < 0) continue;
    usage->pods.push_back({kSource, input_.pods[pod]->meta.name});
    usage->pod_amounts.insert(usage->pod_amounts.end(), {milli(pods_[pod]), kinds_[pod].memory * kMebi * 500});
  }
  return usage;
}

void World::judge() {
  std::vector<double> loads = sums_;
  for (double& load : loads) load /= count_;
  const double deviation = deviation_of(loads);
  constexpr int kPerHour = 12;
  hour_ += deviation / kPerHour;
  if (static_cast<int>(time_ / kCycle) % kPerHour == 0) outcome_.hourly.push_back(std::exchange(hour_, 0));
  std::ranges::fill(sums_, 0);
  count_ = 0;
  if (time_ <= settings_.settled) return;
  ++cycles_;
  outcome_.deviation += deviation;
  outcome_.peak += *std::ranges::max_element(loads);
  outcome_.crowded += static_cast<double>(std::ranges::count_if(loads, [](double load) { return load > kCrowded; })) /
                      static_cast<double>(loads.size());
}

void World::cycle() {
  judge();
  if (!spec_) return;
  const scheduling::ClusterSnapshot& cluster = keeper_.at(input_);
  planning::PlanInput input{.spec = *spec_, .cluster = cluster, .leaving = {}, .now = now()};
  input.options.max_refusals = 0;
  if (rule_.soft_taints) input.options.taint_value = kSource;
  const std::string source = spec_->is_upstream() ? "KubernetesMetrics" : kSource;
  input.usage.push_back(measured(source));
  const planning::Plan plan = planning::plan_cycle(input);
  const auto note = [&](const std::string& problem) {
    auto& all = outcome_.problems;
    if (!problem.empty() && std::ranges::find(all, problem) == all.end()) all.push_back(problem);
  };
  for (const auto& error : plan.errors) note(error.path + ": " + error.message);
  for (const auto& result : plan.strategies) note(result.problem);
  for (const auto& reason : plan.refused) outcome_.refused[reason.reason] += reason.count;
  apply(plan, cluster);
  taint(plan);
}

/// What the plan asks for is there at once.
void World::taint(const planning::Plan& plan) {
  std::map<std::string, std::vector<api::Taint>> wanted;
  for (const auto& taint : plan.taints)
    wanted[taint.node].push_back({taint.key, taint.value, api::TaintEffect::kPreferNoSchedule});
  for (auto& node : input_.nodes) {
    const auto at = wanted.find(node->meta.name);
    const std::vector<api::Taint> taints = at == wanted.end() ? std::vector<api::Taint>{} : at->second;
    if (node->taints == taints) continue;
    api::Node changed = *node;
    changed.taints = taints;
    node = std::make_shared<const api::Node>(std::move(changed));
    ++outcome_.taint_patches;
  }
  outcome_.open += static_cast<double>(input_.nodes.size() - wanted.size()) / static_cast<double>(input_.nodes.size());
}

/// As kube-scheduler does: the best by soft taints and free capacity, the pod that leaves still being there.
int World::place_by_chance(scheduling::Overlay& cluster, const api::PlannedMove& move) {
  const scheduling::ClusterSnapshot& base = cluster.base();
  const scheduling::ResourceScores scores(base, scheduling::NodeScoring::kLeastAllocated);
  const scheduling::PodIndex pod = base.find_pod(move.ns, move.pod).value();
  std::vector<scheduling::NodeIndex> best;
  int most = -1;
  for (const scheduling::NodeIndex node : base.nodes()) {
    const int capacity = scores.score(cluster, pod, node);
    const int score = capacity + (avoided_.contains(base.node(node).meta.name) ? 0 : kUntainted);
    if (capacity == scheduling::ResourceScores::kNoCapacity || score < most) continue;
    if (score > most) best.clear();
    most = score;
    best.push_back(node);
  }
  const scheduling::NodeIndex to = best.empty() ? base.node_of(pod) : best[chance_.next() % best.size()];
  cluster.move(pod, to);
  return static_cast<int>(to);
}

void World::apply(const planning::Plan& plan, const scheduling::ClusterSnapshot& cluster) {
  scheduling::Overlay overlay(cluster);
  avoided_.clear();
  for (const auto& taint : plan.taints) avoided_.insert(taint.node);
  for (const api::PlannedMove& move : plan.moves) {
    const auto pod = static_cast<std::size_t>(std::stoul(move.pod.substr(1, 6)));
    Place& place = places_[pod];
    const bool by_chance = settings_.by_chance || move.to.empty();
    const int to = by_chance ? place_by_chance(overlay, move) : std::stoi(move.to.substr(1));
    if (!by_chance) overlay.move(cluster.find_pod(move.ns, move.pod).value(), static_cast<scheduling::NodeIndex>(to));
    ++outcome_.moves;
    outcome_.early_moves += time_ <= settings_.settled ? 1 : 0;
    const bool returns = to == place.left && now() - place.moved < kReturn;
    outcome_.returned += returns ? 1 : 0;
    const int returns_in_a_row = returns ? place.returns + 1 : 0;
    outcome_.most_returns = std::max(outcome_.most_returns, returns_in_a_row);
    outcome_.room += move.reason.starts_with("asks for much") ? 1 : 0;
    if (history_) {
      const double used = std::max(pods_[pod], 0.0);
      history_->shift(move.from, 0, -used);
      history_->shift(node_name(static_cast<std::size_t>(to)), 0, used);
    }
    place = {to, now() + kinds_[pod].startup, place.generation + 1, place.node, now(), returns_in_a_row};
    input_.pods[pod] = object_of(pod);
  }
}

Outcome World::outcome() const {
  Outcome outcome = outcome_;
  const double cycles = std::max(cycles_, 1);
  outcome.deviation /= cycles;
  outcome.peak /= cycles;
  outcome.crowded /= cycles;
  outcome.open /= std::max(static_cast<double>(time_ / kCycle), 1.0);
  if (history_) {
    outcome.trusted = static_cast<double>(history_->quality(now()).trusted) / static_cast<double>(samples_.size());
  }
  return outcome;
}

Settings small(std::uint64_t seed) {
  Settings settings;
  settings.parameters.nodes = 8;
  settings.parameters.pods_per_node = 15;
  settings.seed = seed;
  settings.length = std::chrono::hours(12);
  settings.settled = std::chrono::hours(2);
  return settings;
}

std::vector<Outcome> simulate(const Settings& settings, const std::vector<Rule>& rules) {
  Model model(settings.parameters, settings.seed);
  std::vector<std::unique_ptr<World>> worlds;
  for (const Rule& rule : rules) worlds.push_back(std::make_unique<World>(model, settings, rule));
  while (model.time() < settings.length) {
    for (const auto& world : worlds) world->sample(model);
    if (model.time() % World::kCycle == base::Duration(0)) {
      for (const auto& world : worlds) world->cycle();
    }
    model.step();
  }
  std::vector<Outcome> outcomes;
  for (const auto& world : worlds) outcomes.push_back(world->outcome());
  return outcomes;
}

}  // namespace load
