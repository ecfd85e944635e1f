#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/crypto/key.hpp"
#include "telemetry/audit/record.hpp"

/// Records that sign the chain before them. An attacker who can write the file can recompute the chain from any record
/// on, but cannot sign its head without the key. Pure.
namespace audit {

namespace action {
inline constexpr std::string_view kHeadSigned = "HeadSigned";
}  // namespace action

/// Returns the record that follows `head` in the chain of `sink` and signs `head`.
Record signed_head(const Head& head, std::string_view sink, const std::string& actor, base::TimePoint now,
                   const crypto::Key& key);

enum class HeadVerdict {
  kNone,        ///< the record has no signature
  kGood,        ///< its prevHash was the head of the operator's own chain
  kUnknownKey,  ///< signed with a key that is not in `keys`
  kForged,      ///< the preceding records are not the ones that were signed
};
HeadVerdict verify_head(const Record& record, const std::vector<crypto::KeyRing>& keys);

}  // namespace audit
