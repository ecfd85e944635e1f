#pragma once

/// docs/reference/permissions.md, which `make generate` derives from the roles in config/. The program is
/// hack/generate/generate_reference.cpp. The test permissions_page_test.cpp checks that the page is current.

#include <filesystem>
#include <string>

namespace api_reference {

/// Throws std::runtime_error with the file name if a file cannot be read.
std::string permissions_page(const std::filesystem::path& repository);

}  // namespace api_reference
