/// Decoders of nodes, budgets, workloads and small kinds. Pods and storage have their own files.

#include "api/core/codec.hpp"

#include <charconv>

#include "api/core/codec_parts.hpp"

namespace api::wire {
namespace {

error_code read_address(auto& value, Node& node) {
  return for_members(value, [&](std::string_view key, auto& member) {
    if (key != "address" || node.addresses.size() == kMaxNodeAddresses) return simdjson::SUCCESS;
    return read(member, node.addresses.emplace_back());
  });
}

error_code read_node_status(auto& value, Node& node) {
  Unread strange;
  const error_code error = read_members(
      value, on("capacity", [&](auto& amounts) { return read_resources(amounts, node.capacity, strange, "capacity"); }),
      on("allocatable",
         [&](auto& amounts) { return read_resources(amounts, node.allocatable, strange, "allocatable"); }),
      on("conditions", [&](auto& list) { return read_conditions(list, node.conditions); }),
      on("addresses", elements([&](auto& item) { return read_address(item, node); })));
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

error_code read_pdb_spec(auto& value, PodDisruptionBudget& pdb) {
  std::string unhealthy;
  const error_code error = read_members(
      value, on("selector", [&](auto& selector) { return read_selector(selector, pdb.selector); }),
      on("minAvailable", [&](auto& amount) { return read_amount_or_percent(amount, pdb.min_available); }),
      on("maxUnavailable", [&](auto& amount) { return read_amount_or_percent(amount, pdb.max_unavailable); }),
      on("unhealthyPodEvictionPolicy", unhealthy));
  pdb.always_allow_unhealthy = unhealthy == "AlwaysAllow";
  return error;
}

/// Reads the message of the disruption controller when it cannot compute the expected number of pods.
error_code read_sync_failure(auto& value, std::string& target) {
  std::vector<Condition> conditions;
  const error_code error = read_conditions(value, conditions);
  for (const Condition& each : conditions) {
    if (each.type != "DisruptionAllowed" || each.status != ConditionStatus::kFalse || each.reason != "SyncFailed")
      continue;
    target = each.message.empty() ? each.reason : each.message;
  }
  return error;
}

auto pdb_status(PodDisruptionBudget& pdb) {
  return members(on("observedGeneration", pdb.observed_generation), on("disruptionsAllowed", pdb.disruptions_allowed),
                 on("currentHealthy", pdb.current_healthy), on("desiredHealthy", pdb.desired_healthy),
                 on("expectedPods", pdb.expected_pods),
                 on("conditions", [&](auto& list) { return read_sync_failure(list, pdb.sync_failure); }));
}

/// Reads spec of a workload. Jobs have parallelism instead of replicas; DaemonSets have neither.
error_code read_workload_spec(auto& value, Workload& workload) {
  workload.replicas = 1;  // default of the API server, often omitted in manual dumps
  return read_members(value, on("replicas", workload.replicas), on("parallelism", workload.replicas),
                      on("ttlSecondsAfterFinished", workload.ttl_seconds_after_finished));
}

auto workload_status(Workload& workload, std::optional<std::int32_t>& desired) {
  return members(on("readyReplicas", workload.ready_replicas), on("numberReady", workload.ready_replicas),
                 on("active", workload.ready_replicas), on("desiredNumberScheduled", desired));
}

}  // namespace

}  // namespace api::wire

namespace api {

using wire::elements;
using wire::members;
using wire::on;

base::Result<Node> decode_node(std::string_view bytes) {
  return wire::decode_object<Node>(bytes, "a Node", {"Node"}, [](Node& node) {
    const auto add_taint = [&](auto& item) { return wire::read_taint(item, node.taints); };
    return members(on("spec", members(on("unschedulable", node.unschedulable), on("taints", elements(add_taint)))),
                   on("status", [&](auto& value) { return wire::read_node_status(value, node); }));
  });
}

base::Result<PodDisruptionBudget> decode_pdb(std::string_view bytes) {
  std::string version;
  auto pdb = wire::decode_object<PodDisruptionBudget>(
      bytes, "a PodDisruptionBudget", {"PodDisruptionBudget"}, [&](PodDisruptionBudget& decoded) {
        return members(on("apiVersion", version),
                       on("spec", [&](auto& value) { return wire::read_pdb_spec(value, decoded); }),
                       on("status", wire::pdb_status(decoded)));
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
  return wire::decode_object<Namespace>(bytes, "a Namespace", {"Namespace"}, [](Namespace&) { return members(); });
}

base::Result<PriorityClass> decode_priority_class(std::string_view bytes) {
  return wire::decode_object<PriorityClass>(bytes, "a PriorityClass", {"PriorityClass"}, [](PriorityClass& decoded) {
    return members(on("value", decoded.value), on("globalDefault", decoded.global_default));
  });
}

base::Result<Workload> decode_workload(std::string_view bytes) {
  std::optional<std::int32_t> desired;
  auto workload =
      wire::decode_object<Workload>(bytes, "a workload", {"ReplicaSet", "StatefulSet", "Job"}, [&](Workload& decoded) {
        return members(on("kind", decoded.kind),
                       on("spec", [&](auto& value) { return wire::read_workload_spec(value, decoded); }),
                       on("status", wire::workload_status(decoded, desired)));
      });
  if (workload && desired) workload->replicas = *desired;
  return workload;
}

base::Result<ObjectMeta> decode_meta(std::string_view bytes) {
  auto decoded = wire::decode_object<wire::OnlyMeta>(bytes, "an object's metadata", {wire::kAnyKind},
                                                     [](wire::OnlyMeta&) { return members(); });
  if (!decoded) return std::move(decoded).error();
  return std::move(decoded->meta);
}

}  // namespace api
