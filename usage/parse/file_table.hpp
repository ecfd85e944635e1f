#pragma once

/// One of the two tables, with errors that include the position. Internal to the readers of files.

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

/// Position in a text. Both values start at 1.
struct Place {
  std::size_t line = 1;
  std::size_t column = 1;
};
Place place_of(std::string_view text, std::size_t offset);
/// Returns the error "line 3, column 7: what".
base::Error at_place(Place place, std::string_view what);

/// Nodes or pods with their columns, in input order.
class FileTable {
 public:
  /// Returns the column with that name. Creates it if it does not exist.
  std::size_t column(std::string_view resource);
  bool has_column(std::string_view resource) const;
  /// Starts the row of a node (`ns` empty) or a pod.
  base::Status add_row(std::string_view ns, std::string_view name, Place place);
  /// Sets a value of the newest row: "250m", "3.5%", or "" for kUnknown. All known values of a column must have one
  /// unit.
  base::Status set(std::size_t column, std::string_view text, Place place);

  const std::vector<Column>& columns() const { return columns_; }
  bool empty() const { return rows_.rows.empty() && columns_.empty(); }
  Rows take_rows(base::TimePoint time) &&;

 private:
  std::vector<Column> columns_;
  std::vector<bool> has_unit_;
  Rows rows_{0};
  std::vector<std::vector<double>> values_;  ///< by row; missing values at the end are kUnknown
  std::set<std::pair<std::string, std::string>> names_;
};

/// Converts the two tables to samples.
Samples to_samples(FileTable nodes, FileTable pods, base::TimePoint time);

}  // namespace usage
