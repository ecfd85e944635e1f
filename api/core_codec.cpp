#include "api/core_codec.hpp"

#include <algorithm>
#include <charconv>

#include "api/core_codec_reader.hpp"
#include "api/lenient.hpp"
#include "api/names.hpp"

namespace api {
namespace {

using wire::error_code;
using wire::Value;

/// Labels, annotations and node selectors repeat from pod to pod of one workload. A small table of recent ones lets
/// equal maps share their storage; it holds no more than its slots, so it cannot grow under churn.
StringMap share(std::vector<StringMap::Entry> entries) {
  constexpr std::size_t kSlots = 512;
  thread_local std::array<StringMap, kSlots> recent;
  if (entries.empty()) return {};
  StringMap map(std::move(entries));
  std::size_t hash = 0;
  for (const auto& [key, value] : map) {
    hash = hash * 31 + std::hash<std::string>{}(key);
    hash = hash * 31 + std::hash<std::string>{}(value);
  }
  StringMap& slot = recent[hash % kSlots];
  if (!(slot == map)) slot = map;
  return slot;
}

/// As share(), for affinities: those of one workload are equal.
std::shared_ptr<const Affinity> share(Affinity affinity) {
  constexpr std::size_t kSlots = 16;
  thread_local std::array<std::shared_ptr<const Affinity>, kSlots> recent;
  thread_local std::size_t next = 0;
  for (const auto& known : recent) {
    if (known && *known == affinity) return known;
  }
  next = (next + 1) % kSlots;
  return recent[next] = std::make_shared<const Affinity>(std::move(affinity));
}

error_code read_map(Value& value, bool annotations, StringMap& target) {
  std::vector<StringMap::Entry> entries;
  const error_code error = wire::for_entries(value, [&](std::string_view key, Value& entry) {
    std::string_view text;
    const error_code entry_error = entry.get_string().get(text);
    if (!entry_error && (!annotations || keeps_annotation(key, text.size()))) entries.emplace_back(key, text);
    return wire::unless_about_value(entry_error);
  });
  target = share(std::move(entries));
  return error;
}

/// An object is an owner even if it says nothing: protections and limits ask how many there are.
error_code read_owner(Value& value, std::vector<OwnerReference>& target) {
  simdjson::ondemand::json_type type{};
  if (const error_code error = value.type().get(type)) return wire::unless_about_value(error);
  if (type != simdjson::ondemand::json_type::object) return simdjson::SUCCESS;
  OwnerReference& owner = target.emplace_back();
  return wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "apiVersion") return wire::read(member, owner.api_version);
    if (key == "kind") return wire::read(member, owner.kind);
    if (key == "name") return wire::read(member, owner.name);
    if (key == "uid") return wire::read(member, owner.uid);
    if (key == "controller") return wire::read(member, owner.controller);
    return simdjson::SUCCESS;
  });
}

error_code read_meta(Value& value, ObjectMeta& meta) {
  return wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "name") return wire::read(member, meta.name);
    if (key == "namespace") return wire::read(member, meta.ns);
    if (key == "uid") return wire::read(member, meta.uid);
    if (key == "resourceVersion") return wire::read(member, meta.resource_version);
    if (key == "generation") return wire::read(member, meta.generation);
    if (key == "creationTimestamp") return wire::read(member, meta.creation_timestamp);
    if (key == "deletionTimestamp") return wire::read(member, meta.deletion_timestamp);
    if (key == "labels") return read_map(member, false, meta.labels);
    if (key == "annotations") return read_map(member, true, meta.annotations);
    if (key == "finalizers") return wire::read(member, meta.finalizers);
    if (key == "ownerReferences") {
      return wire::for_elements(member, [&](Value& item) { return read_owner(item, meta.owner_references); });
    }
    return simdjson::SUCCESS;  // managedFields above all: half of the text, skipped unparsed
  });
}

/// "250m" or, from hand-written files, 2. `text`: what stood there; "" for null.
error_code read_quantity(Value& value, std::optional<Quantity>& target, std::string& text) {
  simdjson::ondemand::json_type type{};
  if (const error_code error = value.type().get(type)) return wire::unless_about_value(error);
  if (type == simdjson::ondemand::json_type::string) {
    std::string_view read;
    const error_code error = value.get_string().get(read);
    if (!error) target = Quantity::parse(read);
    if (!target) text = error ? "no text" : read;
    return wire::unless_about_value(error);
  }
  if (type == simdjson::ondemand::json_type::null) return simdjson::SUCCESS;
  text = "no number";
  if (type != simdjson::ondemand::json_type::number) return simdjson::SUCCESS;
  text = value.raw_json_token();
  text.resize(text.find_last_not_of(" \t\r\n") + 1);
  target = Quantity::parse(text);
  return simdjson::SUCCESS;
}

/// What could not be read below the path, which is known only further up.
using Unread = std::vector<UnreadField>;

void add_unread(UnreadFields& target, Unread unread, const std::string& prefix) {
  if (unread.empty()) return;
  for (UnreadField& field : unread) field.path.insert(0, prefix);
  if (target) unread.insert(unread.begin(), target->begin(), target->end());
  target = std::make_shared<const Unread>(std::move(unread));
}

