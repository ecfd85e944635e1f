/// Decoders of nodes, budgets, workloads and small kinds. Pods and storage have their own files.

#include "api/core/codec.hpp"

#include <charconv>

#include "api/core/codec_parts.hpp"

namespace api::wire {
namespace {

template <typename V>
error_code read_node_spec(V& value, Node& node) {
  return for_members(value, [&](std::string_view key, auto& member) {
    if (key == "unschedulable") return read(member, node.unschedulable);
    if (key == "taints") return for_elements(member, [&](auto& item) { return read_taint(item, node.taints); });
    return simdjson::SUCCESS;
  });
}

template <typename V>
error_code read_address(V& value, Node& node) {
  return for_members(value, [&](std::string_view key, auto& member) {
    if (key != "address" || node.addresses.size() == kMaxNodeAddresses) return simdjson::SUCCESS;
    return read(member, node.addresses.emplace_back());
  });
}

template <typename V>
error_code read_node_status(V& value, Node& node) {
  Unread strange;
  const error_code error = for_members(value, [&](std::string_view key, auto& member) {
    if (key == "capacity") return read_resources(member, node.capacity, strange, key);
    if (key == "allocatable") return read_resources(member, node.allocatable, strange, key);
    if (key == "conditions") return read_conditions(member, node.conditions);
    if (key == "addresses") return for_elements(member, [&](auto& item) { return read_address(item, node); });
    return simdjson::SUCCESS;
  });
  add_unread(node.unread, std::move(strange), "status.");
  return error;
}

/// Reads "50%"; ignores anything else.
void read_percent(std::string_view text, std::optional<IntOrPercent>& target) {
  if (!text.ends_with('%')) return;
  IntOrPercent percent{0, true};
  const char* const end = text.data() + text.size();
  const auto [stopped, status] = std::from_chars(text.data(), end, percent.value);
  if (status == std::errc{} && stopped == end - 1) target = percent;
}

error_code read_amount_or_percent(ProtoValue& value, std::optional<IntOrPercent>& target) {
  if (!value.is(protobuf::FieldType::kIntOrString)) return simdjson::SUCCESS;
  const auto read = read_int_or_string(value.bytes());
  if (!read) return kMalformedProtobuf;
  if (read->is_text) {
    read_percent(read->text, target);
  } else {
    target = IntOrPercent{read->number, false};
  }
  return simdjson::SUCCESS;
}

/// Reads 3 or "50%"; ignores anything else.
error_code read_amount_or_percent(Value& value, std::optional<IntOrPercent>& target) {
  simdjson::ondemand::json_type type{};
  if (const error_code error = value.type().get(type)) return unless_about_value(error);
  if (type != simdjson::ondemand::json_type::string) {
    std::optional<std::int64_t> number;
    const error_code error = read(value, number);
    if (number) target = IntOrPercent{*number, false};
    return error;
  }
  std::string_view text;
  const error_code error = value.get_string().get(text);
  if (!error) read_percent(text, target);
  return unless_about_value(error);
}

template <typename V>
error_code read_pdb_spec(V& value, PodDisruptionBudget& pdb) {
  std::string unhealthy;
  const error_code error = for_members(value, [&](std::string_view key, auto& member) {
    if (key == "selector") return read_selector(member, pdb.selector);
    if (key == "minAvailable") return read_amount_or_percent(member, pdb.min_available);
    if (key == "maxUnavailable") return read_amount_or_percent(member, pdb.max_unavailable);
    if (key == "unhealthyPodEvictionPolicy") return read(member, unhealthy);
    return simdjson::SUCCESS;
  });
  pdb.always_allow_unhealthy = unhealthy == "AlwaysAllow";
  return error;
}

/// Reads the message of the disruption controller when it cannot compute the expected number of pods.
template <typename V>
error_code read_sync_failure(V& value, std::string& target) {
  std::vector<Condition> conditions;
  const error_code error = read_conditions(value, conditions);
  for (const Condition& each : conditions) {
    if (each.type != "DisruptionAllowed" || each.status != ConditionStatus::kFalse || each.reason != "SyncFailed")
      continue;
    target = each.message.empty() ? each.reason : each.message;
  }
  return error;
}

template <typename V>
error_code read_pdb_status(V& value, PodDisruptionBudget& pdb) {
  return for_members(value, [&](std::string_view key, auto& member) {
    if (key == "observedGeneration") return read(member, pdb.observed_generation);
    if (key == "disruptionsAllowed") return read(member, pdb.disruptions_allowed);
    if (key == "currentHealthy") return read(member, pdb.current_healthy);
    if (key == "desiredHealthy") return read(member, pdb.desired_healthy);
    if (key == "expectedPods") return read(member, pdb.expected_pods);
    if (key == "conditions") return read_sync_failure(member, pdb.sync_failure);
    return simdjson::SUCCESS;
  });
}

/// Reads spec of a workload. Jobs have parallelism instead of replicas; DaemonSets have neither.
template <typename V>
error_code read_workload_spec(V& value, Workload& workload) {
  workload.replicas = 1;  // default of the API server, often omitted in manual dumps
  return for_members(value, [&](std::string_view key, auto& member) {
    if (key == "replicas" || key == "parallelism") return read(member, workload.replicas);
    if (key == "ttlSecondsAfterFinished") return read(member, workload.ttl_seconds_after_finished);
    return simdjson::SUCCESS;
  });
}

template <typename V>
error_code read_workload_status(V& value, Workload& workload, std::optional<std::int32_t>& desired) {
  return for_members(value, [&](std::string_view key, auto& member) {
    if (key == "readyReplicas" || key == "numberReady" || key == "active") return read(member, workload.ready_replicas);
    if (key == "desiredNumberScheduled") return read(member, desired);
    return simdjson::SUCCESS;
  });
}

}  // namespace

}  // namespace api::wire

