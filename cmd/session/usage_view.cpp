#include "cmd/session/usage_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "api/meta/well_known.hpp"
#include "cmd/table.hpp"

namespace cmd {
namespace {

using usage::Samples;

/// A node of the cluster, of the response, or of both.
struct UsageRow {
  std::string name;
  const api::Node* node = nullptr;
  const Samples::Node* sample = nullptr;
};

std::vector<UsageRow> rows_of(const Samples& samples, const std::vector<api::Node>& nodes) {
  std::map<std::string, UsageRow> known;
  for (const api::Node& node : nodes) known[node.meta.name] = {node.meta.name, &node, nullptr};
  std::vector<UsageRow> strange;
  for (const Samples::Node& sample : samples.nodes) {
    const auto at = known.find(sample.name);
    if (at == known.end()) {
      strange.push_back({sample.name, nullptr, &sample});
    } else {
      at->second.sample = &sample;
    }
  }
  std::vector<UsageRow> rows;
  for (auto& [name, row] : known) rows.push_back(std::move(row));
  rows.insert(rows.end(), strange.begin(), strange.end());
  return rows;
}

std::string problem_of(const UsageRow& row, const api::UsageSource& source, base::TimePoint now) {
  if (row.node == nullptr) return "the cluster does not contain the node";
  if (row.sample == nullptr) return "the source has no data for it";
  const bool none =
      std::ranges::none_of(row.sample->values, [](double value) { return std::isfinite(value) && value >= 0; });
  if (none) return "no usable value";
  if (row.sample->time == base::TimePoint{}) return "its sample has no time";
  const base::Duration age = now - row.sample->time;
  if (age > source.max_age) return fmt::format("older than maxAge {}", base::format_age(source.max_age));
  if (-age > source.max_age) return "from the future: check that the clocks are synchronized";
  return {};
}

/// Returns the age of the sample, empty if it has no timestamp.
std::string age_text(const UsageRow& row, base::TimePoint now) {
  if (row.sample == nullptr || row.sample->time == base::TimePoint{}) return {};
  return base::format_age(std::max(now - row.sample->time, base::Duration::zero()));
}

double allocatable_of(const api::Node* node, const std::string& resource) {
  if (node == nullptr) return 0;
  const auto& list = node->allocatable.empty() ? node->capacity : node->allocatable;
  for (const auto& [name, amount] : list) {
    if (name == resource) return static_cast<double>(amount.milli()) / 1000;
  }
  return 0;
}

std::string amount_text(const std::string& resource, double value) {
  if (resource == api::well_known::kCpu) return fmt::format("{:.0f}m", value * 1000);
  if (resource == api::well_known::kMemory) return fmt::format("{:.1f}Gi", value / (1024.0 * 1024 * 1024));
  return fmt::format("{:.4g}", value);
}

std::string cell_of(const usage::Column& column, double value, const api::Node* node) {
  if (!std::isfinite(value)) return "?";
  if (column.unit == usage::Unit::kPercent) return fmt::format("{:.1f}%", value);
  const double whole = allocatable_of(node, column.resource);
  const std::string text = amount_text(column.resource, value);
  return whole > 0 ? fmt::format("{} ({:.0f}%)", text, value / whole * 100) : text;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
  return text;
}

std::string headline(const UsageAnswer& answer) {
  std::string text =
      fmt::format("POLICY {}, SOURCE {} ({}", answer.policy, answer.source.name, to_string(answer.source.type));
  if (!answer.source.endpoint.url.empty()) text += ", " + one_line(answer.source.endpoint.url);
  return text + ")";
}

}  // namespace

std::string render_usage(const UsageAnswer& answer, const std::vector<api::Node>& nodes, base::TimePoint now) {
  if (!answer.samples) return fmt::format("{}: {}\n", headline(answer), one_line(answer.samples.error().message));
  const Samples& samples = *answer.samples;
  std::string text =
      fmt::format("{}: {} nodes, {} pods\n", headline(answer), samples.nodes.size(), samples.pods.size());
  for (const std::string& problem : samples.problems) text += "Warning: " + one_line(problem) + "\n";
  std::vector<std::string> headers = {"NODE"};
  for (const usage::Column& column : samples.columns) headers.push_back(upper(one_line(column.resource)));
  headers.insert(headers.end(), {"AGE", "PROBLEM"});
  Table table(headers);
  for (const UsageRow& row : rows_of(samples, nodes)) {
    std::vector<std::string> cells = {one_line(row.name)};
    for (std::size_t c = 0; c < samples.columns.size(); ++c)
      cells.push_back(row.sample ? cell_of(samples.columns[c], row.sample->values[c], row.node) : "");
    cells.push_back(age_text(row, now));
    cells.push_back(problem_of(row, answer.source, now));
    table.add_row(std::move(cells));
  }
  return text + table.render();
}

api::Json usage_json(const UsageAnswer& answer, const std::vector<api::Node>& nodes, base::TimePoint now) {
  api::Json json = {{"policy", answer.policy},
                    {"source", answer.source.name},
                    {"type", to_string(answer.source.type)},
                    {"problem", answer.samples ? "" : answer.samples.error().message},
                    {"warnings", api::Json::array()},
                    {"nodes", api::Json::array()}};
  if (!answer.samples) return json;
  const Samples& samples = *answer.samples;
  for (const std::string& problem : samples.problems) json["warnings"].push_back(problem);
  for (const UsageRow& row : rows_of(samples, nodes)) {
    api::Json entry = {
        {"node", row.name}, {"usage", api::Json::object()}, {"problem", problem_of(row, answer.source, now)}};
    for (std::size_t c = 0; row.sample && c < samples.columns.size(); ++c) {
      const double value = row.sample->values[c];
      entry["usage"][samples.columns[c].resource] = std::isfinite(value) ? api::Json(value) : api::Json();
    }
    if (row.sample && row.sample->time != base::TimePoint{}) {
      entry["time"] = base::format_time(row.sample->time);
      entry["ageSeconds"] = std::chrono::duration_cast<base::seconds>(now - row.sample->time).count();
    }
    json["nodes"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace cmd
