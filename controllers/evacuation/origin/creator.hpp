#pragma once

/// Who made an object, as the API server told the admission webhook and the operator signed it: annotation
/// evacuator.dev/creator (docs/design/wire-protocols.md#creator). Anybody may write an annotation; only the signature
/// says that the webhook wrote it. Pure.

#include <optional>
#include <string>
#include <string_view>

#include "api/evacuation.hpp"
#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/crypto/key.hpp"
#include "base/result.hpp"
#include "controllers/evacuation/origin/origin_memory.hpp"

namespace controllers {

/// Longer names of users are refused: cut, they would be somebody else's.
inline constexpr std::size_t kMaxUser = 1024;
/// What else is known of a user is left out beyond this: then less is allowed, never more.
inline constexpr std::size_t kMaxUserBytes = 8192;

/// `user_info` of an AdmissionReview as a SubjectAccessReview takes it: user, uid, groups, extra. kInvalid: it names
/// nobody, or its name is longer than kMaxUser.
base::Result<api::Json> subject_of(const api::Json& user_info);

/// What is about to be made. Only the kind Evacuation is ever proven.
struct NewObject {
  std::string kind;
  std::string ns;
  std::string name;         ///< empty: the server will make one of `name_prefix`
  std::string name_prefix;  ///< metadata.generateName
  std::string spec_hash;    ///< spec_hash() of an Evacuation's spec; empty: none can be told
};

/// The annotation's value: `subject` with the time and a signature, as JSON.
std::string creator_record(const api::Json& subject, const NewObject& object, const signing::Key& key,
                           base::TimePoint now);

/// The subject of a record that the operator signed for this very Evacuation, as its spec still is, within
/// kOriginWindow of its creation. nullopt: nobody can tell who made it. `memory`: as for prove_origin().
std::optional<api::Json> proven_creator(const api::Evacuation& evacuation, const signing::KeyRing& keys,
                                        OriginMemory* memory = nullptr);

}  // namespace controllers
