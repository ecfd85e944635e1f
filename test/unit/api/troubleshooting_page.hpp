#pragma once

/// docs/troubleshooting.md, which `make generate` derives from the tables of api/vocabulary. The program is
/// hack/generate/generate_reference.cpp. The test troubleshooting_page_test.cpp checks that the page is current and
/// complete.

#include <string>

namespace api_reference {

std::string troubleshooting_page();

}  // namespace api_reference
