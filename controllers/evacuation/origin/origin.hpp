#pragma once

/// Which Evacuations the operator made itself (docs/design/wire-protocols.md#origin). Whoever may edit a namespace may
/// create Evacuations that name any policy: only the signature tells them from ours. Pure.

#include <string>
#include <string_view>

#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "base/crypto/key.hpp"
#include "controllers/evacuation/origin/origin_memory.hpp"

namespace controllers {

/// A signature counts for an object that was created within this time of it, by the API server's clock: whoever sends
/// an old object again under the same name is too late.
inline constexpr base::seconds kOriginWindow{60};
/// Beyond this difference of the clocks the operator warns: it comes close to kOriginWindow.
inline constexpr base::seconds kMaxClockSkew{30};

/// `evacuation`, complete as it will be sent, with annotation evacuator.dev/origin. REQUIRES: podRef.uid is set.
api::Evacuation with_origin(api::Evacuation evacuation, const signing::Key& key, base::TimePoint now);

/// What the annotation of an object proves.
enum class OriginProof {
  kSigned,       ///< the operator made this very object
  kNone,         ///< it carries no signature
  kMalformed,    ///< the value is none that we write
  kUnknownKey,   ///< signed with a key that is not ours, or not any more
  kOtherObject,  ///< forged, made for another object, or something in it was changed
  kOtherTime,    ///< signed more than kOriginWindow before or after the object was created
};
/// `memory`: a signature that was found on another object before is kOtherObject; nullptr: nobody remembers.
OriginProof prove_origin(const api::Evacuation& evacuation, const signing::KeyRing& keys,
                         OriginMemory* memory = nullptr);
/// For the condition's message.
std::string_view to_string(OriginProof proof);

/// Brings condition OriginVerified of an object as the server has it to what is known, in memory only; the first write
/// of its status stores it.
///  * Not judged yet, and its signature is good: True. (Not good: absent still. Who decides on it judges it.)
///  * True, but its spec is not the one that was accepted any more: False.
///  * True, but this process has not proved it: its signature is proved again. Not good: False. Without keys:
///    absent. Any writer of a status can claim anything in it.
/// `keys`: nullptr while there are none. `memory`: nullptr: a stored True is believed.
void settle_origin(api::Evacuation& evacuation, const signing::KeyRing* keys, OriginMemory* memory = nullptr);

/// Condition OriginVerified=True, in memory: the operator made it, or is about to. REQUIRES: origin_is_open().
void mark_as_made_here(api::Evacuation& evacuation);

/// Made by the operator or by hand: that is not stored yet.
bool origin_is_open(const api::Evacuation& evacuation);

/// How far the server's clock is ahead of ours (negative: behind), by an object that it says it created at `created`,
/// asked for at `sent` and answered at `answered`. Zero while the times fit together.
base::Duration clock_skew(base::TimePoint sent, base::TimePoint answered, base::TimePoint created);
/// The same by the server's answer to a create; zero when that tells no time.
base::Duration clock_skew(base::TimePoint sent, base::TimePoint answered, std::string_view created_object);
/// What to tell people of a skew; empty when it is below kMaxClockSkew.
std::string clock_skew_warning(base::Duration skew);

}  // namespace controllers
