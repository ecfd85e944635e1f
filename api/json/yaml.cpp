#include "api/json/yaml.hpp"

#include <fmt/format.h>
#include <yaml.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/json/yaml_scalar.hpp"

namespace api {
namespace {

/// Maximum total size copied by all aliases of a text, in values plus bytes of their strings.
constexpr std::size_t kAliasBudget = 1U << 20U;
constexpr std::string_view kStandardTag = "tag:yaml.org,2002:";

struct YamlEvent {
  yaml_event_t raw{};
  YamlEvent() = default;
  ~YamlEvent() { yaml_event_delete(&raw); }
  YamlEvent(const YamlEvent&) = delete;
  YamlEvent& operator=(const YamlEvent&) = delete;
};

std::string_view view_of(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : std::string_view(reinterpret_cast<const char*>(text));
}

std::size_t weight_of(const Json& json) {
  std::size_t weight = 1;
  if (json.is_string()) weight += json.get_ref<const std::string&>().size();
  if (json.is_array()) {
    for (const Json& item : json) weight += weight_of(item);
  }
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) weight += key.size() + weight_of(value);
  }
  return weight;
}

/// Builds values from the event stream. Every function returns false once `error_` is set.
class YamlReader {
 public:
  explicit YamlReader(std::string_view text) : text_(text) {
    initialized_ = yaml_parser_initialize(&parser_) != 0;
    if (!initialized_) return;
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~YamlReader() {
    if (initialized_) yaml_parser_delete(&parser_);
  }
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;

  base::Result<std::vector<Json>> documents() {
    std::vector<Json> documents;
    if (!initialized_) return base::unavailable("out of memory for the YAML parser");
    for (;;) {
      YamlEvent event;
      if (!next(event)) return base::invalid(error_);
      if (event.raw.type == YAML_STREAM_END_EVENT) return documents;
      if (event.raw.type != YAML_DOCUMENT_START_EVENT) continue;  // start of the stream
      anchors_.clear();
      Json document;
      if (!read_next(document, 0)) return base::invalid(error_);
      if (!document.is_null()) documents.push_back(std::move(document));
      YamlEvent end;
      if (!next(end)) return base::invalid(error_);
    }
  }

 private:
  struct Anchor {
    Json value;
    std::size_t weight = 0;
  };

  bool fail(const yaml_mark_t& mark, std::string_view message) {
    error_ = fmt::format("line {}, column {}: {}", mark.line + 1, mark.column + 1, message);
    return false;
  }

  bool next(YamlEvent& event) {
    if (yaml_parser_parse(&parser_, &event.raw) != 0) return true;
    const char* problem = parser_.problem != nullptr ? parser_.problem : "not valid YAML";
    if (parser_.error != YAML_READER_ERROR) return fail(parser_.problem_mark, with_hint(problem));
    error_ = fmt::format("byte {}: {}", parser_.problem_offset, problem);
    return false;
  }

  /// Replaces libyaml's message for a tab in the indentation, the most frequent cause of "cannot start any token".
  std::string_view with_hint(std::string_view problem) const {
    if (problem.find("cannot start any token") == std::string_view::npos) return problem;
    std::string_view line = text_;
    for (std::size_t i = 0; i < parser_.problem_mark.line && !line.empty(); ++i)
      line.remove_prefix(std::min(line.find('\n'), line.size() - 1) + 1);
    const std::string_view indent = line.substr(0, line.find_first_not_of(" \t"));
    return indent.find('\t') == std::string_view::npos ? problem : "a tab: YAML is indented with spaces";
  }

  bool read_next(Json& value, std::size_t depth) {
    YamlEvent event;
    return next(event) && read(event, value, depth);
  }

  /// Reads the value that begins with `event`.
  bool read(const YamlEvent& event, Json& value, std::size_t depth) {
    const yaml_event_t& raw = event.raw;
    switch (raw.type) {
      case YAML_SCALAR_EVENT: return read_scalar(raw, value) && remember(raw.data.scalar.anchor, value);
      case YAML_SEQUENCE_START_EVENT:
        return check_collection(raw, raw.data.sequence_start.tag, "seq", depth) && read_sequence(value, depth + 1) &&
               remember(raw.data.sequence_start.anchor, value);
      case YAML_MAPPING_START_EVENT:
        return check_collection(raw, raw.data.mapping_start.tag, "map", depth) && read_mapping(value, depth + 1) &&
               remember(raw.data.mapping_start.anchor, value);
      case YAML_ALIAS_EVENT: return read_alias(raw, value);
      default: return fail(raw.start_mark, "a value is missing here");
    }
  }

  bool check_collection(const yaml_event_t& raw, const yaml_char_t* tag, std::string_view wanted, std::size_t depth) {
    if (depth >= kMaxJsonDepth)
      return fail(raw.start_mark, fmt::format("nested more than {} levels deep", kMaxJsonDepth));
    const std::string_view text = view_of(tag);
    if (text.empty() || text == "!") return true;
    if (text.starts_with(kStandardTag) && text.substr(kStandardTag.size()) == wanted) return true;
    return fail(raw.start_mark, fmt::format("tag {} is not supported", text));
  }

  bool read_sequence(Json& value, std::size_t depth) {
    value = Json::array();
    for (;;) {
      YamlEvent event;
      if (!next(event)) return false;
      if (event.raw.type == YAML_SEQUENCE_END_EVENT) return true;
      Json item;
      if (!read(event, item, depth)) return false;
      value.push_back(std::move(item));
    }
  }

  bool read_mapping(Json& value, std::size_t depth) {
    value = Json::object();
    Json merged = Json::object();
    for (;;) {
      YamlEvent event;
      if (!next(event)) return false;
      if (event.raw.type == YAML_MAPPING_END_EVENT) break;
      if (is_merge_key(event.raw)) {
        if (!read_merge(event.raw.start_mark, merged, depth)) return false;
        continue;
      }
      std::string key;
      if (!read_key(event, key, depth)) return false;
      if (value.contains(key)) return fail(event.raw.start_mark, fmt::format("key \"{}\" is already set", key));
      Json member;
      if (!read_next(member, depth)) return false;
      value[std::move(key)] = std::move(member);
    }
    for (auto& [key, member] : merged.items()) {
      if (!value.contains(key)) value[key] = std::move(member);
    }
    return true;
  }

  static bool is_merge_key(const yaml_event_t& raw) {
    return raw.type == YAML_SCALAR_EVENT && raw.data.scalar.plain_implicit != 0 &&
           view_of(raw.data.scalar.value) == "<<";
  }

  /// Reads the value after "<<": a mapping or a list of mappings. Existing members win.
  bool read_merge(const yaml_mark_t& mark, Json& merged, std::size_t depth) {
    Json source;
    if (!read_next(source, depth)) return false;
    if (source.is_object()) source = Json::array({std::move(source)});
    if (!source.is_array()) return fail(mark, "<< needs a mapping or a list of mappings");
    for (Json& mapping : source) {
      if (!mapping.is_object()) return fail(mark, "<< needs a mapping or a list of mappings");
      for (auto& [key, member] : mapping.items()) {
        if (!merged.contains(key)) merged[key] = std::move(member);
      }
    }
    return true;
  }

  /// Reads a key. JSON keys are strings, so numbers and booleans are converted to text.
  bool read_key(const YamlEvent& event, std::string& key, std::size_t depth) {
    Json value;
    if (!read(event, value, depth)) return false;
    if (value.is_string()) {
      key = value.get<std::string>();
    } else if (value.is_boolean() || value.is_number()) {
      key = to_json_text(value);
    } else {
      return fail(event.raw.start_mark, "a key must be a string");
    }
    return true;
  }

  bool read_scalar(const yaml_event_t& raw, Json& value) {
    const auto& scalar = raw.data.scalar;
    const std::string_view text(reinterpret_cast<const char*>(scalar.value), scalar.length);
    const std::string_view tag = view_of(scalar.tag);
    const bool plain = scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (tag.empty() && !plain) {
      value = std::string(text);
      return true;
    }
    if (tag == "!" || (tag.starts_with(kStandardTag) && tag.substr(kStandardTag.size()) == "str")) {
      value = std::string(text);
      return true;
    }
    auto resolved = resolve_plain_scalar(text);
    if (!resolved) return fail(raw.start_mark, fmt::format("{} is not a JSON number", text));
    if (!tag.empty() && !tag_fits(tag, *resolved)) {
      return fail(raw.start_mark,
                  fmt::format("{} does not fit its tag {}, or the tag is not supported", text.substr(0, 80), tag));
    }
    value = *std::move(resolved);
    return true;
  }

  static bool tag_fits(std::string_view tag, const Json& value) {
    if (!tag.starts_with(kStandardTag)) return false;
    tag.remove_prefix(kStandardTag.size());
    return (tag == "int" && value.is_number_integer()) || (tag == "float" && value.is_number()) ||
           (tag == "bool" && value.is_boolean()) || (tag == "null" && value.is_null()) ||
           (tag == "timestamp" && value.is_string());
  }

  bool remember(const yaml_char_t* anchor, const Json& value) {
    if (anchor == nullptr) return true;
    // Also count the copy for the anchor, because nested anchors would copy their content once per level.
    const std::size_t weight = weight_of(value);
    if (!spend(weight)) {
      error_ = "anchors and aliases make the text too large";
      return false;
    }
    anchors_.insert_or_assign(std::string(view_of(anchor)), Anchor{value, weight});
    return true;
  }

  bool read_alias(const yaml_event_t& raw, Json& value) {
    const auto found = anchors_.find(std::string(view_of(raw.data.alias.anchor)));
    if (found == anchors_.end()) {
      return fail(raw.start_mark, fmt::format("alias *{} has no anchor before it", view_of(raw.data.alias.anchor)));
    }
    if (!spend(found->second.weight)) return fail(raw.start_mark, "anchors and aliases make the text too large");
    value = found->second.value;
    return true;
  }

  bool spend(std::size_t weight) {
    if (weight > budget_) return false;
    budget_ -= weight;
    return true;
  }

  std::string_view text_;
  yaml_parser_t parser_{};
  bool initialized_ = false;
  std::size_t budget_ = kAliasBudget;
  std::map<std::string, Anchor> anchors_;
  std::string error_;
};

bool begins_like_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

}  // namespace

base::Result<std::vector<Json>> parse_yaml(std::string_view text) {
  if (begins_like_json(text)) {
    // Not all JSON is YAML: libyaml does not support surrogate pairs.
    if (auto json = parse_json_unique(text)) return std::vector<Json>{*std::move(json)};
  }
  return YamlReader(text).documents();
}

}  // namespace api
