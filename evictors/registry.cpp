#include "evictors/registry.hpp"

#include <fmt/format.h>

#include <set>

#include "evictors/eviction_api.hpp"
#include "evictors/eviction_request/eviction_request.hpp"
#include "evictors/handoff/annotation.hpp"
#include "evictors/handoff/stateful_handoff.hpp"
#include "evictors/kubevirt/kubevirt.hpp"
#include "evictors/surge/surge.hpp"
#include "evictors/webhook/webhook.hpp"

namespace evictors {

EvictorRegistry EvictorRegistry::builtin() {
  EvictorRegistry registry;
  registry
      .add(std::make_unique<kubevirt::KubeVirtEvictor>())            // virtual machines
      .add(std::make_unique<handoff::AnnotationEvictor>())           // pods that announce a protocol
      .add(std::make_unique<handoff::StatefulHandoff>())             // pods of operators known by their labels
      .add(std::make_unique<eviction_request::EvictionByRequest>())  // pods with evictionResponders, if the API is
                                                                     // served
      .add(std::make_unique<EvictionApi>())                          // all other pods
      .add(std::make_unique<surge::SurgeEvictor>())                  // only if named, because it changes workloads
      .add(std::make_unique<webhook::WebhookEvictor>());             // only if named, because it needs a service
  return registry;
}

std::vector<std::string_view> EvictorRegistry::names() const {
  std::vector<std::string_view> names;
  for (const auto& evictor : evictors_) names.push_back(evictor->name());
  return names;
}

api::FieldErrors EvictorRegistry::validate(const std::vector<api::EvictorChoice>& choices,
                                           const api::FieldPath& path) const {
  api::FieldErrors errors;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const api::FieldPath at = path.index(i);
    const Evictor* evictor = find(choices[i].name);
    if (!evictor) {
      errors.push_back({at.field("name").text(),
                        fmt::format("unknown evictor {}; known are: {}", choices[i].name, fmt::join(names(), ", "))});
      continue;
    }
    if (!seen.insert(choices[i].name).second) {
      errors.push_back({at.field("name").text(), fmt::format("{} is listed twice", choices[i].name)});
    }
    for (auto& error : evictor->validate(choices[i].parameters, at.field("parameters")))
      errors.push_back(std::move(error));
  }
  return errors;
}

std::vector<api::EvictorChoice> EvictorRegistry::chain(const std::vector<api::EvictorChoice>& choices) const {
  if (!choices.empty()) return choices;
  std::vector<api::EvictorChoice> all;
  for (const auto& evictor : evictors_) {
    if (evictor->traits().automatic) all.push_back({std::string(evictor->name()), {}});
  }
  return all;
}

}  // namespace evictors
