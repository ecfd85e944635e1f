#include "described.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <type_traits>

namespace api {
namespace {

/// Lines of "name: value".
class Text {
 public:
  template <typename... Parts>
  Text& add(const char* name, const Parts&... parts) {
    text_ += std::string(name) + ":";
    (put(parts), ...);
    text_ += '\n';
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  void put(const std::string& value) { text_ += " \"" + value + "\""; }
  void put(const StringMap& map) {
    for (const auto& [key, value] : map) text_ += fmt::format(" {}={}", key, value);
  }
  void put(Quantity value) { text_ += fmt::format(" {}m", value.milli()); }
  void put(base::TimePoint value) { text_ += fmt::format(" {}us", value.time_since_epoch().count()); }
  void put(base::seconds value) { text_ += fmt::format(" {}s", value.count()); }
  void put(const OwnerReference& o) { add("owner", o.api_version, o.kind, o.name, o.uid, o.controller); }
  void put(const Condition& c) {
    add("condition", c.type, c.status, c.reason, c.message, c.observed_generation, c.last_transition_time);
  }
  void put(const PodCondition& c) {
    add("condition", c.type, c.status, c.reason, c.message, c.observed_generation, c.last_transition_time);
  }
  void put(const SelectorRequirement& r) { add("requirement", r.key, r.op, r.values); }
  void put(const LabelSelector& s) { add("selector", s.requirements); }
  void put(const NodeSelectorTerm& t) { add("term", t.match_expressions, t.match_fields); }
  void put(const PreferredNodeTerm& t) { add("preferred", t.weight, t.term); }
  void put(const PodAffinityTerm& t) {
    add("pod term", t.label_selector, t.namespaces, t.namespace_selector, t.topology_key, t.match_label_keys,
        t.mismatch_label_keys);
  }
  void put(const Affinity& a) {
    add("affinity", a.required_node_terms, a.preferred_node_terms, a.required_pod_affinity,
        a.required_pod_anti_affinity, a.preferred_pod_affinity, a.preferred_pod_anti_affinity, a.has_node_affinity);
  }
  void put(const Taint& t) { add("taint", t.key, t.value, t.effect); }
  void put(const Toleration& t) {
    add("toleration", t.key, t.exists, t.value, t.effect, t.toleration_seconds, t.comparison);
  }
  void put(const TopologySpreadConstraint& s) {
    add("spread", s.max_skew, s.topology_key, s.schedule_anyway, s.label_selector, s.min_domains, s.honor_node_affinity,
        s.honor_node_taints, s.match_label_keys);
  }
  void put(const HostPort& p) { add("port", p.ip, p.protocol, p.port); }
  void put(const Container& c) {
    add("container", c.name, c.image, c.requests, c.limits, c.host_ports, c.restart_always, c.held);
  }
  void put(const Volume& v) { add("volume", v.kind, v.source, v.storage_class, v.claim_template); }
  void put(const ContainerStatus& s) {
    add("status", s.name, s.restart_count, s.ready, s.is_init, s.is_ephemeral, s.waiting_reason, s.terminated_reason,
        s.exit_code, s.finished_at, s.last_terminated_reason, s.last_exit_code, s.last_finished_at);
  }
  void put(const PodResponder& r) { add("responder", r.name, r.priority); }
  void put(const UnreadField& u) { add("unread", u.path, u.text); }
  void put(const IntOrPercent& v) { text_ += fmt::format(" {}{}", v.value, v.percent ? "%" : ""); }
  void put(const CsiNode::Driver& d) { add("driver", d.name, d.max_volumes); }
  void put(const PersistentVolumeClaim& claim) { text_ += " {" + described(claim) + "}"; }
  template <typename A, typename B>
  void put(const std::pair<A, B>& both) {
    put(both.first);
    put(both.second);
  }
  template <typename T>
  void put(const std::vector<T>& all) {
    text_ += fmt::format(" [{}", all.size());
    for (const T& each : all) put(each);
    text_ += ']';
  }
  template <typename T>
  void put(const SharedList<T>& all) {
    put(all.get());
  }
  template <typename T>
  void put(const std::optional<T>& value) {
    value ? put(*value) : void(text_ += " none");
  }
  template <typename T>
  void put(const std::shared_ptr<T>& value) {
    value ? put(*value) : void(text_ += " none");
  }
  template <typename T>
  requires(std::is_enum_v<T> || std::is_integral_v<T>) void put(T value) {
    text_ += fmt::format(" {}", static_cast<std::int64_t>(value));
  }

  std::string text_;
};

Text with(const ObjectMeta& m) {
  Text text;
  text.add("meta", m.ns, m.name, m.uid, m.resource_version, m.generation, m.creation_timestamp, m.deletion_timestamp,
           m.deletion_grace_period_seconds);
  text.add("labels", m.labels).add("annotations", m.annotations);
  text.add("owners", m.owner_references).add("finalizers", m.finalizers);
  return text;
}

}  // namespace

std::string described(const Pod& p) {
  Text text = with(p.meta);
  text.add("node", p.node_name.value, p.nominated_node.value, p.scheduler_name, p.priority, p.priority_class_name);
  text.add("where", p.node_selector, p.affinity, p.tolerations, p.topology_spread);
  text.add("containers", p.containers).add("init", p.init_containers).add("volumes", p.volumes);
  text.add("amounts", p.overhead, p.pod_requests, p.pod_limits, p.held_pod_requests);
  text.add("flags", p.host_network, p.uses_resource_claims, p.makes_resource_claims, p.has_scheduling_gates,
           p.has_scheduling_group);
  text.add("claims", p.resource_claims).add("responders", p.eviction_responders);
  text.add("restart", p.restart_policy, p.termination_grace_period_seconds);
  text.add("status", p.phase, p.status_reason, p.qos_class, p.start_time).add("conditions", p.conditions);
  return text.add("statuses", p.container_statuses).add("unread", p.unread).take();
}

std::string described(const Node& n) {
  Text text = with(n.meta);
  text.add("spec", n.unschedulable, n.taints).add("amounts", n.capacity, n.allocatable);
  return text.add("conditions", n.conditions).add("addresses", n.addresses).add("unread", n.unread).take();
}

std::string described(const PodDisruptionBudget& b) {
  Text text = with(b.meta);
  text.add("spec", b.selector, b.min_available, b.max_unavailable, b.always_allow_unhealthy, b.from_v1beta1);
  text.add("status", b.observed_generation, b.disruptions_allowed, b.current_healthy, b.desired_healthy);
  return text.add("more", b.expected_pods, b.sync_failure).take();
}

std::string described(const Namespace& ns) { return with(ns.meta).take(); }

std::string described(const PriorityClass& c) { return with(c.meta).add("value", c.value, c.global_default).take(); }

std::string described(const PersistentVolumeClaim& c) {
  return with(c.meta)
      .add("claim", c.volume_name, c.storage_class, c.request, c.access_modes, c.wants_block, c.attributes_class)
      .add("selector", c.selector)
      .take();
}

std::string described(const PersistentVolume& v) {
  return with(v.meta)
      .add("volume", v.required_node_terms, v.is_local, v.is_claimed, v.storage_class, v.csi_driver, v.capacity)
      .add("more", v.access_modes, v.is_block, v.attributes_class, v.phase, v.claim.ns, v.claim.name, v.claim_uid)
      .take();
}

std::string described(const StorageClass& c) {
  return with(c.meta)
      .add("class", c.provisioner, c.waits_for_pod, c.makes_volumes, c.is_default, c.allowed_topologies)
      .take();
}

std::string described(const CsiNode& n) { return with(n.meta).add("drivers", n.drivers).take(); }

std::string described(const Workload& w) {
  return with(w.meta).add("workload", w.replicas, w.ready_replicas, w.ttl_seconds_after_finished).take();
}

}  // namespace api
