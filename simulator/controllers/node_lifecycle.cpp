#include "simulator/controllers/node_lifecycle.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/objects.hpp"

namespace simulator {
namespace {

using api::Json;

constexpr const char* kNotReadyTaint = "node.kubernetes.io/not-ready";
constexpr const char* kUnreachableTaint = "node.kubernetes.io/unreachable";
constexpr const char* kUnschedulableTaint = "node.kubernetes.io/unschedulable";

/// Adds or removes the taint with that key and effect. Preserves timeAdded of an existing taint.
void keep_taint(Json& spec, const char* key, const char* effect, bool wanted, base::TimePoint now) {
  const auto is_it = [&](const Json& taint) {
    return api::text_at(taint, {"key"}) == key && api::text_at(taint, {"effect"}) == effect;
  };
  const Json* present = api::find_at(spec, {"taints"});
  const bool has = present && present->is_array() && std::ranges::any_of(*present, is_it);
  if (has == wanted) return;
  Json& taints = array_in(spec, "taints");
  if (wanted) {
    taints.push_back({{"key", key}, {"effect", effect}, {"timeAdded", base::format_time(now)}});
    return;
  }
  taints.erase(std::remove_if(taints.begin(), taints.end(), is_it), taints.end());
  if (taints.empty()) spec.erase("taints");
}

bool is_condition(const Json& node, std::string_view type, std::string_view status) {
  const Json* condition = condition_of(node, type);
  return condition && api::text_at(*condition, {"status"}) == status;
}

/// Fills in the status that a kubelet would report, with default values.
void register_node(Json& node) {
  const Json usual = objects::node(api::text_at(node, {"metadata", "name"}), "8", "32Gi");
  Json& status = object_in(node, "status");
  for (const char* field : {"capacity", "allocatable", "nodeInfo"}) {
    if (!api::find_at(status, {field})) status[field] = usual["status"][field];
  }
  Json& labels = object_in(object_in(node, "metadata"), "labels");
  for (const auto& [key, value] : usual["metadata"]["labels"].items()) {
    if (!labels.contains(key)) labels[key] = value;
  }
}

/// Returns the maximum time that the pod may stay: nullopt for indefinitely, zero for immediate eviction.
std::optional<base::Duration> tolerated_for(const std::vector<api::Toleration>& tolerations,
                                            const std::vector<api::Taint>& taints) {
  std::optional<base::Duration> limit;
  for (const api::Taint& taint : taints) {
    const auto toleration =
        std::ranges::find_if(tolerations, [&](const api::Toleration& t) { return t.tolerates(taint); });
    if (toleration == tolerations.end()) return base::Duration::zero();
    if (!toleration->toleration_seconds) continue;
    const base::Duration seconds = std::max<base::Duration>(*toleration->toleration_seconds, base::Duration::zero());
    limit = limit ? std::min(*limit, seconds) : seconds;
  }
  return limit;
}

}  // namespace

NodeLifecycle::NodeLifecycle(Store& store, EventRecorder& events, NodeLifecycleOptions options)
    : store_(store), events_(events), options_(options), journal_(store) {
  journal_.on_reset([this] {
    nodes_.clear();
    pods_on_.clear();
    pods_.clear();
    evictions_.clear();
  });
  journal_.follow(kube::kNodes, [this](const Change& change) { on_node(change); });
  journal_.follow(kube::kPods, [this](const Change& change) { on_pod(change); });
}

bool NodeLifecycle::tick(base::TimePoint now) {
  now_ = now;
  journal_.poll();
  bool changed = false;
  for (const std::string& name : std::exchange(to_look_at_, {})) changed = look_at_node(name, now) || changed;
  for (const std::string& name : silent_.take_due(now)) changed = mark_unreachable(name, now) || changed;
  for (const api::ObjectKey& pod : evictions_.take_due(now)) changed = evict(pod, now) || changed;
  return changed;
}

void NodeLifecycle::on_node(const Change& change) {
  const std::string& name = change.key.name;
  if (change.kind == ChangeKind::kDeleted) {
    nodes_.erase(name);
    declared_.erase(name);
    silent_.drop(name);
    return;
  }
  NodeState& state = nodes_[name];
  state.node = change.object;
  state.no_execute = taints_of(*change.object);
  std::erase_if(state.no_execute, [](const api::Taint& taint) { return taint.effect != api::TaintEffect::kNoExecute; });
  to_look_at_.insert(name);
}

void NodeLifecycle::on_pod(const Change& change) {
  const auto known = pods_.find(change.key);
  const bool gone = change.kind == ChangeKind::kDeleted;
  PodFacts facts = gone ? PodFacts{} : facts_of(*change.object);
  if (known != pods_.end() && (gone || known->second.node != facts.node || known->second.uid != facts.uid)) {
    pods_on_[known->second.node].erase(change.key);
    if (const auto node = nodes_.find(known->second.node); node != nodes_.end())
      node->second.tainted_since.erase(change.key);
    evictions_.drop(change.key);
    pods_.erase(known);
  }
  if (gone || facts.node.empty()) return;
  const std::string node = facts.node;
  const bool leaving = !facts.is_active();
  pods_on_[node].insert(change.key);
  pods_[change.key] = std::move(facts);
  if (leaving) return evictions_.drop(change.key);
  if (const auto state = nodes_.find(node); state != nodes_.end() && !state->second.no_execute.empty())
    plan_eviction(change.key, now_);
}

bool NodeLifecycle::look_at_node(const std::string& name, base::TimePoint now) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return false;
  const bool dead = behaviour::is_set(*found->second.node, behaviour::kDead);
  if (!dead) {
    silent_.drop(name);
    declared_.erase(name);
  } else if (!declared_.contains(name)) {
    if (!pending_.contains(name)) silent_.set(name, now + options_.monitor_grace);
    pending_.insert(name);
  }
  if (!dead) pending_.erase(name);
  if (!found->second.no_execute.empty() || !found->second.tainted_since.empty()) {
    for (const auto& pod : pods_on_[name]) plan_eviction(pod, now);
  }
  return write_node(name, now, declared_.contains(name));
}

