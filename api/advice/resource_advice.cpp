#include "api/advice/resource_advice.hpp"

#include <nlohmann/json.hpp>

#include "api/json/fields.hpp"

namespace api {

// Codec of AdvisedResources, as api/json/fields.hpp calls it.

static void read_value(const Json& json, AdvisedResources& resources) {
  resources = {text_at(json, {"requests", "cpu"}), text_at(json, {"limits", "cpu"}),
               text_at(json, {"requests", "memory"}), text_at(json, {"limits", "memory"})};
}

static void read_value(const Json& json, std::optional<AdvisedResources>& resources) {
  if (json.is_object()) read_value(json, resources.emplace());
}

static Json encode_value(const AdvisedResources& resources) {
  Json json = {{"requests", Json::object()}, {"limits", Json::object()}};
  put_text(json["requests"], "cpu", resources.cpu_request);
  put_text(json["requests"], "memory", resources.memory_request);
  put_text(json["limits"], "cpu", resources.cpu_limit);
  put_text(json["limits"], "memory", resources.memory_limit);
  return json;
}

template <>
inline constexpr auto kFields<ContainerAdvice> = std::tuple{always("name", &ContainerAdvice::name),
                                                            always("current", &ContainerAdvice::current),
                                                            field("recommended", &ContainerAdvice::recommended),
                                                            field("noAdvice", &ContainerAdvice::no_advice_reason),
                                                            field("confidence", &ContainerAdvice::confidence),
                                                            field("risk", &ContainerAdvice::risk),
                                                            field("notes", &ContainerAdvice::notes),
                                                            always("samples", &ContainerAdvice::samples),
                                                            always("days", &ContainerAdvice::days),
                                                            field("firstSample", &ContainerAdvice::first_sample),
                                                            field("lastSample", &ContainerAdvice::last_sample),
                                                            field("sketch", &ContainerAdvice::sketch)};

template <>
inline constexpr auto kFields<ResourceAdviceStatus::Workload> = std::tuple{
    always("apiVersion", &ResourceAdviceStatus::Workload::api_version),
    always("kind", &ResourceAdviceStatus::Workload::kind), always("name", &ResourceAdviceStatus::Workload::name)};

template <>
inline constexpr auto kFields<ResourceAdviceStatus> =
    std::tuple{always("workload", &ResourceAdviceStatus::workload),
               always("workloadText", &ResourceAdviceStatus::workload_text),
               always("profile", &ResourceAdviceStatus::profile),
               always("replicas", &ResourceAdviceStatus::replicas),
               always("containerCount", &ResourceAdviceStatus::container_count),
               always("cpuText", &ResourceAdviceStatus::cpu_text),
               always("memoryText", &ResourceAdviceStatus::memory_text),
               always("confidence", &ResourceAdviceStatus::confidence),
               always("containers", &ResourceAdviceStatus::containers),
               always("conditions", &ResourceAdviceStatus::conditions)};

Json encode_status(const ResourceAdviceStatus& status) { return encode_fields(status); }

base::Result<ResourceAdvice> decode_resource_advice(const Json& object) {
  ResourceAdvice advice;
  advice.meta = lenient::meta(object);
  if (advice.meta.name.empty()) return base::invalid("a ResourceAdvice without a name");
  lenient::read(object, "status", advice.status);
  auto& containers = advice.status.containers;
  if (containers.size() > kMaxAdvisedContainers) containers.resize(kMaxAdvisedContainers);
  for (ContainerAdvice& each : containers) {
    if (each.notes.size() > kMaxAdviceNotes) each.notes.resize(kMaxAdviceNotes);
  }
  return advice;
}

}  // namespace api
