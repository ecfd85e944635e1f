#include "usage/parse/koordinator.hpp"

#include <array>
#include <optional>

#include "usage/parse/document.hpp"

namespace usage {
namespace {

using wire::elements;
using wire::members;
using wire::on;
using wire::read_members;

using Amounts = std::array<double, kKoordinatorWidth>;
constexpr Amounts kNothing = {kUnknown, kUnknown};

/// Reads a quantity, which is a string or a plain whole number.
wire::error_code read_amount(wire::Value& value, double& target, InvalidCounts& oddities) {
  if (value.raw_json_token().starts_with('"')) {
    std::string_view text;
    const auto error = read_view(value, text);
    if (!error) target = read_quantity(text, oddities);
    return error;
  }
  double number = 0;
  const auto error = value.get_double().get(number);
  if (!error) target = checked(number, oddities);
  if (error && !wire::unless_about_value(error)) ++oddities.unreadable;
  return wire::unless_about_value(error);
}

/// Returns a reader of a ResourceMap: {resources: {cpu, memory}}.
auto resource_map(Amounts& amounts, InvalidCounts& oddities) {
  return members(
      on("resources", members(on("cpu", [&](auto& value) { return read_amount(value, amounts[0], oddities); }),
                              on("memory", [&](auto& value) { return read_amount(value, amounts[1], oddities); }))));
}

/// Fields of one NodeMetric that are used.
struct NodeMetric {
  std::string_view name;
  base::TimePoint time{};
  Amounts now = kNothing;
  Amounts aggregated = kNothing;
  std::optional<base::Duration> over;  ///< duration of `aggregated`
};

wire::error_code read_duration(wire::Value& value, base::Duration& target) {
  std::string_view text;
  const auto error = value.get_string().get(text);
  if (!error) target = base::parse_duration(text).value_or(target);
  return wire::unless_about_value(error);
}

/// Reads {usage: {avg: ResourceMap, …}, duration: "5m0s"}.
wire::error_code read_aggregated(wire::Value& value, std::string_view wanted, NodeMetric& node,
                                 InvalidCounts& oddities) {
  Amounts amounts = kNothing;
  base::Duration over = base::Duration::max();
  const auto error = read_members(value, on("duration", [&](auto& text) { return read_duration(text, over); }),
                                  on("usage", members(on(wanted, resource_map(amounts, oddities)))));
  if (error || (node.over && *node.over <= over)) return error;
  node.over = over;
  node.aggregated = amounts;
  return error;
}

/// Reads {namespace, name, podUsage}.
wire::error_code read_pod(wire::Value& value, Rows& pods) {
  std::string_view ns;
  std::string_view name;
  Amounts amounts = kNothing;
  const auto error = read_members(value, on("namespace", [&](auto& text) { return read_view(text, ns); }),
                                  on("name", [&](auto& text) { return read_view(text, name); }),
                                  on("podUsage", resource_map(amounts, pods.oddities)));
  if (error) return error;
  if (ns.empty() || name.empty()) return ++pods.oddities.nameless, error;
  const std::size_t at = pods.add(ns, name, {});
  pods.values[at] = amounts[0];
  pods.values[at + 1] = amounts[1];
  return error;
}

/// Returns a reader of status.nodeMetric. Reads either the current or the aggregated usage.
auto node_usages(std::string_view aggregation, NodeMetric& node, InvalidCounts& oddities) {
  const auto read_now = [&, aggregation](wire::Value& map) {
    return aggregation.empty() ? resource_map(node.now, oddities)(map) : simdjson::SUCCESS;
  };
  const auto read_aggregate = [&, aggregation](wire::Value& item) {
    return aggregation.empty() ? simdjson::SUCCESS : read_aggregated(item, aggregation, node, oddities);
  };
  return members(on("nodeUsage", read_now), on("aggregatedNodeUsages", elements(read_aggregate)));
}

wire::error_code read_node_metric(wire::Value& value, std::string_view aggregation, Rows& nodes, Rows& pods) {
  NodeMetric node;
  const std::size_t first_pod = pods.rows.size();
  const auto status =
      members(on("updateTime", node.time), on("nodeMetric", node_usages(aggregation, node, nodes.oddities)),
              on("podsMetric", elements([&](wire::Value& pod) { return read_pod(pod, pods); })));
  const auto error =
      read_members(value, on("status", status),
                   on("metadata", members(on("name", [&](auto& text) { return read_view(text, node.name); }))));
  if (error) return error;
  if (node.name.empty()) return ++nodes.oddities.nameless, error;
  for (std::size_t i = first_pod; i < pods.rows.size(); ++i) pods.rows[i].time = node.time;
  const std::size_t at = nodes.add({}, node.name, node.time);
  const Amounts& amounts = aggregation.empty() ? node.now : node.aggregated;
  nodes.values[at] = amounts[0];
  nodes.values[at + 1] = amounts[1];
  return error;
}

}  // namespace

base::Result<std::string> read_node_metric_list(std::string& page, std::string_view aggregation, Rows& nodes,
                                                Rows& pods) {
  return read_list_page(page, [&](wire::Value& item) { return read_node_metric(item, aggregation, nodes, pods); });
}

}  // namespace usage
