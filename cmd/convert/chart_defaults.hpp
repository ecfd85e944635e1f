#pragma once

/// What upstream's Helm chart sets when the user does not. Internal to cmd/convert.

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"

namespace api::upstream {

/// Minor versions of the chart, 29 of 0.29.1: those whose defaults are known here. Others have the nearest one's.
inline constexpr int kOldestChart = 18;
inline constexpr int kNewestChart = 36;
inline constexpr int kNewestChartOfV1alpha1 = 29;
inline constexpr int kOldestChartWithKind = 22;        ///< before it there are only CronJobs
inline constexpr int kOldestChartWithApiVersion = 27;  ///< before it each policy is v1alpha1

inline constexpr int kOldestChartWithTimeZone = 29;  ///< of a CronJob

inline constexpr std::string_view kChartSchedule = "*/2 * * * *";
inline constexpr std::string_view kChartInterval = "5m";

/// The chart's own deschedulerPolicy.
Json default_chart_policy(int minor);

/// Puts the defaults under the values as Helm does: maps are merged, a null deletes, everything else of the user stays.
/// Calls `added` with each default that came in.
void merge_as_helm(Json& values, const Json& defaults, const FieldPath& at,
                   const std::function<void(const FieldPath& at, const Json& value)>& added);

/// The strategies that a default enables, "RemoveDuplicates, …"; else its text, when it is short; else "".
std::string summary_of_default(const Json& value);

}  // namespace api::upstream
