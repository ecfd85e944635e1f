#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"

namespace simulator::kubevirt {

/// How the live migrations of one VM go: annotation behaviour::kMigrationScript of the VMI. Times are whole
/// seconds in effect, because KubeVirt's own timestamps are.
struct MigrationScript {
  base::Duration scheduled = base::seconds(1);  ///< Scheduled → PreparingTarget, the hand-over to the nodes
  base::Duration preparing = base::seconds(1);  ///< PreparingTarget → TargetReady
  base::Duration ready = base::seconds(1);      ///< TargetReady → Running
  base::Duration run = base::seconds(10);       ///< Running → its end
  base::Duration abort = base::seconds(1);      ///< asked to stop → stopped, once the nodes have it
  base::Duration complete = base::seconds(1);   ///< the guest runs on the target → the migration is completed
  base::Duration boot = base::seconds(1);       ///< VMI Scheduled → Running, from when on it is LiveMigratable
  std::int64_t fail = 0;                        ///< so many migrations end with failure; -1: all
  std::string reason = "Live migration failed";
  bool never_starts = false;                  ///< stays Pending, as behind a queue that does not move
  bool unschedulable = false;                 ///< no node takes the target pod
  bool over_quota = false;                    ///< a ResourceQuota refuses the target pod: it stays Pending
  std::optional<base::Duration> post_copy{};  ///< so long after Running it switches to post-copy
  std::optional<base::Duration> shutdown{};   ///< so long after Running the guest shuts down
  std::optional<base::Duration> external{};   ///< strategy External: so long after the mark the VMI is drained

  /// "run=20s, fail=2, reason=disk full, abort=3s, post-copy=5s, shutdown=4s, external=30s, never-starts,
  /// unschedulable, over-quota, scheduled=1s, preparing=1s, ready=1s, complete=1s, boot=1s"; "fail=always".
  static base::Result<MigrationScript> parse(std::string_view text);
  /// Of that VMI; the defaults when there is none or it cannot be read.
  static MigrationScript of(const api::Json& vmi);
};

}  // namespace simulator::kubevirt
