#pragma once

/// `resourceAdvice:` of the operator's configuration: advice on requests and limits that it keeps current.

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
  advising::Profile profile = advising::Profile::kStandard;
  double percentile = 95;                             ///< of profile Percentile
  base::Duration interval = base::minutes(10);        ///< between two writes of a workload's status
  base::Duration sample_interval = base::minutes(1);  ///< between two questions to metrics.k8s.io
  base::Duration startup = base::minutes(5);          ///< of a pod: peaks of CPU in it do not count
  std::optional<api::LabelSelector> namespaces{};     ///< absent: all
  std::int32_t max_workloads = 1000;                  ///< shared out evenly among the namespaces
  friend bool operator==(const ResourceAdviceConfig&, const ResourceAdviceConfig&) = default;
};

/// Reads the object, strictly; complaints go where the object's go.
void read_resource_advice(api::StrictObject& object, ResourceAdviceConfig& target);
/// What no type can tell: bounds. Paths start at "resourceAdvice".
void check_resource_advice(const ResourceAdviceConfig& config, api::FieldErrors& errors);

}  // namespace controllers
