#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/crypto/key.hpp"
#include "telemetry/audit/record.hpp"

/// Records that vouch for the chain before them. Whoever can write the file can compute a new chain from any record on;
/// without the key nobody can sign its head. Pure.
namespace audit {

namespace action {
inline constexpr std::string_view kHeadSigned = "HeadSigned";
}  // namespace action

/// The record that follows `head` in the chain of that sink, and signs it.
Record signed_head(const Head& head, std::string_view sink, const std::string& actor, base::TimePoint now,
                   const signing::Key& key);

enum class HeadProof {
  kNone,        ///< the record signs nothing
  kGood,        ///< its prevHash was the head of the operator's own chain
  kUnknownKey,  ///< signed with a key that is not given
  kForged,      ///< the records before it are not those that were signed
};
HeadProof prove_head(const Record& record, const std::vector<signing::KeyRing>& keys);

}  // namespace audit
