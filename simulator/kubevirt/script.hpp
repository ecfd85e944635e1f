#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"

namespace simulator::kubevirt {

/// Behavior of a VM's live migrations, from annotation behaviour::kMigrationScript of the VMI. Times are effectively in
/// whole seconds, like KubeVirt's timestamps.
struct MigrationScript {
  base::Duration scheduled = base::seconds(1);  ///< from Scheduled to PreparingTarget, the hand-over to the nodes
  base::Duration preparing = base::seconds(1);  ///< from PreparingTarget to TargetReady
  base::Duration ready = base::seconds(1);      ///< from TargetReady to Running
  base::Duration run = base::seconds(10);       ///< from Running to the end
  base::Duration abort = base::seconds(1);      ///< from the abort request to the abort, after the hand-over
  base::Duration complete = base::seconds(1);   ///< from the guest running on the target to completion
  base::Duration boot = base::seconds(1);       ///< from VMI Scheduled to Running, when it becomes LiveMigratable
  std::int64_t fail = 0;                        ///< number of migrations that fail, -1 for all
  std::string reason = "Live migration failed";
  bool never_starts = false;   ///< stays Pending, as in a blocked queue
  bool unschedulable = false;  ///< no node fits the target pod
  bool over_quota = false;     ///< a ResourceQuota rejects the target pod, so the migration stays Pending
  std::optional<base::Duration> post_copy{};  ///< time from Running to the switch to post-copy
  std::optional<base::Duration> shutdown{};   ///< time from Running to the shutdown of the guest
  std::optional<base::Duration> external{};   ///< strategy External: time from the mark until the VMI is drained

  /// Parses "run=20s, fail=2, reason=disk full, abort=3s, post-copy=5s, shutdown=4s, external=30s, never-starts,
  /// unschedulable, over-quota, scheduled=1s, preparing=1s, ready=1s, complete=1s, boot=1s"; also "fail=always".
  static base::Result<MigrationScript> parse(std::string_view text);
  /// Returns the script of that VMI, or the defaults if it is missing or invalid.
  static MigrationScript of(const api::Json& vmi);
};

}  // namespace simulator::kubevirt
