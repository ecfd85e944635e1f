#pragma once

/// Defaults of upstream's Helm chart. Internal to cmd/convert.

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"

namespace api::upstream {

/// Minor versions of the chart (29 for 0.29.1) whose defaults are known. Other versions use those of the nearest one.
inline constexpr int kOldestChart = 18;
inline constexpr int kNewestChart = 36;
inline constexpr int kNewestChartOfV1alpha1 = 29;
inline constexpr int kOldestChartWithKind = 22;        ///< older charts render only CronJobs
inline constexpr int kOldestChartWithApiVersion = 27;  ///< older charts render only v1alpha1 policies

inline constexpr int kOldestChartWithTimeZone = 29;  ///< time zone of a CronJob

inline constexpr std::string_view kChartSchedule = "*/2 * * * *";
inline constexpr std::string_view kChartInterval = "5m";

Json default_chart_policy(int minor);

/// Merges defaults under values like Helm: maps are merged, a null deletes, other user values win. Calls `added` for
/// each default that was added.
void merge_as_helm(Json& values, const Json& defaults, const FieldPath& at,
                   const std::function<void(const FieldPath& at, const Json& value)>& added);

/// Returns the names of the strategies that a default enables ("RemoveDuplicates, …"), else its text if short, else an
/// empty string.
std::string summary_of_default(const Json& value);

}  // namespace api::upstream
