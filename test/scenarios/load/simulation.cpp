#include "test/scenarios/load/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "api/meta/well_known.hpp"
#include "controllers/policy/balance/convergence.hpp"
#include "controllers/policy/cycle.hpp"
#include "planner/plan/balance/convergence.hpp"
#include "planner/scheduling/scoring/resource_scores.hpp"
#include "usage/figures.hpp"

namespace load {
namespace {

const base::TimePoint kBegin = base::parse_time("2026-06-01T00:00:00Z").value();  // a Monday
constexpr std::size_t kSamples = 20;                                              // number of samples for hysteresis
constexpr std::int64_t kMebi = std::int64_t{1} << 20;
constexpr double kCrowded = 90;
constexpr int kUntainted = 300;  // score of TaintToleration for an untainted node, including its weight
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

api::DeschedulerPolicy policy_of(const Rule& rule, int moves_a_cycle) {
  const std::string text = fmt::format(
      R"({{"apiVersion":"evacuator.dev/v1alpha1","kind":"DeschedulerPolicy","metadata":{{"name":"load"}},"spec":{}}})",
      rule.spec);
  auto policy = api::decode_descheduler_policy(text);
  if (!policy) throw std::runtime_error(rule.name + ": " + policy.error().message);
  policy->meta.generation = 1;
  policy->spec.limits.per_cycle.total = moves_a_cycle;
  return std::move(*policy);
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
      R"({{"usageSources":[{{"name":"load","type":"MetricsServer"}}],"evictability":{{"minPodAge":"{}"}},
      "convergence":{{"minScore":{}}},
      "strategies":[{{"name":"LowNodeUtilization","args":{{"thresholds":{{"cpu":{}}},"targetThresholds":{{"cpu":{}}},
      "useDeviationThresholds":true,
      "usage":{{"source":"load","forecast":{},"hysteresis":{{"samples":{},"of":{}}},"softTaint":true}}}}}}]}})",
      choices.min_pod_age, choices.min_score, choices.low, choices.high, forecast, choices.samples, choices.of);
  rule.forecast = forecast;
  rule.soft_taints = true;
  rule.is_guarded = true;
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
      measuring_(settings.seed ^ 0x736f75726365),
      pods_(model.pods().size(), -1) {
  const Parameters& p = settings.parameters;
  const auto nodes = static_cast<std::size_t>(p.nodes);
  for (const int node : place_by_requests(model, settings.seed)) places_.push_back({node, kBegin, 0, {}, 0, {}});
  for (std::size_t node = 0; node < nodes; ++node) input_.nodes.push_back(node_object(node, p.node_cores));
  for (std::size_t pod = 0; pod < places_.size(); ++pod) input_.pods.push_back(object_of(pod));
  samples_.resize(nodes);
  sums_.assign(nodes, 0);
  if (!rule_.spec.empty()) {
    policy_ = policy_of(rule_, std::max(p.nodes / settings.nodes_a_move, 1));
    spec_.emplace(policy_.spec);
  }
  if (rule_.forecast) history_.emplace(rule_.settings);
}

base::TimePoint World::now() const { return kBegin + time_; }

