#pragma once

/// Section `resourceAdvice:` of the operator's configuration: continuous advice on requests and limits.

#include <cstdint>
#include <optional>

#include "advisor/requests.hpp"
#include "api/json/field_path.hpp"
#include "api/json/strict_object.hpp"
#include "api/meta/selector.hpp"
#include "base/clock.hpp"

namespace controllers {

/// docs/advise/resource-advice.md. Off by default.
struct ResourceAdviceConfig {
  bool enabled = false;
  advisor::Profile profile = advisor::Profile::kStandard;
  double percentile = 95;                             ///< For profile Percentile
  base::Duration interval = base::minutes(10);        ///< Interval between two writes of a workload's status
  base::Duration sample_interval = base::minutes(1);  ///< Interval between two queries of metrics.k8s.io
  base::Duration startup = base::minutes(5);          ///< Startup time of a pod, whose CPU peaks are ignored
  std::optional<api::LabelSelector> namespaces{};     ///< nullopt means all
  std::int32_t max_workloads = 1000;                  ///< Divided evenly among the namespaces
  friend bool operator==(const ResourceAdviceConfig&, const ResourceAdviceConfig&) = default;
};

/// Reads the section. Unknown fields are errors. Errors are added to the errors of `object`.
void read_resource_advice(api::StrictObject& object, ResourceAdviceConfig& target);
/// Checks bounds. Paths of errors start at "resourceAdvice".
void check_resource_advice(const ResourceAdviceConfig& config, api::FieldErrors& errors);

}  // namespace controllers
