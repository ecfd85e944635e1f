#include "simulator/eviction_request/native_eviction.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "base/backoff.hpp"
#include "kube/request.hpp"
#include "simulator/keyed_actor.hpp"
#include "simulator/objects.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator::eviction_request {
namespace {

using api::Json;

constexpr base::Backoff kRetry{base::seconds(5), base::minutes(10)};

const User kResponderUser{"system:serviceaccount:kube-system:eviction-responders", {}, "eviction-responders"};

/// Returns the entry of the active responder and sets `name`. Returns nullptr if no responder is active.
const Json* active_entry(const Json& eviction, std::string* name) {
  const Json* turn = status_entry(eviction, "targetResponders", "state", "Active");
  if (!turn) return nullptr;
  *name = api::text_at(*turn, {"name"});
  return status_entry(eviction, "responders", "name", *name);
}

/// The evictionrequest-controller: creates one Eviction per target and activates its responders one after the other.
class EvictionController final : public KeyedActor<Target> {
 public:
  EvictionController(Store& store, Options options) : KeyedActor(store), options_(options) {
    journal_.on_reset([this] { dirty_ = known_; });
    journal_.follow(kube::kEvictionRequests, [this](const Change& change) { on_object(change); });
    journal_.follow(kube::kNativeEvictions, [this](const Change& change) { on_object(change); });
    journal_.follow(kube::kPods, [this](const Change& change) { on_pod(change); });
  }

  std::string_view name() const override { return "evictionrequest-controller"; }

 private:
  void on_object(const Change& change) {
    const Target target = target_of(*change.object);
    known_.insert(target);
    dirty_.insert(target);
  }

  void on_pod(const Change& change) {
    const Target first{change.key.ns, change.key.name, {}};
    for (auto at = known_.lower_bound(first); at != known_.end() && at->ns == first.ns && at->pod == first.pod; ++at)
      dirty_.insert(*at);
  }

  TargetState state_of(const Target& target, base::TimePoint now) {
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

  bool process(const Target& target, base::TimePoint now) override {
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

  bool sync_evictions(const TargetState& state, base::TimePoint now) {
    bool changed = false;
    for (const Object& each : state.evictions) {
      const Json next = next_eviction(*each, state, options_, now);
      changed = write(kube::kNativeEvictions, *each, next) || changed;
      if (const auto due = due_time_of(next, state, options_)) agenda_.set(state.target, *due);
    }
    return changed;
  }

  bool write(const kube::ResourceType& type, const Json& before, const Json& after) {
    if (before == after) return false;
    return store_.edit(type, key_of(before), Part::kAll, "", [&](Json& object) {
      object = after;  // contains the resourceVersion that it is based on
    }) != nullptr;
  }

  const Options options_;
  std::set<Target> known_;
  std::map<Target, base::TimePoint> left_at_;  ///< time when the pod was first seen gone
};

/// All responders: the default one posts evictions, the others follow the script of their pod.
class Responders final : public KeyedActor<api::ObjectKey> {
 public:
  Responders(Store& store, ApiServer& server, std::set<std::string> left_out)
      : KeyedActor(store), server_(server), left_out_(std::move(left_out)) {
    journal_.follow(kube::kNativeEvictions, [this](const Change& change) { dirty_.insert(change.key); });
    journal_.follow(kube::kPods, [this](const Change& change) {
      const bool goes = change.kind == ChangeKind::kDeleted || !facts_of(*change.object).is_active();
      if (!goes) return;
      for (const Object& each : store_.list(kube::kNativeEvictions, change.key.ns)) {
        if (target_of(*each).pod == change.key.name) dirty_.insert(key_of(*each));
      }
    });
  }

  std::string_view name() const override { return "native-responders"; }

 private:
  bool process(const api::ObjectKey& key, base::TimePoint now) override {
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

  bool carry_out(const Json& eviction, const std::string& responder, const ResponderStep& step, ResponderMemory& memory,
                 base::TimePoint now) {
    bool changed = false;
    if (!step.entry.is_null()) changed = report(eviction, responder, step.entry);
    const Target target = target_of(eviction);
    if (step.delete_pod)
      changed = store_.remove(kube::kPods, {target.ns, target.pod}, {target.uid, ""}).ok() || changed;
    if (step.post_eviction) changed = evict(eviction, memory, now) || changed;
    return changed;
  }

  /// Sends POST …/eviction with the UID as precondition. Retries with exponential backoff if refused.
  bool evict(const Json& eviction, ResponderMemory& memory, base::TimePoint now) {
    const Target target = target_of(eviction);
    kube::EvictionOptions options;
    options.uid = target.uid;
    const auto answer = server_.handle(kube::eviction_request({target.ns, target.pod}, options, "v1"), kResponderUser);
    if (answer.status == 201) return true;
    memory.attempts += 1;
    base::Duration pause = base::backoff_delay(kRetry, memory.attempts);
    if (answer.retry_after) pause = std::max<base::Duration>(pause, *answer.retry_after);
    memory.next_try = now + pause;
    memory.message = fmt::format("\"{}\" pod deletion via the /eviction subresource failed (attempts={}): {}",
                                 target.pod, memory.attempts, answer.status);
    agenda_.set(key_of(eviction), *memory.next_try);
    return false;
  }

  /// Writes one entry of status.responders through the API server, whose validation applies to responders, too.
  bool report(const Json& eviction, const std::string& responder, const Json& entry) {
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

  ApiServer& server_;
  const std::set<std::string> left_out_;
  std::map<std::string, ResponderMemory> memory_;  ///< by "<UID of the Eviction> <responder>"
};

}  // namespace

void serve(ApiServer& server, const Options& options) {
  for (const auto& [type, singular] :
       {std::pair{kube::kEvictionRequests, "evictionrequest"}, {kube::kNativeEvictions, "eviction"}}) {
    (void)server.install_crd(
        objects::definition(type, {{"singular", singular}}, Json::array(), true, objects::open_object()));
  }
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

}  // namespace simulator::eviction_request
