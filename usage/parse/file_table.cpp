#include "usage/parse/file_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace usage {
namespace {

constexpr std::size_t kShown = 40;

struct Amount {
  double value = 0;
  Unit unit = Unit::kAmount;
};

std::optional<Amount> read_amount_text(std::string_view text) {
  InvalidCounts oddities;
  const bool is_percent = text.ends_with('%');
  const double value =
      is_percent ? read_number(text.substr(0, text.size() - 1), oddities) : read_quantity(text, oddities);
  if (oddities.not_finite + oddities.negative + oddities.unreadable > 0) return std::nullopt;
  return Amount{value, is_percent ? Unit::kPercent : Unit::kAmount};
}

}  // namespace

Place place_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto newline = before.rfind('\n');
  return {1 + static_cast<std::size_t>(std::ranges::count(before, '\n')),
          newline == std::string_view::npos ? before.size() + 1 : before.size() - newline};
}

base::Error at_place(Place place, std::string_view what) {
  return base::invalid(fmt::format("line {}, column {}: {}", place.line, place.column, what));
}

bool FileTable::has_column(std::string_view resource) const {
  return std::ranges::find(columns_, resource, &Column::resource) != columns_.end();
}

std::size_t FileTable::column(std::string_view resource) {
  const auto found = std::ranges::find(columns_, resource, &Column::resource);
  if (found != columns_.end()) return static_cast<std::size_t>(found - columns_.begin());
  columns_.push_back({std::string(resource), Unit::kAmount});
  has_unit_.push_back(false);
  return columns_.size() - 1;
}

base::Status FileTable::add_row(std::string_view ns, std::string_view name, Place place) {
  if (name.empty()) return at_place(place, "a name is missing");
  if (!names_.emplace(ns, name).second) {
    const std::string shown = ns.empty() ? std::string(name) : fmt::format("{}/{}", ns, name);
    return at_place(place, fmt::format("{} occurs twice", base::truncate_utf8(shown, kShown)));
  }
  rows_.add(ns, name, {});
  values_.emplace_back();
  return base::Done{};
}

base::Status FileTable::set(std::size_t column, std::string_view text, Place place) {
  if (text.empty()) return base::Done{};
  const auto amount = read_amount_text(text);
  if (!amount)
    return at_place(
        place, fmt::format("\"{}\" is not a quantity such as 250m, 4Gi or 37.5%", base::truncate_utf8(text, kShown)));
  if (has_unit_[column] && columns_[column].unit != amount->unit)
    return at_place(place, fmt::format("{} has both amounts and percentages", columns_[column].resource));
  has_unit_[column] = true;
  columns_[column].unit = amount->unit;
  auto& values = values_.back();
  if (values.size() <= column) values.resize(column + 1, kUnknown);
  values[column] = amount->value;
  return base::Done{};
}

Rows FileTable::take_rows(base::TimePoint time) && {
  Rows rows(columns_.size());
  rows.rows = std::move(rows_.rows);
  rows.names = rows_.names;
  rows.values.reserve(rows.rows.size() * rows.width);
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    rows.rows[i].time = time;
    values_[i].resize(rows.width, kUnknown);
    rows.values.insert(rows.values.end(), values_[i].begin(), values_[i].end());
  }
  return rows;
}

Samples to_samples(FileTable nodes, FileTable pods, base::TimePoint time) {
  Samples samples;
  samples.columns = nodes.columns();
  samples.pod_columns = pods.columns();
  Rows node_rows = std::move(nodes).take_rows(time);
  sort_and_merge(node_rows, "", samples.problems);
  join_nodes(samples, std::move(node_rows), 0);
  Rows pod_rows = std::move(pods).take_rows(time);
  sort_and_merge(pod_rows, "", samples.problems);
  join_pods(samples, std::move(pod_rows), 0);
  return samples;
}

}  // namespace usage
