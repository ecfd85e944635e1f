#pragma once

#include <string>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/policy/usage_source.hpp"
#include "planner/snapshot/measured_usage.hpp"

namespace controllers {

/// A source that a policy wants asked, under the key that its strategies know it by (UsageNeed::key()).
struct WantedUsage {
  std::string key;
  api::UsageSource source;
  friend bool operator==(const WantedUsage&, const WantedUsage&) = default;
};

/// Every source of the policy that says something by itself, under its name, then what upstream's metricsUtilization
/// asks for: the first source of type MetricsServer as it is, and the first of type Prometheus with that query instead
/// of its own, unsmoothed.
std::vector<WantedUsage> wanted_usage(const std::vector<api::UsageSource>& sources,
                                      const std::vector<scheduling::UsageNeed>& needs);

/// Needs that no source of the policy can meet: "spec.strategies: no source \"x\" in spec.usageSources".
api::FieldErrors unmet_usage(const std::vector<api::UsageSource>& sources,
                             const std::vector<scheduling::UsageNeed>& needs);

}  // namespace controllers
