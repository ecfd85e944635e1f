#pragma once

/// In-place parsing of JSON answers. Internal to usage/parse, which encapsulates simdjson.

#include <optional>
#include <string>
#include <utility>

#include "api/core/codec_reader.hpp"
#include "base/result.hpp"

namespace usage {

namespace wire = api::wire;

/// Returns why an answer is not a JSON object: "the answer is HTML …". Never quotes the text, which is untrusted.
base::Error not_json(std::string_view text, std::string_view why);

/// Typical size of repeatedly read pages, for which the thread keeps its parser. Larger texts get a parser of their
/// own, whose memory is freed at once.
inline constexpr std::size_t kPageBytes = std::size_t{4} << 20;

/// Returns this thread's parser for pages. REQUIRES: no other parse is running on this thread.
inline simdjson::ondemand::parser& page_parser() {
  thread_local simdjson::ondemand::parser parser;
  return parser;
}

/// Parses a text that must be one JSON object, without copying it. Pads `text` for that, and calls read(object) with
/// the root; it returns an error_code. Text after the object is an error. Calls must not nest.
template <typename F>
base::Status read_in_place(std::string& text, F&& read) {
  const std::size_t size = text.size();
  text.append(simdjson::SIMDJSON_PADDING, ' ');
  std::optional<simdjson::ondemand::parser> own;
  simdjson::ondemand::parser& parser = size > kPageBytes ? own.emplace() : page_parser();
  wire::Document document;
  wire::Object root;
  auto error = parser.iterate(text.data(), size, text.size()).get(document);
  if (!error) error = document.get_object().get(root);
  if (!error) error = read(root);
  if (!error && document.current_location().error() != simdjson::OUT_OF_BOUNDS) error = simdjson::TRAILING_CONTENT;
  text.resize(size);
  if (error) return not_json(text, simdjson::error_message(error));
  return base::Done{};
}

/// Reads a string. Leaves `target` unchanged for other types. The view refers to the text if it contains no escapes, as
/// in nearly all names and amounts, else to the parser's buffer. It is valid until the document is destroyed.
inline wire::error_code read_view(wire::Value& value, std::string_view& target) {
  const std::string_view token = value.raw_json_token();
  const std::size_t end = token.rfind('"');  // spaces may follow
  if (!token.starts_with('"') || token.find('\\') != std::string_view::npos)
    return wire::unless_about_value(value.get_string().get(target));
  target = token.substr(1, end - 1);
  return simdjson::SUCCESS;
}

/// Reads a page of a Kubernetes list: calls read_one(item) for each item. Returns the continue token.
template <typename F>
base::Result<std::string> read_list_page(std::string& page, F&& read_one) {
  std::string token;
  bool has_items = false;
  const auto read_items = [&](wire::Value& items) {
    has_items = true;
    return wire::for_elements(items, read_one);
  };
  const auto done = read_in_place(
      page,
      wire::members(wire::on("items", read_items), wire::on("metadata", wire::members(wire::on("continue", token)))));
  if (!done) return done.error();
  if (!has_items) return base::invalid("the response is not a list: it has no items");
  return token;
}

}  // namespace usage
