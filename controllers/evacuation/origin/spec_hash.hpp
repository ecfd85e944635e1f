#pragma once

#include <string>
#include <string_view>

#include "api/evacuation.hpp"

namespace controllers {

/// "v1:" and the SHA-256 of what of a spec may not change any more once it is accepted: all but suspend, priority and
/// cancel. Fields that have their default count as absent, so that a version with more fields gives the same.
std::string spec_hash(const api::EvacuationSpec& spec);

/// Is `hash` of this spec, or of this spec before nodeName was filled in? One that another version of this program took
/// in another form cannot be compared: true.
bool has_spec_hash(const api::EvacuationSpec& spec, std::string_view hash);

}  // namespace controllers
