#pragma once

/// What a source's samples say about the time to come, node by node.

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

/// Follows every node and column of one source in the even steps of its forecast. Samples of one step are averaged, a
/// step without any is a gap. It keeps what forecasts need of the past and not the past itself: about 2 KB a node and
/// column, however long the history is, so 20 MB for 5,000 nodes and two resources. A node that was not in an answer
/// for a day is forgotten. Not thread-safe: whoever asks the source owns it.
class History {
 public:
  explicit History(const api::UsageForecast& settings);

  /// The past, as Source::history() tells it. For nodes and columns of which nothing is known yet: call it before the
  /// first add(), after a fail-over or a start. Series of another step, or of columns that are not in `columns`, are
  /// left out.
  void seed(const std::vector<Column>& columns, const std::vector<Series>& past);
  /// An answer, received at `now`. Samples that are older than the newest step of their node, or from the future by
  /// more than a step, count for nothing. Other columns than before: everything is forgotten.
  void add(const Samples& samples, base::TimePoint now);

  /// A pod that uses so much came to the node, or left it (below 0): correction for our own moves. The `known` newest
  /// samples show it already.
  void shift(std::string_view node, std::size_t column, double by, std::uint64_t known = 0);

  const std::vector<Column>& columns() const { return columns_; }
  /// By column; empty: the node is not known, or nothing was heard of it for three steps.
  std::vector<Forecast> of(std::string_view node, base::TimePoint now) const;
  /// Over all nodes and columns, for the condition ForecastTrusted.
  ForecastQuality quality(base::TimePoint now) const;
  std::size_t node_count() const { return nodes_.size(); }

 private:
  struct Node {
    base::TimePoint step{};               ///< the one that is being filled: its start
    std::vector<Forecaster> forecasters;  ///< by column; of the steps before it
    std::vector<double> sums;             ///< of the step, by column
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
