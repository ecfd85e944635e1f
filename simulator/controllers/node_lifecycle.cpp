#include "simulator/controllers/controllers.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/journal.hpp"
#include "simulator/objects.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator {
namespace {

using api::Json;

/// Time without heartbeat until Ready becomes Unknown, like node-monitor-grace-period.
constexpr base::seconds kMonitorGrace{40};
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

/// The node controller: registers nodes created without a status, marks dead nodes (behaviour::kDead) and their pods
/// NotReady, maintains the taints that mirror conditions and cordon, and evicts pods by NoExecute taints according to
/// their tolerations.
class NodeLifecycle final : public Actor {
 public:
  NodeLifecycle(Store& store, EventRecorder& events) : store_(store), events_(events), journal_(store) {
    journal_.on_reset([this] {
      nodes_.clear();
      pods_on_.clear();
      pods_.clear();
      evictions_.clear();
    });
    journal_.follow(kube::kNodes, [this](const Change& change) { on_node(change); });
    journal_.follow(kube::kPods, [this](const Change& change) { on_pod(change); });
  }

  std::string_view name() const override { return "node-controller"; }

  bool tick(base::TimePoint now) override {
    now_ = now;
    journal_.poll();
    bool changed = false;
    for (const std::string& name : std::exchange(to_look_at_, {})) changed = look_at_node(name, now) || changed;
    for (const std::string& name : silent_.take_due(now)) changed = mark_unreachable(name, now) || changed;
    for (const api::ObjectKey& pod : evictions_.take_due(now)) changed = evict(pod, now) || changed;
    return changed;
  }

  std::optional<base::TimePoint> next_due() const override { return earliest(silent_.next(), evictions_.next()); }

 private:
  struct NodeState {
    Object node;
    std::vector<api::Taint> no_execute;
    std::map<api::ObjectKey, base::TimePoint> tainted_since;  // by pod that must leave
  };

  void on_node(const Change& change) {
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
    std::erase_if(state.no_execute,
                  [](const api::Taint& taint) { return taint.effect != api::TaintEffect::kNoExecute; });
    to_look_at_.insert(name);
  }

  void on_pod(const Change& change) {
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

  bool look_at_node(const std::string& name, base::TimePoint now) {
    const auto found = nodes_.find(name);
    if (found == nodes_.end()) return false;
    const bool dead = behaviour::is_set(*found->second.node, behaviour::kDead);
    if (!dead) {
      silent_.drop(name);
      declared_.erase(name);
    } else if (!declared_.contains(name)) {
      if (!pending_.contains(name)) silent_.set(name, now + kMonitorGrace);
      pending_.insert(name);
    }
    if (!dead) pending_.erase(name);
    if (!found->second.no_execute.empty() || !found->second.tainted_since.empty()) {
      for (const auto& pod : pods_on_[name]) plan_eviction(pod, now);
    }
    return write_node(name, now, declared_.contains(name));
  }

  bool mark_unreachable(const std::string& name, base::TimePoint now) {
    const auto found = nodes_.find(name);
    if (found == nodes_.end()) return false;
    pending_.erase(name);
    declared_.insert(name);
    events_.normal(this->name(), *found->second.node, "NodeNotReady", "Node " + name + " status is now: NodeNotReady");
    const bool written = write_node(name, now, true);
    return mark_pods_not_ready(name, now) || written;
  }

  /// Updates conditions and taints. No-op if they are correct.
  bool write_node(const std::string& name, base::TimePoint now, bool silent) {
    const Object before = nodes_.at(name).node;
    const auto written = store_.edit(kube::kNodes, {"", name}, Part::kAll, "", [&](Json& node) {
      Json& status = object_in(node, "status");
      if (!condition_of(node, "Ready")) {
        register_node(node);
        put_condition(object_in(node, "status"), "Ready", "True", "KubeletReady", "kubelet is posting ready status",
                      now);
      }
      if (silent) {
        put_condition(status, "Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.", now);
      } else if (condition_value(node, "Ready") == "Unknown") {
        put_condition(status, "Ready", "True", "KubeletReady", "kubelet is posting ready status", now);
      }
      Json& spec = object_in(node, "spec");
      const bool not_ready = condition_value(node, "Ready") == "False";
      for (const char* effect : {"NoSchedule", "NoExecute"}) {
        keep_taint(spec, kUnreachableTaint, effect, silent, now);
        keep_taint(spec, kNotReadyTaint, effect, not_ready, now);
      }
      keep_taint(spec, kUnschedulableTaint, "NoSchedule", api::flag_at(spec, {"unschedulable"}), now);
    });
    return is_newer(written, *before);
  }

  bool mark_pods_not_ready(const std::string& name, base::TimePoint now) {
    bool changed = false;
    for (const api::ObjectKey& key : pods_on_[name]) {
      if (!pods_.at(key).ready) continue;
      const auto written = store_.edit(kube::kPods, key, Part::kStatus, "", [&](Json& pod) {
        put_condition(object_in(pod, "status"), "Ready", "False", "NodeNotReady", "", now);
      });
      changed = changed || written;
    }
    return changed;
  }

  void plan_eviction(const api::ObjectKey& pod, base::TimePoint now) {
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

  bool evict(const api::ObjectKey& pod, base::TimePoint now) {
    const auto found = pods_.find(pod);
    const Object object = store_.get(kube::kPods, pod);
    if (found == pods_.end() || !object || uid_of(*object) != found->second.uid) return false;
    store_.edit(kube::kPods, pod, Part::kStatus, "", [&](Json& edited) {
      put_condition(object_in(edited, "status"), "DisruptionTarget", "True", "DeletionByTaintManager",
                    "Taint manager: deleting due to NoExecute taint", now);
    });
    events_.normal("taint-eviction-controller", *object, "TaintManagerEviction",
                   "Marking for deletion Pod " + pod.to_string());
    return store_.remove(kube::kPods, pod, {found->second.uid, ""}).ok();
  }

  Store& store_;
  EventRecorder& events_;
  Journal journal_;
  base::TimePoint now_{};
  std::map<std::string, NodeState> nodes_;
  std::map<std::string, std::set<api::ObjectKey>> pods_on_;
  std::map<api::ObjectKey, PodFacts> pods_;
  std::set<std::string> to_look_at_;
  std::set<std::string> pending_;   // dead nodes within the grace period
  std::set<std::string> declared_;  // dead nodes after the grace period
  Agenda<std::string> silent_;      // when to declare a node silent
  Agenda<api::ObjectKey> evictions_;
};

}  // namespace

std::unique_ptr<Actor> make_node_lifecycle(Store& store, EventRecorder& events) {
  return std::make_unique<NodeLifecycle>(store, events);
}

}  // namespace simulator
