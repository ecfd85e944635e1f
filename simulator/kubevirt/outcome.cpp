#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/kubevirt/controllers.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator::kubevirt {
namespace {

using api::Json;

constexpr std::size_t kKeptMigrations = 5;
constexpr base::seconds kShownFor{1};

/// Ends the source pod after a completed hand-over: it becomes Succeeded and is kept.
void end_source(const View& view, const Json& vmi, Writes& writes) {
  const Json* state = api::find_at(vmi, {"status", "migrationState"});
  if (!state || !api::flag_at(*state, {"completed"}) || api::flag_at(*state, {"failed"})) return;
  for (const Object& pod : view.active_launchers_of(vmi)) {
    const std::string node = api::text_at(*pod, {"spec", "nodeName"});
    if (key_of(*pod).name == api::text_at(*state, {"sourcePod"}) && node != api::text_at(vmi, {"status", "nodeName"}))
      writes.merge_status(kube::kPods, *pod, {{"status", {{"phase", "Succeeded"}}}});
  }
  const std::string now_on = api::text_at(vmi, {"status", "nodeName"});
  for (const Object& pod : view.active_launchers_of(vmi)) {
    if (api::text_at(*pod, {"spec", "nodeName"}) == now_on && label_of(*pod, kNodeName) != now_on)
      writes.merge(kube::kPods, *pod, {{"metadata", {{"labels", {{kNodeName, now_on}}}}}});
  }
}

/// Ends the target pod of a failed migration: deletes it if it was never handed over to the nodes, otherwise sets it to
/// Failed.
void end_target(const View& view, const Json& vmim, Writes& writes) {
  const Object pod = view.target_pod_of(vmim);
  const Object vmi = view.vmi_of(vmim);
  if (!pod || !facts_of(*pod).is_active()) return;
  const std::string node = api::text_at(*pod, {"spec", "nodeName"});
  if (vmi && !node.empty() && node == api::text_at(*vmi, {"status", "nodeName"})) return;
  if (api::find_at(vmim, {"status", "migrationState", "migrationUid"}))
    return writes.merge_status(kube::kPods, *pod, {{"status", {{"phase", "Failed"}}}});
  writes.remove(kube::kPods, *pod);
}

void release(const Json& vmim, Writes& writes) {
  const Json* finalizers = api::find_at(vmim, {"metadata", "finalizers"});
  if (!finalizers || !finalizers->is_array()) return;
  Json others = *finalizers;
  std::erase(others.get_ref<Json::array_t&>(), Json(kFinalizer));
  if (others != *finalizers) writes.merge(kube::kVmims, vmim, {{"metadata", {{"finalizers", std::move(others)}}}});
}

/// Keeps a deleted migration visible in its final phase for kShownFor, then removes its finalizer.
void release_soon(const View& view, const Json& vmim, Writes& writes) {
  const base::TimePoint due = phase_since(vmim) + kShownFor;
  due <= view.now ? release(vmim, writes) : writes.wake_at(due);
}

/// Deletes a finished migration, the leftover target pod and, in versions that do so, the completed launcher.
void collect(const View& view, const Json& vmim, Writes& writes) {
  const bool succeeded = api::text_at(vmim, {"status", "phase"}) == "Succeeded";
  if (succeeded && !view.config.collects_launchers()) return writes.remove(kube::kVmims, vmim);
  const std::string left = succeeded ? api::text_at(vmim, {"status", "migrationState", "sourcePod"})
                                     : api::text_at(vmim, {"status", "migrationState", "targetPod"});
  for (const Object& pod : view.launchers) {
    if (key_of(*pod) == api::ObjectKey{key_of(vmim).ns, left} && facts_of(*pod).is_terminal() && !is_terminating(*pod))
      writes.remove(kube::kPods, *pod);
  }
  writes.remove(kube::kVmims, vmim);
}

void collect_garbage(const View& view, const Json& vmi, Writes& writes) {
  std::vector<Object> finished = view.migrations_of(vmi);
  std::erase_if(finished, [](const Object& each) { return !is_final(*each) || is_terminating(*each); });
  if (finished.size() <= kKeptMigrations) return;
  std::ranges::sort(finished, {}, [](const Object& each) {
    return std::pair(api::text_at(*each, {"metadata", "creationTimestamp"}), key_of(*each).name);
  });
  for (std::size_t i = 0; i + kKeptMigrations < finished.size(); ++i) collect(view, *finished[i], writes);
}

}  // namespace

Writes run_outcomes(const View& view) {
  Writes writes;
  for (const Object& vmi : view.vmis) {
    end_source(view, *vmi, writes);
    collect_garbage(view, *vmi, writes);
  }
  for (const Object& vmim : view.vmims) {
    if (is_terminating(*vmim) && !view.vmi_of(*vmim)) release(*vmim, writes);
    if (!is_final(*vmim)) continue;
    if (api::text_at(*vmim, {"status", "phase"}) == "Failed") end_target(view, *vmim, writes);
    if (is_terminating(*vmim)) release_soon(view, *vmim, writes);
  }
  return writes;
}

std::array<Controller, 6> all_controllers() {
  return {run_instances, run_disruption_budgets, run_migration_queue, run_migrations, run_outcomes, run_evacuation};
}

base::Result<Round> run_round(Port& port, base::TimePoint now) {
  Round round;
  Writes waits;
  for (const Controller controller : all_controllers()) {
    const auto view = read_view(port, now);
    if (!view) return view.error();
    if (view->vmis.empty() && view->vmims.empty()) break;
    const Writes writes = controller(*view);
    for (const Step& step : writes.steps) {
      const bool done = port.carry_out(step).ok();
      round.changed = (done && step.verb != Step::Verb::kEvent) || round.changed;
    }
    if (writes.due) waits.wake_at(*writes.due);
  }
  round.due = waits.due;
  return round;
}

}  // namespace simulator::kubevirt