/// `field`: the list's name, in front of the names of those that cannot be read.
error_code read_resources(Value& value, ResourceList& target, Unread& unread, std::string_view field) {
  return wire::for_entries(value, [&](std::string_view name, Value& entry) {
    std::optional<Quantity> amount;
    std::string text;
    const error_code error = read_quantity(entry, amount, text);
    if (!amount) {
      if (!error && !text.empty()) unread.push_back({std::string(field) + "." + std::string(name), std::move(text)});
      return error;
    }
    const auto at =
        std::ranges::lower_bound(target, name, {}, [](const auto& known) { return std::string_view(known.first); });
    if (at != target.end() && at->first == name) {
      at->second = *amount;
    } else {
      target.emplace(at, std::string(name), *amount);
    }
    return error;
  });
}

error_code read_requests_and_limits(Value& value, ResourceList& requests, ResourceList& limits, Unread& unread) {
  return wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "requests") return read_resources(member, requests, unread, key);
    if (key == "limits") return read_resources(member, limits, unread, key);
    return simdjson::SUCCESS;
  });
}

std::optional<SelectorOperator> selector_operator(std::string_view text) {
  if (text == "In") return SelectorOperator::kIn;
  if (text == "NotIn") return SelectorOperator::kNotIn;
  if (text == "Exists") return SelectorOperator::kExists;
  if (text == "DoesNotExist") return SelectorOperator::kDoesNotExist;
  if (text == "Gt") return SelectorOperator::kGt;
  if (text == "Lt") return SelectorOperator::kLt;
  return std::nullopt;
}

/// The API server takes no such requirement, so it must not widen the selector: In of no values holds for nobody.
void break_requirement(SelectorRequirement& requirement) {
  requirement.op = SelectorOperator::kIn;
  requirement.values.clear();
}

void check_names(SelectorRequirement& requirement) {
  if (!is_qualified_name(requirement.key) || !std::ranges::all_of(requirement.values, is_label_value)) {
    break_requirement(requirement);
  }
}

error_code read_requirement(Value& value, bool names_fields, std::vector<SelectorRequirement>& target) {
  SelectorRequirement requirement;
  std::string op;
  const error_code error = wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "key") return wire::read(member, requirement.key);
    if (key == "operator") return wire::read(member, op);
    if (key == "values") return wire::read(member, requirement.values);
    return simdjson::SUCCESS;
  });
  if (const auto known = selector_operator(op)) {
    requirement.op = *known;
    if (!names_fields) check_names(requirement);
  } else {
    break_requirement(requirement);
  }
  target.push_back(std::move(requirement));
  return error;
}

error_code read_requirements(Value& value, std::vector<SelectorRequirement>& target, bool names_fields = false) {
  return wire::for_elements(value, [&](Value& item) { return read_requirement(item, names_fields, target); });
}

error_code read_match_label_entries(Value& value, std::vector<SelectorRequirement>& target) {
  return wire::for_entries(value, [&](std::string_view key, Value& entry) {
    std::string_view text;
    const error_code error = entry.get_string().get(text);
    if (!error)
      check_names(target.emplace_back(std::string(key), SelectorOperator::kIn, std::vector{std::string(text)}));
    return wire::unless_about_value(error);
  });
}

error_code read_selector(Value& value, std::optional<LabelSelector>& target) {
  simdjson::ondemand::json_type type{};
  if (const error_code error = value.type().get(type)) return wire::unless_about_value(error);
  if (type != simdjson::ondemand::json_type::object) return simdjson::SUCCESS;
  LabelSelector selector;
  const error_code error = wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "matchLabels") return read_match_label_entries(member, selector.requirements);
    if (key == "matchExpressions") return read_requirements(member, selector.requirements);
    return simdjson::SUCCESS;
  });
  target = std::move(selector);
  return error;
}

error_code read_node_term(Value& value, NodeSelectorTerm& term) {
  return wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "matchExpressions") return read_requirements(member, term.match_expressions);
    if (key == "matchFields") return read_requirements(member, term.match_fields, true);
    return simdjson::SUCCESS;
  });
}

/// {nodeSelectorTerms: […]}
error_code read_node_selector(Value& value, std::vector<NodeSelectorTerm>& target) {
  return wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key != "nodeSelectorTerms") return simdjson::SUCCESS;
    return wire::for_elements(member, [&](Value& item) { return read_node_term(item, target.emplace_back()); });
  });
}

error_code read_node_affinity(Value& value, Affinity& affinity) {
  simdjson::ondemand::json_type type{};
  if (const error_code error = value.type().get(type)) return wire::unless_about_value(error);
  affinity.has_node_affinity = type == simdjson::ondemand::json_type::object;
  return wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "requiredDuringSchedulingIgnoredDuringExecution") {
      simdjson::ondemand::json_type type{};
      if (const error_code error = member.type().get(type)) return wire::unless_about_value(error);
      if (type != simdjson::ondemand::json_type::object) return simdjson::SUCCESS;
      return read_node_selector(member, affinity.required_node_terms.emplace());
    }
    if (key != "preferredDuringSchedulingIgnoredDuringExecution") return simdjson::SUCCESS;
    return wire::for_elements(member, [&](Value& item) {
      PreferredNodeTerm& preferred = affinity.preferred_node_terms.emplace_back();
      return wire::for_members(item, [&](std::string_view name, Value& part) {
        if (name == "weight") return wire::read(part, preferred.weight);
        if (name == "preference") return read_node_term(part, preferred.term);
        return simdjson::SUCCESS;
      });
    });
  });
}

