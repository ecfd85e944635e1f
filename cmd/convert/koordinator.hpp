#pragma once

/// Plugins of koord-descheduler. Internal to cmd/convert.

#include <functional>
#include <string>
#include <vector>

#include "cmd/convert/parts.hpp"

namespace convert {

/// Pods that one policy may move.
struct PodsOfPolicy {
  std::string name;  ///< may be empty
  Json selector;
  FieldPath at;
};

/// LowNodeLoad as a LowNodeUtilization strategy with measured usage.
struct LowNodeLoad {
  StrategySource strategy;
  std::vector<PodsOfPolicy> pods;  ///< one for each policy that is needed; if empty, one policy for all pods
};
/// Converts LowNodeLoad's arguments. Stores its scope and evictability in `draft`.
LowNodeLoad read_low_node_load(const Json& args, const FieldPath& at, Draft& draft, ConversionContext& bench);

/// Reads MigrationController's arguments that decide which pods may leave, and how many concurrently. The Evacuation
/// decides how they leave.
Draft read_migration_controller(const Json& args, const FieldPath& at, ConversionContext& bench);

/// Calls `inside` with the member `name` if present. Members that `inside` does not read are noted.
void with_leniently(StrictObject& object, const char* name, ConversionContext& bench,
                    const std::function<void(StrictObject&)>& inside);

/// Reads dryRun. If true, the policy stays a dry run, whatever mode was requested.
void read_dry_run(StrictObject& object, Draft& draft, ConversionContext& bench);

}  // namespace convert
