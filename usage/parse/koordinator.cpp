#include "usage/parse/koordinator.hpp"

#include <array>
#include <optional>

#include "usage/parse/document.hpp"

namespace usage {
namespace {

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

/// Reads a ResourceMap: {resources: {cpu, memory}}.
wire::error_code read_resources(wire::Value& value, Amounts& amounts, InvalidCounts& oddities) {
  return wire::for_members(value, [&](std::string_view key, wire::Value& member) {
    if (key != "resources") return simdjson::SUCCESS;
    return wire::for_members(member, [&](std::string_view name, wire::Value& amount) {
      if (name == "cpu") return read_amount(amount, amounts[0], oddities);
      if (name == "memory") return read_amount(amount, amounts[1], oddities);
      return simdjson::SUCCESS;
    });
  });
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
  const auto error = wire::for_members(value, [&](std::string_view key, wire::Value& member) {
    if (key == "duration") return read_duration(member, over);
    if (key != "usage") return simdjson::SUCCESS;
    return wire::for_members(member, [&](std::string_view name, wire::Value& figure) {
      return name == wanted ? read_resources(figure, amounts, oddities) : simdjson::SUCCESS;
    });
  });
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
  const auto error = wire::for_members(value, [&](std::string_view key, wire::Value& member) {
    if (key == "namespace") return read_view(member, ns);
    if (key == "name") return read_view(member, name);
    return key == "podUsage" ? read_resources(member, amounts, pods.oddities) : simdjson::SUCCESS;
  });
  if (error) return error;
  if (ns.empty() || name.empty()) return ++pods.oddities.nameless, error;
  const std::size_t at = pods.add(ns, name, {});
  pods.values[at] = amounts[0];
  pods.values[at + 1] = amounts[1];
  return error;
}

wire::error_code read_node_usages(wire::Value& value, std::string_view aggregation, NodeMetric& node,
                                  InvalidCounts& oddities) {
  return wire::for_members(value, [&](std::string_view key, wire::Value& member) {
    if (key == "nodeUsage" && aggregation.empty()) return read_resources(member, node.now, oddities);
    if (key != "aggregatedNodeUsages" || aggregation.empty()) return simdjson::SUCCESS;
    return wire::for_elements(member,
                              [&](wire::Value& item) { return read_aggregated(item, aggregation, node, oddities); });
  });
}

wire::error_code read_status(wire::Value& value, std::string_view aggregation, NodeMetric& node, Rows& nodes,
                             Rows& pods) {
  return wire::for_members(value, [&](std::string_view key, wire::Value& member) {
    if (key == "updateTime") return wire::read(member, node.time);
    if (key == "nodeMetric") return read_node_usages(member, aggregation, node, nodes.oddities);
    if (key != "podsMetric") return simdjson::SUCCESS;
    return wire::for_elements(member, [&](wire::Value& pod) { return read_pod(pod, pods); });
  });
}

wire::error_code read_node_metric(wire::Value& value, std::string_view aggregation, Rows& nodes, Rows& pods) {
  NodeMetric node;
  const std::size_t first_pod = pods.rows.size();
  const auto error = wire::for_members(value, [&](std::string_view key, wire::Value& member) {
    if (key == "status") return read_status(member, aggregation, node, nodes, pods);
    if (key != "metadata") return simdjson::SUCCESS;
    return wire::for_members(member, [&](std::string_view name, wire::Value& meta) {
      return name == "name" ? read_view(meta, node.name) : simdjson::SUCCESS;
    });
  });
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
  std::string token;
  bool has_items = false;
  const auto done = read_in_place(page, [&](wire::Object& root) {
    return wire::for_members(root, [&](std::string_view key, wire::Value& value) {
      has_items = has_items || key == "items";
      if (key == "items")
        return wire::for_elements(value,
                                  [&](wire::Value& item) { return read_node_metric(item, aggregation, nodes, pods); });
      if (key != "metadata") return simdjson::SUCCESS;
      return wire::for_members(value, [&](std::string_view name, wire::Value& meta) {
        return name == "continue" ? wire::read(meta, token) : simdjson::SUCCESS;
      });
    });
  });
  if (!done) return done.error();
  if (!has_items) return base::invalid("the response is not a list: it has no items");
  return token;
}

}  // namespace usage