error_code read_pod_affinity_term(Value& value, PodAffinityTerm& term) {
  return wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "labelSelector") return read_selector(member, term.label_selector);
    if (key == "namespaces") return wire::read(member, term.namespaces);
    if (key == "namespaceSelector") return read_selector(member, term.namespace_selector);
    if (key == "topologyKey") return wire::read(member, term.topology_key);
    if (key == "matchLabelKeys") return wire::read(member, term.match_label_keys);
    if (key == "mismatchLabelKeys") return wire::read(member, term.mismatch_label_keys);
    return simdjson::SUCCESS;
  });
}

using WeightedPodTerms = std::vector<std::pair<int, PodAffinityTerm>>;

error_code read_pod_affinity(Value& value, std::vector<PodAffinityTerm>& required, WeightedPodTerms& preferred) {
  return wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "requiredDuringSchedulingIgnoredDuringExecution") {
      return wire::for_elements(member,
                                [&](Value& item) { return read_pod_affinity_term(item, required.emplace_back()); });
    }
    if (key != "preferredDuringSchedulingIgnoredDuringExecution") return simdjson::SUCCESS;
    return wire::for_elements(member, [&](Value& item) {
      auto& [weight, term] = preferred.emplace_back(1, PodAffinityTerm{});
      return wire::for_members(item, [&weight = weight, &term = term](std::string_view name, Value& part) {
        if (name == "weight") return wire::read(part, weight);
        if (name == "podAffinityTerm") return read_pod_affinity_term(part, term);
        return simdjson::SUCCESS;
      });
    });
  });
}

error_code read_affinity(Value& value, std::shared_ptr<const Affinity>& target) {
  Affinity affinity;
  const error_code error = wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "nodeAffinity") return read_node_affinity(member, affinity);
    if (key == "podAffinity") {
      return read_pod_affinity(member, affinity.required_pod_affinity, affinity.preferred_pod_affinity);
    }
    if (key == "podAntiAffinity") {
      return read_pod_affinity(member, affinity.required_pod_anti_affinity, affinity.preferred_pod_anti_affinity);
    }
    return simdjson::SUCCESS;
  });
  if (affinity != Affinity{}) target = share(std::move(affinity));
  return error;
}

std::optional<TaintEffect> taint_effect(std::string_view text) {
  if (text == "NoSchedule") return TaintEffect::kNoSchedule;
  if (text == "PreferNoSchedule") return TaintEffect::kPreferNoSchedule;
  if (text == "NoExecute") return TaintEffect::kNoExecute;
  return std::nullopt;
}

error_code read_toleration(Value& value, std::vector<Toleration>& target) {
  Toleration toleration;
  std::string op;
  std::string effect;
  std::optional<std::int64_t> seconds;
  const error_code error = wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "key") return wire::read(member, toleration.key);
    if (key == "operator") return wire::read(member, op);
    if (key == "value") return wire::read(member, toleration.value);
    if (key == "effect") return wire::read(member, effect);
    if (key == "tolerationSeconds") return wire::read(member, seconds);
    return simdjson::SUCCESS;
  });
  toleration.exists = op == "Exists";
  if (op == "Lt") toleration.comparison = TolerationComparison::kLessThan;
  if (op == "Gt") toleration.comparison = TolerationComparison::kGreaterThan;
  toleration.effect = taint_effect(effect);
  if (seconds) toleration.toleration_seconds = base::seconds(*seconds);
  const bool known = (op.empty() || op == "Equal" || op == "Exists" || op == "Lt" || op == "Gt") &&
                     (effect.empty() || toleration.effect);
  if (!known) toleration.comparison = TolerationComparison::kNever;
  target.push_back(std::move(toleration));
  return error;
}

error_code read_taint(Value& value, std::vector<Taint>& target) {
  Taint taint;
  std::string effect;
  const error_code error = wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "key") return wire::read(member, taint.key);
    if (key == "value") return wire::read(member, taint.value);
    if (key == "effect") return wire::read(member, effect);
    return simdjson::SUCCESS;
  });
  taint.effect = taint_effect(effect).value_or(TaintEffect::kOther);
  target.push_back(std::move(taint));
  return error;
}

