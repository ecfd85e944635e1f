#include "controllers/evacuation/io.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/core/object_json.hpp"
#include "api/meta/label_value.hpp"
#include "api/meta/well_known.hpp"
#include "controllers/status_patch.hpp"

namespace controllers::evacuation {
namespace {

using api::Json;

base::Result<Json> parse_answer(std::string_view raw) {
  auto json = api::parse_object_json(raw);
  if (!json || !json->contains("metadata")) return base::invalid("the server's answer is no Evacuation");
  return json;
}

/// An answer that makes no sense is no refusal: it may be somebody else's who stands between us and the server.
base::Result<StoredEvacuation> parsed(base::Result<std::string> body) {
  if (!body) return std::move(body).error();
  auto stored = parse_stored_evacuation(*body);
  if (!stored) return base::unavailable(stored.error().message);
  return stored;
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
  Json metadata = guard_of(evacuation.meta);
  if (decision.add_finalizer) metadata["finalizers"] = finalizers_with(evacuation.meta, true);
  if (decision.remove_finalizer) metadata["finalizers"] = finalizers_with(evacuation.meta, false);
  Json patch = {{"metadata", std::move(metadata)}};
  if (!decision.fill) return patch;
  patch["spec"]["podRef"]["uid"] = decision.fill->uid.value;
  const std::string& node = decision.fill->node.value;
  if (node.empty()) return patch;
  patch["spec"]["nodeName"] = node;
  patch["metadata"]["labels"][std::string(api::well_known::kNodeLabel)] = api::label_value(node);
  return patch;
}

}  // namespace

base::Result<StoredEvacuation> parse_stored_evacuation(std::string_view raw) {
  auto json = parse_answer(raw);
  if (!json) return json.error();
  auto decoded = api::decode_stored_evacuation(*json);
  if (!decoded) return decoded.error();
  return StoredEvacuation{*std::move(decoded)};
}

base::Result<api::Evacuation> decode_observed_evacuation(std::string_view json) {
  auto stored = parse_stored_evacuation(json);
  if (!stored) return stored.error();
  return std::move(stored->evacuation);
}

base::Result<StoredEvacuation> read_evacuation(kube::Client& client, const api::ObjectKey& key) {
  return parsed(client.get(kube::kEvacuations, key));
}

base::Result<StoredEvacuation> write_status(kube::Client& client, const StoredEvacuation& stored,
                                            const api::EvacuationStatus& status) {
  const api::Evacuation& evacuation = stored.evacuation;
  Json patch = guarded_status_patch(evacuation.meta, api::encode_status(evacuation.status), api::encode_status(status));
  patch["status"]["phase"] = api::to_string(status.phase);  // a first status says even what is the default
  return parsed(client.patch(kube::kEvacuations, evacuation.meta.key(), kube::PatchType::kMerge, patch, "status"));
}

base::Result<StoredEvacuation> write_main(kube::Client& client, const StoredEvacuation& stored,
                                          const Decision& decision) {
  return parsed(client.patch(kube::kEvacuations, stored.evacuation.meta.key(), kube::PatchType::kMerge,
                             main_patch(stored.evacuation, decision)));
}

}  // namespace controllers::evacuation
