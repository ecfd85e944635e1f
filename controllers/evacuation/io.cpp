#include "controllers/evacuation/io.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/evacuation/stored.hpp"
#include "api/meta/label_value.hpp"
#include "api/meta/well_known.hpp"
#include "kube/status_patch.hpp"

namespace controllers::evacuation {
namespace {

using api::Json;

namespace names = api::well_known;

/// Annotations of an Evacuation that the operator reads.
constexpr std::array kOwnAnnotations = {names::kPredictedTargetAnnotation, names::kOriginAnnotation,
                                        names::kCreatorAnnotation, names::kNativeEvictionAnnotation,
                                        names::kNativeEvictionUidAnnotation};

constexpr std::array kOwnLabels = {names::kPolicyLabel, names::kNodeLabel};

base::Result<StoredEvacuation> parse_answer(std::string_view raw, api::StoredParts parts) {
  std::string unknown_phase;
  auto read = api::read_stored_evacuation(raw, parts, &unknown_phase);
  if (!read) return base::invalid("the server's response is not an Evacuation");
  // The phase was written by another version. Decoding it as Pending would start the evacuation again.
  if (!unknown_phase.empty()) return base::invalid(fmt::format("status.phase: unknown phase {}", unknown_phase));
  return StoredEvacuation{*std::move(read)};
}

/// Returns kUnavailable, not a refusal, for an answer that cannot be decoded: it may come from a proxy.
base::Result<StoredEvacuation> parsed(base::Result<std::string> body) {
  if (!body) return std::move(body).error();
  auto stored = parse_stored_evacuation(*body);
  if (!stored) return base::unavailable(stored.error().message);
  return stored;
}

/// Decodes the answer to a write of the status of `before`. An unchanged generation proves that the spec is
/// unchanged, so it is copied instead of decoded.
base::Result<StoredEvacuation> parsed_status_answer(base::Result<std::string> body, const api::Evacuation& before) {
  if (!body) return std::move(body).error();
  auto stored = parse_answer(*body, api::StoredParts::kAllButSpec);
  if (!stored) return base::unavailable(stored.error().message);
  const auto& meta = stored->evacuation.meta;
  const bool is_same = meta.generation > 0 && meta.generation == before.meta.generation && meta.uid == before.meta.uid;
  if (!is_same) return parsed(std::move(body));
  stored->evacuation.spec = before.spec;
  stored->evacuation.spec_problem = before.spec_problem;
  return stored;
}

template <std::size_t N>
api::StringMap only(const std::array<std::string_view, N>& keys, const api::StringMap& all) {
  std::vector<api::StringMap::Entry> kept;
  for (const std::string_view key : keys) {
    if (const std::string* value = all.find(key)) kept.emplace_back(key, *value);
  }
  return kept.size() == all.size() ? all : api::StringMap(std::move(kept));
}

/// Keeps the operator's finalizer and the first foreign one, which has_foreign_finalizers() detects.
void trim_finalizers(std::vector<std::string>& finalizers) {
  std::erase_if(finalizers, [foreign = 0](const std::string& each) mutable {
    return each != names::kEvacuationFinalizer && ++foreign > 1;
  });
  finalizers.shrink_to_fit();
}

/// Keeps the last entry for the audit log, and the entries at which the pod began to leave for observe_past().
void trim_history(std::vector<api::HistoryEntry>& history) {
  if (history.empty()) return;
  api::HistoryEntry newest = std::move(history.back());
  history.pop_back();
  std::erase_if(history, [](const api::HistoryEntry& each) { return each.to != "Evicting" && each.to != "Verifying"; });
  for (api::HistoryEntry& each : history) each.message = each.actor = {};
  history.push_back(std::move(newest));
  history.shrink_to_fit();
}

void trim_finished(api::Evacuation& evacuation) {
  for (api::EvictorChoice& choice : evacuation.spec.evictors) choice.parameters = {};
  evacuation.spec.cancel.reason = {};
  api::EvacuationStatus& status = evacuation.status;
  status.refs = {};
  status.blocked_by = {};
  status.last_response.reset();
  status.last_heartbeat_value = {};
  for (api::Condition& condition : status.conditions) condition.message = {};
  trim_history(status.history);
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
  Json metadata = kube::guard_of(evacuation.meta);
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
  return parse_answer(raw, api::StoredParts::kAll);
}

base::Result<api::Evacuation> decode_observed_evacuation(std::string_view json) {
  auto evacuation = decode_whole_evacuation(json);
  if (evacuation) trim(*evacuation);
  return evacuation;
}

base::Result<api::Evacuation> decode_whole_evacuation(std::string_view json) {
  auto stored = parse_stored_evacuation(json);
  if (!stored) return stored.error();
  return std::move(stored->evacuation);
}

void trim(api::Evacuation& evacuation) {
  evacuation.meta.annotations = only(kOwnAnnotations, evacuation.meta.annotations);
  evacuation.meta.labels = only(kOwnLabels, evacuation.meta.labels);
  trim_finalizers(evacuation.meta.finalizers);
  if (is_trimmed(evacuation)) trim_finished(evacuation);
}

bool has_foreign_finalizers(const api::Evacuation& evacuation) {
  return std::ranges::any_of(evacuation.meta.finalizers,
                             [](const std::string& each) { return each != names::kEvacuationFinalizer; });
}

bool is_trimmed(const api::Evacuation& cached) {
  return api::is_terminal(cached.status.phase) &&
         std::ranges::find(cached.meta.finalizers, names::kEvacuationFinalizer) == cached.meta.finalizers.end();
}

base::Result<StoredEvacuation> read_evacuation(kube::Client& client, const api::ObjectKey& key) {
  return parsed(client.get(kube::kEvacuations, key));
}

base::Result<StoredEvacuation> write_status(kube::Client& client, const StoredEvacuation& stored,
                                            const api::EvacuationStatus& status) {
  const api::Evacuation& evacuation = stored.evacuation;
  auto [was, is] = api::encode_change(evacuation.status, status);
  Json patch = kube::guarded_status_patch(evacuation.meta, was, std::move(is));
  // A first status states the phase even if it is the default.
  patch["status"]["phase"] = api::to_string(status.phase);
  return parsed_status_answer(
      client.patch(kube::kEvacuations, evacuation.meta.key(), kube::PatchType::kMerge, patch, "status"), evacuation);
}

base::Result<StoredEvacuation> write_main(kube::Client& client, const StoredEvacuation& stored,
                                          const Decision& decision) {
  return parsed(client.patch(kube::kEvacuations, stored.evacuation.meta.key(), kube::PatchType::kMerge,
                             main_patch(stored.evacuation, decision)));
}

}  // namespace controllers::evacuation
