#pragma once

/// History by day: Prometheus computes each figure of a whole day for every container or node, with one query per day
/// and figure. For advice only; usage sources of policies read only current values.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/policy/usage_source.hpp"
#include "usage/parse/prometheus.hpp"
#include "usage/sources/endpoint_client.hpp"

namespace usage {

/// Settings of the daily queries.
struct DailySettings {
  base::Duration step = base::minutes(5);     ///< interval of a day's samples, and range of rates
  base::Duration startup = base::minutes(5);  ///< duration of a container's start; 0 to ignore startups
  std::string matchers;                       ///< added to every selector: cluster="eu-1"; "" for none
  std::string ns;                             ///< only this namespace; "" for all
};

/// Figure of a day. The result is labelled by namespace, pod and container, or by node (else instance).
struct DailyExpression {
  std::string name;  ///< "cpu_peak", for messages
  std::string promql;
};

/// Returns the figures of containers: samples, cpu_peak, cpu_mean, cpu_p95, cpu_startup_peak, memory_peak, memory_mean,
/// throttled and oom_kills, in this order. `shard` is a matcher on namespaces from DailyHistory::shards().
std::vector<DailyExpression> container_expressions(const DailySettings& settings, const std::string& shard);
/// Returns the figures of nodes: samples, root_cpu, pods_cpu, agents_cpu, root_memory, pods_memory, agents_memory,
/// memory_growth, pressure_cpu, pressure_memory, pressure_io, in this order.
std::vector<DailyExpression> node_expressions(const DailySettings& settings);
/// Returns an expression for the containers' current CPU usage outside their startup.
std::string steady_cpu(const DailySettings& settings, const std::string& shard);
/// Returns steady_cpu() as whole numbers: ceil(ln(cores) / width), -Inf for 0. Answers are half as long.
std::string steady_cpu_buckets(const DailySettings& settings, const std::string& shard, double width);

/// Sends the daily queries. Stores nothing. Use from one thread.
class DailyHistory {
 public:
  /// Maximum containers per query, for answers with one value for each container and for answers with many.
  static constexpr std::size_t kShardOfValues = 50'000;
  static constexpr std::size_t kShardOfSeries = 5'000;

  DailyHistory(api::UsageEndpoint endpoint, Dependencies dependencies, DailySettings settings);

  /// Returns matchers that split the day ending at `end` into queries with about `most` containers each. Never splits a
  /// namespace. Sends one query.
  base::Result<std::vector<std::string>> shards(base::TimePoint end, std::size_t most);
  using EachContainer =
      std::function<void(std::string_view ns, std::string_view pod, std::string_view container, double value)>;
  /// Evaluates the expression at `end`. Reports invalid amounts and duplicate series as NaN.
  base::Status containers(const DailyExpression& expression, base::TimePoint end, const EachContainer& each);
  using EachNode = std::function<void(std::string_view node, double value)>;
  base::Status nodes(const DailyExpression& expression, base::TimePoint end, const EachNode& each);
  /// Evaluates an expression by container, with whole numbers, on a grid. Sends as many range queries as the size of
  /// the answers requires. Calls `each` once per answer and container, with the numbers in time order
  /// (usage::NumberSeries). Returns an error if an answer has other values. Reports a duplicate container of an answer
  /// once.
  using EachNumbers = std::function<void(std::string_view ns, std::string_view pod, std::string_view container,
                                         std::span<const std::int32_t> numbers)>;
  base::Status numbers(const DailyExpression& expression, const Grid& grid, const EachNumbers& each);

  std::size_t queries() const { return queries_; }

 private:
  base::Result<std::string> ask(const std::string& path, std::string query);
  base::Result<Rows> rows(const std::string& promql, base::TimePoint at, const api::UsageQuery& query);
  base::Result<std::size_t> count(const std::string& promql, base::TimePoint at);
  base::Result<NumberSeries> range(const std::string& promql, const Grid& grid);

  const DailySettings settings_;
  const base::Duration timeout_;
  EndpointClient client_;
  std::size_t queries_ = 0;
};

}  // namespace usage
