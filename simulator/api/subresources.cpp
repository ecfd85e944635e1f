#include <fmt/format.h>

#include "api/json/json_access.hpp"
#include "simulator/api/core.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/registry/patch.hpp"

namespace simulator {
namespace {

using api::Json;

std::string selector_text(const Json* selector) {
  std::string text;
  const Json* labels = selector ? api::find_at(*selector, {"matchLabels"}) : nullptr;
  if (!labels || !labels->is_object()) return text;
  for (const auto& [key, value] : labels->items()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value.is_string() ? value.get<std::string>() : "");
  }
  return text;
}

Json scale_of(const Json& workload) {
  Json metadata = Json::object();
  for (const char* field : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"})
    metadata[field] = api::text_at(workload, {"metadata", field});
  return {{"kind", "Scale"},
          {"apiVersion", "autoscaling/v1"},
          {"metadata", std::move(metadata)},
          {"spec", {{"replicas", api::number_at(workload, {"spec", "replicas"}).value_or(1)}}},
          {"status",
           {{"replicas", api::number_at(workload, {"status", "replicas"}).value_or(0)},
            {"selector", selector_text(api::find_at(workload, {"spec", "selector"}))}}}};
}

Outcome<Json> wanted_scale(const Call& call, const Json& scale) {
  Json body = Json::parse(call.request.body, nullptr, false);
  if (body.is_discarded() || api::is_nested_deeper(body, 100)) return bad_request("the request body is not valid JSON");
  if (call.info.verb == "update") return body;
  if (call.request.content_type.starts_with("application/json-patch+json")) return apply_json_patch(scale, body);
  return apply_merge_patch(scale, body);
}

}  // namespace

kube::Response serve_scale(ApiCore& core, Call& call) {
  const ServedResource& resource = *call.resource;
  if (call.info.verb == "get") {
    const Object found = core.store.get(resource.storage, call.key());
    if (!found) return to_response(not_found(resource.group, resource.plural, call.info.name));
    return json_response(200, scale_of(*found));
  }
  if (call.info.verb != "update" && call.info.verb != "patch") return to_response(method_not_allowed());
  auto saved = write_object(core, call, Part::kMain, [&](Json workload) -> Outcome<Json> {
    auto scale = wanted_scale(call, scale_of(workload));
    if (!scale) return scale;
    const auto replicas = api::number_at(*scale, {"spec", "replicas"});
    if (!replicas || *replicas < 0) {
      return invalid_object("autoscaling", "Scale", call.info.name,
                            {{"spec.replicas", fmt::format("Invalid value: {}: must be greater than or equal to 0",
                                                           replicas.value_or(0))}});
    }
    workload["spec"]["replicas"] = *replicas;
    if (const std::string version = api::text_at(*scale, {"metadata", "resourceVersion"}); !version.empty())
      workload["metadata"]["resourceVersion"] = version;
    return workload;
  });
  return saved ? json_response(200, scale_of(**saved)) : to_response(saved.failure());
}

kube::Response bind_pod(ApiCore& core, Call& call) {
  auto body = read_body(call);
  if (!body) return to_response(body.failure());
  const std::string node = api::text_at(*body, {"target", "name"});
  if (node.empty())
    return to_response(invalid_object("", "Binding", call.info.name, {{"target.name", "Required value"}}));
  const std::string now = base::format_time(core.store.clock().now());
  std::optional<Failure> refused;
  auto bound = core.store.mutate(kube::kPods, call.key(), Part::kAll, [&](Json& pod) -> base::Status {
    call.uid = uid_of(pod);
    if (const std::string has = api::text_at(pod, {"spec", "nodeName"}); !has.empty()) {
      refused = conflict("", "pods/binding", call.info.name,
                         fmt::format("pod {} is already assigned to node \"{}\"", call.info.name, has));
      return base::invalid("refused");
    }
    pod["spec"]["nodeName"] = node;
    array_in(object_in(pod, "status"), "conditions")
        .push_back(
            {{"type", "PodScheduled"}, {"status", "True"}, {"lastProbeTime", nullptr}, {"lastTransitionTime", now}});
    return base::Done{};
  });
  if (refused) return to_response(*refused);
  if (!bound) return to_response(from_store(bound.error(), "", "pods", "Pod", call.info.name));
  return created_status();
}

kube::Response review_access(const Call& call) {
  auto body = read_body(call);
  if (!body) return to_response(body.failure());
  Json answer = *body;
  answer["status"] = {{"allowed", true}, {"reason", "the simulator allows every request"}};
  return json_response(201, answer);
}

}  // namespace simulator
