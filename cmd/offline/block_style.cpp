#include "cmd/offline/block_style.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "cmd/session/io.hpp"

namespace cmd {
namespace {

constexpr std::size_t kMinColumns = 40;
constexpr std::size_t kMaxColumns = 400;
constexpr std::size_t kUsualColumns = 80;

bool is_utf8(const kube::Environment& environment) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale = plugin::variable_of(environment, name);
    if (locale.empty()) continue;
    std::ranges::transform(locale, locale.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

std::optional<std::size_t> number_in(const std::string& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::optional<std::size_t> terminal_columns() {
  if (isatty(STDOUT_FILENO) == 0) return std::nullopt;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualColumns;
  return size.ws_col;
}

}  // namespace

report::BlockStyle block_style(const kube::Environment& environment, std::optional<std::size_t> terminal_columns) {
  const auto columns = terminal_columns ? terminal_columns : number_in(plugin::variable_of(environment, "COLUMNS"));
  return {.columns = std::clamp(columns.value_or(kUsualColumns), kMinColumns, kMaxColumns),
          .has_unicode = is_utf8(environment),
          .has_colour = terminal_columns && plugin::variable_of(environment, "NO_COLOR").empty() &&
                        plugin::variable_of(environment, "TERM") != "dumb"};
}

report::BlockStyle process_block_style() { return block_style(kube::child_environment(), terminal_columns()); }

}  // namespace cmd
