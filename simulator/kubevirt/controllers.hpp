#pragma once

/// KubeVirt's controllers (wire-protocols.md#kubevirt-controllers) as pure functions from a snapshot to the writes. All
/// are level-based: the same snapshot yields the same writes, and none once they are done. Run them in the order of
/// all_controllers(), each on a new snapshot.

#include <array>
#include <string_view>

#include "simulator/kubevirt/script.hpp"
#include "simulator/kubevirt/types.hpp"

namespace simulator::kubevirt {

/// Life cycle of a VMI: creates its first launcher pod, follows it and ends with it. Synchronizes marks, labels and
/// conditions of VMI and pods.
Writes run_instances(const View& view);
/// Maintains the budgets of versions up to 1.5. Later versions only remove them.
Writes run_disruption_budgets(const View& view);
/// Creates a migration for each marked VMI that may migrate.
Writes run_evacuation(const View& view);
/// Admits pending migrations, subject to limits, priorities and backoff, and creates their target pods.
Writes run_migration_queue(const View& view);
/// Moves admitted migrations through their phases to the result that the VM's script specifies.
Writes run_migrations(const View& view);
/// Handles the result of a migration: hand-over of the VMI, end of the source or target pod, finalizers, garbage
/// collection.
Writes run_outcomes(const View& view);

using Controller = Writes (*)(const View& view);
std::array<Controller, 6> all_controllers();

/// Runs every controller once. `changed` is true if any of them wrote; `due` is the time of the next round.
struct Round {
  bool changed = false;
  std::optional<base::TimePoint> due;
};
base::Result<Round> run_round(Port& port, base::TimePoint now);

/// Adds a write that moves the VMIM to `phase`, with further status fields.
void enter_phase(Writes& writes, const api::Json& vmim, std::string_view phase, base::TimePoint now,
                 api::Json status = api::Json::object());
/// Adds writes that move the VMIM to Failed, with its Event.
void fail_migration(Writes& writes, const api::Json& vmim, base::TimePoint now, const std::string& why);
/// Returns a launcher pod for the VMI. It must not run on the nodes of the VMI's other pods.
api::Json launcher_pod(const api::Json& vmi);

/// Returns when a failed evacuation may be retried: 20 s after the last failure, doubled for each earlier failure since
/// the last success. Counts only KubeVirt's own migrations that are not being deleted. Returns nullopt if it may be
/// retried immediately.
std::optional<base::TimePoint> backoff_end(const View& view, const api::Json& vmim);

}  // namespace simulator::kubevirt
