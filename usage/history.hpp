#pragma once

/// Forecasts per node from a source's samples.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/policy/usage_source.hpp"
#include "usage/forecast.hpp"
#include "usage/samples.hpp"

namespace usage {

/// Forecasts every node and column of one source in the fixed steps of its settings. Averages the samples of a step; a
/// step without samples is a gap. Stores only the state of the forecasts and not the past: about 2 KB per node and
/// column, independent of the history's length, or 20 MB for 5,000 nodes and two resources. Drops a node that has not
/// been in an answer for a day. Not thread-safe; owned by the thread that polls the source.
class History {
 public:
  explicit History(const api::UsageForecast& settings);

  /// Adds the past, as returned by Source::history(), for nodes without data. Call before the first add(), after a
  /// start or failover. Ignores series with another step or with columns that are not in `columns`.
  void seed(const std::vector<Column>& columns, const std::vector<Series>& past);
  /// Adds an answer received at `now`. Ignores samples older than the newest step of their node, and samples from the
  /// future by more than one step. If the columns differ from the previous ones, all data is dropped.
  void add(const Samples& samples, base::TimePoint now);

  /// Corrects for Evacuator's own moves: a pod with usage `by` came to the node, or left it if negative. The newest
  /// `known` samples already include it.
  void shift(std::string_view node, std::size_t column, double by, std::uint64_t known = 0);

  const std::vector<Column>& columns() const { return columns_; }
  /// Returns the forecasts by column. Empty if the node is unknown, or had no data for three steps.
  std::vector<Forecast> of(std::string_view node, base::TimePoint now) const;
  /// Returns the accuracy over all nodes and columns, for the condition ForecastTrusted.
  ForecastQuality quality(base::TimePoint now) const;
  std::size_t node_count() const { return nodes_.size(); }

 private:
  struct Node {
    base::TimePoint step{};               ///< start of the step being filled
    std::vector<Forecaster> forecasters;  ///< by column; up to the step before `step`
    std::vector<double> sums;             ///< sums of the current step, by column
    std::vector<std::uint32_t> counts;
  };

  void take_columns(const std::vector<Column>& columns);
  Node new_node(base::TimePoint step) const;
  void take(const Samples::Node& sample, base::TimePoint now);
  void close_steps(Node& node, base::TimePoint until) const;
  base::TimePoint step_of(base::TimePoint time) const;

  std::shared_ptr<const ForecastRates> rates_;
  std::vector<Column> columns_;
  std::map<std::string, Node, std::less<>> nodes_;
};

}  // namespace usage
