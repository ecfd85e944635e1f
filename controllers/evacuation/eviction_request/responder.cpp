#include "controllers/evacuation/eviction_request/responder.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "api/core/codec.hpp"
#include "api/meta/well_known.hpp"
#include "controllers/evacuation/origin/origin.hpp"
#include "controllers/evacuation/reconciler.hpp"

namespace controllers {
namespace {

namespace names = api::well_known;
using api::Json;
using base::kv;

std::string within(const std::string& ns, const std::string& name) { return ns + "/" + name; }

void write_entry(Json& entry, const ResponderReport& report) {
  entry["heartbeatTime"] = base::format_time(report.heartbeat);
  entry["message"] = report.message;
  if (report.expected_completion) entry["expectedCompletionTime"] = base::format_time(*report.expected_completion);
  if (!report.completion) return;
  entry["completionTime"] = base::format_time(*report.completion);
  entry.erase("expectedCompletionTime");
}

/// Contains the whole list, because a merge patch replaces it. The resourceVersion guards entries of other writers.
base::Result<Json> report_patch(const api::ObjectMeta& eviction, const std::string& raw,
                                const ResponderReport& report) {
  auto object = api::parse_json(raw);
  if (!object) return object.error();
  const Json::json_pointer list("/status/responders");
  if (!object->contains(list) || !object->at(list).is_array()) return base::invalid("the Eviction has no responders");
  Json entries = object->at(list);
  bool found = false;
  for (Json& entry : entries) {
    if (!entry.is_object() || entry.value("name", Json()) != Json(names::kNativeResponder)) continue;
    write_entry(entry, report);
    found = true;
  }
  if (!found) return base::invalid("the responders of the Eviction do not include Evacuator");
  const Json metadata = {{"uid", eviction.uid}, {"resourceVersion", eviction.resource_version}};
  return Json{{"metadata", metadata}, {"status", {{"responders", std::move(entries)}}}};
}

}  // namespace

void add_native_responder_indexes(kube::Store<api::NativeEviction>& evictions,
                                  kube::Store<api::Evacuation>& evacuations) {
  evictions.add_index(std::string(kEvictionsByPod),
                      [](const auto& each) { return std::vector{within(each.meta.ns, each.pod_name)}; });
  evacuations.add_index(std::string(kEvacuationsByEviction), [](const auto& each) {
    const std::string& name = each.meta.annotations.value(names::kNativeEvictionAnnotation);
    return name.empty() ? std::vector<std::string>{} : std::vector{within(each.meta.ns, name)};
  });
}

kube::ReflectorOptions native_responder_options() {
  kube::ReflectorOptions options;
  options.list.label_selector = fmt::format("{} in {}", names::kNativeResponder, api::kResponderRoles);
  options.jitter_seed = 12;
  return options;
}

base::Result<ResponderInput> ResponderReconciler::observe(const api::ObjectKey& key, std::string& raw) {
  ResponderInput seen{key, {}, {}, deps_.evacuations.by_index(kEvacuationsByEviction, within(key.ns, key.name))};
  auto body = deps_.client.get(kube::kNativeEvictions, key);
  if (!body && !base::is_not_found(body.error())) return body.error().during("reading the Eviction");
  if (!body) return seen;
  auto eviction = api::decode_native_eviction(*body);
  if (!eviction) return eviction.error().during("reading the Eviction");
  raw = *std::move(body);
  seen.eviction = *std::move(eviction);
  std::set<api::ObjectKey> known;
  for (const auto& each : seen.evacuations) known.insert(each->meta.key());
  for (auto& each :
       deps_.evacuations.by_index(evacuation::kEvacuationsByPod, within(key.ns, seen.eviction->pod_name))) {
    if (known.insert(each->meta.key()).second) seen.evacuations.push_back(std::move(each));
  }
  auto pod_body = deps_.client.get(kube::kPods, {key.ns, seen.eviction->pod_name});
  if (!pod_body && !base::is_not_found(pod_body.error())) return pod_body.error().during("reading the pod");
  if (!pod_body) return seen;
  auto pod = api::decode_pod(std::string_view(*pod_body));
  if (!pod) return pod.error().during("reading the pod");
  if (pod->uid() == seen.eviction->pod_uid) seen.pod = std::make_shared<const api::Pod>(*std::move(pod));
  return seen;
}

base::Result<kube::Requeue> ResponderReconciler::reconcile(const api::ObjectKey& key) {
  std::string raw;
  const auto seen = observe(key, raw);
  if (!seen) return seen.error();
  const ResponderDecision decision = decide_response(*seen, deps_.clock.now());
  const bool acts = decision.create || decision.report || !decision.cancel.empty();
  if (acts && !deps_.may_act()) return base::Error{base::ErrorCode::kCancelled, "this replica is not the leader"};
  if (decision.create) {
    if (auto made = create(*decision.create); !made) return made.error();
  }
  for (const api::ObjectKey& each : decision.cancel) {
    if (auto cancelled = cancel(each); !cancelled) return cancelled.error();
  }
  if (decision.report) {
    if (auto written = report(seen->eviction->meta, raw, *decision.report); !written) return written.error();
  }
  return decision.requeue;
}

base::Status ResponderReconciler::create(const api::Evacuation& wanted) {
  const auto keys = deps_.keys.keys();
  if (!keys) return base::unavailable("cannot sign the Evacuation for an Eviction: " + deps_.keys.problem());
  const base::TimePoint sent = deps_.clock.now();
  const api::Evacuation evacuation = with_origin(wanted, keys->current, sent);
  const auto made = deps_.client.create(kube::kEvacuations, evacuation.meta.ns, api::encode_evacuation(evacuation));
  // The name is deterministic; the cache will show the existing Evacuation.
  if (!made && made.error().code == base::ErrorCode::kAlreadyExists) return base::Done{};
  if (!made) return made.error().during("creating the Evacuation for an Eviction");
  deps_.log.info("evacuation created", {kv("evacuation", evacuation.meta.key().to_string()),
                                        kv("requester", evacuation.spec.source.requester)});
  const std::string warning = clock_skew_warning(clock_skew(sent, deps_.clock.now(), *made));
  if (!warning.empty()) deps_.log.warning("clocks differ", {kv("problem", warning)});
  return base::Done{};
}

base::Status ResponderReconciler::report(const api::ObjectMeta& eviction, const std::string& raw,
                                         const ResponderReport& report) {
  const auto patch = report_patch(eviction, raw, report);
  if (!patch) return patch.error();
  const auto written =
      deps_.client.patch(kube::kNativeEvictions, eviction.key(), kube::PatchType::kMerge, *patch, "status");
  if (!written && base::is_not_found(written.error())) return base::Done{};  // it may be deleted at any time
  if (!written) return written.error().during("updating the status of the Eviction");
  return base::Done{};
}

base::Status ResponderReconciler::cancel(const api::ObjectKey& evacuation) {
  const Json patch = {{"spec", {{"cancel", {{"requested", true}, {"reason", "the Eviction was withdrawn"}}}}}};
  const auto written = deps_.client.patch(kube::kEvacuations, evacuation, kube::PatchType::kMerge, patch);
  if (!written && !base::is_not_found(written.error())) return written.error().during("cancelling the Evacuation");
  return base::Done{};
}

std::vector<api::ObjectKey> ResponderReconciler::keys_for(const api::Evacuation& evacuation) const {
  std::set<api::ObjectKey> keys;
  const std::string& made_for = evacuation.meta.annotations.value(names::kNativeEvictionAnnotation);
  if (!made_for.empty()) keys.insert({evacuation.meta.ns, made_for});
  for (const auto& each :
       deps_.evictions.by_index(kEvictionsByPod, within(evacuation.meta.ns, evacuation.spec.pod_ref.name)))
    keys.insert(each->meta.key());
  return {keys.begin(), keys.end()};
}

std::vector<api::ObjectKey> ResponderReconciler::keys_for(const api::Pod& pod) const {
  std::vector<api::ObjectKey> keys;
  for (const auto& each : deps_.evictions.by_index(kEvictionsByPod, within(pod.meta.ns, pod.meta.name)))
    keys.push_back(each->meta.key());
  return keys;
}

}  // namespace controllers
