#pragma once

/// Internal to the readers of files: one of the two tables, with errors that know their place.

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "usage/parse/rows.hpp"

namespace usage {

/// Where something stands in a text, both from 1.
struct Place {
  std::size_t line = 1;
  std::size_t column = 1;
};
Place place_of(std::string_view text, std::size_t offset);
/// "line 3, column 7: what"
base::Error at_place(Place place, std::string_view what);

/// Nodes or pods with their columns, as they are found.
class FileTable {
 public:
  /// The column of that name; made when there is none.
  std::size_t column(std::string_view resource);
  bool has_column(std::string_view resource) const;
  /// Begins the row of a node (`ns` empty) or a pod.
  base::Status add_row(std::string_view ns, std::string_view name, Place place);
  /// Of the newest row: "250m", "3.5%", or nothing for kUnknown. All known values of a column are of one unit.
  base::Status set(std::size_t column, std::string_view text, Place place);

  const std::vector<Column>& columns() const { return columns_; }
  bool empty() const { return rows_.rows.empty() && columns_.empty(); }
  Rows take_rows(base::TimePoint time) &&;

 private:
  std::vector<Column> columns_;
  std::vector<bool> has_unit_;
  Rows rows_{0};
  std::vector<std::vector<double>> values_;  ///< of each row; shorter ones end in kUnknown
  std::set<std::pair<std::string, std::string>> names_;
};

/// The two tables as samples.
Samples to_samples(FileTable nodes, FileTable pods, base::TimePoint time);

}  // namespace usage
