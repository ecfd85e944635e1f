#include "controllers/policy/usage/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "usage/figures.hpp"

namespace controllers {
namespace {

using scheduling::kUnknownUsage;
using scheduling::MeasuredUsage;

/// Maximum number of departures kept per node; samples include older ones soon.
constexpr std::size_t kMaxDepartures = 200;
constexpr std::size_t kMaxVanished = 10'000;
/// A node that answers do not contain any more is dropped after this multiple of maxAge.
constexpr int kForgetAfterAges = 10;
constexpr std::size_t kMaxProblems = 5;
constexpr std::size_t kMaxText = 400;  ///< of a problem or a complaint, in bytes

/// Share (0 … 1) of a value dated `sample` that covers the time from `start` to `end`. If the value may be older than
/// its date, returns the maximum possible share: a load that is too low for half a minute delays a move, one that is
/// too high causes a needless move.
double share_of(base::TimePoint start, base::TimePoint end, base::TimePoint sample, const usage::Column& column) {
  if (column.window == base::Duration::zero()) return start <= sample && end > sample - column.lag ? 1 : 0;
  const base::TimePoint measured = std::clamp(end, sample - column.lag, sample);
  const base::Duration both = std::min(end, measured) - std::max(start, measured - column.window);
  return std::max(std::chrono::duration<double>(both) / column.window, 0.0);
}

/// Returns the problem if pods should be measured, and none is.
std::string complaint_about_pods(const usage::Samples& samples) {
  if (samples.pods.empty())
    return "no pod is measured: pods get a share of the node's usage in proportion to their requests";
  const std::size_t count = samples.pod_columns.size();
  std::string missing;
  for (std::size_t c = 0; c < count; ++c) {
    bool is_known = false;
    for (std::size_t p = 0; p < samples.pods.size() && !is_known; ++p)
      is_known = std::isfinite(samples.pod_values[p * count + c]);
    if (!is_known) missing += (missing.empty() ? "" : ", ") + samples.pod_columns[c].resource;
  }
  return missing.empty() ? "" : missing + " of no pod is measured: the pods' requests are used";
}

}  // namespace

std::int64_t thousandths(double value) {
  constexpr double kMax = 9e15;  // above it doubles do not represent all integers
  if (!std::isfinite(value) || value < 0 || value * 1000 > kMax) return kUnknownUsage;
  return std::llround(value * 1000);
}

UsageRounds::UsageRounds(api::UsageSource source) : source_(std::move(source)) {
  const auto wanted = static_cast<std::size_t>(source_.smoothing.window / source_.interval) + 1;
  stride_ = (wanted + kMaxRounds - 1) / kMaxRounds;
  max_rounds_ = std::clamp(wanted, kSamplesForHysteresis, kMaxRounds);
}

void UsageRounds::foresee(Forecasts foreseen) {
  foreseen_ = std::move(foreseen);
  ++version_;
}

void UsageRounds::take(usage::Samples& samples, base::TimePoint now) {
  take_columns(samples);
  take_complaints(samples);
  for (usage::Samples::Node& node : samples.nodes) take_node(node, now);
  note_vanished(samples, now);
  take_pods(samples, now);
  std::erase_if(nodes_,
                [&](const auto& entry) { return now - entry.second.seen > kForgetAfterAges * source_.max_age; });
  problem_.clear();
  ++answers_;
  ++version_;
}

void UsageRounds::fail(const std::string& problem) {
  problem_ = base::truncate_utf8(problem, kMaxText);
  complaints_.clear();
}

void UsageRounds::take_complaints(usage::Samples& samples) {
  complaints_.clear();
  if (!samples.pod_columns.empty()) complaints_.push_back(complaint_about_pods(samples));
  complaints_.insert(complaints_.end(), std::make_move_iterator(samples.problems.begin()),
                     std::make_move_iterator(samples.problems.end()));
  samples.problems.clear();
  std::erase(complaints_, std::string());
  const std::size_t all = complaints_.size();
  if (all > kMaxProblems) complaints_.resize(kMaxProblems);
  for (std::string& each : complaints_) each = base::truncate_utf8(each, kMaxText);
  if (all > kMaxProblems) complaints_.push_back(fmt::format("and {} more", all - kMaxProblems));
}

/// Lists columns without any value only if they were configured: a load-watcher may lack memory.
UsageHealth UsageRounds::health() const {
  UsageHealth health{problem_, complaints_, {}};
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const auto has_value = [&](const auto& node) { return std::isfinite(node.second.rounds.back().values[c]); };
    if (source_.type != api::UsageSourceType::kLoadWatcher || std::ranges::any_of(nodes_, has_value))
      health.columns.push_back(columns_[c].resource);
  }
  return health;
}

