#include "telemetry/audit/signed_head.hpp"

#include "base/crypto/hash.hpp"

namespace audit {
namespace {

constexpr std::string_view kPurpose = "evacuator.dev/audit-head/v1";
constexpr const char* kKeyId = "key";
constexpr const char* kSignature = "signature";

/// Signs `head` in `record`, which directly follows it.
std::string sign(const Record& record, const Head& head, const crypto::Key& key) {
  return key.sign(kPurpose, {record.object.name, record.actor, std::to_string(head.seq), head.hash,
                             base::format_micro_time(record.time)});
}

const crypto::Key* find_key(const std::vector<crypto::KeyRing>& keys, std::string_view id) {
  for (const crypto::KeyRing& ring : keys) {
    if (const crypto::Key* key = ring.find(id)) return key;
  }
  return nullptr;
}

}  // namespace

Record signed_head(const Head& head, std::string_view sink, const std::string& actor, base::TimePoint now,
                   const crypto::Key& key) {
  Record record;
  record.time = now;
  record.actor = actor;
  record.action = action::kHeadSigned;
  record.object.kind = "AuditLog";
  record.object.name = sink;
  record.decision = decision::kNoted;
  record.reason = "Signed";
  record = bounded(std::move(record));  // sign exactly what a reader will parse
  record.detail[kKeyId] = key.id();
  record.detail[kSignature] = sign(record, head, key);
  return record;
}

HeadVerdict verify_head(const Record& record, const std::vector<crypto::KeyRing>& keys) {
  if (record.action != action::kHeadSigned) return HeadVerdict::kNone;
  const crypto::Key* key = find_key(keys, detail_of(record, kKeyId));
  if (key == nullptr) return HeadVerdict::kUnknownKey;
  const std::string wanted = sign(record, {record.seq - 1, record.prev_hash}, *key);
  return crypto::equal_in_constant_time(wanted, detail_of(record, kSignature)) ? HeadVerdict::kGood
                                                                               : HeadVerdict::kForged;
}

}  // namespace audit
