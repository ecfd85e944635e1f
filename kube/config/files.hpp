#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace kube {

/// The whole file, at most 16 MiB. kNotFound when it does not exist, kForbidden when it may not be read; the path is
/// named.
base::Result<std::string> read_file(const std::string& path);

/// `path` as seen from the folder of `file`, unless it is absolute or empty.
std::string relative_to(const std::string& file, const std::string& path);

/// Without blanks and line breaks at both ends.
std::string_view trim(std::string_view text);

}  // namespace kube
