#include "planner/strategies/defragmentation/defragmentation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <compare>
#include <numeric>

namespace strategies {
namespace {

constexpr base::Duration kMinTime = std::chrono::milliseconds(100);
constexpr double kMaxWeight = 1e9;                            // keeps sums precise enough to distinguish single moves
constexpr base::Duration kMaxTime = std::chrono::minutes(2);  // other searches wait meanwhile

enum class Order { kHighestFirst, kLowestFirst };
constexpr std::array kOrders = {api::WireName{Order::kHighestFirst, "HighestFirst"},
                                api::WireName{Order::kLowestFirst, "LowestFirst"}};
enum class Age { kOldestFirst, kYoungestFirst };
constexpr std::array kAges = {api::WireName{Age::kOldestFirst, "OldestFirst"},
                              api::WireName{Age::kYoungestFirst, "YoungestFirst"}};

/// Rejects 0, with which the strategy would silently never do anything.
void check_positive(api::StrictObject& args, std::string_view name, std::int64_t value, std::string_view instead) {
  if (value < 1) args.complain(name, fmt::format("{} is below 1: {}", value, instead));
}

void complain_of(api::StrictObject& entry, std::string message) {
  entry.errors().push_back({entry.path().text(), std::move(message)});
}

NodePreference read_preference(api::StrictObject& entry) {
  NodePreference preference;
  Order order = Order::kHighestFirst;
  Age age = Age::kOldestFirst;
  entry.read("label", preference.label);
  entry.read("order", kOrders, order);
  entry.read("age", kAges, age);
  api::read_label_selector(entry, "nodeSelector", preference.selector, true);
  const bool by_age = entry.find("age") != nullptr;
  if (int{!preference.label.empty()} + int{preference.selector.has_value()} + int{by_age} != 1)
    complain_of(entry, "requires exactly one of label, nodeSelector and age");
  if (preference.label.empty() && entry.find("order") != nullptr) entry.complain("order", "requires label");
  preference.by = by_age                ? NodePreference::By::kAge
                  : preference.selector ? NodePreference::By::kSelector
                                        : NodePreference::By::kLabel;
  preference.descending = by_age ? age == Age::kOldestFirst : order == Order::kHighestFirst;
  return preference;
}

void read_limits(api::StrictObject& args, Defragmentation& rules) {
  args.read("minNodesFreed", rules.min_nodes_freed);
  check_positive(args, "minNodesFreed", rules.min_nodes_freed, "a plan must free at least one node");
  args.read("maxMoves", rules.max_moves);
  check_positive(args, "maxMoves", rules.max_moves.value_or(1), "remove the strategy to move no pods");
  api::read_int_or_percent(args, "maxDisruptionPerWorkload", rules.per_workload);
  if (rules.per_workload)
    check_positive(args, "maxDisruptionPerWorkload", rules.per_workload->value, "remove the field for no limit");
  args.read_duration("timeBudget", rules.time_budget);
  if (rules.time_budget < kMinTime || rules.time_budget > kMaxTime)
    args.complain("timeBudget", "must be between 100ms and 2m");
}

void read_weights(api::StrictObject& args, Defragmentation& rules) {
  args.with("weights", [&](api::StrictObject& weights) {
    weights.read("nodeFreed", rules.weight_of_node);
    weights.read("move", rules.weight_of_move);
    if (rules.weight_of_node > kMaxWeight) weights.complain("nodeFreed", "must not be above 1000000000");
    if (rules.weight_of_node <= 0)
      weights.complain("nodeFreed", "must be above 0, otherwise no node would be worth freeing");
    if (rules.weight_of_move < 0)
      weights.complain("move", "must not be below 0, otherwise moves without benefit would be planned");
    if (rules.weight_of_node > 0 && rules.weight_of_move >= rules.weight_of_node)
      weights.complain("move", "must be below nodeFreed, otherwise no node would be worth a move");
  });
}

/// Rejects an entry that sorts by the same key as an earlier one: it would never decide, or would contradict it.
void check_repetition(api::StrictObject& entry, const std::vector<NodePreference>& earlier,
                      const NodePreference& preference) {
  const auto sorts_by_the_same = [&](const NodePreference& each) {
    return each.by == preference.by && each.label == preference.label && each.selector == preference.selector;
  };
  if (std::ranges::any_of(earlier, sorts_by_the_same))
    complain_of(entry, "uses the same criterion as an earlier entry, and has no effect");
}

std::optional<double> number_at(const api::Node& node, const std::string& label) {
  const std::string* text = node.meta.labels.find(label);
  double number = 0;
  if (text == nullptr) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  return error == std::errc() && end == text->data() + text->size() ? std::optional(number) : std::nullopt;
}

/// Returns a negative number if `a` comes first.
int compare(const NodePreference& preference, const api::Node& a, const api::Node& b) {
  const int sign = preference.descending ? 1 : -1;
  const auto order = [](const auto& one, const auto& two) { return one < two ? -1 : two < one ? 1 : 0; };
  switch (preference.by) {
    case NodePreference::By::kSelector:
      return order(!preference.selector->matches(a.meta.labels), !preference.selector->matches(b.meta.labels));
    case NodePreference::By::kAge: return sign * order(a.meta.creation_timestamp, b.meta.creation_timestamp);
    case NodePreference::By::kLabel: break;
  }
  const auto one = number_at(a, preference.label);
  const auto two = number_at(b, preference.label);
  if (!one || !two) return order(!one.has_value(), !two.has_value());
  return sign * order(*two, *one);
}

int compare(const std::vector<NodePreference>& preferences, const api::Node& a, const api::Node& b) {
  for (const NodePreference& each : preferences) {
    if (const int order = compare(each, a, b); order != 0) return order;
  }
  return 0;
}

}  // namespace

Defragmentation Defragmentation::read(api::StrictObject& args) {
  Defragmentation rules;
  read_limits(args, rules);
  api::read_label_selector(args, "nodeSelector", rules.node_selector, true);
  args.for_each("emptyFirst", [&](const api::Json& item, const api::FieldPath& path) {
    api::StrictObject entry(item, path, args.errors());
    NodePreference preference = read_preference(entry);
    check_repetition(entry, rules.empty_first, preference);
    rules.empty_first.push_back(std::move(preference));
    entry.finish();
  });
  if (args.find("headroom") != nullptr) rules.headroom = read_percentages(args, "headroom");
  read_weights(args, rules);
  return rules;
}

std::vector<std::uint32_t> ranks_of(const std::vector<NodePreference>& preferences,
                                    const std::vector<const api::Node*>& nodes) {
  std::vector<std::uint32_t> ranks(nodes.size(), 0);
  if (preferences.empty() || nodes.empty()) return ranks;
  std::vector<std::uint32_t> order(nodes.size());
  std::iota(order.begin(), order.end(), 0);
  const auto is_before = [&](std::uint32_t a, std::uint32_t b) {
    return compare(preferences, *nodes[a], *nodes[b]) < 0;
  };
  std::ranges::stable_sort(order, is_before);
  for (std::size_t i = 1; i < order.size(); ++i)
    ranks[order[i]] = ranks[order[i - 1]] + (is_before(order[i - 1], order[i]) ? 1 : 0);
  return ranks;
}

}  // namespace strategies
