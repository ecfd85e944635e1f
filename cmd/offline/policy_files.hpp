#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "base/result.hpp"

namespace cmd {

/// What to do with a file for upstream's descheduler: "convert it first: evacuator convert FILE …".
std::string advice_to_convert(const std::string& path, std::string_view what = "it");

/// The DeschedulerPolicies of a YAML or JSON file of any number of documents, those in Lists too; each of our
/// apiVersion, with a name and with strategies, and valid down to its args. At least one. Errors name the file, the
/// policy and every field. "-" is standard input.
base::Result<std::vector<api::DeschedulerPolicy>> load_policies(const std::string& path);

/// The one of that name; without a name the only one. The error tells the first names that there are.
base::Result<api::DeschedulerPolicy> choose_policy(const std::vector<api::DeschedulerPolicy>& policies,
                                                   const std::string& name, const std::string& path);

}  // namespace cmd
