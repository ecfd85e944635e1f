#include "usage/history.hpp"

#include <algorithm>
#include <cmath>

namespace usage {
namespace {

constexpr base::Duration kForgetAfter = std::chrono::hours(24);
constexpr int kSilentSteps = 3;

}  // namespace

History::History(const api::UsageForecast& settings) : rates_(std::make_shared<const ForecastRates>(settings)) {}

base::TimePoint History::step_of(base::TimePoint time) const {
  const base::Duration since = time.time_since_epoch();
  return time - (since % rates_->step + rates_->step) % rates_->step;
}

void History::take_columns(const std::vector<Column>& columns) {
  if (!have_same_units(columns_, columns)) nodes_.clear();
  columns_ = columns;
}

History::Node History::new_node(base::TimePoint step) const {
  Node node;
  node.step = step;
  node.forecasters.assign(columns_.size(), Forecaster(rates_, step));
  node.sums.assign(columns_.size(), 0);
  node.counts.assign(columns_.size(), 0);
  return node;
}

void History::seed(const std::vector<Column>& columns, const std::vector<Series>& past) {
  take_columns(columns);
  std::map<std::string_view, std::vector<const Series*>> by_node;
  for (const Series& series : past) {
    if (series.step == rates_->step && !series.values.empty() && !nodes_.contains(series.node))
      by_node[series.node].push_back(&series);
  }
  for (const auto& [name, all] : by_node) {
    base::TimePoint end = all.front()->start;
    for (const Series* series : all) {
      end = std::max(end, step_of(series->start) + series->step * static_cast<std::int64_t>(series->values.size()));
    }
    Node node = new_node(end);
    for (const Series* series : all) {
      const auto at = std::ranges::find(columns_, series->resource, &Column::resource);
      if (at == columns_.end()) continue;
      Forecaster& forecaster = node.forecasters[static_cast<std::size_t>(at - columns_.begin())];
      forecaster = Forecaster(rates_, step_of(series->start));
      for (const float value : series->values) forecaster.add(value);
      while (forecaster.next() < end) forecaster.add(kUnknown);
    }
    nodes_.emplace(name, std::move(node));
  }
}

void History::add(const Samples& samples, base::TimePoint now) {
  take_columns(samples.columns);
  for (const Samples::Node& sample : samples.nodes) take(sample, now);
  std::erase_if(nodes_, [&](const auto& each) { return now - each.second.step > kForgetAfter; });
}

void History::take(const Samples::Node& sample, base::TimePoint now) {
  const base::TimePoint step = step_of(sample.time);
  if (sample.time > now + rates_->step || now - step > kForgetAfter) return;
  auto at = nodes_.find(sample.name);
  if (at == nodes_.end()) at = nodes_.emplace(sample.name, new_node(step)).first;
  Node& node = at->second;
  if (step - node.step > kForgetAfter) node = new_node(step);
  if (step < node.step) return;
  close_steps(node, step);
  for (std::size_t c = 0; c < std::min(columns_.size(), sample.values.size()); ++c) {
    if (!std::isfinite(sample.values[c]) || sample.values[c] < 0) continue;
    node.sums[c] += sample.values[c];
    ++node.counts[c];
  }
}

void History::close_steps(Node& node, base::TimePoint until) const {
  for (; node.step < until; node.step += rates_->step) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      node.forecasters[c].add(node.counts[c] == 0 ? kUnknown : node.sums[c] / node.counts[c]);
      node.sums[c] = 0;
      node.counts[c] = 0;
    }
  }
}

void History::shift(std::string_view node, std::size_t column, double by, std::uint64_t known) {
  const auto at = nodes_.find(node);
  if (at == nodes_.end() || column >= columns_.size()) return;
  at->second.forecasters[column].shift(by);
  const std::uint32_t count = at->second.counts[column];  // samples of the open step
  if (known < count) at->second.sums[column] += by * static_cast<double>(count - known);
}

std::vector<Forecast> History::of(std::string_view node, base::TimePoint now) const {
  std::vector<Forecast> all;
  const auto at = nodes_.find(node);
  if (at == nodes_.end() || now - at->second.step > kSilentSteps * rates_->step) return all;
  for (const Forecaster& each : at->second.forecasters) all.push_back(each.forecast());
  return all;
}

ForecastQuality History::quality(base::TimePoint now) const {
  std::vector<std::vector<Forecast>> by_column(columns_.size());
  for (const auto& [name, node] : nodes_) {
    const auto forecasts = of(name, now);
    for (std::size_t c = 0; c < forecasts.size(); ++c) by_column[c].push_back(forecasts[c]);
  }
  std::vector<ForecastQuality> columns;
  for (const auto& forecasts : by_column) columns.push_back(quality_of(forecasts));
  return quality_of_columns(columns);
}

}  // namespace usage
