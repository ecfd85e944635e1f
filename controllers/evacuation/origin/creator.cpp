#include "controllers/evacuation/origin/creator.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/json/json_access.hpp"
#include "api/meta/well_known.hpp"
#include "base/crypto/hash.hpp"
#include "controllers/evacuation/origin/origin.hpp"
#include "controllers/evacuation/origin/spec_hash.hpp"

namespace controllers {
namespace {

using api::Json;

constexpr std::string_view kCreatorPurpose = "evacuator.dev/creator/v1";
/// Larger than any record that creator_record() writes: a subject and some hundred bytes.
constexpr std::size_t kMaxRecord = 4 * kMaxUserBytes;
constexpr std::int64_t kLatest = 253'402'300'799;  // the year 9999

bool is_texts(const Json& value) {
  return value.is_array() && std::ranges::all_of(value, [](const Json& each) { return each.is_string(); });
}

bool is_extra(const Json& value) { return value.is_object() && std::ranges::all_of(value, is_texts); }

std::string mac_of(const Json& subject, const NewObject& object, const crypto::Key& key, std::int64_t time) {
  return key.sign(kCreatorPurpose, {object.kind, object.ns, object.name, object.name_prefix, object.spec_hash,
                                    api::to_json_text(subject), std::to_string(time)});
}

/// Decoded annotation, not yet verified.
struct Record {
  Json subject;
  std::string name_prefix;
  std::int64_t time = 0;
  std::string key_id, mac;
};

std::optional<Record> parse_record(std::string_view text) {
  if (text.size() > kMaxRecord) return std::nullopt;
  auto json = api::parse_json(text);
  if (!json || !json->is_object()) return std::nullopt;
  const auto time = api::number_at(*json, {"time"});
  if (!time || *time < 0 || *time > kLatest) return std::nullopt;
  Record record{
      {}, api::text_at(*json, {"namePrefix"}), *time, api::text_at(*json, {"key"}), api::text_at(*json, {"signature"})};
  for (const char* each : {"namePrefix", "time", "key", "signature"}) json->erase(each);
  record.subject = *std::move(json);
  return record;
}

/// Hashes that the spec may have had at creation, before the operator filled in nodeName or podRef.uid.
std::array<std::string, 4> possible_hashes(const api::Evacuation& evacuation) {
  std::array<std::string, 4> hashes;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    api::EvacuationSpec spec = evacuation.spec;
    if ((i & 1) != 0) spec.node_name = {};
    if ((i & 2) != 0) spec.pod_ref.uid = {};
    hashes[i] = spec_hash(spec);
  }
  return hashes;
}

bool is_signed(const api::Evacuation& evacuation, const Record& record, const crypto::Key& key) {
  const bool has_name = record.name_prefix.empty();
  if (!has_name && !evacuation.meta.name.starts_with(record.name_prefix)) return false;
  NewObject object{"Evacuation", evacuation.meta.ns, has_name ? evacuation.meta.name : "", record.name_prefix, ""};
  for (std::string& hash : possible_hashes(evacuation)) {
    object.spec_hash = std::move(hash);
    if (crypto::equal_in_constant_time(record.mac, mac_of(record.subject, object, key, record.time))) return true;
  }
  return false;
}

}  // namespace

base::Result<Json> subject_of(const Json& user_info) {
  const std::string user = api::text_at(user_info, {"username"});
  if (user.empty()) return base::invalid("the request contains no user name");
  if (user.size() > kMaxUser) return base::invalid("the user's name is longer than 1024 bytes");
  Json subject = {{"user", user}};
  std::size_t bytes = 0;
  const auto add = [&](const char* name, const Json& value) {
    bytes += api::to_json_text(value).size();
    if (bytes <= kMaxUserBytes) subject[name] = value;
  };
  if (const std::string uid = api::text_at(user_info, {"uid"}); !uid.empty()) add("uid", uid);
  if (const Json* groups = api::find_at(user_info, {"groups"}); groups && is_texts(*groups)) add("groups", *groups);
  if (const Json* extra = api::find_at(user_info, {"extra"}); extra && is_extra(*extra)) add("extra", *extra);
  return subject;
}

std::string creator_record(const Json& subject, const NewObject& object, const crypto::Key& key, base::TimePoint now) {
  NewObject named = object;
  if (!named.name.empty()) named.name_prefix.clear();
  const std::int64_t time = std::chrono::floor<base::seconds>(now).time_since_epoch().count();
  Json record = subject;
  if (!named.name_prefix.empty()) record["namePrefix"] = named.name_prefix;
  record["time"] = time;
  record["key"] = key.id();
  record["signature"] = mac_of(subject, named, key, time);
  return api::to_json_text(record);
}

std::optional<Json> proven_creator(const api::Evacuation& evacuation, const crypto::KeyRing& keys,
                                   OriginMemory* memory) {
  const std::string* text = evacuation.meta.annotations.find(api::well_known::kCreatorAnnotation);
  if (text == nullptr || !evacuation.spec_problem.empty()) return std::nullopt;
  auto record = parse_record(*text);
  const crypto::Key* key = record ? keys.find(record->key_id) : nullptr;
  if (key == nullptr || !is_signed(evacuation, *record, *key)) return std::nullopt;
  const base::Duration apart = evacuation.meta.creation_timestamp - base::TimePoint(base::seconds(record->time));
  if (apart > kOriginWindow || apart < -kOriginWindow) return std::nullopt;
  if (memory != nullptr && !memory->belongs_to(record->mac, evacuation.meta.uid)) return std::nullopt;
  return std::move(record->subject);
}

}  // namespace controllers
