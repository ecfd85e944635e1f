#include "controllers/evacuation_io.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/core_codec.hpp"
#include "api/well_known.hpp"

namespace controllers {
namespace {

using api::Json;

constexpr std::size_t kMaxLabelValue = 63;

base::Result<Json> parse_object(const std::string& raw) {
  Json json = Json::parse(raw, nullptr, false);
  if (!json.is_object() || !json.contains("metadata")) return base::invalid("the server's answer is no Evacuation");
  return json;
}

/// Metadata and status of an Evacuation whose spec makes no sense.
base::Result<StoredEvacuation> without_spec(std::string raw, Json json, const base::Error& error) {
  json["spec"] = {{"podRef", {{"name", "unknown"}}}};
  auto rest = api::decode_evacuation(json);
  if (!rest) return rest.error();
  rest->spec = api::EvacuationSpec{};
  return StoredEvacuation{std::move(raw), *std::move(rest), error.message};
}

base::Result<StoredEvacuation> parsed(base::Result<std::string> body) {
  if (!body) return std::move(body).error();
  return parse_stored_evacuation(*std::move(body));
}

/// Replaces what encode_status() knows about; everything else in the status stays.
void merge_status(Json& object, const Json& before, const Json& after) {
  Json& status = object["status"];
  if (!status.is_object()) status = Json::object();
  for (const auto& [name, value] : before.items()) {
    if (!after.contains(name)) status.erase(name);
  }
  for (const auto& [name, value] : after.items()) status[name] = value;
}

Json finalizers_with(const api::ObjectMeta& meta, bool wanted) {
  Json list = Json::array();
  for (const std::string& each : meta.finalizers) {
    if (each != api::well_known::kEvacuationFinalizer) list.push_back(each);
  }
  if (wanted) list.push_back(api::well_known::kEvacuationFinalizer);
  return list;
}

Json main_patch(const api::Evacuation& evacuation, const Decision& decision) {
  Json metadata = {{"resourceVersion", evacuation.meta.resource_version}, {"uid", evacuation.meta.uid}};
  if (decision.add_finalizer) metadata["finalizers"] = finalizers_with(evacuation.meta, true);
  if (decision.remove_finalizer) metadata["finalizers"] = finalizers_with(evacuation.meta, false);
  Json patch = {{"metadata", std::move(metadata)}};
  if (!decision.fill) return patch;
  patch["spec"]["podRef"]["uid"] = decision.fill->uid.value;
  const std::string& node = decision.fill->node.value;
  if (node.empty()) return patch;
  patch["spec"]["nodeName"] = node;
  if (node.size() <= kMaxLabelValue) patch["metadata"]["labels"][std::string(api::well_known::kNodeLabel)] = node;
  return patch;
}

}  // namespace

base::Result<StoredEvacuation> parse_stored_evacuation(std::string raw) {
  auto json = parse_object(raw);
  if (!json) return json.error();
  auto decoded = api::decode_evacuation(*json);
  if (!decoded) return without_spec(std::move(raw), *std::move(json), decoded.error());
  return StoredEvacuation{std::move(raw), *std::move(decoded), {}};
}

base::Result<api::Evacuation> decode_observed_evacuation(std::string_view json) {
  auto stored = parse_stored_evacuation(std::string(json));
  if (!stored) return stored.error();
  return std::move(stored->evacuation);
}

base::Result<StoredEvacuation> read_evacuation(kube::Client& client, const api::ObjectKey& key) {
  return parsed(client.get(kube::kEvacuations, key));
}

base::Result<StoredEvacuation> write_status(kube::Client& client, const StoredEvacuation& stored,
                                            const api::EvacuationStatus& status) {
  auto object = parse_object(stored.raw);
  if (!object) return object.error();
  merge_status(*object, api::encode_status(stored.evacuation.status), api::encode_status(status));
  return parsed(client.update(kube::kEvacuations, stored.evacuation.meta.key(), *object, "status"));
}

base::Result<StoredEvacuation> write_main(kube::Client& client, const StoredEvacuation& stored,
                                          const Decision& decision) {
  return parsed(client.patch(kube::kEvacuations, stored.evacuation.meta.key(), kube::PatchType::kMerge,
                             main_patch(stored.evacuation, decision)));
}

}  // namespace controllers
