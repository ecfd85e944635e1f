#pragma once

#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "base/result.hpp"

namespace cmd {

/// The DeschedulerPolicies of a YAML or JSON file of any number of documents, those in Lists too; each valid down to
/// its args. At least one. Errors name the file, the policy and every field. "-" is standard input.
base::Result<std::vector<api::DeschedulerPolicy>> load_policies(const std::string& path);

/// The one of that name; without a name the only one. The error tells the names that there are.
base::Result<api::DeschedulerPolicy> choose_policy(const std::vector<api::DeschedulerPolicy>& policies,
                                                   const std::string& name, const std::string& path);

}  // namespace cmd
