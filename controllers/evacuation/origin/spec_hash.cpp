#include "controllers/evacuation/origin/spec_hash.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/crypto/hash.hpp"

namespace controllers {
namespace {

using api::Json;

constexpr std::string_view kForm = "v1:";

/// Returns `value` without the members that are equal in `usual`.
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

/// Cache of hashes: an Evacuation is hashed often, and its spec rarely changes. Thread-safe.
class RecentHashes {
 public:
  std::optional<std::string> find(const api::EvacuationSpec& spec) {
    const std::scoped_lock lock(mutex_);
    const Entry& entry = slot(spec);
    return entry.hash.empty() || entry.spec != spec ? std::nullopt : std::optional(entry.hash);
  }
  void keep(const api::EvacuationSpec& spec, const std::string& hash) {
    const std::scoped_lock lock(mutex_);
    slot(spec) = {spec, hash};
  }

 private:
  struct Entry {
    api::EvacuationSpec spec;
    std::string hash;
  };
  static constexpr std::size_t kSlots = 512;

  Entry& slot(const api::EvacuationSpec& spec) {
    return entries_[std::hash<std::string>{}(spec.pod_ref.uid.value) % kSlots];
  }

  std::mutex mutex_;
  std::array<Entry, kSlots> entries_;
};

/// Specs with parameters are not cached, because tenants control the size of parameters.
bool is_short(const api::EvacuationSpec& spec) {
  return std::ranges::all_of(spec.evictors, [](const api::EvictorChoice& each) { return each.parameters.empty(); });
}

std::string hash_anew(const api::EvacuationSpec& spec) {
  static const Json kUsual = api::encode_spec({});
  Json fixed = differing_part(api::encode_spec(spec), kUsual);
  for (const char* mutable_field : {"suspend", "priority", "cancel"}) fixed.erase(mutable_field);
  return std::string(kForm) + crypto::sha256(api::to_json_text(fixed));
}

}  // namespace

std::string spec_hash(const api::EvacuationSpec& spec) {
  if (!is_short(spec)) return hash_anew(spec);
  static RecentHashes recent;
  if (auto known = recent.find(spec)) return *std::move(known);
  std::string hash = hash_anew(spec);
  recent.keep(spec, hash);
  return hash;
}

bool has_spec_hash(const api::EvacuationSpec& spec, std::string_view hash) {
  if (!hash.starts_with(kForm) || hash == spec_hash(spec)) return true;
  if (spec.node_name.empty()) return false;
  api::EvacuationSpec unfilled = spec;
  unfilled.node_name = {};
  return hash == spec_hash(unfilled);
}

}  // namespace controllers
