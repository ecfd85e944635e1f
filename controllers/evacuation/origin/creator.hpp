#pragma once

/// Annotation evacuator.dev/creator: the user who created an object, as the API server reported it to the admission
/// webhook, signed by the operator (docs/design/wire-protocols.md#creator). Any client can write the annotation; only
/// the signature proves that the webhook wrote it. Pure.

#include <optional>
#include <string>

#include "api/evacuation.hpp"
#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/crypto/key.hpp"
#include "base/result.hpp"
#include "controllers/evacuation/origin/origin_memory.hpp"

namespace controllers {

/// Maximum length of a user name, in bytes. Longer names are refused, because a truncated name could be another user's.
inline constexpr std::size_t kMaxUser = 1024;
/// Maximum size of a subject beyond its user name, in bytes. Attributes beyond it are omitted, which can only reduce
/// what the subject may do.
inline constexpr std::size_t kMaxUserBytes = 8192;

/// Converts `user_info` of an AdmissionReview to the form of a SubjectAccessReview: user, uid, groups, extra. Returns
/// kInvalid if the user name is empty or longer than kMaxUser.
base::Result<api::Json> subject_of(const api::Json& user_info);

/// Object that is about to be created. proven_creator() accepts records of kind Evacuation only.
struct NewObject {
  std::string kind;
  std::string ns;
  std::string name;         ///< empty: the server generates it from `name_prefix`
  std::string name_prefix;  ///< metadata.generateName
  std::string spec_hash;    ///< spec_hash() of an Evacuation's spec, empty if unknown
};

/// Returns the value of the annotation: JSON of `subject`, the time and a signature.
std::string creator_record(const api::Json& subject, const NewObject& object, const crypto::Key& key,
                           base::TimePoint now);

/// Returns the subject of a record that the operator signed for this Evacuation with its current spec, within
/// kOriginWindow of its creation. Returns nullopt if the creator cannot be proven. For `memory` see prove_origin().
std::optional<api::Json> proven_creator(const api::Evacuation& evacuation, const crypto::KeyRing& keys,
                                        OriginMemory* memory = nullptr);

}  // namespace controllers
