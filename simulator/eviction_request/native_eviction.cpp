#include "simulator/eviction_request/native_eviction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/json/json_access.hpp"
#include "base/backoff.hpp"
#include "kube/request.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator::eviction_request {
namespace {

using api::Json;

constexpr base::Backoff kRetry{base::seconds(5), base::minutes(10)};

const User kResponderUser{"system:serviceaccount:kube-system:eviction-responders", {}, "eviction-responders"};

Json definition_of(const kube::ResourceType& type, const char* singular) {
  const Json open = {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  const Json version = {
      {"name", type.version},
      {"served", true},
      {"storage", true},
      {"subresources", {{"status", Json::object()}}},
      {"schema", {{"openAPIV3Schema", {{"type", "object"}, {"properties", {{"spec", open}, {"status", open}}}}}}}};
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", fmt::format("{}.{}", type.plural, type.group)}}},
          {"spec",
           {{"group", type.group},
            {"scope", "Namespaced"},
            {"names", {{"plural", type.plural}, {"singular", singular}, {"kind", type.kind}}},
            {"versions", Json::array({version})}}}};
}

/// Returns the entry of the active responder and sets `name`. Returns nullptr if no responder is active.
const Json* active_entry(const Json& eviction, std::string* name) {
  const Json* turns = api::find_at(eviction, {"status", "targetResponders"});
  const Json* entries = api::find_at(eviction, {"status", "responders"});
  if (!turns || !entries || !turns->is_array() || !entries->is_array()) return nullptr;
  const auto turn =
      std::ranges::find_if(*turns, [](const Json& each) { return api::text_at(each, {"state"}) == "Active"; });
  if (turn == turns->end()) return nullptr;
  *name = api::text_at(*turn, {"name"});
  const auto entry =
      std::ranges::find_if(*entries, [&](const Json& each) { return api::text_at(each, {"name"}) == *name; });
  return entry == entries->end() ? nullptr : &*entry;
}

}  // namespace

void serve(ApiServer& server, const Options& options) {
  (void)server.install_crd(definition_of(kube::kEvictionRequests, "evictionrequest"));
  (void)server.install_crd(definition_of(kube::kNativeEvictions, "eviction"));
  server.add_validator(kube::kEvictionRequests, [options](const Json* before, const Json& after) {
    return validate_eviction_request(before, after, options);
  });
  const base::Clock& clock = server.store().clock();
  server.add_validator(kube::kNativeEvictions, [options, &clock](const Json* before, const Json& after) {
    return validate_eviction(before, after, options, clock.now());
  });
  server.add_validator(kube::kPods, [](const Json*, const Json& after) { return validate_eviction_responders(after); });
}

void run(Cluster& cluster, ApiServer& server, const Options& options, std::set<std::string> responders_left_out) {
  cluster.add_actor(std::make_unique<EvictionController>(cluster.store(), options));
  cluster.add_actor(std::make_unique<Responders>(cluster.store(), server, std::move(responders_left_out)));
}

// --- the controller

EvictionController::EvictionController(Store& store, Options options)
    : store_(store), options_(options), journal_(store) {
  journal_.on_reset([this] { dirty_ = known_; });
  journal_.follow(kube::kEvictionRequests, [this](const Change& change) { on_object(change); });
  journal_.follow(kube::kNativeEvictions, [this](const Change& change) { on_object(change); });
  journal_.follow(kube::kPods, [this](const Change& change) { on_pod(change); });
}

void EvictionController::on_object(const Change& change) {
  const Target target = target_of(*change.object);
  known_.insert(target);
  dirty_.insert(target);
}

void EvictionController::on_pod(const Change& change) {
  const Target first{change.key.ns, change.key.name, {}};
  for (auto at = known_.lower_bound(first); at != known_.end() && at->ns == first.ns && at->pod == first.pod; ++at)
    dirty_.insert(*at);
}

bool EvictionController::tick(base::TimePoint now) {
  journal_.poll();
  for (const Target& target : agenda_.take_due(now)) dirty_.insert(target);
  bool changed = false;
  for (const Target& target : std::exchange(dirty_, {})) changed = sync(target, now) || changed;
  return changed;
}

TargetState EvictionController::state_of(const Target& target, base::TimePoint now) {
  TargetState state{target, store_.get(kube::kPods, {target.ns, target.pod}), {}, {}, {}};
  for (const Object& each : store_.list(kube::kEvictionRequests, target.ns)) {
    if (target_of(*each) == target) state.requests.push_back(each);
  }
  for (const Object& each : store_.list(kube::kNativeEvictions, target.ns)) {
    if (target_of(*each) == target) state.evictions.push_back(each);
  }
  // Sort by the counter in the name, because creation times are in whole seconds.
  std::ranges::stable_sort(state.evictions, {}, [](const Object& each) { return eviction_number(*each); });
  if (!state.pod_stays()) state.left_at = left_at_.try_emplace(target, now).first->second;
  return state;
}

bool EvictionController::write(const kube::ResourceType& type, const Json& before, const Json& after) {
  if (before == after) return false;
  return store_
      .mutate(type, key_of(before), Part::kAll,
              [&](Json& object) -> base::Status {
                object = after;  // contains the resourceVersion that it is based on
                return base::Done{};
              })
      .ok();
}

