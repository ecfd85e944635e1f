#pragma once

/// Reading of JSON answers in place. Internal to usage/parse: simdjson stays there.

#include <string>
#include <utility>

#include "api/core/codec_reader.hpp"
#include "base/result.hpp"

namespace usage {

namespace wire = api::wire;

/// Why an answer that is no JSON object is none: "the answer is HTML …". The text itself is never quoted: it is of
/// whoever answers.
base::Error not_json(std::string_view text, std::string_view why);

/// Parses a text that must be one JSON object, without another copy of it: `text` is padded for that, and read(object)
/// gets the root; it returns an error_code. A text that goes on behind the object is an error.
template <typename F>
base::Status read_in_place(std::string& text, F&& read) {
  const std::size_t size = text.size();
  text.append(simdjson::SIMDJSON_PADDING, ' ');
  simdjson::ondemand::parser parser;
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

/// For texts of others.
template <typename F>
base::Status read_copy(std::string_view text, F&& read) {
  std::string copy;
  copy.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  copy = text;
  return read_in_place(copy, std::forward<F>(read));
}

}  // namespace usage
