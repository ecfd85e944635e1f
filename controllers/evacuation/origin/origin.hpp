#pragma once

/// Proves which Evacuations the operator created itself (docs/design/wire-protocols.md#origin). Any client with edit
/// rights in a namespace can create Evacuations that name any policy; only the signature distinguishes them from the
/// operator's. Pure.

#include <string>
#include <string_view>

#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "base/crypto/key.hpp"
#include "controllers/evacuation/origin/origin_memory.hpp"

namespace controllers {

/// Clock difference above which the operator warns, since it approaches kOriginWindow.
inline constexpr base::seconds kMaxClockSkew{30};

/// Adds annotation evacuator.dev/origin. REQUIRES: `evacuation` is complete as it will be sent, and podRef.uid is set.
api::Evacuation with_origin(api::Evacuation evacuation, const crypto::Key& key, base::TimePoint now);

/// What the annotation of an object proves.
enum class OriginProof {
  kSigned,       ///< the operator created exactly this object
  kNone,         ///< no signature
  kMalformed,    ///< the value does not have the format of with_origin()
  kUnknownKey,   ///< signed with a key that the operator does not have (any more)
  kOtherObject,  ///< forged, signed for another object, or the object was changed
  kOtherTime,    ///< signed more than kOriginWindow before or after the creation
};
/// With `memory`, a signature that was first seen on another object yields kOtherObject. nullptr skips that check.
OriginProof prove_origin(const api::Evacuation& evacuation, const crypto::KeyRing& keys,
                         OriginMemory* memory = nullptr);
/// Human-readable text for the message of the condition.
std::string_view to_string(OriginProof proof);

/// Updates condition OriginVerified of an object read from the server, in memory only; the first write of its status
/// stores it.
/// * Condition absent, signature valid: sets it to True. With an invalid signature it stays absent until a reconcile
///   decides on the object.
/// * Condition True, but the spec differs from the accepted one: sets it to False.
/// * Condition True, but not proven by this process: verifies the signature again, because any writer of a status can
///   set the condition. Sets it to False if the signature is invalid; removes it if there are no keys.
/// `keys` is nullptr while no keys are available. With `memory` nullptr a stored True is trusted.
void update_origin_condition(api::Evacuation& evacuation, const crypto::KeyRing* keys, OriginMemory* memory = nullptr);

/// Sets OriginVerified=True in memory for an object that the operator created or is about to create. REQUIRES:
/// origin_is_undecided().
void mark_origin_verified(api::Evacuation& evacuation);

/// Whether condition OriginVerified is absent, i.e. the origin is not decided yet.
bool origin_is_undecided(const api::Evacuation& evacuation);

/// Offset of the server's clock against the local one; positive if the server is ahead. The request for the object was
/// sent at `sent` and answered at `answered`; the server reports that it created the object at `created`. Zero if the
/// times are consistent.
base::Duration clock_skew(base::TimePoint sent, base::TimePoint answered, base::TimePoint created);
/// Reads the creation time from the server's answer to a create. Zero if the answer has no creation time.
base::Duration clock_skew(base::TimePoint sent, base::TimePoint answered, std::string_view created_object);
/// Human-readable warning about a clock skew. Empty below kMaxClockSkew.
std::string clock_skew_warning(base::Duration skew);

}  // namespace controllers