bool EvictionController::sync_evictions(const TargetState& state, base::TimePoint now) {
  bool changed = false;
  for (const Object& each : state.evictions) {
    const Json next = next_eviction(*each, state, options_, now);
    changed = write(kube::kNativeEvictions, *each, next) || changed;
    if (const auto due = due_time_of(next, state, options_)) agenda_.set(state.target, *due);
  }
  return changed;
}

bool EvictionController::sync(const Target& target, base::TimePoint now) {
  agenda_.drop(target);
  TargetState state = state_of(target, now);
  if (state.requests.empty() && state.evictions.empty()) {
    known_.erase(target);
    left_at_.erase(target);
    return false;
  }
  bool changed = sync_evictions(state, now);
  if (changed) state = state_of(target, now);
  if (needs_eviction(state)) {
    changed = store_.create(kube::kNativeEvictions, make_eviction(state)).ok() || changed;
    state = state_of(target, now);
  }
  for (const Object& each : state.requests)
    changed = write(kube::kEvictionRequests, *each, next_request(*each, state, now)) || changed;
  return changed;
}

// --- the responders

Responders::Responders(Store& store, ApiServer& server, std::set<std::string> left_out)
    : store_(store), server_(server), left_out_(std::move(left_out)), journal_(store) {
  journal_.follow(kube::kNativeEvictions, [this](const Change& change) { dirty_.insert(change.key); });
  journal_.follow(kube::kPods, [this](const Change& change) {
    const bool goes = change.kind == ChangeKind::kDeleted || !facts_of(*change.object).is_active();
    if (!goes) return;
    for (const Object& each : store_.list(kube::kNativeEvictions, change.key.ns)) {
      if (target_of(*each).pod == change.key.name) dirty_.insert(key_of(*each));
    }
  });
}

bool Responders::tick(base::TimePoint now) {
  journal_.poll();
  for (const api::ObjectKey& key : agenda_.take_due(now)) dirty_.insert(key);
  bool changed = false;
  for (const api::ObjectKey& key : std::exchange(dirty_, {})) changed = look_at(key, now) || changed;
  return changed;
}

bool Responders::look_at(const api::ObjectKey& key, base::TimePoint now) {
  agenda_.drop(key);
  const Object eviction = store_.get(kube::kNativeEvictions, key);
  std::string responder;
  const Json* active = eviction ? active_entry(*eviction, &responder) : nullptr;
  if (!active || left_out_.contains(responder)) return false;
  const Target target = target_of(*eviction);
  const Object named = store_.get(kube::kPods, {target.ns, target.pod});
  const Json* pod = named && uid_of(*named) == target.uid ? named.get() : nullptr;
  ResponderMemory& memory = memory_[uid_of(*eviction) + " " + responder];
  const bool imperative = responder == kImperativeResponder;
  const ResponderScript script = pod ? responder_script(*pod, responder) : ResponderScript();
  const ResponderStep step =
      imperative ? imperative_step(*active, pod, memory, now) : scripted_step(*active, pod, script, now);
  if (step.due) agenda_.set(key, *step.due);
  return carry_out(*eviction, responder, step, memory, now);
}

bool Responders::carry_out(const Json& eviction, const std::string& responder, const ResponderStep& step,
                           ResponderMemory& memory, base::TimePoint now) {
  bool changed = false;
  if (!step.entry.is_null()) changed = report(eviction, responder, step.entry);
  const Target target = target_of(eviction);
  if (step.delete_pod) changed = store_.remove(kube::kPods, {target.ns, target.pod}, {target.uid, ""}).ok() || changed;
  if (step.post_eviction) changed = evict(eviction, memory, now) || changed;
  return changed;
}

/// Sends POST …/eviction with the UID as precondition. Retries with exponential backoff if refused.
bool Responders::evict(const Json& eviction, ResponderMemory& memory, base::TimePoint now) {
  const Target target = target_of(eviction);
  kube::EvictionOptions options;
  options.uid = target.uid;
  const auto answer = server_.handle(kube::eviction_request({target.ns, target.pod}, options, "v1"), kResponderUser);
  if (answer.status == 201) return true;
  memory.attempts += 1;
  base::Duration pause = base::backoff_delay(kRetry, memory.attempts);
  if (answer.retry_after) pause = std::max<base::Duration>(pause, *answer.retry_after);
  memory.next_try = now + pause;
  memory.message = fmt::format("\"{}\" pod deletion via the /eviction subresource failed (attempts={}): {}", target.pod,
                               memory.attempts, answer.status);
  agenda_.set(key_of(eviction), *memory.next_try);
  return false;
}

/// Writes one entry of status.responders through the API server, whose validation applies to responders, too.
bool Responders::report(const Json& eviction, const std::string& responder, const Json& entry) {
  Json entries = *api::find_at(eviction, {"status", "responders"});
  for (Json& each : entries) {
    if (api::text_at(each, {"name"}) == responder) each = entry;
  }
  const Json patch = {{"metadata", {{"resourceVersion", api::text_at(eviction, {"metadata", "resourceVersion"})}}},
                      {"status", {{"responders", std::move(entries)}}}};
  const auto answer = server_.handle(
      kube::patch_request(kube::kNativeEvictions, key_of(eviction), kube::PatchType::kMerge, patch, "status"),
      kResponderUser);
  if (answer.status == 409) dirty_.insert(key_of(eviction));  // conflict; retry at the next tick
  return answer.status == 200;
}

}  // namespace simulator::eviction_request
