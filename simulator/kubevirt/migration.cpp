#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "base/text.hpp"
#include "simulator/kubevirt/controllers.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/text.hpp"

namespace simulator::kubevirt {
namespace {

using api::Json;

constexpr base::seconds kUnschedulableLimit{300};
constexpr base::seconds kPendingLimit{900};

struct Course {
  const View& view;
  const Json& vmim;
  const Json& vmi;
  MigrationScript script;
  Writes& writes;

  /// Adds writes of status.migrationState of the VMI.
  void set_state(Json state) const {
    writes.merge(kube::kVmis, vmi, {{"status", {{"migrationState", std::move(state)}}}});
  }
  void enter(std::string_view phase) const { enter_phase(writes, vmim, phase, view.now); }
  void fail(const std::string& why) const { fail_migration(writes, vmim, view.now, why); }

  base::TimePoint since() const { return phase_since(vmim); }
  /// Returns true once the migration has been in its phase for `time`. Otherwise schedules another run for then.
  bool passed(base::Duration time) const {
    if (since() + time <= view.now) return true;
    writes.wake_at(since() + time);
    return false;
  }
};

/// KubeVirt reads only the migration's annotation, not the VMI's.
base::seconds limit_of(const Course& course, std::string_view annotation, base::seconds otherwise) {
  const auto number = base::parse_number<std::int64_t>(annotation_of(course.vmim, annotation));
  return number ? base::seconds(*number) : otherwise;
}

bool is_unschedulable(const Json& pod) {
  return api::text_at(pod, {"spec", "nodeName"}).empty() && condition_value(pod, "PodScheduled") == "False";
}

void wait_for_target(const Course& course) {
  const Object pod = course.view.target_pod_of(course.vmim);
  if (!pod || !facts_of(*pod).is_active()) return course.fail("target pod is gone");
  if (api::text_at(*pod, {"status", "phase"}) == "Running") return course.enter("Scheduled");
  const bool unschedulable = is_unschedulable(*pod);
  const base::seconds limit = unschedulable ? limit_of(course, kUnschedulableTimeout, kUnschedulableLimit)
                                            : limit_of(course, kPendingTimeout, kPendingLimit);
  const base::TimePoint end = facts_of(*pod).created + limit;
  if (end > course.view.now) return course.writes.wake_at(end);
  course.fail(unschedulable ? "target pod cannot be scheduled" : "target pod did not start in time");
}

/// Hands the migration over to the nodes. From then on it is aborted by the nodes, not by deleting its pod.
void hand_over(const Course& course) {
  const Object target = course.view.target_pod_of(course.vmim);
  const Object source = course.view.current_pod_of(course.vmi);
  if (!target || !facts_of(*target).is_active() || !source) return course.fail("target pod is gone");
  Json state = {{"migrationUid", uid_of(course.vmim)}, {"sourceNode", api::text_at(course.vmi, {"status", "nodeName"})},
                {"sourcePod", key_of(*source).name},   {"targetNode", api::text_at(*target, {"spec", "nodeName"})},
                {"targetPod", key_of(*target).name},   {"mode", "PreCopy"}};
  for (const char* field :
       {"startTimestamp", "endTimestamp", "completed", "failed", "failureReason", "abortRequested", "abortStatus"})
    state[field] = nullptr;  // clear fields of the previous migration
  course.writes.merge(
      kube::kVmis, course.vmi,
      {{"metadata", {{"labels", {{kTargetNode, state["targetNode"]}}}}}, {"status", {{"migrationState", state}}}});
  course.writes.merge(kube::kPods, *target,
                      {{"metadata", {{"annotations", {{kTargetReady, base::format_time(course.view.now)}}}}}});
  course.enter("PreparingTarget");
}

void begin_copy(const Course& course) {
  course.set_state({{"startTimestamp", base::format_time(course.view.now)}});
  course.enter("Running");
}

std::int64_t failures_so_far(const Json& vmi) {
  return base::parse_number<std::int64_t>(annotation_of(vmi, kFailedCount)).value_or(0);
}

Json end_of(std::string_view now) { return {{"completed", true}, {"endTimestamp", now}}; }

void end_in_failure(const Course& course) {
  Json state = end_of(base::format_time(course.view.now));
  state["failed"] = true;
  state["failureReason"] = course.script.reason;
  Json annotations = Json::object();
  annotations[std::string(kFailedCount)] = std::to_string(failures_so_far(course.vmi) + 1);
  course.writes.merge(kube::kVmis, course.vmi,
                      {{"metadata", {{"annotations", std::move(annotations)}, {"labels", {{kTargetNode, nullptr}}}}},
                       {"status", {{"migrationState", std::move(state)}}}});
}

/// First write of a success, by the target's node: the guest runs there, and the mark is removed.
void arrive(const Course& course) {
  const std::string target = api::text_at(course.vmi, {"status", "migrationState", "targetNode"});
  Json active = Json::object();
  if (const Object pod = course.view.target_pod_of(course.vmim)) active[uid_of(*pod)] = target;
  if (const Json* before = api::find_at(course.vmi, {"status", "activePods"}); before && before->is_object()) {
    for (const auto& [uid, node] : before->items()) active.emplace(uid, nullptr);
  }
  course.writes.merge(
      kube::kVmis, course.vmi,
      {{"metadata",
        {{"annotations", {{kEvictionSource, nullptr}}}, {"labels", {{kNodeName, target}, {kTargetNode, nullptr}}}}},
       {"status",
        {{"nodeName", target},
         {"evacuationNodeName", nullptr},
         {"activePods", std::move(active)},
         {"migrationState", {{"endTimestamp", base::format_time(course.view.now)}}}}}});
  course.writes.event(course.vmi, "Migrated", fmt::format("The VirtualMachineInstance migrated to node {}.", target));
}

/// Second write of a success, once the target's node knows the guest. Only now is the migration completed.
void complete_arrival(const Course& course) {
  const base::TimePoint arrived =
      time_at(course.vmi, {"status", "migrationState", "endTimestamp"}).value_or(course.view.now);
  if (arrived + course.script.complete > course.view.now)
    return course.writes.wake_at(arrived + course.script.complete);
  course.set_state({{"completed", true}});
}

/// The guest ends while it is copied: its pod succeeds, and its VirtualMachine deletes the VMI.
void shut_down(const Course& course) {
  for (const Object& pod : course.view.active_launchers_of(course.vmi)) {
    if (api::text_at(*pod, {"spec", "nodeName"}) == api::text_at(course.vmi, {"status", "nodeName"}))
      course.writes.merge_status(kube::kPods, *pod, {{"status", {{"phase", "Succeeded"}}}});
  }
  course.writes.remove(kube::kVmis, course.vmi);
}

bool is_post_copy(const Json& vmi) { return api::text_at(vmi, {"status", "migrationState", "mode"}) == "PostCopy"; }

/// Returns true while the nodes abort a migration whose object was deleted. KubeVirt requests the abort only once it is
/// running.
bool abort_copy(const Course& course) {
  if (!is_terminating(course.vmim) || is_post_copy(course.vmi)) return false;
  const auto deleted = time_at(course.vmim, {"metadata", "deletionTimestamp"}).value_or(course.view.now);
  const auto asked = std::max(deleted, course.since());
  if (!api::flag_at(course.vmi, {"status", "migrationState", "abortRequested"})) {
    course.set_state({{"abortRequested", true}, {"abortStatus", "Aborting"}});
  }
  if (asked + course.script.abort > course.view.now) {
    course.writes.wake_at(asked + course.script.abort);
    return true;
  }
  Json state = end_of(base::format_time(course.view.now));
  state.update({{"failed", true}, {"failureReason", "Live migration aborted"}, {"abortStatus", "Succeeded"}});
  course.writes.merge(
      kube::kVmis, course.vmi,
      {{"metadata", {{"labels", {{kTargetNode, nullptr}}}}}, {"status", {{"migrationState", std::move(state)}}}});
  return true;
}

void copy_guest(const Course& course) {
  if (course.script.shutdown && course.passed(*course.script.shutdown)) return shut_down(course);
  if (course.script.post_copy && !is_post_copy(course.vmi) && course.passed(*course.script.post_copy)) {
    course.set_state({{"mode", "PostCopy"}});
  }
  if (!course.passed(course.script.run)) return;
  const bool fails = course.script.fail < 0 || failures_so_far(course.vmi) < course.script.fail;
  fails ? end_in_failure(course) : arrive(course);
}

bool is_handed_over(const Json& vmi, const Json& vmim) {
  return api::text_at(vmi, {"status", "migrationState", "migrationUid"}) == uid_of(vmim);
}

/// Ends a migration deleted before the hand-over, together with its pod.
void drop(const Course& course) {
  if (const Object pod = course.view.target_pod_of(course.vmim)) course.writes.remove(kube::kPods, *pod);
  course.fail("migration was cancelled");
}

/// Records the result of the migration that the VMI reports.
void conclude(const Course& course) {
  Json status = {{"migrationState", course.vmi["status"]["migrationState"]}};
  if (!api::flag_at(course.vmi, {"status", "migrationState", "failed"})) {
    enter_phase(course.writes, course.vmim, "Succeeded", course.view.now, std::move(status));
    return course.writes.event(course.vmim, "SuccessfulMigration", "Migration completed successfully");
  }
  course.writes.event(course.vmim, "FailedMigration",
                      "Source node reported migration failed: " +
                          api::text_at(course.vmi, {"status", "migrationState", "failureReason"}));
  enter_phase(course.writes, course.vmim, "Failed", course.view.now, std::move(status));
}

void proceed(const Course& course) {
  const std::string phase = api::text_at(course.vmim, {"status", "phase"});
  const bool handed_over = is_handed_over(course.vmi, course.vmim);
  if (handed_over && api::flag_at(course.vmi, {"status", "migrationState", "completed"})) return conclude(course);
  if (is_terminating(course.vmim) && !handed_over) return drop(course);
  if (!handed_over && (phase == "PreparingTarget" || phase == "TargetReady" || phase == "Running"))
    return course.fail("the VMI's migration state was cleared");
  if (phase == "Running" && has_arrived(course.vmi)) return complete_arrival(course);
  if (phase == "Running" && abort_copy(course)) return;
  if (phase == "Scheduling") return wait_for_target(course);
  if (phase == "Scheduled" && course.passed(course.script.scheduled)) return hand_over(course);
  if (phase == "PreparingTarget" && course.passed(course.script.preparing)) return course.enter("TargetReady");
  if (phase == "TargetReady" && course.passed(course.script.ready)) return begin_copy(course);
  if (phase == "Running") copy_guest(course);
}

}  // namespace

void enter_phase(Writes& writes, const Json& vmim, std::string_view phase, base::TimePoint now, Json status) {
  status["phase"] = phase;
  status["phaseTransitionTimestamps"] = with_transition(vmim, phase, now);
  writes.merge_status(kube::kVmims, vmim, {{"status", std::move(status)}});
}

void fail_migration(Writes& writes, const Json& vmim, base::TimePoint now, const std::string& why) {
  writes.event(vmim, "FailedMigration", "Migration failed: " + why);
  enter_phase(writes, vmim, "Failed", now);
}

Writes run_migrations(const View& view) {
  Writes writes;
  for (const Object& vmim : view.vmims) {
    const Object vmi = view.vmi_of(*vmim);
    if (!vmi) {
      if (!is_terminating(*vmim)) writes.remove(kube::kVmims, *vmim);
      continue;
    }
    if (is_final(*vmim)) continue;
    if (is_final(*vmi)) {
      fail_migration(writes, *vmim, view.now, "vmi shutdown during migration");
      continue;
    }
    proceed({view, *vmim, *vmi, MigrationScript::of(*vmi), writes});
  }
  return writes;
}

}  // namespace simulator::kubevirt
