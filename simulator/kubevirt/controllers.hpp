#pragma once

/// KubeVirt's controllers (wire-protocols.md#kubevirt-controllers) as pure functions: each looks at a still picture and
/// says what to write. All are level-based: asked again about the same picture they say the same, and nothing once it
/// is done. Run in the order of kubevirt_controllers(), each on a picture of its own.

#include <array>
#include <string_view>

#include "simulator/kubevirt/script.hpp"
#include "simulator/kubevirt/types.hpp"

namespace simulator {

/// Life of a VMI: makes its first launcher pod, follows it, ends with it; keeps marks, labels and conditions of VMI and
/// pods in step.
KubeVirtPlan run_instances(const KubeVirtView& view);
/// The budgets that versions up to 1.5 kept; later versions only remove them.
KubeVirtPlan run_disruption_budgets(const KubeVirtView& view);
/// Makes a migration for every marked VMI that may migrate.
KubeVirtPlan run_evacuation(const KubeVirtView& view);
/// Admits pending migrations: limits, priorities, back-off; makes their target pods.
KubeVirtPlan run_migration_queue(const KubeVirtView& view);
/// Leads admitted migrations through their phases up to the end that the VM's script wants.
KubeVirtPlan run_migrations(const KubeVirtView& view);
/// What a migration's end means: hand-over of the VMI, end of the source or target pod, finalizers, garbage.
KubeVirtPlan run_outcomes(const KubeVirtView& view);

using KubeVirtController = KubeVirtPlan (*)(const KubeVirtView& view);
std::array<KubeVirtController, 6> kubevirt_controllers();

/// One round: every controller once. True if any of them wrote anything; `due` is when to come again.
struct KubeVirtRound {
  bool changed = false;
  std::optional<base::TimePoint> due;
};
base::Result<KubeVirtRound> run_kubevirt(KubeVirtPort& port, base::TimePoint now);

/// Adds to `plan` that the VMIM enters `phase`, with whatever else its status gets.
void enter_phase(KubeVirtPlan& plan, const api::Json& vmim, std::string_view phase, base::TimePoint now,
                 api::Json status = api::Json::object());
/// The same for Failed, with its Event.
void fail_migration(KubeVirtPlan& plan, const api::Json& vmim, base::TimePoint now, const std::string& why);
/// The pod of a VMI that is to run anywhere but on the nodes of its other pods, from where it can be reached.
api::Json launcher_pod(const api::Json& vmi);

/// When a failed evacuation may be tried again: 20 s after the last failure, doubled for each one before it since the
/// last success. nullopt: at once.
std::optional<base::TimePoint> backoff_end(const KubeVirtView& view, const api::Json& vmim);

}  // namespace simulator
