#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cmd {

/// A table in kubectl's format: upper-case headers, columns separated by three spaces, no lines.
class Table {
 public:
  explicit Table(std::vector<std::string> headers) : headers_(std::move(headers)) {}

  /// Adds a row. Missing cells are empty; empty cells print as "-".
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }

  /// Renders one line per row, each ending in a newline and prefixed with `indent`.
  std::string render(std::string_view indent = {}) const;

 private:
  std::vector<std::string> headers_;
  std::vector<std::vector<std::string>> rows_;
};

/// Returns untrusted text, such as a condition's message, as one line without control characters, truncated to the
/// API's maximum message length.
std::string one_line(std::string_view text);

/// Returns "a, b, c and 4 more", with at most `most` names. REQUIRES: untrusted names were passed through one_line().
std::string first_names(std::vector<std::string> names, std::size_t most);

/// Returns a bar of `width` cells for a share of 0 to 1: "█████░░░░░".
std::string bar(double share, std::size_t width);

}  // namespace cmd
