#include "api/core/object_json.hpp"

#include <nlohmann/json.hpp>

#include "api/core/codec_reader.hpp"

namespace api {
namespace {

using simdjson::error_code;
using simdjson::ondemand::json_type;

/// Position of a value: managedFields is skipped in metadata only.
enum class Place { kRoot, kMetadata, kElsewhere };

error_code copy_value(wire::Value& value, Json& target, std::size_t depth, Place place);

error_code copy_members(wire::Object& object, Json& target, std::size_t depth, Place place) {
  target = Json::object();
  auto& members = target.get_ref<Json::object_t&>();
  for (auto field : object) {
    std::string_view key;
    if (const error_code error = field.unescaped_key().get(key)) return error;
    if (place == Place::kMetadata && key == "managedFields") continue;
    const Place below = place == Place::kRoot && key == "metadata" ? Place::kMetadata : Place::kElsewhere;
    Json& member = members.insert_or_assign(members.end(), std::string(key), Json())->second;
    wire::Value value;
    if (const error_code error = field.value().get(value)) return error;
    if (const error_code error = copy_value(value, member, depth + 1, below)) return error;
  }
  return simdjson::SUCCESS;
}

error_code copy_elements(wire::Value& value, Json& target, std::size_t depth) {
  target = Json::array();
  auto& elements = target.get_ref<Json::array_t&>();
  wire::Array array;
  if (const error_code error = value.get_array().get(array)) return error;
  for (auto element : array) {
    wire::Value item;
    if (const error_code error = element.get(item)) return error;
    if (const error_code error = copy_value(item, elements.emplace_back(), depth + 1, Place::kElsewhere)) return error;
  }
  return simdjson::SUCCESS;
}

template <typename T>
error_code copy_as(simdjson::simdjson_result<T> read, Json& target) {
  T number{};
  if (const error_code error = std::move(read).get(number)) return error;
  target = number;
  return simdjson::SUCCESS;
}

/// Creates the same number types as Json::parse: numbers without a sign are unsigned. Does not use get_number(), which
/// returns 0 for a number of twenty digits with an exponent (simdjson 3.1).
error_code copy_number(wire::Value& value, Json& target) {
  simdjson::ondemand::number_type type{};
  if (const error_code error = value.get_number_type().get(type)) return error;
  if (type == simdjson::ondemand::number_type::floating_point_number) return copy_as(value.get_double(), target);
  if (value.is_negative()) return copy_as(value.get_int64(), target);
  return copy_as(value.get_uint64(), target);
}

error_code copy_text(wire::Value& value, Json& target) {
  std::string_view text;
  if (const error_code error = value.get_string().get(text)) return error;
  target = text;
  return simdjson::SUCCESS;
}

error_code copy_flag(wire::Value& value, Json& target) {
  bool flag = false;
  if (const error_code error = value.get_bool().get(flag)) return error;
  target = flag;
  return simdjson::SUCCESS;
}

/// Checks the whole literal, because the type was derived from its first letter only.
error_code check_null(wire::Value& value) {
  bool is_null = false;
  if (const error_code error = value.is_null().get(is_null)) return error;
  return is_null ? simdjson::SUCCESS : simdjson::N_ATOM_ERROR;
}

error_code copy_value(wire::Value& value, Json& target, std::size_t depth, Place place) {
  if (depth >= kMaxJsonDepth) return simdjson::DEPTH_ERROR;
  json_type type{};
  if (const error_code error = value.type().get(type)) return error;
  switch (type) {
    case json_type::object: {
      wire::Object object;
      if (const error_code error = value.get_object().get(object)) return error;
      return copy_members(object, target, depth, place);
    }
    case json_type::array: return copy_elements(value, target, depth);
    case json_type::number: return copy_number(value, target);
    case json_type::string: return copy_text(value, target);
    case json_type::boolean: return copy_flag(value, target);
    case json_type::null: return check_null(value);
  }
  return simdjson::INCORRECT_TYPE;
}

}  // namespace

simdjson::error_code wire::copy_json(wire::Value& value, Json& target) {
  target = nullptr;
  return copy_value(value, target, 1, Place::kElsewhere);
}

base::Result<Json> parse_object_json(std::string_view text) {
  Json object;
  wire::Lease lease;
  const auto read = wire::read_document(
      *lease, text, "an object", [&](wire::Object& root) { return copy_members(root, object, 0, Place::kRoot); });
  if (read) return object;
  // Fallback for text that simdjson rejects (integers beyond 64 bits), and for error messages with a position.
  auto slow = parse_json(text);
  if (!slow) return slow;
  if (!slow->is_object()) return base::invalid("the text is not a JSON object");
  if (const auto metadata = slow->find("metadata"); metadata != slow->end() && metadata->is_object())
    metadata->erase("managedFields");
  return slow;
}

}  // namespace api
