/// Any text as an Evacuation that claims to be created by the operator: no crash, foreign objects are never verified,
/// and our signature is verified, but not with another key, time or content.

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "api/evacuation.hpp"
#include "api/meta/well_known.hpp"
#include "controllers/evacuation/origin/origin.hpp"

namespace {

using controllers::OriginProof;
using controllers::prove_origin;

crypto::Key key_of(char byte) { return *crypto::Key::from_bytes(std::string(crypto::Key::kBytes, byte)); }

void require(bool holds) {
  if (!holds) std::abort();
}

/// The signature in the object may be valid only if it equals the one that we would write.
void check_claim(const api::Evacuation& evacuation, const crypto::Key& key) {
  if (prove_origin(evacuation, {key}) != OriginProof::kSigned) return;
  api::Evacuation changed = evacuation;
  changed.meta.name += "x";
  require(prove_origin(changed, {key}) == OriginProof::kOtherObject);
  require(prove_origin(evacuation, {key_of('x')}) == OriginProof::kUnknownKey);
}

void check_signature(const api::Evacuation& evacuation, const crypto::Key& key) {
  constexpr std::int64_t kLatest = 253'402'300'799;  // The year 9999
  const auto created = evacuation.meta.creation_timestamp.time_since_epoch();
  const bool is_signable = evacuation.spec_problem.empty() && !evacuation.spec.pod_ref.uid.empty();
  if (!is_signable || created < base::Duration{} || created > base::seconds(kLatest)) return;
  const api::Evacuation ours = controllers::with_origin(evacuation, key, evacuation.meta.creation_timestamp);
  require(prove_origin(ours, {key}) == OriginProof::kSigned);
  require(prove_origin(ours, {key_of('y'), key}) == OriginProof::kSigned);
  require(prove_origin(ours, {key_of('y')}) == OriginProof::kUnknownKey);
  api::Evacuation late = ours;
  late.meta.creation_timestamp += controllers::kOriginWindow + base::seconds(2);
  require(prove_origin(late, {key}) == OriginProof::kOtherTime);
  api::Evacuation elsewhere = ours;
  elsewhere.meta.ns += "x";
  require(prove_origin(elsewhere, {key}) == OriginProof::kOtherObject);
}

void check_settled(api::Evacuation evacuation, const crypto::KeyRing& keys) {
  controllers::update_origin_condition(evacuation, &keys);
  const auto once = evacuation.status.conditions;
  controllers::update_origin_condition(evacuation, &keys);
  require(evacuation.status.conditions == once);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = api::parse_json({reinterpret_cast<const char*>(data), size});
  const auto evacuation = json ? api::decode_evacuation(*json) : base::Result<api::Evacuation>(base::invalid("none"));
  if (!evacuation) return 0;
  const crypto::Key key = key_of('k');
  check_claim(*evacuation, key);
  check_signature(*evacuation, key);
  check_settled(*evacuation, {key});
  return 0;
}
