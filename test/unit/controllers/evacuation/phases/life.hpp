#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "controllers/evacuation/phases/decide.hpp"

/// Runs an Evacuation through decide() alone. Stores each decision and passes the calls to the test, which answers
/// them.
namespace evacuation_test {

using api::EvacuationPhase;
using controllers::Slot;
using controllers::evacuation::Decision;
using Annotations = std::vector<std::pair<std::string, std::string>>;

inline const base::TimePoint kNoon = *base::parse_time("2026-11-21T12:00:00Z");
inline constexpr const char* kPodUid = "7c1a8c1e-0000-4000-8000-000000000001";

inline std::pair<std::string, std::string> handoff(const std::string& key, std::string value) {
  return {"handoff.evacuator.dev/" + key, std::move(value)};
}

inline api::Pod make_pod(Annotations annotations = {}, std::string uid = kPodUid, std::string name = "web-1") {
  api::Pod pod;
  pod.meta.ns = "shop";
  pod.meta.name = std::move(name);
  pod.meta.uid = std::move(uid);
  pod.meta.resource_version = "41";
  pod.meta.annotations = api::StringMap(std::move(annotations));
  pod.meta.owner_references = {{"apps/v1", "ReplicaSet", "web", "rs-uid", true}};
  pod.meta.creation_timestamp = kNoon - base::seconds(86400);
  pod.node_name = {"node-a"};
  pod.phase = api::PodPhase::kRunning;
  pod.conditions = {{"Ready", api::ConditionStatus::kTrue, "", "", 0, {}}};
  return pod;
}

inline api::Evacuation make_evacuation() {
  api::Evacuation evacuation;
  evacuation.meta.ns = "shop";
  evacuation.meta.name = "web-1-7c1a8c1e";
  evacuation.meta.uid = "e5b3";
  evacuation.meta.generation = 1;
  evacuation.meta.creation_timestamp = kNoon;
  evacuation.spec.pod_ref = {"web-1", {kPodUid}};
  evacuation.spec.node_name = {"node-a"};
  return evacuation;
}

inline std::string status_body(int code, const std::string& message, const std::string& causes = "[]") {
  return R"({"kind":"Status","status":"Failure","code":)" + std::to_string(code) + R"(,"message":")" + message +
         R"(","details":{"causes":)" + causes + "}}";
}
inline std::string pdb_body() {
  return status_body(
      429, "Cannot evict pod as it would violate the pod's disruption budget.",
      R"([{"reason":"DisruptionBudget","message":"The disruption budget web needs 3 healthy pods and has 3 currently"}])");
}
inline const std::string kSuccessBody = R"({"kind":"Status","status":"Success","code":201})";

class Life {
 public:
  explicit Life(api::Evacuation evacuation = make_evacuation(), std::optional<api::Pod> pod = make_pod())
      : registry_(evictors::EvictorRegistry::builtin()) {
    seen.evacuation = std::move(evacuation);
    seen.actor = "me";
    if (pod) set_pod(*std::move(pod));
  }

  controllers::evacuation::Observed seen;
  base::TimePoint now = kNoon;
  Slot::State slot = Slot::State::kGranted;
  api::Blocker limit{"Limit", "node", "at most 2", {}, {}, {}, {}};  ///< blocker of an Evacuation that waits for a slot
  std::string reserved_node;                                         ///< node that comes with a granted slot
  bool asked_for_capacity = false;
  bool asked_for_slot = false;      ///< in the last tick()
  std::vector<std::string> events;  ///< reasons in order
  Decision last;

  evictors::EvictorRegistry& registry() { return registry_; }
  api::EvacuationStatus& status() { return seen.evacuation.status; }
  api::EvacuationSpec& spec() { return seen.evacuation.spec; }
  EvacuationPhase phase() { return status().phase; }
  std::string action() const { return last.action ? last.action->name : ""; }

