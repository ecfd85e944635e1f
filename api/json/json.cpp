#include "api/json/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

namespace api {
namespace {

/// Returns true if brackets outside strings are not nested deeper than the limit.
bool is_shallow(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxJsonDepth) return false;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return true;
}

/// Returns the first bytes in printable form, for an error message.
std::string printable_prefix(std::string_view text) {
  std::string shown(text.substr(0, 40));
  std::ranges::replace_if(
      shown, [](unsigned char c) { return c < 0x20 || c > 0x7e; }, ' ');
  return text.size() > shown.size() ? shown + "…" : shown;
}

base::Error no_json(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(text.size(), byte > 0 ? byte - 1 : 0));
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return base::invalid(fmt::format("not valid JSON at line {}, column {} of text that begins with '{}'", line, column,
                                   printable_prefix(text)));
}

/// Removes the library's prefix: "[json.exception.out_of_range.406] number overflow …".
std::string_view words_of(const Json::exception& error) {
  const std::string_view words = error.what();
  const std::size_t end = words.find("] ");
  return words.starts_with('[') && end != std::string_view::npos ? words.substr(end + 2) : words;
}

base::Result<Json> parse_json_with(std::string_view text, const Json::parser_callback_t& callback) {
  if (!is_shallow(text)) return base::invalid(fmt::format("JSON is nested more than {} levels deep", kMaxJsonDepth));
  try {
    return Json::parse(text, callback);
  } catch (const Json::parse_error& error) {
    return no_json(text, error.byte);
  } catch (const Json::exception& error) {
    return base::invalid(fmt::format("not valid JSON: {}", words_of(error)));
  }
}

}  // namespace

base::Result<Json> parse_json(std::string_view text) { return parse_json_with(text, nullptr); }

base::Result<Json> parse_json_unique(std::string_view text) {
  std::vector<std::set<std::string>> open;
  std::optional<std::string> duplicate;
  auto parsed = parse_json_with(text, [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !duplicate && !open.back().insert(value.get<std::string>()).second) {
      duplicate = value.get<std::string>();
    }
    return true;
  });
  if (parsed && duplicate) return base::invalid(fmt::format("key \"{}\" is already set", *duplicate));
  return parsed;
}

std::string to_json_text(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace api
