#pragma once

#include <string_view>

namespace reporting {

/// dashboard/dist/viewer.js and viewer.css, built into the library to the byte (CMake writes the source).
std::string_view viewer_script();
std::string_view viewer_style();

/// SHA-256 of each in hexadecimal, taken when they were built in.
std::string_view viewer_script_digest();
std::string_view viewer_style_digest();

}  // namespace reporting