  void set_pod(api::Pod pod) { seen.pod = std::make_shared<const api::Pod>(std::move(pod)); }
  void annotate(const std::string& key, const std::string& value) {
    api::Pod pod = *seen.pod;
    pod.meta.annotations = pod.meta.annotations.with(key, value);
    set_pod(std::move(pod));
  }
  /// Sets the annotation handoff.evacuator.dev/<key>, as the pod's operator does.
  void operator_says(const std::string& key, const std::string& value) {
    annotate("handoff.evacuator.dev/" + key, value);
  }
  void operator_withdraws(const std::string& key) {
    api::Pod pod = *seen.pod;
    pod.meta.annotations = pod.meta.annotations.without("handoff.evacuator.dev/" + key);
    set_pod(std::move(pod));
  }
  void pod_terminates() {
    api::Pod pod = *seen.pod;
    pod.meta.deletion_timestamp = now + base::seconds(30);
    set_pod(std::move(pod));
  }
  void pod_vanishes() { seen.pod = nullptr; }
  void replacement(bool ready, const std::string& node = "node-b", const std::string& uid = "new-uid") {
    api::Pod pod = make_pod({}, uid, "web-2");
    pod.node_name = {node};
    pod.meta.creation_timestamp = now;
    if (!ready) pod.conditions.clear();
    seen.siblings = {{std::make_shared<const api::Pod>(std::move(pod)), false}};
  }
  void cancel() { spec().cancel = {true, ""}; }
  void advance(base::Duration by) { now += by; }

  /// Repeats decide() until it returns a call or makes no progress.
  Decision& tick() {
    asked_for_slot = false;
    for (int i = 0; i < 32; ++i) {
      seen.slot.state = Slot::State::kNotAsked;
      last = controllers::evacuation::decide(seen, registry_, now);
      if (last.wants_slot) {
        asked_for_slot = true;
        seen.slot.state = slot;
        asked_for_capacity = last.needs_capacity;
        if (slot == Slot::State::kWaiting) seen.slot.limit = limit;
        seen.slot.reserved_node = slot == Slot::State::kGranted ? reserved_node : "";
        last = controllers::evacuation::decide(seen, registry_, now);
      }
      if (!last.acts(status())) return last;
      const bool main = apply_main();
      if (!main) store();
      if (last.action) return last;
      if (last.remove_object) return last;
    }
    ADD_FAILURE() << "decide() does not settle in phase " << api::to_string(phase());
    return last;
  }

  /// Passes the answer to the call that tick() returned, then continues with tick().
  Decision& answer(evictors::CallResult answer) {
    EXPECT_TRUE(last.action) << "nothing was called";
    if (!last.action) return last;
    const evictors::Action action = *last.action;
    if (answer && answer->status == 200 && action.request.method == "PATCH") apply_patch(action.request.body);
    last = controllers::evacuation::decide_answer(seen, registry_, action, answer, now);
    store();
    return tick();
  }
  Decision& answer(int code, std::string body = kSuccessBody) {
    return answer(evictors::CallResult(kube::Response{code, std::move(body), {}, "application/json"}));
  }
  /// Answers the pending patch with success and the pod.
  Decision& accept_patch() { return answer(200, R"({"kind":"Pod"})"); }
  Decision& lose_answer() {
    return answer(evictors::CallResult(base::Error{base::ErrorCode::kOutcomeUnknown, "reset"}));
  }
  /// Simulates a crash before the answer arrives. The next tick() belongs to a new process. With `carried_out` the call
  /// took effect.
  void crash_before_answer(bool carried_out) {
    if (carried_out && last.action && last.action->request.method == "PATCH") apply_patch(last.action->request.body);
    last = {};
  }

  const api::Condition* condition(std::string_view type) { return api::find_condition(status().conditions, type); }
  std::string condition_reason(std::string_view type) { return condition(type) ? condition(type)->reason : ""; }

  const evictors::EvictorRegistry& registry() const { return registry_; }

 private:
  bool apply_main() {
    auto& meta = seen.evacuation.meta;
    if (last.fill) {
      spec().pod_ref.uid = last.fill->uid;
      spec().node_name = last.fill->node;
    }
    if (last.add_finalizer) meta.finalizers.push_back("evacuator.dev/evacuation");
    if (last.remove_finalizer) meta.finalizers.clear();
    return last.fill || last.add_finalizer || last.remove_finalizer;
  }
  void store() {
    status() = last.status;
    for (const auto& event : last.events) events.push_back(event.reason);
  }
  void apply_patch(const std::string& body);

  evictors::EvictorRegistry registry_;
};

}  // namespace evacuation_test
