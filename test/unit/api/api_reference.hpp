#pragma once

/// Files that `make generate` derives from crds/*.yaml. The program is hack/generate/generate_reference.cpp. The test
/// crds/names_test.cpp checks that they are current.

#include <string>
#include <vector>

#include "api/json/json.hpp"

namespace api_reference {

/// File names in crds/.
inline const std::vector<std::string> kCrdFiles = {
    "evacuator.dev_evacuations.yaml", "evacuator.dev_deschedulerpolicies.yaml", "evacuator.dev_resourceadvices.yaml"};

/// Returns the CRD for servers before 1.25, which drop CEL rules silently. Fields that a rule refuses unconditionally
/// are refused by the schema's `not`. Other rules are left to the webhook and the controller.
api::Json without_cel(api::Json crd);
/// Returns the text of the file in crds/legacy/.
std::string legacy_file(const api::Json& crd, const std::string& name);

/// Returns the text of docs/reference/api.md.
std::string reference_page(const std::vector<api::Json>& crds);

}  // namespace api_reference
