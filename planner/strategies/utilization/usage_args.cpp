#include "planner/strategies/utilization/usage_args.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/core/selector_codec.hpp"
#include "api/meta/names.hpp"

namespace strategies {
namespace {

constexpr std::size_t kMaxPools = 100;

enum class MetricsSource { kNone, kKubernetesMetrics, kPrometheus };
constexpr std::array kMetricsSources = {
    api::WireName{MetricsSource::kKubernetesMetrics, "KubernetesMetrics"},
    api::WireName{MetricsSource::kPrometheus, "Prometheus"},
};

/// Fields of metricsUtilization as written.
struct MetricsUtilization {
  MetricsSource source = MetricsSource::kNone;
  bool metrics_server = false;
  bool has_prometheus = false;
  std::string query;
};

MetricsUtilization read_metrics(api::StrictObject& object) {
  MetricsUtilization metrics;
  object.read("source", kMetricsSources, metrics.source);
  object.read("metricsServer", metrics.metrics_server);
  object.with("prometheus", [&](api::StrictObject& prometheus) {
    metrics.has_prometheus = true;
    prometheus.read("query", metrics.query);
  });
  return metrics;
}

/// Checks in upstream's order and reports the first problem only.
void check_metrics(api::StrictObject& object, const MetricsUtilization& metrics) {
  if (metrics.metrics_server && metrics.source != MetricsSource::kNone)
    return object.complain("metricsServer", "is the deprecated form of source: KubernetesMetrics; only one can be set");
  if (metrics.source == MetricsSource::kKubernetesMetrics && metrics.has_prometheus)
    return object.complain("prometheus", "cannot be combined with source: KubernetesMetrics");
  if (metrics.source == MetricsSource::kPrometheus && metrics.query.empty())
    return object.complain("prometheus.query", "is required with source: Prometheus");
  if (metrics.source == MetricsSource::kNone && !metrics.metrics_server)
    object.complain("source", "is required: KubernetesMetrics or Prometheus");
}

void read_hysteresis(api::StrictObject& object, UsageArgs& usage) {
  object.with("hysteresis", [&](api::StrictObject& hysteresis) {
    hysteresis.read("samples", usage.samples);
    hysteresis.read("of", usage.of);
    if (usage.of < 1 || usage.of > kMaxHysteresisSamples)
      return hysteresis.complain("of", fmt::format("{} is not between 1 and {}: no more samples are kept per node",
                                                   usage.of, kMaxHysteresisSamples));
    if (usage.samples < 0 || usage.samples > usage.of)
      hysteresis.complain("samples", fmt::format("{} is not between 0 and of, which is {}", usage.samples, usage.of));
  });
}

void check_pairs(api::StrictObject& args, const Thresholds& parsed) {
  if (names_in(parsed.low) != names_in(parsed.high))
    return args.complain("targetThresholds", "must name the same resources as thresholds");
  if (parsed.use_deviation) return;
  for (std::size_t r = 0; r < parsed.low.size(); ++r) {
    const auto& [resource, low] = parsed.low[r];
    const double high = parsed.high[r].second;
    if (low <= high) continue;
    args.errors().push_back({entry_path(args.path().field("thresholds"), resource).text(),
                             fmt::format("{} is above targetThresholds, which is {}", low, high)});
  }
}

}  // namespace

std::optional<UsageNeed> need_of(const std::optional<UsageArgs>& usage) {
  return usage ? std::optional(usage->need) : std::nullopt;
}

std::optional<UsageArgs> read_usage(api::StrictObject& args) {
  std::optional<UsageArgs> usage;
  args.with("usage", [&](api::StrictObject& object) {
    usage.emplace();
    object.read("source", usage->need.source);
    if (usage->need.source.empty()) object.complain("source", "is required: the name of an entry of spec.usageSources");
    object.read("forecast", usage->forecast);
    read_hysteresis(object, *usage);
    object.read("softTaint", usage->soft_taint);
  });
  return usage;
}

std::optional<UsageNeed> read_metrics_utilization(api::StrictObject& args) {
  std::optional<UsageNeed> need;
  args.with("metricsUtilization", [&](api::StrictObject& object) {
    const std::size_t before = object.errors().size();
    const MetricsUtilization metrics = read_metrics(object);
    if (object.errors().size() == before) check_metrics(object, metrics);
    const bool by_query = metrics.source == MetricsSource::kPrometheus;
    need = UsageNeed{"", !by_query, by_query ? metrics.query : ""};
  });
  return need;
}

ResourceRule resource_rule_of(const std::optional<UsageNeed>& need) {
  if (!need || need->metrics_server) return ResourceRule::kOfNode;
  return need->source.empty() ? ResourceRule::kMetricOnly : ResourceRule::kMeasured;
}

Thresholds read_thresholds(api::StrictObject& args, ResourceRule rule) {
  Thresholds parsed;
  const std::size_t before = args.errors().size();
  parsed.low = read_percentages(args, "thresholds", rule);
  parsed.high = read_percentages(args, "targetThresholds", rule);
  args.read("useDeviationThresholds", parsed.use_deviation);
  if (args.errors().size() == before) check_pairs(args, parsed);
  return parsed;
}

std::vector<NodePool> read_node_pools(api::StrictObject& args,
                                      const std::function<Thresholds(api::StrictObject& entry)>& read_entry) {
  std::vector<NodePool> pools;
  args.for_each("nodePools", [&](const api::Json& item, const api::FieldPath& path) {
    api::StrictObject entry(item, path, args.errors());
    NodePool pool;
    entry.read("name", pool.name);
    if (!api::is_dns_label(pool.name)) entry.complain("name", "must be a DNS label");
    if (std::ranges::find(pools, pool.name, &NodePool::name) != pools.end())
      entry.complain("name", "is the name of another pool");
    api::read_label_selector(entry, "nodeSelector", pool.nodes);
    pool.thresholds = read_entry(entry);
    entry.finish();
    pools.push_back(std::move(pool));
  });
  if (pools.size() > kMaxPools) args.complain("nodePools", fmt::format("has more than {} entries", kMaxPools));
  return pools;
}

std::vector<std::string> PoolThresholds::resources() const {
  return names_in(own.high.empty() && !pools.empty() ? pools.front().thresholds.high : own.high);
}

std::optional<std::uint32_t> read_evictions_per_node(api::StrictObject& args) {
  std::optional<std::uint32_t> evictions;
  args.with("evictionLimits", [&](api::StrictObject& limits) { limits.read("node", evictions); });
  return evictions;
}

void check_pool_resources(api::StrictObject& args, const PoolThresholds& thresholds) {
  const std::vector<std::string> wanted = thresholds.resources();
  for (std::size_t i = 0; i < thresholds.pools.size(); ++i) {
    if (names_in(thresholds.pools[i].thresholds.high) == wanted) continue;
    args.errors().push_back({args.path().field("nodePools").index(i).text(),
                             "must name the same resources as the other pools and the strategy's own thresholds"});
  }
}

}  // namespace strategies