error_code read_spread(Value& value, std::vector<TopologySpreadConstraint>& target) {
  TopologySpreadConstraint& spread = target.emplace_back();
  std::string unsatisfiable;
  std::string affinity_policy;
  std::string taints_policy;
  const error_code error = wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "maxSkew") return wire::read(member, spread.max_skew);
    if (key == "topologyKey") return wire::read(member, spread.topology_key);
    if (key == "whenUnsatisfiable") return wire::read(member, unsatisfiable);
    if (key == "labelSelector") return read_selector(member, spread.label_selector);
    if (key == "minDomains") return wire::read(member, spread.min_domains);
    if (key == "nodeAffinityPolicy") return wire::read(member, affinity_policy);
    if (key == "nodeTaintsPolicy") return wire::read(member, taints_policy);
    if (key == "matchLabelKeys") return wire::read(member, spread.match_label_keys);
    return simdjson::SUCCESS;
  });
  spread.schedule_anyway = unsatisfiable == "ScheduleAnyway";
  spread.honor_node_affinity = affinity_policy != "Ignore";
  spread.honor_node_taints = taints_policy == "Honor";
  return error;
}

error_code read_port(Value& value, std::vector<HostPort>& target) {
  HostPort port;
  const error_code error = wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "hostPort") return wire::read(member, port.port);
    if (key == "hostIP") return wire::read(member, port.ip);
    if (key == "protocol") return wire::read(member, port.protocol);
    return simdjson::SUCCESS;
  });
  if (port.port <= 0) return error;
  if (port.protocol.empty()) port.protocol = "TCP";
  target.push_back(std::move(port));
  return error;
}

error_code read_container(Value& value, std::vector<Container>& target, const char* field, UnreadFields& unread) {
  Container& container = target.emplace_back();
  std::string restart_policy;
  Unread strange;
  const error_code error = wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "name") return wire::read(member, container.name);
    if (key == "image") return wire::read(member, container.image);
    if (key == "resources") return read_requests_and_limits(member, container.requests, container.limits, strange);
    if (key == "restartPolicy") return wire::read(member, restart_policy);
    if (key == "ports") {
      return wire::for_elements(member, [&](Value& item) { return read_port(item, container.host_ports); });
    }
    return simdjson::SUCCESS;
  });
  container.restart_always = restart_policy == "Always";
  if (!strange.empty()) {
    add_unread(unread, std::move(strange),
               "spec." + std::string(field) + "[" + std::to_string(target.size() - 1) + "].resources.");
  }
  return error;
}

std::optional<VolumeKind> volume_kind(std::string_view key) {
  if (key == "persistentVolumeClaim") return VolumeKind::kPersistentVolumeClaim;
  if (key == "hostPath") return VolumeKind::kHostPath;
  if (key == "emptyDir") return VolumeKind::kEmptyDir;
  if (key == "secret") return VolumeKind::kSecret;
  if (key == "configMap") return VolumeKind::kConfigMap;
  if (key == "ephemeral") return VolumeKind::kEphemeral;
  return std::nullopt;
}

/// {volumeClaimTemplate: {spec: {storageClassName}}}
error_code read_claim_template(Value& value, Volume& volume) {
  return wire::for_members(value, [&](std::string_view key, Value& claim) {
    if (key != "volumeClaimTemplate") return simdjson::SUCCESS;
    return wire::for_members(claim, [&](std::string_view part, Value& spec) {
      if (part != "spec") return simdjson::SUCCESS;
      return wire::for_members(spec, [&](std::string_view name, Value& member) {
        return name == "storageClassName" ? wire::read(member, volume.storage_class) : simdjson::SUCCESS;
      });
    });
  });
}

/// {name, resourceClaimName} or {name, resourceClaimTemplateName}
error_code read_pod_claims(Value& value, Pod& pod) {
  return wire::for_elements(value, [&](Value& item) {
    pod.uses_resource_claims = true;
    std::string name;
    std::string made_by;
    const error_code error = wire::for_members(item, [&](std::string_view key, Value& member) {
      if (key == "resourceClaimName") return wire::read(member, name);
      if (key == "resourceClaimTemplateName") return wire::read(member, made_by);
      return simdjson::SUCCESS;
    });
    if (!name.empty()) pod.resource_claims.push_back(std::move(name));
    pod.makes_resource_claims = pod.makes_resource_claims || !made_by.empty();
    return error;
  });
}

/// The source of an ephemeral volume is its own name until finish_volumes() knows the pod's.
error_code read_volume(Value& value, std::vector<Volume>& target) {
  Volume& volume = target.emplace_back();
  std::string name;
  const error_code error = wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "name") return wire::read(member, name);
    const auto kind = volume_kind(key);
    bool is_null = false;
    if (!kind) return simdjson::SUCCESS;
    if (const error_code null_error = member.is_null().get(is_null)) return wire::unless_about_value(null_error);
    if (is_null) return simdjson::SUCCESS;
    volume.kind = *kind;
    if (*kind == VolumeKind::kEphemeral) return read_claim_template(member, volume);
    if (*kind != VolumeKind::kPersistentVolumeClaim) return simdjson::SUCCESS;
    return wire::for_members(member, [&](std::string_view part, Value& claim) {
      return part == "claimName" ? wire::read(claim, volume.source) : simdjson::SUCCESS;
    });
  });
  if (volume.kind == VolumeKind::kEphemeral) volume.source = std::move(name);
  return error;
}

void finish_volumes(Pod& pod) {
  for (Volume& volume : pod.volumes) {
    if (volume.kind == VolumeKind::kEphemeral) volume.source = pod.meta.name + "-" + volume.source;
  }
}

