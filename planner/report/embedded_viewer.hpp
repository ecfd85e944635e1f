#pragma once

#include <string_view>

namespace report {

/// Contents of dashboard/dist/viewer.js and viewer.css, embedded in the library byte for byte (CMake generates the
/// source).
std::string_view viewer_script();
std::string_view viewer_style();

/// SHA-256 of each file in hexadecimal, computed at build time.
std::string_view viewer_script_digest();
std::string_view viewer_style_digest();

}  // namespace report
