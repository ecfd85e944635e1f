#pragma once

/// docs/reference/permissions.md, which `make generate` derives from the roles below config/. The program is
/// hack/generate/generate_reference.cpp; the test that it is current is permissions_page_test.cpp.

#include <filesystem>
#include <string>

namespace api_reference {

/// Throws std::runtime_error with the file when one cannot be read.
std::string permissions_page(const std::filesystem::path& repository);

}  // namespace api_reference
