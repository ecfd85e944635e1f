#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace base {

/// The beginning of foreign text as one can store it: at most `most` bytes, cut between characters, and U+FFFD for
/// every byte that is no UTF-8. A JSON server gives such text back as it is; anything else it would change, and whoever
/// compares the two would write it again indefinitely.
std::string short_text(std::string_view text, std::size_t most);

/// FNV-1a: the same in every process and version. It protects nothing.
std::uint64_t fnv1a(std::string_view text);

}  // namespace base
