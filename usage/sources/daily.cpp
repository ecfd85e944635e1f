#include "usage/sources/daily.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "kube/escape.hpp"
#include "usage/presets.hpp"
#include "usage/sources/prometheus.hpp"

namespace usage {
namespace {

constexpr std::string_view kBy = "by (namespace, pod, container)";
constexpr std::string_view kOn = "on (namespace, pod, container)";
constexpr std::string_view kByNode = "by (node, instance)";
/// Label that joins the names of a series.
constexpr const char* kJoined = "evacuator_series";
/// Approximate size of a whole number with its time in an answer: [1795262400,"-152"],
constexpr std::size_t kBytesOfANumber = 24;

/// Cgroups of the kubelet and of container runtimes started by systemd or k3s.
constexpr std::string_view kAgents =
    R"(id=~"/system.slice/(kubelet|k3s|k3s-agent|rke2-server|rke2-agent|containerd|crio|docker|cri-docker).service)"
    R"(|/(kubelet|runtime|podruntime).slice")";
constexpr std::string_view kPods = R"(id=~"/kubepods(.slice)?")";
constexpr std::string_view kRoot = R"(id="/")";

std::string seconds_text(base::Duration duration) {
  return fmt::format("{}s", std::chrono::duration_cast<base::seconds>(duration).count());
}
std::string time_text(base::TimePoint time) {
  return fmt::format("{:.3f}", static_cast<double>(time.time_since_epoch().count()) / 1e6);
}

/// Selectors and ranges for one set of settings.
class QueryBuilder {
 public:
  QueryBuilder(const DailySettings& settings, std::string shard) : settings_(settings), shard_(std::move(shard)) {
    if (shard_.empty() && !settings.ns.empty()) shard_ = fmt::format("namespace=\"{}\"", settings.ns);
    step_ = seconds_text(settings.step);
  }

  std::string containers(std::string_view more = {}) const {
    return selector(fmt::format("container!=\"\",container!=\"POD\"{}{}", comma(shard_), comma(std::string(more))));
  }
  std::string selector(const std::string& matchers) const {
    return fmt::format("{{{}{}}}", matchers, comma(settings_.matchers));
  }
  std::string cpu() const {
    return fmt::format("max {} (rate(container_cpu_usage_seconds_total{}[{}]))", kBy, containers(), step_);
  }
  /// Includes one more step, because a rate directly after the startup still covers a part of it.
  std::string startup() const {
    return fmt::format("((time() - max {} (container_start_time_seconds{})) < {})", kBy, containers(),
                       std::chrono::duration_cast<base::seconds>(settings_.startup + settings_.step).count());
  }
  bool tells_startup() const { return settings_.startup > base::Duration(0); }
  std::string steady() const {
    return tells_startup() ? fmt::format("({}) unless {} {}", cpu(), kOn, startup()) : cpu();
  }
  std::string of_day(std::string_view function, const std::string& inner) const {
    return fmt::format("{}(({})[1d:{}])", function, inner, step_);
  }
  const std::string& step() const { return step_; }

 private:
  static std::string comma(const std::string& matchers) { return matchers.empty() ? "" : "," + matchers; }

  const DailySettings& settings_;
  std::string shard_;
  std::string step_;
};

std::string quantile_of_day(const QueryBuilder& words, const std::string& inner) {
  return fmt::format("quantile_over_time(0.95, ({})[1d:{}])", inner, words.step());
}

std::string throttled(const QueryBuilder& words) {
  return fmt::format(
      "(max {0} (increase(container_cpu_cfs_throttled_periods_total{1}[1d])) / (max {0} "
      "(increase(container_cpu_cfs_periods_total{1}[1d])) > 0)) > 0",
      kBy, words.containers());
}

/// Uses the kernel's count, else restarts of containers whose last termination was an OOM kill.
std::string oom_kills(const QueryBuilder& words) {
  return fmt::format(
      "(max {0} (increase(container_oom_events_total{1}[1d])) > 0) or ((max {0} "
      "(increase(kube_pod_container_status_restarts_total{1}[1d])) > 0) and {2} (max {0} "
      "(max_over_time(kube_pod_container_status_last_terminated_reason{3}[1d])) > 0))",
      kBy, words.containers(), kOn, words.containers("reason=\"OOMKilled\""));
}

std::string node_cpu(const QueryBuilder& words, std::string_view ids) {
  return words.of_day(
      "max_over_time",
      fmt::format("sum {0} (max by (node, instance, id) (rate(container_cpu_usage_seconds_total{1}[{2}])))", kByNode,
                  words.selector(std::string(ids)), words.step()));
}
std::string node_memory(const QueryBuilder& words, std::string_view ids) {
  return words.of_day("max_over_time",
                      fmt::format("sum {} (max by (node, instance, id) (container_memory_working_set_bytes{}))",
                                  kByNode, words.selector(std::string(ids))));
}