/// Discards the stored rounds if the columns have changed.
void UsageRounds::take_columns(const usage::Samples& samples) {
  if (!usage::have_same_units(columns_, samples.columns)) {
    nodes_.clear();
    vanished_.clear();
  }
  columns_ = samples.columns;
  resources_.clear();
  for (const auto* columns : {&samples.columns, &samples.pod_columns}) {
    for (const usage::Column& column : *columns) {
      if (std::ranges::find(resources_, column.resource, &MeasuredUsage::Resource::name) == resources_.end())
        resources_.push_back({column.resource, column.unit == usage::Unit::kPercent, column.window, column.lag});
    }
  }
}

void UsageRounds::take_node(usage::Samples::Node& sample, base::TimePoint now) {
  Node& node = nodes_[sample.name];
  node.seen = now;
  // Discard samples from the future; otherwise they would count until their time has come.
  while (!node.rounds.empty() && node.rounds.back().time - now > source_.max_age) node.rounds.pop_back();
  if (!node.rounds.empty() && sample.time <= node.rounds.back().time) return;
  // A thinned-out window keeps every n-th answer and the newest, which is replaced here.
  if (stride_ > 1 && answers_ > 0 && answers_ % stride_ != 1 && !node.rounds.empty()) node.rounds.pop_back();
  Round round{sample.time, {sample.values.begin(), sample.values.end()}};
  for (const Departure& left : node.departures) subtract(left, round);
  node.rounds.push_back(std::move(round));
  while (node.rounds.size() > max_rounds_) node.rounds.pop_front();
  base::Duration age{};  // maximum time before its date that a value may cover
  for (const usage::Column& column : columns_) age = std::max(age, column.window + column.lag);
  const base::TimePoint shown = sample.time - age;
  std::erase_if(node.departures, [&](const Departure& each) { return each.end <= shown; });
}

/// One pass, since both answers are sorted.
void UsageRounds::note_vanished(const usage::Samples& next, base::TimePoint now) {
  using Name = std::pair<std::string_view, std::string_view>;
  const auto key = [](const usage::Samples::Pod& each) { return Name(each.ns, each.name); };
  std::erase_if(vanished_, [&](const auto& entry) {
    const Name name(entry.first.first, entry.first.second);
    return now - entry.second.time > source_.max_age || std::ranges::binary_search(next.pods, name, {}, key);
  });
  auto at = next.pods.begin();
  for (std::size_t p = 0; p < pods_.size() && vanished_.size() < kMaxVanished; ++p) {
    const Name name(pods_[p].ns, pods_[p].name);
    while (at != next.pods.end() && key(*at) < name) ++at;
    const bool is_next = at != next.pods.end() && key(*at) == name;
    if (!is_gone_[p] && !is_next)
      vanished_.insert_or_assign({pods_[p].ns, pods_[p].name},
                                 Vanished{pod_values(pods_[p].ns, pods_[p].name), now, answers_});
  }
}

void UsageRounds::take_pods(usage::Samples& samples, base::TimePoint now) {
  std::vector<MeasuredUsage::Pod> pods;
  pods.reserve(samples.pods.size());
  for (usage::Samples::Pod& pod : samples.pods) pods.push_back({std::move(pod.ns), std::move(pod.name)});
  std::vector<std::int64_t> amounts(pods.size() * resources_.size(), kUnknownUsage);
  const std::size_t count = samples.pod_columns.size();
  for (std::size_t c = 0; c < count; ++c) {
    const auto at = std::ranges::find(resources_, samples.pod_columns[c].resource, &MeasuredUsage::Resource::name);
    const auto r = static_cast<std::size_t>(at - resources_.begin());
    for (std::size_t p = 0; p < pods.size(); ++p)
      amounts[p * resources_.size() + r] = thousandths(samples.pod_values[p * count + c]);
  }
  is_gone_.assign(pods.size(), false);
  pods_ = scheduling::SharedVector(std::move(pods));
  pod_amounts_ = scheduling::SharedVector(std::move(amounts));
  pod_means_ = scheduling::SharedVector(means_.take(pods_, pod_amounts_, resources_.size(), now));
}

