#pragma once

/// The past by the day: what Prometheus' HTTP API computes of a whole day for every container or node, by one query a
/// day and figure. For advice; sources of policies ask only for the present.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/policy/usage_source.hpp"
#include "usage/parse/prometheus.hpp"
#include "usage/sources/endpoint_client.hpp"

namespace usage {

/// How days are looked at.
struct DailySettings {
  base::Duration step = base::minutes(5);     ///< between the samples of a day, and what rates are a mean of
  base::Duration startup = base::minutes(5);  ///< a container's first time; 0: nothing is told apart
  std::string matchers;                       ///< for every selector: cluster="eu-1"; "": none
  std::string ns;                             ///< only this namespace; "": all
};

/// A figure of a day. Expressions tell it by namespace, pod and container, or by node (else instance).
struct DailyExpression {
  std::string name;  ///< "cpu_peak", for messages
  std::string promql;
};

/// Of containers: samples, cpu_peak, cpu_mean, cpu_p95, cpu_startup_peak, memory_peak, memory_mean, throttled and
/// oom_kills, in this order. `shard` is a matcher on namespaces of DailyHistory::shards().
std::vector<DailyExpression> container_expressions(const DailySettings& settings, const std::string& shard);
/// Of nodes: samples, root_cpu, pods_cpu, agents_cpu, root_memory, pods_memory, agents_memory, memory_growth,
/// pressure_cpu, pressure_memory, pressure_io, in this order.
std::vector<DailyExpression> node_expressions(const DailySettings& settings);
/// CPU of containers outside their start-up, moment by moment.
std::string steady_cpu(const DailySettings& settings, const std::string& shard);
/// The same as whole numbers: ceil(ln(cores) / width), -Inf for nothing. Answers are half as long.
std::string steady_cpu_buckets(const DailySettings& settings, const std::string& shard, double width);

/// Asks. Nothing is kept. One thread.
class DailyHistory {
 public:
  /// Most containers of a query whose answer has one value for each, and of one that has many.
  static constexpr std::size_t kShardOfValues = 50'000;
  static constexpr std::size_t kShardOfSeries = 5'000;

  DailyHistory(api::UsageEndpoint endpoint, Dependencies dependencies, DailySettings settings);

  /// Matchers that split the day which ends at `end` so that a query has about `most` containers; a namespace is never
  /// split. One query.
  base::Result<std::vector<std::string>> shards(base::TimePoint end, std::size_t most);
  using EachContainer =
      std::function<void(std::string_view ns, std::string_view pod, std::string_view container, double value)>;
  /// The expression at `end`. What is no amount is told as NaN; a series that is there twice, too.
  base::Status containers(const DailyExpression& expression, base::TimePoint end, const EachContainer& each);
  using EachNode = std::function<void(std::string_view node, double value)>;
  base::Status nodes(const DailyExpression& expression, base::TimePoint end, const EachNode& each);
  /// An expression by containers whose values are whole numbers, on a grid, in as many range queries as its answers
  /// need; once an answer and container, the numbers in the order of time (usage::NumberSeries). An error: an answer
  /// with other values. A container that is there twice in an answer is told once.
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
