#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace kube {

/// Returns the content of the file, at most 16 MiB. Returns kNotFound if it does not exist and kForbidden if it is
/// unreadable. Errors name the path.
base::Result<std::string> read_file(const std::string& path);

/// Returns `path` relative to the folder of `file`, unless it is absolute or empty.
std::string relative_to(const std::string& file, const std::string& path);

/// Removes whitespace at both ends.
std::string_view trim(std::string_view text);

}  // namespace kube