/// Figures created before keep the old pods.
void UsageRounds::drop_gone_pods() {
  if (std::ranges::find(is_gone_, true) == is_gone_.end()) return;
  std::vector<MeasuredUsage::Pod> pods;
  std::vector<std::int64_t> amounts;
  std::vector<std::int64_t> means;
  pods.reserve(pods_.size());
  amounts.reserve(pod_amounts_.size());
  means.reserve(pod_means_.size());
  for (std::size_t p = 0; p < pods_.size(); ++p) {
    if (is_gone_[p]) continue;
    pods.push_back(pods_[p]);
    const auto first = static_cast<std::ptrdiff_t>(p * resources_.size());
    const auto end = first + static_cast<std::ptrdiff_t>(resources_.size());
    amounts.insert(amounts.end(), pod_amounts_.begin() + first, pod_amounts_.begin() + end);
    means.insert(means.end(), pod_means_.begin() + first, pod_means_.begin() + end);
  }
  is_gone_.assign(pods.size(), false);
  pods_ = scheduling::SharedVector(std::move(pods));
  pod_amounts_ = scheduling::SharedVector(std::move(amounts));
  pod_means_ = scheduling::SharedVector(std::move(means));
}

std::string UsageRounds::problem_of(const Round& newest, base::TimePoint now) const {
  const auto is_usable = [](float value) { return std::isfinite(value) && value >= 0; };
  if (std::ranges::none_of(newest.values, is_usable)) return "its newest sample has no usable value";
  if (newest.time == base::TimePoint{}) return "its newest sample has no time";
  if (now - newest.time > source_.max_age)
    return fmt::format("its newest sample is {} old", base::format_age(now - newest.time));
  if (newest.time - now > source_.max_age)
    return fmt::format("its newest sample is {} in the future: check that the clocks are synchronized",
                       base::format_age(newest.time - now));
  return {};
}

std::int64_t UsageRounds::smoothed(const Node& node, std::size_t column) const {
  const base::TimePoint newest = node.rounds.back().time;
  if (!std::isfinite(node.rounds.back().values[column])) return kUnknownUsage;
  std::vector<double> values;
  for (const Round& round : node.rounds) {
    if (newest - round.time <= source_.smoothing.window) values.push_back(round.values[column]);
  }
  return thousandths(usage::smooth(values, source_.smoothing));
}

MeasuredUsage::Node UsageRounds::figures_of(const std::string& name, const Node& node, base::TimePoint now) const {
  MeasuredUsage::Node figures;
  figures.name = name;
  figures.time = node.rounds.back().time;
  figures.problem = problem_of(node.rounds.back(), now);
  figures.now.assign(resources_.size(), kUnknownUsage);
  for (std::size_t c = 0; c < columns_.size(); ++c) figures.now[c] = smoothed(node, c);
  if (const auto at = foreseen_.find(name); at != foreseen_.end() && at->second.size() == columns_.size()) {
    figures.foreseen = at->second;
    figures.foreseen.resize(resources_.size(), kUnknownUsage);
  }
  const std::size_t first = node.rounds.size() - std::min(node.rounds.size(), kSamplesForHysteresis);
  for (std::size_t i = first; i < node.rounds.size(); ++i) {
    figures.times.push_back(node.rounds[i].time);
    for (std::size_t r = 0; r < resources_.size(); ++r)
      figures.samples.push_back(r < columns_.size() ? thousandths(node.rounds[i].values[r]) : kUnknownUsage);
  }
  return figures;
}

