#include "cmd/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/report/plain_text.hpp"

namespace cmd {

namespace {

/// Returns the terminal columns of UTF-8 `text`, one per code point (wide characters are not supported). Color escape
/// sequences (ESC[…m) count as zero.
std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  bool in_escape = false;
  for (const char c : text) {
    in_escape = in_escape || c == '\033';
    if (!in_escape && (static_cast<unsigned char>(c) & 0xC0) != 0x80) ++width;
    if (c == 'm') in_escape = false;
  }
  return width;
}

}  // namespace

std::string Table::render(std::string_view indent) const {
  std::vector<std::size_t> widths;
  for (const std::string& header : headers_) widths.push_back(display_width(header));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < std::min(row.size(), widths.size()); ++i) {
      widths[i] = std::max(widths[i], std::max<std::size_t>(1, display_width(row[i])));
    }
  }
  std::string out;
  const auto add_line = [&](const std::vector<std::string>& cells, bool is_header) {
    std::string line(indent);
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const bool has_text = i < cells.size() && !cells[i].empty();
      const std::string cell = has_text ? cells[i] : is_header ? "" : "-";
      line += cell;
      if (i + 1 < widths.size()) line.append(widths[i] - display_width(cell) + 3, ' ');
    }
    out += line + "\n";
  };
  add_line(headers_, true);
  for (const auto& row : rows_) add_line(row, false);
  return out;
}

std::string one_line(std::string_view text) {
  constexpr std::size_t kMaxMessage = 32'768;
  return report::plain_text(text, kMaxMessage);
}

std::string first_names(std::vector<std::string> names, std::size_t most) {
  const std::size_t more = names.size() - std::min(names.size(), most);
  names.resize(names.size() - more);
  const std::string text = fmt::format("{}", fmt::join(names, ", "));
  return more == 0 ? text : fmt::format("{} and {} more", text, more);
}

std::string bar(double share, std::size_t width) {
  const double clamped = std::clamp(std::isfinite(share) ? share : 0.0, 0.0, 1.0);
  const auto full = static_cast<std::size_t>(std::lround(clamped * static_cast<double>(width)));
  std::string out;
  for (std::size_t i = 0; i < width; ++i) out += i < full ? "\u2588" : "\u2591";
  return out;
}

}  // namespace cmd