error_code read_responders(Value& value, std::vector<PodResponder>& target) {
  return wire::for_elements(value, [&](Value& item) {
    PodResponder responder;
    const error_code error = wire::for_members(item, [&](std::string_view key, Value& member) {
      if (key == "name") return wire::read(member, responder.name);
      if (key == "priority") return wire::read(member, responder.priority);
      return simdjson::SUCCESS;
    });
    if (!responder.name.empty()) target.push_back(std::move(responder));
    return error;
  });
}

error_code read_placement(std::string_view key, Value& member, Pod& pod) {
  if (key == "nodeName") return wire::read(member, pod.node_name.value);
  if (key == "schedulerName") return wire::read(member, pod.scheduler_name);
  if (key == "priority") return wire::read(member, pod.priority);
  if (key == "priorityClassName") return wire::read(member, pod.priority_class_name);
  if (key == "nodeSelector") return read_map(member, false, pod.node_selector);
  if (key == "affinity") return read_affinity(member, pod.affinity);
  if (key == "tolerations") {
    return wire::for_elements(member, [&](Value& item) { return read_toleration(item, pod.tolerations); });
  }
  if (key == "topologySpreadConstraints") {
    return wire::for_elements(member, [&](Value& item) { return read_spread(item, pod.topology_spread); });
  }
  if (key == "schedulingGates") return wire::read_non_empty(member, pod.has_scheduling_gates);
  if (key == "schedulingGroup") return wire::read_non_empty(member, pod.has_scheduling_group);
  if (key == "evictionResponders") return read_responders(member, pod.eviction_responders);
  return simdjson::SUCCESS;
}

error_code read_pod_resources(std::string_view key, Value& member, Pod& pod) {
  Unread strange;
  const error_code error = key == "overhead"
                               ? read_resources(member, pod.overhead, strange, "spec.overhead")
                               : read_requests_and_limits(member, pod.pod_requests, pod.pod_limits, strange);
  add_unread(pod.unread, std::move(strange), key == "overhead" ? "" : "spec.resources.");
  return error;
}

error_code read_pod_spec(Value& value, Pod& pod) {
  return wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "containers" || key == "initContainers") {
      const bool init = key == "initContainers";
      return wire::for_elements(member, [&](Value& item) {
        return read_container(item, init ? pod.init_containers : pod.containers, init ? "initContainers" : "containers",
                              pod.unread);
      });
    }
    if (key == "volumes") {
      return wire::for_elements(member, [&](Value& item) { return read_volume(item, pod.volumes); });
    }
    if (key == "overhead" || key == "resources") return read_pod_resources(key, member, pod);
    if (key == "hostNetwork") return wire::read(member, pod.host_network);
    if (key == "resourceClaims") return read_pod_claims(member, pod);
    if (key == "restartPolicy") return wire::read(member, pod.restart_policy);
    if (key == "terminationGracePeriodSeconds") return wire::read(member, pod.termination_grace_period_seconds);
    return read_placement(key, member, pod);
  });
}

PodPhase pod_phase(std::string_view text) {
  if (text == "Pending") return PodPhase::kPending;
  if (text == "Running") return PodPhase::kRunning;
  if (text == "Succeeded") return PodPhase::kSucceeded;
  if (text == "Failed") return PodPhase::kFailed;
  return text == "Unknown" ? PodPhase::kUnknown : PodPhase::kNone;
}

error_code read_condition(Value& value, std::vector<Condition>& target) {
  Condition condition;
  std::string status;
  const error_code error = wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "type") return wire::read(member, condition.type);
    if (key == "status") return wire::read(member, status);
    if (key == "reason") return wire::read(member, condition.reason);
    if (key == "message") return wire::read(member, condition.message);
    if (key == "observedGeneration") return wire::read(member, condition.observed_generation);
    if (key == "lastTransitionTime") return wire::read(member, condition.last_transition_time);
    return simdjson::SUCCESS;
  });
  if (status == "True") condition.status = ConditionStatus::kTrue;
  if (status == "False") condition.status = ConditionStatus::kFalse;
  target.push_back(std::move(condition));
  return error;
}

error_code read_conditions(Value& value, std::vector<Condition>& target) {
  return wire::for_elements(value, [&](Value& item) { return read_condition(item, target); });
}

/// {terminated: {exitCode, reason, finishedAt}}
error_code read_terminated(Value& value, std::string& reason, std::optional<std::int32_t>& exit_code,
                           std::optional<base::TimePoint>& finished_at) {
  return wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "reason") return wire::read(member, reason);
    if (key == "exitCode") return wire::read(member, exit_code);
    if (key == "finishedAt") return wire::read(member, finished_at);
    return simdjson::SUCCESS;
  });
}

error_code read_container_state(Value& value, ContainerStatus& status) {
  return wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "terminated")
      return read_terminated(member, status.terminated_reason, status.exit_code, status.finished_at);
    if (key != "waiting") return simdjson::SUCCESS;
    return wire::for_members(member, [&](std::string_view part, Value& detail) {
      return part == "reason" ? wire::read(detail, status.waiting_reason) : simdjson::SUCCESS;
    });
  });
}

