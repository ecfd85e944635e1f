#pragma once

#include <string_view>
#include <vector>

namespace cmd {

/// The YAML of crds/*.yaml, built into the binary (cmd/CMakeLists.txt writes the source).
std::vector<std::string_view> embedded_crds();

}  // namespace cmd
