#pragma once

/// How upstream's process is started: by the schedule of a CronJob or at an interval, and with which flags. Internal to
/// cmd/convert.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "cmd/convert/parts.hpp"

namespace api::upstream {

/// When a cron expression comes round at equal distances: which.
std::optional<base::seconds> period_of_cron(std::string_view cron);

void set_interval(base::seconds interval, const FieldPath& at, Draft& common);

/// When a CronJob runs.
struct CronSchedule {
  std::string cron;
  std::string time_zone;  ///< ""; that of kube-controller-manager
  FieldPath at;           ///< of the expression
};
/// → spec.schedule: an interval where it comes round at equal distances of at most an hour, else the expression.
void read_cron_schedule(const CronSchedule& schedule, Draft& common, Workbench& bench);

/// Flags that decided what the policy left open, until 0.22: puts the policy's field for it into `defaults`. False: the
/// flag is none of them. `minor`: of the version that takes the flag; unknown: an old one.
bool read_policy_flag(const std::string& flag, const Json& value, const FieldPath& at, std::optional<int> minor,
                      Json& defaults, Workbench& bench);

}  // namespace api::upstream
