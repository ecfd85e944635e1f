#include "usage/parse/load_watcher.hpp"

#include <array>
#include <optional>

#include "usage/parse/document.hpp"

namespace usage {
namespace {

using wire::elements;
using wire::members;
using wire::on;
using wire::read_members;

constexpr std::int64_t kLatestUnixSecond = 253402300799;

/// One metric of a node.
struct Metric {
  std::string_view type;
  std::string_view op;
  std::optional<double> value;
};

/// Best metric of a resource so far.
struct Choice {
  int rank = 0;  ///< 0 if none exists
  std::optional<double> value;
};

int rank_of(std::string_view op) {
  if (op == "AVG") return 2;
  return op == "Latest" || op.empty() ? 1 : 0;
}

wire::error_code read_value(wire::Value& value, std::optional<double>& target) {
  double read = 0;
  const auto error = value.get_double().get(read);
  if (!error) target = read;
  return wire::unless_about_value(error);
}

void choose(const Metric& metric, std::array<Choice, kLoadWatcherWidth>& choices) {
  if (metric.type != "CPU" && metric.type != "Memory") return;
  Choice& choice = choices[metric.type == "CPU" ? 0 : 1];
  const int rank = rank_of(metric.op);
  if (rank > choice.rank) choice = {rank, metric.value};
}

wire::error_code read_metric(wire::Value& value, std::array<Choice, kLoadWatcherWidth>& choices) {
  Metric metric;
  const auto text_into = [](std::string_view& target) {
    return [&target](wire::Value& text) { return wire::unless_about_value(text.get_string().get(target)); };
  };
  const auto error = read_members(value, on("type", text_into(metric.type)), on("operator", text_into(metric.op)),
                                  on("value", [&](auto& number) { return read_value(number, metric.value); }));
  if (!error) choose(metric, choices);
  return error;
}

wire::error_code read_node(std::string_view name, wire::Value& value, Rows& rows) {
  std::array<Choice, kLoadWatcherWidth> choices;
  const auto error =
      read_members(value, on("metrics", elements([&](wire::Value& metric) { return read_metric(metric, choices); })));
  if (error) return error;
  const std::string_view node = without_port(name);
  if (node.empty()) return ++rows.oddities.nameless, simdjson::SUCCESS;
  const std::size_t at = rows.add({}, node, {});
  for (std::size_t i = 0; i < kLoadWatcherWidth; ++i) {
    if (choices[i].rank == 0) continue;
    if (!choices[i].value) ++rows.oddities.unreadable;
    if (choices[i].value) rows.values[at + i] = checked(*choices[i].value, rows.oddities);
  }
  return simdjson::SUCCESS;
}

/// Windows up to this length are accepted. load-watcher offers 5, 10 and 15 minutes.
constexpr base::Duration kMaxWindow = std::chrono::hours(1);

base::TimePoint time_of_unix(std::int64_t seconds) {
  if (seconds <= 0 || seconds > kLatestUnixSecond) return {};
  return base::TimePoint(base::seconds(seconds));
}

}  // namespace

base::Status read_load_watcher(std::string& answer, Rows& rows) {
  std::int64_t timestamp = 0;
  std::int64_t window_start = 0;
  std::int64_t window_end = 0;
  bool has_nodes = false;
  const std::size_t first = rows.rows.size();
  const auto read_nodes = [&](wire::Value& map) {
    has_nodes = true;
    return wire::for_entries(map,
                             [&](std::string_view name, wire::Value& node) { return read_node(name, node, rows); });
  };
  auto done = read_in_place(answer, members(on("timestamp", timestamp),
                                            on("window", members(on("start", window_start), on("end", window_end))),
                                            on("data", members(on("NodeMetricsMap", read_nodes)))));
  if (!done) return done;
  if (!has_nodes) return base::invalid("the response is not from load-watcher: it has no data.NodeMetricsMap");
  const base::Duration window = time_of_unix(window_end) - time_of_unix(window_start);
  if (window_start > 0 && window > base::Duration{} && window <= kMaxWindow) rows.window = window;
  const base::TimePoint time = time_of_unix(window_end > 0 ? window_end : timestamp);
  for (std::size_t i = first; i < rows.rows.size(); ++i) rows.rows[i].time = time;
  return base::Done{};
}

}  // namespace usage
