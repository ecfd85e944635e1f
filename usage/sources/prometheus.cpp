#include "usage/sources/prometheus.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kube/escape.hpp"
#include "kube/refusal.hpp"
#include "usage/presets.hpp"
#include "usage/promql_range.hpp"

namespace usage {
namespace {

/// Longer targets are sent as a form in the body, because proxies limit lines to 8 KiB.
constexpr std::size_t kMaxTarget = 4000;
/// Approximate size of a point in an answer: [1435781430.781,"0.1234567890123456"],
constexpr std::size_t kPointBytes = 48;

/// Number of timed-out queries after which the server is considered overloaded. The other queries wait for the next
/// sample.
constexpr std::size_t kMaxLate = 2;

std::string name_of(const api::UsageQuery& query) {
  return fmt::format("query {}{}", query.resource, query.of == api::UsageOf::kPod ? " of pods" : "");
}
std::string prefix_of(const api::UsageQuery& query) { return name_of(query) + ": "; }

/// An answer is timestamped with its evaluation, but contains the last scrape before it. Usual scrape interval.
constexpr base::Duration kScrapeInterval = base::seconds(30);

Column column_of(const api::UsageQuery& query) {
  const Unit unit = query.unit == api::UsageUnit::kAmount ? Unit::kAmount : Unit::kPercent;
  return {query.resource, unit, longest_mean(query.query)};
}

/// Returns true for errors of the server as a whole, after which further queries are useless.
bool is_server_error(const base::Error& error) {
  switch (error.code) {
    case base::ErrorCode::kInvalid:
    case base::ErrorCode::kNotFound:
    case base::ErrorCode::kOutcomeUnknown: return false;
    default: return true;
  }
}

std::string seconds_text(base::TimePoint time) {
  return fmt::format("{:.3f}", static_cast<double>(time.time_since_epoch().count()) / 1e6);
}

Grid part_of(const Grid& grid, std::size_t first, std::size_t points) {
  return {grid.start + static_cast<base::Duration::rep>(first) * grid.step, grid.step, points};
}

base::Error too_much(std::size_t series, const Grid& grid) {
  return base::invalid(fmt::format("{} series of {} points exceed the maximum: use a longer step or a shorter history",
                                   series, grid.points));
}

void put_part(const GridSeries& part, std::size_t first, std::size_t points, GridSeries& all) {
  for (const auto& [node, values] : part) {
    auto& target = all[node];
    if (target.empty()) target.assign(points, std::numeric_limits<float>::quiet_NaN());
    std::ranges::copy(values, target.begin() + static_cast<std::ptrdiff_t>(first));
  }
}

}  // namespace

Prometheus::Prometheus(const api::UsageSource& source, Dependencies dependencies)
    : queries_(source.queries), timeout_(source.endpoint.timeout), client_(source.endpoint, std::move(dependencies)) {
  for (api::UsageQuery& query : queries_) fill_preset(query);
}

base::Result<std::string> ask_prometheus(EndpointClient& client, const std::string& path, std::string query) {
  kube::Request request;
  request.path = path;
  request.query = std::move(query);
  if (request.query.size() > kMaxTarget) {
    request.method = "POST";
    request.content_type = "application/x-www-form-urlencoded";
    request.body = std::exchange(request.query, {});
  }
  auto answer = client.send(std::move(request));
  if (!answer) return std::move(answer).error();
  auto refusal = refusal_of(*answer);
  if (!refusal) return std::move(answer->body);
  if (kube::names_a_setting(answer->status)) return *std::move(refusal);
  auto told = api_error(answer->body);
  if (!told) return *std::move(refusal);
  // The server works. Only this query was too slow or was aborted.
  if (told->code == base::ErrorCode::kUnavailable) told->code = base::ErrorCode::kOutcomeUnknown;
  return *std::move(told);
}

base::Result<std::string> Prometheus::ask(const std::string& path, const std::string& query) {
  return ask_prometheus(client_, path, query);
}

base::Result<std::string> Prometheus::ask_now(const std::string& expression) {
  std::string query;
  kube::append_query(query, "query", expression);
  kube::append_query(query, "timeout", fmt::format("{}ms", timeout_ / base::milliseconds(1)));
  return ask("/api/v1/query", query);
}

base::Result<Rows> Prometheus::query_rows(const api::UsageQuery& query, std::vector<std::string>& problems) {
  auto answer = ask_now(query.query);
  if (!answer) return std::move(answer).error();
  Rows rows(1);
  const auto notes = read_vector(*answer, query, rows);
  if (!notes) return notes.error();
  const std::string prefix = prefix_of(query);
  for (const std::string& warning : notes->warnings)
    problems.push_back(fmt::format("{}the server warns: {}", prefix, warning));
  rows.oddities.tell(prefix, problems);
  if (rows.rows.empty()) problems.push_back(prefix + "no data");
  sort_and_merge(rows, prefix, problems);
  return rows;
}

base::Result<Samples> Prometheus::sample() { return client_.redacted(sample_all()); }

base::Result<Samples> Prometheus::sample_all() {
  Samples samples;
  for (const api::UsageQuery& query : queries_)
    (query.of == api::UsageOf::kNode ? samples.columns : samples.pod_columns).push_back(column_of(query));
  std::size_t node_column = 0;
  std::size_t pod_column = 0;
  std::size_t failed = 0;
  std::size_t late = 0;
  for (const api::UsageQuery& query : queries_) {
    const bool is_node = query.of == api::UsageOf::kNode;
    const std::size_t column = is_node ? node_column++ : pod_column++;
    auto rows = query_rows(query, samples.problems);
    if (!rows && rows.error().code == base::ErrorCode::kOutcomeUnknown) ++late;
    if (!rows && (is_server_error(rows.error()) || ++failed == queries_.size() || late >= kMaxLate))
      return std::move(rows).error().during(name_of(query));
    if (!rows) {
      samples.problems.push_back(prefix_of(query) + rows.error().message);
    } else if (is_node) {
      join_nodes(samples, *std::move(rows), column);
    } else {
      join_pods(samples, *std::move(rows), column);
    }
  }
  return samples;
}

base::Result<std::size_t> Prometheus::series_of(const api::UsageQuery& query) {
  auto answer = ask_now(fmt::format("count(\n{}\n)", query.query));  // newlines, because the query may end in a comment
  if (!answer) return std::move(answer).error();
  const auto count = read_count(*answer);
  if (!count) return count.error();
  if (*count > static_cast<double>(kMaxNodeSeries))
    return base::invalid(fmt::format("too many series (more than {}): aggregate by node", kMaxNodeSeries));
  return static_cast<std::size_t>(*count);
}

base::Status Prometheus::read_history(const api::UsageQuery& query, const Grid& grid, std::size_t room,
                                      GridSeries& series) {
  const auto count = series_of(query);
  if (!count) return count.error();
  const std::size_t nodes = std::max<std::size_t>(*count, 1);
  if (nodes * grid.points > room) return too_much(nodes, grid);
  // Uses half the limit, because there may have been more series in the past than now.
  const std::size_t chunk = std::clamp<std::size_t>(kMaxAnswerBytes / 2 / (nodes * kPointBytes), 1, kMaxPoints);
  for (std::size_t first = 0; first < grid.points; first += chunk) {
    const Grid part = part_of(grid, first, std::min(chunk, grid.points - first));
    std::string text;
    kube::append_query(text, "query", query.query);
    kube::append_query(text, "start", seconds_text(part.start));
    kube::append_query(text, "end", seconds_text(part.start + static_cast<std::int64_t>(part.points - 1) * part.step));
    kube::append_query(text, "step", fmt::format("{:.3f}", static_cast<double>(part.step.count()) / 1e6));
    kube::append_query(text, "timeout", fmt::format("{}ms", timeout_ / base::milliseconds(1)));
    auto answer = ask("/api/v1/query_range", text);
    if (!answer) return std::move(answer).error();
    GridSeries found;
    if (const auto notes = read_matrix(*answer, query, part, found); !notes) return notes.error();
    if (found.size() * grid.points > room) return too_much(found.size(), grid);
    put_part(found, first, grid.points, series);
    if (series.size() * grid.points > room) return too_much(series.size(), grid);
  }
  return base::Done{};
}

base::Result<std::vector<Series>> Prometheus::history(base::TimePoint from, base::TimePoint to, base::Duration step) {
  if (step < base::seconds(1) || to < from)
    return base::invalid("a history requires a step of at least 1s and an order");
  auto series = read_all({from, step, static_cast<std::size_t>((to - from) / step) + 1});
  if (!series) return client_.redacted(std::move(series).error());
  return series;
}

base::Result<std::vector<Series>> Prometheus::read_all(const Grid& grid) {
  std::vector<Series> result;
  for (const api::UsageQuery& query : queries_) {
    if (query.of != api::UsageOf::kNode) continue;
    GridSeries series;
    const std::size_t room = kMaxGridValues - std::min(kMaxGridValues, result.size() * grid.points);
    if (auto read = read_history(query, grid, room, series); !read)
      return std::move(read).error().during(prefix_of(query) + "history");
    for (auto& [node, values] : series)
      result.push_back({node, query.resource, grid.start, grid.step, std::move(values)});
  }
  return result;
}

}  // namespace usage
