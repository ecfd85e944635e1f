#include "controllers/signing/spec_hash.hpp"

#include <nlohmann/json.hpp>

#include "signing/hash.hpp"

namespace controllers {
namespace {

using api::Json;

constexpr std::string_view kForm = "v1:";

/// `value` without what `usual` says as well.
Json differing_part(const Json& value, const Json& usual) {
  if (!value.is_object() || !usual.is_object()) return value;
  Json rest = Json::object();
  for (const auto& [name, member] : value.items()) {
    const auto known = usual.find(name);
    if (known == usual.end()) {
      rest[name] = member;
    } else if (*known != member) {
      rest[name] = differing_part(member, *known);
    }
  }
  return rest;
}

}  // namespace

std::string spec_hash(const api::EvacuationSpec& spec) {
  static const Json kUsual = api::encode_spec({});
  Json fixed = differing_part(api::encode_spec(spec), kUsual);
  for (const char* mutable_field : {"suspend", "priority", "cancel"}) fixed.erase(mutable_field);
  return std::string(kForm) + signing::sha256(api::to_json_text(fixed));
}

bool has_spec_hash(const api::EvacuationSpec& spec, std::string_view hash) {
  if (!hash.starts_with(kForm) || hash == spec_hash(spec)) return true;
  if (spec.node_name.empty()) return false;
  api::EvacuationSpec unfilled = spec;
  unfilled.node_name = {};
  return hash == spec_hash(unfilled);
}

}  // namespace controllers
