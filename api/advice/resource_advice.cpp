#include "api/advice/resource_advice.hpp"

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "api/json/lenient.hpp"

namespace api {
namespace {

Json encode_resources(const AdvisedResources& resources) {
  Json json = {{"requests", Json::object()}, {"limits", Json::object()}};
  put_text(json["requests"], "cpu", resources.cpu_request);
  put_text(json["requests"], "memory", resources.memory_request);
  put_text(json["limits"], "cpu", resources.cpu_limit);
  put_text(json["limits"], "memory", resources.memory_limit);
  return json;
}

AdvisedResources decode_resources(const Json& json) {
  return {text_at(json, {"requests", "cpu"}), text_at(json, {"limits", "cpu"}), text_at(json, {"requests", "memory"}),
          text_at(json, {"limits", "memory"})};
}

Json encode_container(const ContainerAdvice& container) {
  Json json = {{"name", container.name},
               {"current", encode_resources(container.current)},
               {"samples", container.samples},
               {"days", container.days}};
  if (container.recommended) json["recommended"] = encode_resources(*container.recommended);
  put_text(json, "noAdvice", container.no_advice_reason);
  put_text(json, "confidence", container.confidence);
  put_text(json, "risk", container.risk);
  if (!container.notes.empty()) json["notes"] = container.notes;
  put_time(json, "firstSample", container.first_sample);
  put_time(json, "lastSample", container.last_sample);
  put_text(json, "sketch", container.sketch);
  return json;
}

ContainerAdvice decode_container(const Json& json) {
  ContainerAdvice container;
  container.name = lenient::text(json, "name");
  if (const Json* current = lenient::object(json, "current")) container.current = decode_resources(*current);
  if (const Json* recommended = lenient::object(json, "recommended"))
    container.recommended = decode_resources(*recommended);
  container.no_advice_reason = lenient::text(json, "noAdvice");
  container.confidence = lenient::text(json, "confidence");
  container.risk = lenient::text(json, "risk");
  for (const Json& note : items_at(json, {"notes"})) {
    if (note.is_string() && container.notes.size() < kMaxAdviceNotes)
      container.notes.push_back(note.get<std::string>());
  }
  container.samples = lenient::integer(json, "samples");
  container.days = lenient::small_integer(json, "days");
  container.first_sample = lenient::time(json, "firstSample");
  container.last_sample = lenient::time(json, "lastSample");
  container.sketch = lenient::text(json, "sketch");
  return container;
}

}  // namespace

Json encode_status(const ResourceAdviceStatus& status) {
  Json containers = Json::array();
  for (const ContainerAdvice& each : status.containers) containers.push_back(encode_container(each));
  return {
      {"workload",
       {{"apiVersion", status.workload.api_version}, {"kind", status.workload.kind}, {"name", status.workload.name}}},
      {"workloadText", status.workload_text},
      {"profile", status.profile},
      {"replicas", status.replicas},
      {"containerCount", status.container_count},
      {"cpuText", status.cpu_text},
      {"memoryText", status.memory_text},
      {"confidence", status.confidence},
      {"containers", std::move(containers)},
      {"conditions", encode_conditions(status.conditions)}};
}

base::Result<ResourceAdvice> decode_resource_advice(const Json& object) {
  ResourceAdvice advice;
  advice.meta = lenient::meta(object);
  if (advice.meta.name.empty()) return base::invalid("a ResourceAdvice without a name");
  const Json* json = lenient::object(object, "status");
  if (json == nullptr) return advice;
  ResourceAdviceStatus& status = advice.status;
  status.workload = {text_at(*json, {"workload", "apiVersion"}), text_at(*json, {"workload", "kind"}),
                     text_at(*json, {"workload", "name"})};
  status.workload_text = lenient::text(*json, "workloadText");
  status.profile = lenient::text(*json, "profile");
  status.replicas = lenient::small_integer(*json, "replicas");
  status.container_count = lenient::small_integer(*json, "containerCount");
  status.cpu_text = lenient::text(*json, "cpuText");
  status.memory_text = lenient::text(*json, "memoryText");
  status.confidence = lenient::text(*json, "confidence");
  for (const Json& each : items_at(*json, {"containers"})) {
    if (status.containers.size() < kMaxAdvisedContainers) status.containers.push_back(decode_container(each));
  }
  status.conditions = lenient::conditions(*json);
  return advice;
}

}  // namespace api
