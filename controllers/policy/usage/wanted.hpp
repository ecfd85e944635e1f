#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/policy/usage_source.hpp"
#include "planner/snapshot/measured_usage.hpp"
#include "usage/source.hpp"

namespace controllers {

using UsageSourceFactory = std::function<std::unique_ptr<usage::Source>(const api::UsageSource& source)>;

/// Source to poll for a policy, with the key by which its strategies refer to it (UsageNeed::key()).
struct WantedUsage {
  std::string key;
  api::UsageSource source;
  friend bool operator==(const WantedUsage&, const WantedUsage&) = default;
};

/// Returns every source of the policy that has figures by itself, under its name; then those required by upstream's
/// metricsUtilization: the first source of type MetricsServer unchanged, and the first of type Prometheus with that
/// query instead of its own, unsmoothed.
std::vector<WantedUsage> wanted_usage(const std::vector<api::UsageSource>& sources,
                                      const std::vector<scheduling::UsageNeed>& needs);

/// Needs that no source of the policy satisfies: "spec.strategies: no source \"x\" in spec.usageSources".
api::FieldErrors unmet_usage(const std::vector<api::UsageSource>& sources,
                             const std::vector<scheduling::UsageNeed>& needs);

}  // namespace controllers
