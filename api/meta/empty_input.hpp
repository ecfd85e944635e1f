#pragma once

#include <string_view>

namespace api {

/// Error message for an input without documents.
inline constexpr std::string_view kEmptyInput = "is empty: did the command that should write it fail?";

}  // namespace api