std::string pressure(const QueryBuilder& words, const char* resource) {
  return fmt::format("max {} (rate(node_pressure_{}_waiting_seconds_total{}[1d]))", kByNode, resource,
                     words.selector(""));
}

api::UsageQuery by_container() {
  api::UsageQuery query;
  query.of = api::UsageOf::kPod;
  query.pod_label = kJoined;
  return query;
}
api::UsageQuery by_label(const char* label) {
  api::UsageQuery query;
  query.node_label = label;
  return query;
}

/// Returns the text if it has only characters of namespace names, else "", because it would be a pattern in an
/// expression.
std::string escaped_name(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    if (!is_plain) return {};
    escaped += c;
  }
  return escaped;
}

struct Names {
  std::string_view ns, pod, container;
};
/// Splits "ns/pod/container". Returns empty names for other texts.
Names names_of(std::string_view joined) {
  const auto first = joined.find('/');
  const auto second = first == std::string_view::npos ? first : joined.find('/', first + 1);
  if (second == std::string_view::npos) return {};
  return {joined.substr(0, first), joined.substr(first + 1, second - first - 1), joined.substr(second + 1)};
}

}  // namespace

std::string steady_cpu(const DailySettings& settings, const std::string& shard) {
  return QueryBuilder(settings, shard).steady();
}

std::string steady_cpu_buckets(const DailySettings& settings, const std::string& shard, double width) {
  return fmt::format("ceil(ln({}) / {})", steady_cpu(settings, shard), width);
}

std::vector<DailyExpression> container_expressions(const DailySettings& settings, const std::string& shard) {
  const QueryBuilder words(settings, shard);
  const std::string memory = "container_memory_working_set_bytes" + words.containers();
  const std::string starting = fmt::format("({}) and {} {}", words.cpu(), kOn, words.startup());
  std::vector<DailyExpression> all = {
      {"samples", words.of_day("count_over_time", fmt::format("max {} ({})", kBy, memory))},
      {"cpu_peak", words.of_day("max_over_time", words.steady())},
      {"cpu_mean", words.of_day("avg_over_time", words.steady())},
      {"cpu_p95", quantile_of_day(words, words.steady())},
      {"cpu_startup_peak", words.tells_startup() ? words.of_day("max_over_time", starting) : ""},
      // Uses every scrape, because a peak between two steps can also cause an OOM kill.
      {"memory_peak", fmt::format("max {} (max_over_time({}[1d]))", kBy, memory)},
      {"memory_mean", fmt::format("max {} (avg_over_time({}[1d]))", kBy, memory)},
      {"throttled", throttled(words)},
      {"oom_kills", oom_kills(words)}};
  return all;
}

std::vector<DailyExpression> node_expressions(const DailySettings& settings) {
  const QueryBuilder words(settings, "");
  const std::string root = words.selector(std::string(kRoot));
  return {{"samples", words.of_day("count_over_time",
                                   fmt::format("max {} (container_memory_working_set_bytes{})", kByNode, root))},
          {"root_cpu", node_cpu(words, kRoot)},
          {"pods_cpu", node_cpu(words, kPods)},
          {"agents_cpu", node_cpu(words, kAgents)},
          {"root_memory", node_memory(words, kRoot)},
          {"pods_memory", node_memory(words, kPods)},
          {"agents_memory", node_memory(words, kAgents)},
          {"memory_growth",
           fmt::format("max_over_time((max {} (deriv(container_memory_working_set_bytes{}[3m]) * 60))[1d:1m]) > 0",
                       kByNode, root)},
          {"pressure_cpu", pressure(words, "cpu")},
          {"pressure_memory", pressure(words, "memory")},
          {"pressure_io", pressure(words, "io")}};
}

DailyHistory::DailyHistory(api::UsageEndpoint endpoint, Dependencies dependencies, DailySettings settings)
    : settings_(std::move(settings)), timeout_(endpoint.timeout), client_(endpoint, std::move(dependencies)) {}

base::Result<std::string> DailyHistory::ask(const std::string& path, std::string query) {
  ++queries_;
  kube::append_query(query, "timeout", fmt::format("{}ms", timeout_ / base::milliseconds(1)));
  return ask_prometheus(client_, path, std::move(query));
}

base::Result<Rows> DailyHistory::rows(const std::string& promql, base::TimePoint at, const api::UsageQuery& query) {
  std::string text;
  kube::append_query(text, "query", promql);
  kube::append_query(text, "time", time_text(at));
  auto answer = ask("/api/v1/query", std::move(text));
  if (!answer) return std::move(answer).error();
  Rows rows(1);
  const auto notes = read_vector(*answer, query, rows);
  if (!notes) return notes.error();
  std::vector<std::string> ignored;
  sort_and_merge(rows, "", ignored);
  return rows;
}

