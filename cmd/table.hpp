#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cmd {

/// A table as kubectl prints it: upper-case headers, columns padded with three spaces, no lines.
class Table {
 public:
  explicit Table(std::vector<std::string> headers) : headers_(std::move(headers)) {}

  /// Missing cells stay empty; empty ones print as "-".
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }

  /// One line a row, each ending in a newline. `indent` goes in front of every line.
  std::string render(std::string_view indent = {}) const;

 private:
  std::vector<std::string> headers_;
  std::vector<std::vector<std::string>> rows_;
};

/// Text of unknown origin, such as a condition's message, as one line that steers no terminal; at most as long as the
/// API lets a message be.
std::string one_line(std::string_view text);

/// "a, b, c and 4 more", with the first `most` of them. REQUIRES: names of unknown origin are one_line().
std::string first_names(std::vector<std::string> names, std::size_t most);

/// A bar of `width` cells for a share of 0 to 1: "█████░░░░░".
std::string bar(double share, std::size_t width);

/// Columns that UTF-8 `text` takes on a terminal (code points; no wide characters expected). Colours (ESC[…m) take
/// none.
std::size_t display_width(std::string_view text);

}  // namespace cmd