MeasuredUsage UsageRounds::figures(const std::string& key, base::TimePoint now) {
  drop_gone_pods();
  MeasuredUsage figures;
  figures.source = key;
  figures.resources = resources_;
  figures.max_unknown_percent = source_.max_unknown_percent;
  if (answers_ == 0) figures.problem = problem_;
  for (const auto& [name, node] : nodes_) figures.nodes.push_back(figures_of(name, node, now));
  figures.pods = pods_;
  figures.pod_amounts = pod_amounts_;
  figures.pod_means = pod_means_;
  return figures;
}

std::optional<std::size_t> UsageRounds::find_pod(std::string_view ns, std::string_view pod) const {
  const auto key = [](const MeasuredUsage::Pod& each) {
    return std::pair<std::string_view, std::string_view>(each.ns, each.name);
  };
  const auto at = std::ranges::lower_bound(pods_, std::pair(ns, pod), {}, key);
  if (at == pods_.end() || key(*at) != std::pair(ns, pod)) return std::nullopt;
  const auto place = static_cast<std::size_t>(at - pods_.begin());
  return is_gone_[place] ? std::nullopt : std::optional(place);
}

std::vector<double> UsageRounds::pod_values(std::string_view ns, std::string_view pod) const {
  const auto at = find_pod(ns, pod);
  if (!at) return {};
  std::vector<double> values(columns_.size(), usage::kUnknown);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const std::int64_t amount = pod_amounts_[*at * resources_.size() + c];
    if (amount != kUnknownUsage && !resources_[c].is_percent) values[c] = static_cast<double>(amount) / 1000;
  }
  return values;
}

void UsageRounds::subtract(const Departure& left, Round& round) const {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    float& value = round.values[c];
    const double share = share_of(left.start, left.end, round.time, columns_[c]);
    if (share <= 0 || !std::isfinite(left.values[c]) || !std::isfinite(value) || value < 0) continue;
    value = static_cast<float>(std::max(value - left.values[c] * share, 0.0));
  }
}

UsageRounds::LastValues UsageRounds::last_values(std::string_view ns, std::string_view pod) const {
  const auto vanished = vanished_.find({std::string(ns), std::string(pod)});
  if (vanished == vanished_.end()) return {pod_values(ns, pod), 0};
  return {vanished->second.values, answers_ - vanished->second.answers};
}

/// Adjusts the forecast until the next answer, whose forecast includes the departure.
void UsageRounds::foresee_without(const std::string& node, const std::vector<double>& values) {
  const auto at = foreseen_.find(node);
  if (at == foreseen_.end()) return;
  for (std::size_t c = 0; c < std::min(values.size(), at->second.size()); ++c) {
    std::int64_t& peak = at->second[c];
    const std::int64_t used = thousandths(values[c]);
    if (peak != kUnknownUsage && used != kUnknownUsage) peak = std::max<std::int64_t>(peak - used, 0);
  }
}

void UsageRounds::leave(const std::string& node, const api::ObjectKey& pod, base::TimePoint start,
                        base::TimePoint now) {
  const auto place = find_pod(pod.ns, pod.name);
  if (!place) {  // newer answers lack the pod already, so the samples reflect its departure
    const auto vanished = vanished_.find({pod.ns, pod.name});
    if (vanished == vanished_.end()) return;
    foresee_without(node, vanished->second.values);
    vanished_.erase(vanished);
    ++version_;
    return;
  }
  const Departure left{start, now, pod_values(pod.ns, pod.name)};
  is_gone_[*place] = true;
  ++version_;
  const auto at = nodes_.find(node);
  // The answer is about another pod with this name.
  if (at == nodes_.end() || start >= at->second.rounds.back().time) return;
  for (Round& round : at->second.rounds) subtract(left, round);
  foresee_without(node, left.values);
  at->second.departures.push_back(left);
  if (at->second.departures.size() > kMaxDepartures) at->second.departures.pop_front();
}

base::TimePoint UsageRounds::valid_until(const MeasuredUsage& figures, base::TimePoint now) const {
  if (answers_ == 0) return now;
  base::TimePoint until = base::TimePoint::max();
  for (const MeasuredUsage::Node& node : figures.nodes) {
    if (node.time - now > source_.max_age) return now;  // it becomes valid when its time has come
    if (node.problem.empty()) until = std::min(until, node.time + source_.max_age);
  }
  return until;
}

}  // namespace controllers
