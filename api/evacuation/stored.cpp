#include "api/evacuation/stored.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/core/codec_parts.hpp"
#include "api/evacuation/status.hpp"
#include "api/evacuation_parts.hpp"

namespace api {
namespace {

using wire::error_code;
using wire::for_members;
using wire::unless_about_value;
using wire::Value;

/// Clamps to the range of int32.
error_code read_clamped(Value& value, std::optional<std::int32_t>& target) {
  using Limits = std::numeric_limits<std::int32_t>;
  std::optional<std::int64_t> whole;
  const error_code error = wire::read(value, whole);
  if (whole) target = static_cast<std::int32_t>(std::clamp<std::int64_t>(*whole, Limits::min(), Limits::max()));
  return error;
}

/// Reads refs, sorted by name.
error_code read_refs(Value& value, std::vector<std::pair<std::string, std::string>>& refs) {
  const error_code error = wire::for_entries(value, [&](std::string_view name, Value& entry) {
    std::string_view text;
    const error_code entry_error = wire::text_of(entry, text);
    if (!entry_error) refs.emplace_back(name, text);
    return unless_about_value(entry_error);
  });
  std::ranges::sort(refs);
  return error;
}

/// Calls read() if the value is an object.
template <typename F>
error_code if_object(Value& value, F&& read) {
  bool is_one = false;
  if (const error_code error = wire::is_object(value, is_one)) return unless_about_value(error);
  return is_one ? read() : simdjson::SUCCESS;
}

template <HasFields T>
error_code read_field(std::string_view key, Value& member, T& to);

/// Like lenient::read(), without a JSON value.
template <typename M>
error_code read(Value& value, M& to) {
  if constexpr (std::is_enum_v<M>) {
    std::string name;
    const error_code error = wire::read(value, name);
    to = value_of(wire_names(M{}), name).value_or(to);
    return error;
  } else if constexpr (HasFields<M>) {
    return for_members(value, [&](std::string_view key, Value& member) { return read_field(key, member, to); });
  } else if constexpr (OptionalOfFields<M>) {
    return if_object(value, [&] { return read(value, to.emplace()); });
  } else if constexpr (ListOfFields<M>) {
    return wire::for_elements(
        value, [&](Value& item) { return if_object(item, [&] { return read(item, to.emplace_back()); }); });
  } else if constexpr (std::is_same_v<M, std::optional<std::int32_t>>) {
    return read_clamped(value, to);
  } else if constexpr (std::is_same_v<M, std::int32_t>) {
    std::optional<std::int32_t> clamped;
    const error_code error = read_clamped(value, clamped);
    to = clamped.value_or(0);
    return error;
  } else if constexpr (std::is_same_v<M, std::vector<std::pair<std::string, std::string>>>) {
    return read_refs(value, to);
  } else if constexpr (requires { to.value.empty(); }) {
    return wire::read(value, to.value);
  } else {
    return wire::read(value, to);
  }
}

/// Reads the member `key` of an object. Ignores one that is not in the table.
template <HasFields T>
error_code read_field(std::string_view key, Value& member, T& to) {
  error_code error = simdjson::SUCCESS;
  const auto read_if_named = [&](const auto& field) {
    if (key != field.name) return false;
    error = read(member, to.*field.member);
    return true;
  };
  std::apply([&](const auto&... fields) { static_cast<void>((read_if_named(fields) || ...)); }, kFields<T>);
  return error;
}

/// `unknown` receives a phase that this version does not know.
error_code read_status(Value& value, EvacuationStatus& status, std::string& unknown) {
  std::string phase;
  const error_code error = for_members(value, [&](std::string_view key, Value& member) {
    if (key == "phase") return wire::read(member, phase);
    if (key == "signedPriority") return read(member, status.signed_priority.emplace());
    return read_field(key, member, status);
  });
  const auto known = parse_evacuation_phase(phase);
  if (!known) unknown = phase;
  status.phase = known.value_or(EvacuationPhase::kPending);
  return error;
}

/// Reads the text with simdjson. Skips the spec if `spec` is nullptr. Returns false if metadata is missing or simdjson
/// rejects the text.
bool read_with_simdjson(std::string_view text, Evacuation& evacuation, Json* spec, std::string& unknown_phase) {
  bool has_metadata = false;
  wire::Lease lease;
  const auto done = wire::read_document(*lease, text, "an Evacuation", [&](wire::Object& root) {
    return for_members(root, [&](std::string_view key, Value& member) {
      if (key == "status") return read_status(member, evacuation.status, unknown_phase);
      if (key == "spec" && spec != nullptr) return wire::copy_json(member, *spec);
      if (key != "metadata") return simdjson::SUCCESS;
      has_metadata = true;
      return wire::read_meta(member, evacuation.meta);
    });
  });
  return done.ok() && has_metadata;
}

/// Fallback for rare texts: integers beyond 64 bits, a spec that does not decode, malformed JSON.
base::Result<Evacuation> read_slowly(std::string_view text, StoredParts parts, std::string& unknown_phase) {
  auto json = parse_json(text);
  if (!json) return json.error();
  if (!json->is_object() || !json->contains("metadata"))
    return base::invalid("the text is not an object with metadata");
  if (parts == StoredParts::kAllButSpec) json->erase("spec");
  const std::string phase = text_at(*json, {"status", "phase"});
  unknown_phase = parse_evacuation_phase(phase) ? std::string() : phase;
  return decode_stored_evacuation(*json);
}

}  // namespace

base::Result<Evacuation> read_stored_evacuation(std::string_view text, StoredParts parts, std::string* unknown_phase) {
  Evacuation evacuation;
  std::string ignored;
  std::string& unknown = unknown_phase ? *unknown_phase : ignored;
  Json spec(Json::value_t::discarded);
  if (!read_with_simdjson(text, evacuation, parts == StoredParts::kAll ? &spec : nullptr, unknown))
    return read_slowly(text, parts, unknown);
  FieldErrors errors;
  if (!spec.is_discarded()) evacuation.spec = read_evacuation_spec(spec, errors);
  if (!errors.empty()) return read_slowly(text, parts, unknown);
  return evacuation;
}

}  // namespace api
