#pragma once

/// How upstream's process is started: by the schedule of a CronJob or at an interval, and with which flags. Internal to
/// cmd/convert.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "cmd/convert/parts.hpp"

namespace convert {

void set_interval(base::seconds interval, const FieldPath& at, Draft& common);

struct CronSchedule {
  std::string cron;
  std::string time_zone;  ///< if empty, that of kube-controller-manager
  FieldPath at;           ///< path of the expression
};
/// Converts the schedule to spec.schedule: an interval if it fires at equal intervals of at most one hour, else the
/// cron expression.
void read_cron_schedule(const CronSchedule& schedule, Draft& common, ConversionContext& bench);

/// Reads a flag that supplied a value missing in the policy (upstream up to 0.22) into the policy field in `defaults`.
/// Returns false for other flags. `minor` is the version of upstream's image; nullopt is treated as an old version.
bool read_policy_flag(const std::string& flag, const Json& value, const FieldPath& at, std::optional<int> minor,
                      Json& defaults, ConversionContext& bench);

}  // namespace convert
