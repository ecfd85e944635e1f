#include "cmd/input/documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "api/json/yaml.hpp"
#include "cmd/input/files.hpp"

namespace cmd {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kMark = "---";

bool opens_json(char c) { return c == '{' || c == '['; }

/// Returns the position after the JSON value that begins at `at`, npos if the value is not terminated.
std::size_t end_of_json(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  bool in_string = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (opens_json(c)) {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

/// Unread remainder of a text, with the line number of its beginning.
class Rest {
 public:
  explicit Rest(std::string_view text) : text_(text) {}

  std::string_view text() const { return text_; }
  std::size_t line() const { return line_; }
  void skip(std::size_t bytes) {
    line_ += static_cast<std::size_t>(std::ranges::count(text_.substr(0, bytes), '\n'));
    text_.remove_prefix(std::min(bytes, text_.size()));
  }
  /// Skips white space, and YAML document separators that are followed by JSON.
  void skip_blanks() {
    for (;;) {
      skip(std::min(text_.find_first_not_of(kBlanks), text_.size()));
      if (!text_.starts_with(kMark)) return;
      const std::size_t next = std::min(text_.find_first_not_of(kBlanks, kMark.size()), text_.size());
      const std::string_view behind = text_.substr(next);
      if (!behind.empty() && !opens_json(behind.front()) && !behind.starts_with(kMark)) return;
      skip(next);
    }
  }

 private:
  std::string_view text_;
  std::size_t line_ = 1;
};

/// Returns the end of the YAML at the beginning of `text`: before JSON at the start of a line, or before a second
/// apiVersion in one document.
std::size_t end_of_yaml(std::string_view text) {
  constexpr std::string_view kFirstKey = "apiVersion:";
  bool has_key = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view line = text.substr(at);
    if (line.starts_with(kMark)) has_key = false;
    if (at > 0 && line.starts_with("{\"")) return at;
    if (at > 0 && (line.starts_with("{\n") || line.starts_with("{\r"))) return at;
    if (line.starts_with(kFirstKey) && std::exchange(has_key, true)) return at;
    at = std::min(text.find('\n', at), text.size() - 1) + 1;
  }
  return text.size();
}

base::Error at_line(const base::Error& error, std::size_t line) {
  return line > 1 ? error.during(fmt::format("in the document that begins at line {}", line)) : error;
}

/// Converts the line of an error in a part to that of the whole text: "line 2, column 1: …" of a part that begins at
/// line 3 becomes "line 4, column 1: …".
base::Error with_line_of_whole(base::Error error, std::size_t first) {
  constexpr std::string_view kLine = "line ";
  if (!error.message.starts_with(kLine)) return at_line(error, first);
  const char* const begin = error.message.data() + kLine.size();
  std::size_t line = 0;
  const auto number = std::from_chars(begin, error.message.data() + error.message.size(), line);
  if (number.ec != std::errc{}) return at_line(error, first);
  error.message.replace(kLine.size(), static_cast<std::size_t>(number.ptr - begin), std::to_string(line + first - 1));
  return error;
}

/// Returns a kubectl message from standard error that `2>&1` mixed into the output, empty if the text does not begin
/// with one.
std::string_view words_of_kubectl(std::string_view text) {
  constexpr std::array<std::string_view, 6> kBeginnings = {
      "Error from server", "error: ", "Warning: ", "Unable to connect to the server", "The connection to the server",
      "No resources found"};
  const auto begins = [&](std::string_view beginning) { return text.starts_with(beginning); };
  return std::ranges::any_of(kBeginnings, begins) ? text.substr(0, text.find_first_of("\r\n")) : std::string_view();
}

base::Status read_yaml(Rest& rest, std::vector<api::Json>& documents) {
  if (const std::string_view words = words_of_kubectl(rest.text()); !words.empty())
    return base::invalid(
        fmt::format("line {}: not an object, but an error message of kubectl: \"{}\"; keep standard error out of the "
                    "file (no `2>&1`), and fix the error",
                    rest.line(), words.substr(0, 120)));
  if (rest.text().starts_with("===="))
    return base::invalid(
        fmt::format("line {}: container logs, as `kubectl cluster-info dump` prints them; run it with "
                    "--output-directory=DIR, and pass the directory",
                    rest.line()));
  const std::size_t end = end_of_yaml(rest.text());
  const auto parsed = api::parse_yaml(rest.text().substr(0, end));
  if (!parsed) return with_line_of_whole(parsed.error(), rest.line());
  documents.insert(documents.end(), parsed->begin(), parsed->end());
  rest.skip(end);
  return base::Done{};
}

base::Status read_json(Rest& rest, RepeatedKeys keys, std::vector<api::Json>& documents) {
  const std::size_t end = end_of_json(rest.text(), 0);
  const std::string_view value = rest.text().substr(0, end);
  auto parsed = keys == RepeatedKeys::kRefuse ? api::parse_json_unique(value) : api::parse_json(value);
  if (parsed) {
    documents.push_back(*std::move(parsed));
    rest.skip(end);
    return base::Done{};
  }
  // {a: b} is YAML
  if (value.find_first_of("\"}]", 1) != value.find_first_not_of(kBlanks, 1)) {
    Rest as_yaml = rest;
    if (read_yaml(as_yaml, documents)) {
      rest = as_yaml;
      return base::Done{};
    }
  }
  if (end != std::string_view::npos) return at_line(parsed.error(), rest.line());
  return base::invalid(
      fmt::format("the JSON that begins at line {} is incomplete; was the file truncated?", rest.line()));
}

}  // namespace

base::Result<std::vector<api::Json>> parse_documents(std::string_view text, RepeatedKeys keys) {
  std::vector<api::Json> documents;
  Rest rest(text);
  for (rest.skip_blanks(); !rest.text().empty(); rest.skip_blanks()) {
    auto read = opens_json(rest.text().front()) ? read_json(rest, keys, documents) : read_yaml(rest, documents);
    if (!read) return read.error();
  }
  std::erase_if(documents, [](const api::Json& document) { return document.is_null(); });
  return documents;
}

base::Result<std::vector<api::Json>> read_documents(const std::string& path, std::size_t limit, RepeatedKeys keys) {
  const auto text = read_text_file(path, limit);
  if (!text) return text.error();
  auto documents = parse_documents(*text, keys);
  return documents ? std::move(documents) : documents.error().during(shown_path(path));
}

}  // namespace cmd
