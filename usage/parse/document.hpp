#pragma once

/// Reading of JSON answers in place. Internal to usage/parse: simdjson stays there.

#include <optional>
#include <string>
#include <utility>

#include "api/core/codec_reader.hpp"
#include "base/result.hpp"

namespace usage {

namespace wire = api::wire;

/// Why an answer that is no JSON object is none: "the answer is HTML …". The text itself is never quoted: it is of
/// whoever answers.
base::Error not_json(std::string_view text, std::string_view why);

/// A text is read again and again in pages of about this size: then this thread's parser stays. Larger ones get their
/// own, whose memory is given back at once.
inline constexpr std::size_t kPageBytes = std::size_t{4} << 20;

/// This thread's parser for pages. REQUIRES: nobody else on this thread is reading.
inline simdjson::ondemand::parser& page_parser() {
  thread_local simdjson::ondemand::parser parser;
  return parser;
}

/// Parses a text that must be one JSON object, without another copy of it: `text` is padded for that, and read(object)
/// gets the root; it returns an error_code. A text that goes on behind the object is an error. Calls do not nest.
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

/// A string; anything else leaves `target`. The view is of the text itself where nothing in it is escaped, as in nearly
/// all names and amounts, else of the parser's buffer: it lives until the document is gone.
inline wire::error_code read_view(wire::Value& value, std::string_view& target) {
  const std::string_view token = value.raw_json_token();
  const std::size_t end = token.rfind('"');  // spaces may follow
  if (!token.starts_with('"') || token.find('\\') != std::string_view::npos)
    return wire::unless_about_value(value.get_string().get(target));
  target = token.substr(1, end - 1);
  return simdjson::SUCCESS;
}

}  // namespace usage
