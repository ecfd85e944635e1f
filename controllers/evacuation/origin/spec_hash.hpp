#pragma once

#include <string>
#include <string_view>

#include "api/evacuation.hpp"

namespace controllers {

/// Returns "v1:" and the SHA-256 of the fields that are immutable once the spec is accepted, i.e. all but suspend,
/// priority and cancel. Fields with their default value are omitted, so a version with more fields computes the same
/// hash.
std::string spec_hash(const api::EvacuationSpec& spec);

/// Whether `hash` belongs to this spec, or to this spec before nodeName was filled in. Returns true for a hash in a
/// format of another version, which cannot be compared.
bool has_spec_hash(const api::EvacuationSpec& spec, std::string_view hash);

}  // namespace controllers
