#pragma once

#include <string_view>

namespace api {

/// What is said of an input without any document.
inline constexpr std::string_view kEmptyInput = "is empty: did the command that should write it fail?";

}  // namespace api