std::shared_ptr<const api::Pod> World::object_of(std::size_t number) const {
  const Model::Pod& kind = kinds_[number];
  const Place& place = places_[number];
  const std::string owner = fmt::format("w{:05}", kind.workload);
  api::Pod pod;
  pod.meta.ns = kSource;
  pod.meta.name = fmt::format("{}-{:06}g{:04}", owner, number, place.generation);
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

/// Load above a node's capacity is throttled: its pods get proportionally less, and the sample contains the throttled
/// values.
void World::sample(const Model& model) {
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
    const double value = std::max(model.measured(std::min(wanted[node], cores), measuring_), 0.0);
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
  const std::int64_t memory = 16 * 1024 * kMebi * 1000;  // constant, since no rule balances memory here
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
  usage->pods = measured_pods_;
  usage->pod_amounts = pod_amounts_;
  usage->pod_means = pod_means_;
  return usage;
}

/// Updates pod means like UsageRounds, but with one of ten answers.
void World::keep_means() {
  std::vector<scheduling::MeasuredUsage::Pod> pods;
  std::vector<std::int64_t> amounts;
  for (std::size_t pod = 0; pod < places_.size(); ++pod) {
    if (pods_[pod] < 0) continue;
    pods.push_back({kSource, input_.pods[pod]->meta.name});
    amounts.insert(amounts.end(), {milli(pods_[pod]), kinds_[pod].memory * kMebi * 500});
  }
  measured_pods_ = scheduling::SharedVector(std::move(pods));
  pod_amounts_ = scheduling::SharedVector(std::move(amounts));
  pod_means_ = scheduling::SharedVector(means_.take(measured_pods_, pod_amounts_, 2, now()));
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
  loads_ = loads;
  const double mean = std::accumulate(loads.begin(), loads.end(), 0.0) / static_cast<double>(loads.size());
  for (double& load : loads_) load -= mean;
  moved_loads_ = loads_;
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
  keep_means();
  const scheduling::ClusterSnapshot& cluster = snapshots_.at(input_);
  controllers::CycleOutcome outcome = planned(cluster);
  note(outcome);
  apply(outcome, cluster);
  taint(outcome.taints);
  remember(outcome);
}

/// Plans like the operator.
controllers::CycleOutcome World::planned(const scheduling::ClusterSnapshot& cluster) {
  planner::PlanInput input{
      .spec = *spec_, .cluster = cluster, .leaving = {}, .now = now(), .options = controllers::cycle_options()};
  if (rule_.soft_taints) input.options.taint_value = kSource;
  input.usage.push_back(measured(spec_->is_upstream() ? "KubernetesMetrics" : kSource));
  controllers::CycleOutcome outcome = controllers::make_plan(input, "");
  if (rule_.is_guarded) controllers::judge_balance(policy_, outcome);
  return outcome;
}

/// Assumes that every move was created.
void World::remember(const controllers::CycleOutcome& outcome) {
  policy_.status = controllers::next_status(policy_, {}, &outcome, now());
  policy_.status.last_cycle->created = outcome.summary.nominated;
  policy_.status.balance = outcome.balance;
}

void World::note(const controllers::CycleOutcome& outcome) {
  auto& all = outcome_.problems;
  for (const std::string& problem : outcome.problems) {
    if (std::ranges::find(all, problem) == all.end()) all.push_back(problem);
  }
  for (const auto& reason : outcome.summary.refused) outcome_.refused[reason.reason] += reason.count;
  const auto is_stopped = [](const api::BalanceRow& row) { return !planner::may_balance(row); };
  outcome_.stopped += std::ranges::any_of(outcome.balance, is_stopped) ? 1 : 0;
}

/// Applies the taints of the plan immediately.
void World::taint(const std::vector<planner::NodeTaint>& taints) {
  std::map<std::string, std::vector<api::Taint>> wanted;
  for (const planner::NodeTaint& taint : taints)
    wanted[taint.node].push_back({taint.key, taint.value, api::TaintEffect::kPreferNoSchedule});
  for (auto& node : input_.nodes) {
    const auto at = wanted.find(node->meta.name);
    const std::vector<api::Taint> its_own = at == wanted.end() ? std::vector<api::Taint>{} : at->second;
    if (node->taints == its_own) continue;
    api::Node changed = *node;
    changed.taints = its_own;
    node = std::make_shared<const api::Node>(std::move(changed));
    ++outcome_.taint_patches;
  }
  outcome_.open += static_cast<double>(input_.nodes.size() - wanted.size()) / static_cast<double>(input_.nodes.size());
}

/// Chooses a node like kube-scheduler: the best by soft taints and free capacity, while the leaving pod still exists.
int World::place_by_chance(scheduling::WhatIf& cluster, const api::PlannedMove& move) {
  const scheduling::ClusterSnapshot& base = cluster.base();
  const scheduling::ResourceScores scores(scheduling::NodeScoring::kLeastAllocated);
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

void World::apply(const controllers::CycleOutcome& outcome, const scheduling::ClusterSnapshot& cluster) {
  scheduling::WhatIf what_if(cluster);
  avoided_.clear();
  std::vector<std::size_t> moved;
  for (const auto& taint : outcome.taints) avoided_.insert(taint.node);
  for (const api::PlannedMove& planned : outcome.moves) {
    const bool by_chance = settings_.by_chance || planned.to.empty();
    const int to = by_chance ? place_by_chance(what_if, planned) : std::stoi(planned.to.substr(1));
    if (!by_chance)
      what_if.move(cluster.find_pod(planned.ns, planned.pod).value(), static_cast<scheduling::NodeIndex>(to));
    outcome_.room += planned.reason.starts_with("asks for much") ? 1 : 0;
    moved.push_back(static_cast<std::size_t>(std::stoul(planned.pod.substr(planned.pod.rfind('-') + 1, 6))));
    move(moved.back(), to);
  }
  for (const std::size_t pod : moved) places_[pod].arrived = moved_loads_[static_cast<std::size_t>(places_[pod].node)];
}

void World::move(std::size_t pod, int to) {
  Place& place = places_[pod];
  ++outcome_.moves;
  outcome_.early_moves += time_ <= settings_.settled ? 1 : 0;
  count_return(pod, to);
  if (history_) {
    const double used = std::max(pods_[pod], 0.0);
    history_->shift(node_name(static_cast<std::size_t>(place.node)), 0, -used);
    history_->shift(node_name(static_cast<std::size_t>(to)), 0, used);
  }
  // Adjusts samples like UsageRounds::leave().
  for (double& sample : samples_[static_cast<std::size_t>(place.node)]) sample -= std::max(pods_[pod], 0.0);
  place.node = to;
  place.runs = now() + kinds_[pod].startup;
  place.generation += 1;
  place.moved = now();
  input_.pods[pod] = object_of(pod);
}

/// Returns the share in points of a node.
double World::share_of(std::size_t pod) const {
  return std::max(pods_[pod], 0.0) / settings_.parameters.node_cores * 100;
}

void World::count_return(std::size_t pod, int to) {
  Place& place = places_[pod];
  std::erase_if(place.leaves, [&](const Leave& leave) { return now() - leave.time >= kReturn; });
  const auto load_of = [](const std::vector<double>& loads, int node) { return loads[static_cast<std::size_t>(node)]; };
  const double from_load = load_of(loads_, place.node);
  place.leaves.push_back({place.node, now(), from_load});
  outcome_.most_moves = std::max(outcome_.most_moves, static_cast<int>(place.leaves.size()));
  moved_loads_[static_cast<std::size_t>(place.node)] -= share_of(pod);
  moved_loads_[static_cast<std::size_t>(to)] += share_of(pod);
  const auto left = std::ranges::find(place.leaves.rbegin(), place.leaves.rend(), to, &Leave::node);
  if (left == place.leaves.rend()) return;
  ++outcome_.returned;
  const bool is_as_full = load_of(moved_loads_, to) >= left->load - kNoise;
  const bool is_no_fuller = from_load <= place.arrived + kNoise;
  if (to != place.node && !(is_as_full && is_no_fuller)) return;
  ++outcome_.needless;
  place.leaves.back().is_needless_return = true;
  const auto needless = std::ranges::count_if(place.leaves, &Leave::is_needless_return);
  outcome_.most_needless = std::max(outcome_.most_needless, static_cast<int>(needless));
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

const Outcome& better_of(const std::vector<Outcome>& upstream) {
  return *std::ranges::min_element(upstream, {}, &Outcome::deviation);
}

Settings small(std::uint64_t seed) {
  Settings settings;
  settings.parameters.nodes = 8;
  settings.parameters.pods_per_node = 15;
  settings.seed = seed;
  settings.length = std::chrono::hours(24);
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
