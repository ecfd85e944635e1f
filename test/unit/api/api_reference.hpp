#pragma once

/// What `make generate` derives from crds/*.yaml. The program is hack/generate/generate_reference.cpp; the test that
/// nothing is stale is crds/names_test.cpp.

#include <string>
#include <vector>

#include "api/json/json.hpp"

namespace api_reference {

/// File names under crds/, without the directory.
inline const std::vector<std::string> kCrdFiles = {
    "evacuator.dev_evacuations.yaml", "evacuator.dev_deschedulerpolicies.yaml", "evacuator.dev_resourceadvices.yaml"};

/// The same CRD for servers before 1.25: they drop CEL rules silently, so a field that a rule refuses outright is
/// refused by the schema's `not`, and the other rules are left to the webhook and the controller.
api::Json without_cel(api::Json crd);
/// The file under crds/legacy/.
std::string legacy_file(const api::Json& crd, const std::string& name);

/// docs/reference/api.md.
std::string reference_page(const std::vector<api::Json>& crds);

}  // namespace api_reference
