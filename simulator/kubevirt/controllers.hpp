#pragma once

/// KubeVirt's controllers (wire-protocols.md#kubevirt-controllers) as pure functions: each looks at a still picture and
/// says what to write. All are level-based: asked again about the same picture they say the same, and nothing once it
/// is done. Run in the order of all_controllers(), each on a picture of its own.

#include <array>
#include <string_view>

#include "simulator/kubevirt/script.hpp"
#include "simulator/kubevirt/types.hpp"

namespace simulator::kubevirt {

/// Life of a VMI: makes its first launcher pod, follows it, ends with it; keeps marks, labels and conditions of VMI and
/// pods in step.
Writes run_instances(const View& view);
/// The budgets that versions up to 1.5 kept; later versions only remove them.
Writes run_disruption_budgets(const View& view);
/// Makes a migration for every marked VMI that may migrate.
Writes run_evacuation(const View& view);
/// Admits pending migrations: limits, priorities, back-off; makes their target pods.
Writes run_migration_queue(const View& view);
/// Leads admitted migrations through their phases up to the end that the VM's script wants.
Writes run_migrations(const View& view);
/// What a migration's end means: hand-over of the VMI, end of the source or target pod, finalizers, garbage.
Writes run_outcomes(const View& view);

using Controller = Writes (*)(const View& view);
std::array<Controller, 6> all_controllers();

/// One round: every controller once. True if any of them wrote anything; `due` is when to come again.
struct Round {
  bool changed = false;
  std::optional<base::TimePoint> due;
};
base::Result<Round> run_round(Port& port, base::TimePoint now);

/// Adds to `writes` that the VMIM enters `phase`, with whatever else its status gets.
void enter_phase(Writes& writes, const api::Json& vmim, std::string_view phase, base::TimePoint now,
                 api::Json status = api::Json::object());
/// The same for Failed, with its Event.
void fail_migration(Writes& writes, const api::Json& vmim, base::TimePoint now, const std::string& why);
/// The pod of a VMI that is to run anywhere but on the nodes of its other pods, from where it can be reached.
api::Json launcher_pod(const api::Json& vmi);

/// When a failed evacuation may be tried again: 20 s after the last failure, doubled for each one before it since the
/// last success. Only KubeVirt's own migrations count, and none that is being deleted. nullopt: at once.
std::optional<base::TimePoint> backoff_end(const View& view, const api::Json& vmim);

}  // namespace simulator::kubevirt