error_code read_container_status(Value& value, ContainerStatus& status) {
  return wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "name") return wire::read(member, status.name);
    if (key == "restartCount") return wire::read(member, status.restart_count);
    if (key == "ready") return wire::read(member, status.ready);
    if (key == "state") return read_container_state(member, status);
    if (key != "lastState") return simdjson::SUCCESS;
    return wire::for_members(member, [&](std::string_view part, Value& last) {
      if (part != "terminated") return simdjson::SUCCESS;
      return read_terminated(last, status.last_terminated_reason, status.last_exit_code, status.last_finished_at);
    });
  });
}

error_code read_container_statuses(Value& value, ContainerStatus like, std::vector<ContainerStatus>& target) {
  return wire::for_elements(value, [&](Value& item) { return read_container_status(item, target.emplace_back(like)); });
}

ContainerStatus init_status() {
  ContainerStatus status;
  status.is_init = true;
  return status;
}

ContainerStatus ephemeral_status() {
  ContainerStatus status;
  status.is_ephemeral = true;
  return status;
}

error_code read_pod_status(Value& value, Pod& pod) {
  std::string phase;
  const error_code error = wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "phase") return wire::read(member, phase);
    if (key == "reason") return wire::read(member, pod.status_reason);
    if (key == "qosClass") return wire::read(member, pod.qos_class);
    if (key == "startTime") return wire::read(member, pod.start_time);
    if (key == "conditions") return read_conditions(member, pod.conditions);
    if (key == "containerStatuses") return read_container_statuses(member, {}, pod.container_statuses);
    if (key == "initContainerStatuses") return read_container_statuses(member, init_status(), pod.container_statuses);
    if (key == "ephemeralContainerStatuses") {
      return read_container_statuses(member, ephemeral_status(), pod.container_statuses);
    }
    return simdjson::SUCCESS;
  });
  pod.phase = pod_phase(phase);
  return error;
}

error_code read_node_spec(Value& value, Node& node) {
  return wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "unschedulable") return wire::read(member, node.unschedulable);
    if (key == "taints") return wire::for_elements(member, [&](Value& item) { return read_taint(item, node.taints); });
    return simdjson::SUCCESS;
  });
}

error_code read_node_status(Value& value, Node& node) {
  Unread strange;
  const error_code error = wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "capacity") return read_resources(member, node.capacity, strange, key);
    if (key == "allocatable") return read_resources(member, node.allocatable, strange, key);
    if (key == "conditions") return read_conditions(member, node.conditions);
    return simdjson::SUCCESS;
  });
  add_unread(node.unread, std::move(strange), "status.");
  return error;
}

/// 3 or "50%"; anything else is absent.
error_code read_amount_or_percent(Value& value, std::optional<IntOrPercent>& target) {
  simdjson::ondemand::json_type type{};
  if (const error_code error = value.type().get(type)) return wire::unless_about_value(error);
  if (type != simdjson::ondemand::json_type::string) {
    std::optional<std::int64_t> number;
    const error_code error = wire::read(value, number);
    if (number) target = IntOrPercent{*number, false};
    return error;
  }
  std::string_view text;
  const error_code error = value.get_string().get(text);
  IntOrPercent percent{0, true};
  const char* const end = text.data() + text.size();
  if (!error && text.ends_with('%')) {
    const auto [stopped, status] = std::from_chars(text.data(), end, percent.value);
    if (status == std::errc{} && stopped == end - 1) target = percent;
  }
  return wire::unless_about_value(error);
}

error_code read_pdb_spec(Value& value, PodDisruptionBudget& pdb) {
  std::string unhealthy;
  const error_code error = wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "selector") return read_selector(member, pdb.selector);
    if (key == "minAvailable") return read_amount_or_percent(member, pdb.min_available);
    if (key == "maxUnavailable") return read_amount_or_percent(member, pdb.max_unavailable);
    if (key == "unhealthyPodEvictionPolicy") return wire::read(member, unhealthy);
    return simdjson::SUCCESS;
  });
  pdb.always_allow_unhealthy = unhealthy == "AlwaysAllow";
  return error;
}

error_code read_pdb_status(Value& value, PodDisruptionBudget& pdb) {
  return wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "observedGeneration") return wire::read(member, pdb.observed_generation);
    if (key == "disruptionsAllowed") return wire::read(member, pdb.disruptions_allowed);
    if (key == "currentHealthy") return wire::read(member, pdb.current_healthy);
    if (key == "desiredHealthy") return wire::read(member, pdb.desired_healthy);
    if (key == "expectedPods") return wire::read(member, pdb.expected_pods);
    return simdjson::SUCCESS;
  });
}

/// {storage: …} among other members; of others nothing is taken.
error_code read_storage(Value& value, Quantity& target) {
  ResourceList amounts;
  Unread unread;  // a volume of no known size holds no claim
  const error_code error = read_resources(value, amounts, unread, "");
  target = amount_of(amounts, "storage");
  return error;
}

