#pragma once

/// docs/troubleshooting.md, which `make generate` derives from the tables of api/vocabulary. The program is
/// hack/generate/generate_reference.cpp; the test that nothing is stale or missing is troubleshooting_page_test.cpp.

#include <string>

namespace api_reference {

std::string troubleshooting_page();

}  // namespace api_reference
