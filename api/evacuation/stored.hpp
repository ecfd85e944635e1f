#pragma once

/// The text of a stored Evacuation, read several times quicker than by way of a JSON value.

#include <string>
#include <string_view>

#include "api/evacuation.hpp"

namespace api {

enum class StoredParts {
  kAll,
  kAllButSpec,  ///< the spec stays empty and unread
};

/// As decode_stored_evacuation(). Fails only on text that is no object with metadata. What is skipped (managedFields)
/// may be broken. `unknown_phase`: gets a status.phase that this version does not know, which is read as Pending.
base::Result<Evacuation> read_stored_evacuation(std::string_view text, StoredParts parts = StoredParts::kAll,
                                                std::string* unknown_phase = nullptr);

}  // namespace api
