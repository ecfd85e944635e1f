#include "kube/status_patch.hpp"

#include <nlohmann/json.hpp>

namespace kube {
namespace {

using api::Json;

/// Moves changed values out of `after`. Lists are replaced as a whole.
Json merge_patch(const Json& before, Json& after) {
  Json patch = Json::object();
  for (const auto& [name, value] : before.items()) {
    if (!after.contains(name)) patch[name] = nullptr;
  }
  for (auto& [name, value] : after.get_ref<Json::object_t&>()) {
    const auto known = before.find(name);
    const bool is_new = known == before.end();
    if (!is_new && value.is_object() && known->is_object()) {
      if (Json inner = merge_patch(*known, value); !inner.empty()) patch[name] = std::move(inner);
    } else if (is_new || *known != value) {
      patch[name] = std::move(value);
    }
  }
  return patch;
}

}  // namespace

Json guard_of(const api::ObjectMeta& meta) { return {{"resourceVersion", meta.resource_version}, {"uid", meta.uid}}; }

Json guarded_status_patch(const api::ObjectMeta& meta, const Json& before, Json after) {
  Json patch = Json::object();
  patch["metadata"] = guard_of(meta);
  patch["status"] = merge_patch(before, after);
  return patch;
}

}  // namespace kube