namespace api {

base::Result<Node> decode_node(std::string_view bytes) {
  return wire::decode_object<Node>(bytes, "a Node", {"Node"}, [](std::string_view key, auto& value, Node& decoded) {
    if (key == "spec") return wire::read_node_spec(value, decoded);
    if (key == "status") return wire::read_node_status(value, decoded);
    return simdjson::SUCCESS;
  });
}

base::Result<PodDisruptionBudget> decode_pdb(std::string_view bytes) {
  std::string version;
  auto pdb =
      wire::decode_object<PodDisruptionBudget>(bytes, "a PodDisruptionBudget", {"PodDisruptionBudget"},
                                               [&](std::string_view key, auto& value, PodDisruptionBudget& decoded) {
                                                 if (key == "apiVersion") return wire::read(value, version);
                                                 if (key == "spec") return wire::read_pdb_spec(value, decoded);
                                                 if (key == "status") return wire::read_pdb_status(value, decoded);
                                                 return simdjson::SUCCESS;
                                               });
  if (pdb) pdb->from_v1beta1 = version == "policy/v1beta1";
  return pdb;
}

base::Result<PodDisruptionBudget> decode_pdb_v1beta1(std::string_view bytes) {
  auto pdb = decode_pdb(bytes);
  if (pdb) pdb->from_v1beta1 = true;
  return pdb;
}

base::Result<Namespace> decode_namespace(std::string_view bytes) {
  return wire::decode_object<Namespace>(bytes, "a Namespace", {"Namespace"},
                                        [](std::string_view, auto&, Namespace&) { return simdjson::SUCCESS; });
}

base::Result<PriorityClass> decode_priority_class(std::string_view bytes) {
  return wire::decode_object<PriorityClass>(bytes, "a PriorityClass", {"PriorityClass"},
                                            [](std::string_view key, auto& value, PriorityClass& decoded) {
                                              if (key == "value") return wire::read(value, decoded.value);
                                              if (key == "globalDefault")
                                                return wire::read(value, decoded.global_default);
                                              return simdjson::SUCCESS;
                                            });
}

base::Result<Workload> decode_workload(std::string_view bytes) {
  std::optional<std::int32_t> desired;
  auto workload = wire::decode_object<Workload>(bytes, "a workload", {"ReplicaSet", "StatefulSet", "Job"},
                                                [&](std::string_view key, auto& value, Workload& decoded) {
                                                  if (key == "kind") return wire::read(value, decoded.kind);
                                                  if (key == "spec") return wire::read_workload_spec(value, decoded);
                                                  if (key == "status")
                                                    return wire::read_workload_status(value, decoded, desired);
                                                  return simdjson::SUCCESS;
                                                });
  if (workload && desired) workload->replicas = *desired;
  return workload;
}

base::Result<ObjectMeta> decode_meta(std::string_view bytes) {
  auto decoded =
      wire::decode_object<wire::OnlyMeta>(bytes, "an object's metadata", {wire::kAnyKind},
                                          [](std::string_view, auto&, wire::OnlyMeta&) { return simdjson::SUCCESS; });
  if (!decoded) return std::move(decoded).error();
  return std::move(decoded->meta);
}

}  // namespace api
