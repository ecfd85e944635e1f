#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/kubevirt/controllers.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator {
namespace {

using api::Json;

constexpr std::size_t kKeptMigrations = 5;

/// After the hand-over the pod left behind has done its duty: it succeeds, and stays.
void end_source(const KubeVirtView& view, const Json& vmi, KubeVirtPlan& plan) {
  const Json* state = api::find_at(vmi, {"status", "migrationState"});
  if (!state || !api::flag_at(*state, {"completed"}) || api::flag_at(*state, {"failed"})) return;
  for (const Object& pod : view.active_launchers_of(vmi)) {
    const std::string node = api::text_at(*pod, {"spec", "nodeName"});
    if (key_of(*pod).name == api::text_at(*state, {"sourcePod"}) && node != api::text_at(vmi, {"status", "nodeName"}))
      plan.merge_status(kube::kPods, *pod, {{"status", {{"phase", "Succeeded"}}}});
  }
  const std::string now_on = api::text_at(vmi, {"status", "nodeName"});
  for (const Object& pod : view.active_launchers_of(vmi)) {
    if (api::text_at(*pod, {"spec", "nodeName"}) == now_on && label_of(*pod, kubevirt::kNodeName) != now_on)
      plan.merge(kube::kPods, *pod, {{"metadata", {{"labels", {{kubevirt::kNodeName, now_on}}}}}});
  }
}

/// The target pod of a migration that failed: deleted if the nodes never had it, otherwise it ends as Failed.
void end_target(const KubeVirtView& view, const Json& vmim, KubeVirtPlan& plan) {
  const Object pod = view.target_pod_of(vmim);
  const Object vmi = view.vmi_of(vmim);
  if (!pod || !facts_of(*pod).is_active()) return;
  const std::string node = api::text_at(*pod, {"spec", "nodeName"});
  if (vmi && !node.empty() && node == api::text_at(*vmi, {"status", "nodeName"})) return;
  if (api::find_at(vmim, {"status", "migrationState"}))
    return plan.merge_status(kube::kPods, *pod, {{"status", {{"phase", "Failed"}}}});
  plan.remove(kube::kPods, *pod);
}

void release(const Json& vmim, KubeVirtPlan& plan) {
  const Json* finalizers = api::find_at(vmim, {"metadata", "finalizers"});
  if (!finalizers || !finalizers->is_array()) return;
  Json others = *finalizers;
  std::erase(others.get_ref<Json::array_t&>(), Json(kubevirt::kFinalizer));
  if (others != *finalizers) plan.merge(kube::kVmims, vmim, {{"metadata", {{"finalizers", std::move(others)}}}});
}

/// Forgets a finished migration and the pod that it left behind.
void collect(const KubeVirtView& view, const Json& vmim, KubeVirtPlan& plan) {
  const std::string left = api::text_at(vmim, {"status", "phase"}) == "Succeeded"
                               ? api::text_at(vmim, {"status", "migrationState", "sourcePod"})
                               : api::text_at(vmim, {"status", "migrationState", "targetPod"});
  for (const Object& pod : view.launchers) {
    if (key_of(*pod) == api::ObjectKey{key_of(vmim).ns, left} && facts_of(*pod).is_terminal() && !is_terminating(*pod))
      plan.remove(kube::kPods, *pod);
  }
  plan.remove(kube::kVmims, vmim);
}

void collect_garbage(const KubeVirtView& view, const Json& vmi, KubeVirtPlan& plan) {
  std::vector<Object> finished = view.migrations_of(vmi);
  std::erase_if(finished, [](const Object& each) { return !is_final(*each) || is_terminating(*each); });
  if (finished.size() <= kKeptMigrations) return;
  std::ranges::sort(finished, {}, [](const Object& each) {
    return std::pair(api::text_at(*each, {"metadata", "creationTimestamp"}), key_of(*each).name);
  });
  for (std::size_t i = 0; i + kKeptMigrations < finished.size(); ++i) collect(view, *finished[i], plan);
}

}  // namespace

KubeVirtPlan run_outcomes(const KubeVirtView& view) {
  KubeVirtPlan plan;
  for (const Object& vmi : view.vmis) {
    end_source(view, *vmi, plan);
    collect_garbage(view, *vmi, plan);
  }
  for (const Object& vmim : view.vmims) {
    if (!is_final(*vmim)) continue;
    if (api::text_at(*vmim, {"status", "phase"}) == "Failed") end_target(view, *vmim, plan);
    if (is_terminating(*vmim)) release(*vmim, plan);
  }
  return plan;
}

std::array<KubeVirtController, 6> kubevirt_controllers() {
  return {run_instances, run_disruption_budgets, run_migration_queue, run_migrations, run_outcomes, run_evacuation};
}

base::Result<KubeVirtRound> run_kubevirt(KubeVirtPort& port, base::TimePoint now) {
  KubeVirtRound round;
  KubeVirtPlan waits;
  for (const KubeVirtController controller : kubevirt_controllers()) {
    const auto view = read_kubevirt_view(port, now);
    if (!view) return view.error();
    if (view->vmis.empty() && view->vmims.empty()) break;
    const KubeVirtPlan plan = controller(*view);
    for (const KubeVirtStep& step : plan.steps) {
      const bool done = port.carry_out(step).ok();
      round.changed = (done && step.verb != KubeVirtStep::Verb::kEvent) || round.changed;
    }
    if (plan.due) waits.wake_at(*plan.due);
  }
  round.due = waits.due;
  return round;
}

}  // namespace simulator
