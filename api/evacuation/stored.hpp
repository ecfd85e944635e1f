#pragma once

/// Fast decoder of stored Evacuations: several times faster than decoding a JSON value.

#include <string>
#include <string_view>

#include "api/evacuation.hpp"

namespace api {

enum class StoredParts {
  kAll,
  kAllButSpec,  ///< skips the spec, which remains empty
};

/// Equivalent to decode_stored_evacuation(). Fails only on text that is not an object with metadata. Skipped parts
/// (managedFields) may be malformed. `unknown_phase` receives a status.phase that this version does not know; it is
/// decoded as Pending.
base::Result<Evacuation> read_stored_evacuation(std::string_view text, StoredParts parts = StoredParts::kAll,
                                                std::string* unknown_phase = nullptr);

}  // namespace api