error_code read_pvc_spec(Value& value, PersistentVolumeClaim& pvc) {
  return wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "volumeName") return wire::read(member, pvc.volume_name);
    if (key == "storageClassName") return wire::read(member, pvc.storage_class);
    if (key == "accessModes") return wire::read(member, pvc.access_modes);
    if (key != "resources") return simdjson::SUCCESS;
    return wire::for_members(member, [&](std::string_view part, Value& amounts) {
      return part == "requests" ? read_storage(amounts, pvc.request) : simdjson::SUCCESS;
    });
  });
}

error_code read_pv_spec(Value& value, PersistentVolume& pv) {
  return wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "local" || key == "hostPath") return wire::read_non_empty(member, pv.is_local);
    if (key == "claimRef") return wire::read_non_empty(member, pv.is_claimed);
    if (key == "storageClassName") return wire::read(member, pv.storage_class);
    if (key == "capacity") return read_storage(member, pv.capacity);
    if (key == "accessModes") return wire::read(member, pv.access_modes);
    if (key == "csi") {
      return wire::for_members(member, [&](std::string_view part, Value& driver) {
        return part == "driver" ? wire::read(driver, pv.csi_driver) : simdjson::SUCCESS;
      });
    }
    if (key != "nodeAffinity") return simdjson::SUCCESS;
    return wire::for_members(member, [&](std::string_view part, Value& required) {
      return part == "required" ? read_node_selector(required, pv.required_node_terms) : simdjson::SUCCESS;
    });
  });
}

/// Job counts parallelism and active; DaemonSet has no spec.replicas at all.
error_code read_workload_spec(Value& value, Workload& workload) {
  workload.replicas = 1;  // the API server's default, which hand-written dumps leave out
  return wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "replicas" || key == "parallelism") return wire::read(member, workload.replicas);
    if (key == "ttlSecondsAfterFinished") return wire::read(member, workload.ttl_seconds_after_finished);
    return simdjson::SUCCESS;
  });
}

error_code read_workload_status(Value& value, Workload& workload, std::optional<std::int32_t>& desired) {
  return wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "readyReplicas" || key == "numberReady" || key == "active")
      return wire::read(member, workload.ready_replicas);
    if (key == "desiredNumberScheduled") return wire::read(member, desired);
    return simdjson::SUCCESS;
  });
}

/// {matchLabelExpressions: [{key, values}]}: one of the values each.
error_code read_topology_term(Value& value, NodeSelectorTerm& term) {
  return wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key != "matchLabelExpressions") return simdjson::SUCCESS;
    return wire::for_elements(member, [&](Value& item) {
      SelectorRequirement& requirement = term.match_expressions.emplace_back();
      requirement.op = SelectorOperator::kIn;
      return wire::for_members(item, [&](std::string_view part, Value& text) {
        if (part == "key") return wire::read(text, requirement.key);
        if (part == "values") return wire::read(text, requirement.values);
        return simdjson::SUCCESS;
      });
    });
  });
}

error_code read_csi_driver(Value& value, CsiNode::Driver& driver) {
  return wire::for_members(value, [&](std::string_view key, Value& member) {
    if (key == "name") return wire::read(member, driver.name);
    if (key != "allocatable") return simdjson::SUCCESS;
    return wire::for_members(member, [&](std::string_view part, Value& count) {
      return part == "count" ? wire::read(count, driver.most_volumes) : simdjson::SUCCESS;
    });
  });
}

error_code read_allocation(Value& value, ResourceClaim& claim) {
  simdjson::ondemand::json_type type{};
  if (const error_code error = value.type().get(type)) return wire::unless_about_value(error);
  claim.is_allocated = type == simdjson::ondemand::json_type::object;
  return wire::for_members(value, [&](std::string_view key, Value& member) {
    return key == "nodeSelector" ? read_node_selector(member, claim.node_terms) : simdjson::SUCCESS;
  });
}

/// Decodes an object of which T has `meta`; `read(key, value, T&)` takes the other members.
template <typename T, typename F>
base::Result<T> decode_object(std::string_view json, const char* what, F&& read) {
  T decoded;
  wire::Lease lease;
  const auto status = wire::read_document(*lease, json, what, [&](wire::Object& root) {
    return wire::for_members(root, [&](std::string_view key, Value& value) {
      return key == "metadata" ? read_meta(value, decoded.meta) : read(key, value, decoded);
    });
  });
  if (!status) return status.error();
  return decoded;
}

struct OnlyMeta {
  ObjectMeta meta;
};

}  // namespace

base::Result<Pod> decode_pod(std::string_view json) {
  auto pod = decode_object<Pod>(json, "a Pod", [](std::string_view key, Value& value, Pod& decoded) {
    if (key == "spec") return read_pod_spec(value, decoded);
    if (key == "status") return read_pod_status(value, decoded);
    return simdjson::SUCCESS;
  });
  if (pod) finish_volumes(*pod);
  return pod;
}

base::Result<Node> decode_node(std::string_view json) {
  return decode_object<Node>(json, "a Node", [](std::string_view key, Value& value, Node& decoded) {
    if (key == "spec") return read_node_spec(value, decoded);
    if (key == "status") return read_node_status(value, decoded);
    return simdjson::SUCCESS;
  });
}