bool NodeLifecycle::mark_unreachable(const std::string& name, base::TimePoint now) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return false;
  pending_.erase(name);
  declared_.insert(name);
  events_.normal(this->name(), *found->second.node, "NodeNotReady", "Node " + name + " status is now: NodeNotReady");
  const bool written = write_node(name, now, true);
  return mark_pods_not_ready(name, now) || written;
}

/// Updates conditions and taints. No-op if they are correct.
bool NodeLifecycle::write_node(const std::string& name, base::TimePoint now, bool silent) {
  const Object before = nodes_.at(name).node;
  const auto written = store_.mutate(kube::kNodes, {"", name}, Part::kAll, [&](Json& node) -> base::Status {
    Json& status = object_in(node, "status");
    if (!condition_of(node, "Ready")) {
      register_node(node);
      put_condition(object_in(node, "status"), "Ready", "True", "KubeletReady", "kubelet is posting ready status", now);
    }
    if (silent) {
      put_condition(status, "Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.", now);
    } else if (is_condition(node, "Ready", "Unknown")) {
      put_condition(status, "Ready", "True", "KubeletReady", "kubelet is posting ready status", now);
    }
    Json& spec = object_in(node, "spec");
    const bool not_ready = is_condition(node, "Ready", "False");
    for (const char* effect : {"NoSchedule", "NoExecute"}) {
      keep_taint(spec, kUnreachableTaint, effect, silent, now);
      keep_taint(spec, kNotReadyTaint, effect, not_ready, now);
    }
    keep_taint(spec, kUnschedulableTaint, "NoSchedule", api::flag_at(spec, {"unschedulable"}), now);
    return base::Done{};
  });
  return written.ok() && api::text_at(**written, {"metadata", "resourceVersion"}) !=
                             api::text_at(*before, {"metadata", "resourceVersion"});
}

bool NodeLifecycle::mark_pods_not_ready(const std::string& name, base::TimePoint now) {
  bool changed = false;
  for (const api::ObjectKey& key : pods_on_[name]) {
    if (!pods_.at(key).ready) continue;
    const auto written = store_.mutate(kube::kPods, key, Part::kStatus, [&](Json& pod) -> base::Status {
      put_condition(object_in(pod, "status"), "Ready", "False", "NodeNotReady", "", now);
      return base::Done{};
    });
    changed = changed || written.ok();
  }
  return changed;
}

void NodeLifecycle::plan_eviction(const api::ObjectKey& pod, base::TimePoint now) {
  const PodFacts& facts = pods_.at(pod);
  const auto node = nodes_.find(facts.node);
  if (node == nodes_.end() || !facts.is_active()) return;
  auto& since = node->second.tainted_since;
  const Object object = store_.get(kube::kPods, pod);
  const Json* spec = object ? api::find_at(*object, {"spec"}) : nullptr;
  if (node->second.no_execute.empty() || !spec) {
    since.erase(pod);
    return evictions_.drop(pod);
  }
  const auto limit = tolerated_for(tolerations_of(*spec), node->second.no_execute);
  if (!limit) return evictions_.drop(pod);
  const base::TimePoint from = since.emplace(pod, now).first->second;
  evictions_.set(pod, from + *limit);
}

bool NodeLifecycle::evict(const api::ObjectKey& pod, base::TimePoint now) {
  const auto found = pods_.find(pod);
  const Object object = store_.get(kube::kPods, pod);
  if (found == pods_.end() || !object || uid_of(*object) != found->second.uid) return false;
  (void)store_.mutate(kube::kPods, pod, Part::kStatus, [&](Json& edited) -> base::Status {
    put_condition(object_in(edited, "status"), "DisruptionTarget", "True", "DeletionByTaintManager",
                  "Taint manager: deleting due to NoExecute taint", now);
    return base::Done{};
  });
  events_.normal("taint-eviction-controller", *object, "TaintManagerEviction",
                 "Marking for deletion Pod " + pod.to_string());
  return store_.remove(kube::kPods, pod, {found->second.uid, ""}).ok();
}

}  // namespace simulator
