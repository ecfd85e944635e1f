#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "base/result.hpp"

namespace cmd {

/// Returns advice for a file of upstream's descheduler: "convert it first: evacuator convert FILE …".
std::string advice_to_convert(const std::string& path, std::string_view what = "it");

/// Reads the DeschedulerPolicies of a YAML or JSON file with any number of documents, including Lists. Requires at
/// least one. Each must have our apiVersion, a name and strategies, and be valid including args. Errors name the file,
/// the policy and every field. "-" is standard input.
base::Result<std::vector<api::DeschedulerPolicy>> load_policies(const std::string& path);

/// Returns the policy with that name, or the only policy if `name` is empty. The error lists the first available names.
base::Result<api::DeschedulerPolicy> choose_policy(const std::vector<api::DeschedulerPolicy>& policies,
                                                   const std::string& name, const std::string& path);

}  // namespace cmd