base::Result<PodDisruptionBudget> decode_pdb(std::string_view json) {
  std::string version;
  auto pdb = decode_object<PodDisruptionBudget>(json, "a PodDisruptionBudget",
                                                [&](std::string_view key, Value& value, PodDisruptionBudget& decoded) {
                                                  if (key == "apiVersion") return wire::read(value, version);
                                                  if (key == "spec") return read_pdb_spec(value, decoded);
                                                  if (key == "status") return read_pdb_status(value, decoded);
                                                  return simdjson::SUCCESS;
                                                });
  if (pdb) pdb->from_v1beta1 = version == "policy/v1beta1";
  return pdb;
}

base::Result<PodDisruptionBudget> decode_pdb_v1beta1(std::string_view json) {
  auto pdb = decode_pdb(json);
  if (pdb) pdb->from_v1beta1 = true;
  return pdb;
}

base::Result<Namespace> decode_namespace(std::string_view json) {
  return decode_object<Namespace>(json, "a Namespace",
                                  [](std::string_view, Value&, Namespace&) { return simdjson::SUCCESS; });
}

base::Result<PriorityClass> decode_priority_class(std::string_view json) {
  return decode_object<PriorityClass>(json, "a PriorityClass",
                                      [](std::string_view key, Value& value, PriorityClass& decoded) {
                                        if (key == "value") return wire::read(value, decoded.value);
                                        if (key == "globalDefault") return wire::read(value, decoded.global_default);
                                        return simdjson::SUCCESS;
                                      });
}

base::Result<PersistentVolumeClaim> decode_pvc(std::string_view json) {
  return decode_object<PersistentVolumeClaim>(
      json, "a PersistentVolumeClaim", [](std::string_view key, Value& value, PersistentVolumeClaim& decoded) {
        return key == "spec" ? read_pvc_spec(value, decoded) : simdjson::SUCCESS;
      });
}

base::Result<PersistentVolume> decode_pv(std::string_view json) {
  return decode_object<PersistentVolume>(json, "a PersistentVolume",
                                         [](std::string_view key, Value& value, PersistentVolume& decoded) {
                                           return key == "spec" ? read_pv_spec(value, decoded) : simdjson::SUCCESS;
                                         });
}

base::Result<StorageClass> decode_storage_class(std::string_view json) {
  std::string mode;
  auto decoded =
      decode_object<StorageClass>(json, "a StorageClass", [&](std::string_view key, Value& value, StorageClass& read) {
        if (key == "provisioner") return wire::read(value, read.provisioner);
        if (key == "volumeBindingMode") return wire::read(value, mode);
        if (key != "allowedTopologies") return simdjson::SUCCESS;
        return wire::for_elements(
            value, [&](Value& item) { return read_topology_term(item, read.allowed_topologies.emplace_back()); });
      });
  if (!decoded) return decoded;
  decoded->waits_for_pod = mode == "WaitForFirstConsumer";
  decoded->makes_volumes = decoded->provisioner != "kubernetes.io/no-provisioner";
  for (const char* name :
       {"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"})
    decoded->is_default = decoded->is_default || decoded->meta.annotations.value(name) == "true";
  return decoded;
}

base::Result<CsiNode> decode_csi_node(std::string_view json) {
  return decode_object<CsiNode>(json, "a CSINode", [](std::string_view key, Value& value, CsiNode& decoded) {
    if (key != "spec") return simdjson::SUCCESS;
    return wire::for_members(value, [&](std::string_view part, Value& drivers) {
      if (part != "drivers") return simdjson::SUCCESS;
      return wire::for_elements(drivers,
                                [&](Value& item) { return read_csi_driver(item, decoded.drivers.emplace_back()); });
    });
  });
}

base::Result<ResourceClaim> decode_resource_claim(std::string_view json) {
  return decode_object<ResourceClaim>(json, "a ResourceClaim",
                                      [](std::string_view key, Value& value, ResourceClaim& decoded) {
                                        if (key != "status") return simdjson::SUCCESS;
                                        return wire::for_members(value, [&](std::string_view part, Value& allocation) {
                                          if (part != "allocation") return simdjson::SUCCESS;
                                          return read_allocation(allocation, decoded);
                                        });
                                      });
}

base::Result<Workload> decode_workload(std::string_view json) {
  std::optional<std::int32_t> desired;
  auto workload =
      decode_object<Workload>(json, "a workload", [&](std::string_view key, Value& value, Workload& decoded) {
        if (key == "kind") return wire::read(value, decoded.kind);
        if (key == "spec") return read_workload_spec(value, decoded);
        if (key == "status") return read_workload_status(value, decoded, desired);
        return simdjson::SUCCESS;
      });
  if (workload && desired) workload->replicas = *desired;
  return workload;
}

base::Result<ObjectMeta> decode_meta(std::string_view json) {
  auto decoded = decode_object<OnlyMeta>(json, "an object's metadata",
                                         [](std::string_view, Value&, OnlyMeta&) { return simdjson::SUCCESS; });
  if (!decoded) return std::move(decoded).error();
  return std::move(decoded->meta);
}

}  // namespace api
