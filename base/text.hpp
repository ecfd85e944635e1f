#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace base {

/// Returns the beginning of untrusted text in a storable form: at most `most` bytes, cut between characters, with
/// U+FFFD for each byte that is not valid UTF-8. A JSON server would replace invalid bytes itself; a controller that
/// compares stored and intended text would then write it again indefinitely.
std::string truncate_utf8(std::string_view text, std::size_t most);

/// FNV-1a, stable across processes and versions. Not cryptographic.
std::uint64_t fnv1a(std::string_view text);

}  // namespace base