base::Result<std::vector<std::string>> DailyHistory::shards(base::TimePoint end, std::size_t most) {
  if (!settings_.ns.empty()) return std::vector<std::string>{""};
  const QueryBuilder words(settings_, "");
  const auto found = rows(fmt::format("count by (namespace) (max {} (max_over_time("
                                      "container_memory_working_set_bytes{}[1d])))",
                                      kBy, words.containers()),
                          end, by_label("namespace"));
  if (!found) return found.error();
  std::vector<std::string> shards;
  std::string names;
  std::size_t sum = 0;
  const auto close = [&] {
    if (!names.empty()) shards.push_back(fmt::format("namespace=~\"{}\"", std::exchange(names, {})));
    sum = 0;
  };
  for (std::size_t i = 0; i < found->rows.size(); ++i) {
    const double value = found->values[i];
    const auto count = std::isnan(value) ? most : static_cast<std::size_t>(value);
    if (sum > 0 && sum + count > most) close();
    const std::string name = escaped_name(found->rows[i].name());
    if (name.empty()) continue;
    names += (names.empty() ? "" : "|") + name;
    sum += std::max<std::size_t>(count, 1);
  }
  close();
  return shards;
}

base::Status DailyHistory::containers(const DailyExpression& expression, base::TimePoint end,
                                      const EachContainer& each) {
  if (expression.promql.empty()) return base::Done{};
  const auto found =
      rows(fmt::format("label_join({}, \"{}\", \"/\", \"pod\", \"container\")", expression.promql, kJoined), end,
           by_container());
  if (!found) return found.error().during(expression.name);
  for (std::size_t i = 0; i < found->rows.size(); ++i) {
    const Row& row = found->rows[i];
    const auto slash = row.name().find('/');
    if (slash == std::string_view::npos) continue;
    each(found->ns_of(row), row.name().substr(0, slash), row.name().substr(slash + 1), found->values[i]);
  }
  return base::Done{};
}

base::Status DailyHistory::nodes(const DailyExpression& expression, base::TimePoint end, const EachNode& each) {
  const auto found = rows(expression.promql, end, {});
  if (!found) return found.error().during(expression.name);
  for (std::size_t i = 0; i < found->rows.size(); ++i) each(found->rows[i].name(), found->values[i]);
  return base::Done{};
}

base::Result<std::size_t> DailyHistory::count(const std::string& promql, base::TimePoint at) {
  std::string text;
  kube::append_query(text, "query",
                     fmt::format("count(max_over_time(({})[1d:{}]))", promql, seconds_text(settings_.step)));
  kube::append_query(text, "time", time_text(at));
  auto answer = ask("/api/v1/query", std::move(text));
  if (!answer) return std::move(answer).error();
  const auto count = read_count(*answer);
  if (!count) return count.error();
  return static_cast<std::size_t>(*count);
}

base::Result<NumberSeries> DailyHistory::range(const std::string& promql, const Grid& grid) {
  std::string text;
  kube::append_query(text, "query", promql);
  kube::append_query(text, "start", time_text(grid.start));
  kube::append_query(text, "end", time_text(grid.start + static_cast<std::int64_t>(grid.points - 1) * grid.step));
  kube::append_query(text, "step", seconds_text(grid.step));
  auto answer = ask("/api/v1/query_range", std::move(text));
  if (!answer) return std::move(answer).error();
  auto read = read_numbers(*answer, by_label(kJoined));
  if (read && read->not_whole > 0) return base::invalid("the response contains values that are not whole numbers");
  return read;
}

base::Status DailyHistory::numbers(const DailyExpression& expression, const Grid& grid, const EachNumbers& each) {
  const auto last = grid.start + static_cast<std::int64_t>(grid.points - 1) * grid.step;
  const auto series = count(expression.promql, last);
  if (!series) return series.error().during(expression.name);
  if (*series == 0) return base::Done{};
  if (*series > kMaxNodeSeries)
    return base::invalid(fmt::format("{}: {} containers in one namespace exceed the maximum for individual samples",
                                     expression.name, *series));
  const std::string promql =
      fmt::format("label_join({}, \"{}\", \"/\", \"namespace\", \"pod\", \"container\")", expression.promql, kJoined);
  const std::size_t chunk = std::clamp<std::size_t>(kMaxAnswerBytes / 2 / (*series * kBytesOfANumber), 1, kMaxPoints);
  for (std::size_t first = 0; first < grid.points; first += chunk) {
    const auto found = range(promql, {grid.start + static_cast<std::int64_t>(first) * grid.step, grid.step,
                                      std::min(chunk, grid.points - first)});
    if (!found) return found.error().during(expression.name);
    std::unordered_set<std::string_view> told;
    for (const NumberSeries::Series& one : found->series) {
      const Names names = names_of(one.name);
      if (names.container.empty() || !told.insert(one.name).second) continue;
      each(names.ns, names.pod, names.container, std::span(found->numbers).subspan(one.begin, one.end - one.begin));
    }
  }
  return base::Done{};
}

}  // namespace usage
