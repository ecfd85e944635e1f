#include "evictors/surge/surge_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "api/core/codec.hpp"
#include "api/json/json_access.hpp"
#include "base/text.hpp"
#include "kube/request.hpp"

namespace evictors::surge {
namespace {

using api::Json;

constexpr int kMaxPods = 500;
constexpr std::size_t kMaxClaims = 8;

std::optional<Json> parsed(const Document* document) {
  if (!document || !document->ok()) return std::nullopt;
  Json json = Json::parse(document->body, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  return json;
}

/// Returns the items of a list, or nullptr.
const Json* items_of(const std::optional<Json>& list) {
  const Json* items = list ? api::find_at(*list, {"items"}) : nullptr;
  return items && items->is_array() ? items : nullptr;
}

std::string why_unreadable(std::string_view what, const Document& document) {
  if (document.status == 403) {
    return fmt::format("not allowed to read {}: apply config/surge, the optional role of this evictor", what);
  }
  if (document.status == 0) return fmt::format("{} cannot be read: {}", what, base::truncate_utf8(document.body, 200));
  return fmt::format("{} cannot be read: the server responded with {}", what, document.status);
}

const api::OwnerReference* pod_owner(const EvictorContext& context) {
  if (context.pod) return context.pod->meta.controller();
  const auto& kept = context.evacuation.status.pod_owner;
  return kept ? &*kept : nullptr;
}

bool is_apps(const api::OwnerReference& owner) { return owner.api_version.starts_with("apps/"); }

/// Returns why pods of such an owner are not surged, empty if they may be.
std::string wrong_owner(const api::OwnerReference* owner) {
  if (!owner) return "the pod has no controller that would create a surge pod";
  if (owner->kind == "StatefulSet" && is_apps(*owner)) {
    return fmt::format(
        "StatefulSet {} gives its pods ordinal identities: an extra replica would be another member with its own "
        "volume, not a surge pod of this one; use a handoff (evictor annotation)",
        owner->name);
  }
  if (owner->kind == "ReplicaSet" && is_apps(*owner)) return {};
  return fmt::format("a pod of {} {} cannot be surged: only pods of Deployments and ReplicaSets can", owner->kind,
                     owner->name);
}

void take_workload(const Document* document, const kube::ResourceType& type, SurgeState& view) {
  if (!document) return;
  view.found = document->status == 404 ? ReadResult::kGone : ReadResult::kUnreadable;
  if (document->status == 404) return;
  if (!document->ok()) {
    view.problem = why_unreadable(type.kind, *document);
    view.forbidden = document->status == 403;
  } else if (auto workload = read_workload(document->body, type)) {
    view.workload = *std::move(workload);
    view.found = ReadResult::kYes;
  } else {
    view.problem = fmt::format("the response is not a {}", type.kind);
  }
}

bool belongs_to(const api::Pod& pod, const Workload& workload) {
  const api::OwnerReference* owner = pod.meta.controller();
  if (!owner || owner->kind != "ReplicaSet") return false;
  return workload.is_deployment() ? owner->name.starts_with(workload.meta.name + "-") : owner->uid == workload.meta.uid;
}

void take_pods(const EvictorContext& context, SurgeState& view) {
  const auto json = parsed(context.document(kReadPods));
  const Json* items = items_of(json);
  if (!items || !api::text_at(*json, {"metadata", "continue"}).empty()) return;
  view.pods_known = true;
  for (const Json& item : *items) {
    auto pod = api::decode_pod(item.dump(-1, ' ', false, Json::error_handler_t::replace));
    if (!pod || pod->meta.uid.empty() || !belongs_to(*pod, view.workload)) continue;
    if (!pod->meta.is_terminating() && !pod->is_terminal()) view.pods.push_back(*std::move(pod));
  }
}

/// Returns the Deployment that owns the ReplicaSet, nullptr if the ReplicaSet is itself the workload.
const api::OwnerReference* deployment_of(const api::ObjectMeta& replica_set) {
  const api::OwnerReference* owner = replica_set.controller();
  return owner && owner->kind == "Deployment" && is_apps(*owner) ? owner : nullptr;
}

kube::Request list_of(const kube::ResourceType& type, const std::string& ns, std::string selector = {}) {
  return kube::list_request(type, {.ns = ns, .label_selector = std::move(selector), .limit = kMaxPods});
}

/// Returns the reads of the workload, found by status.refs or by the pod's owner. Empty once it is read.
std::vector<Read> workload_reads(const EvictorContext& context) {
  const std::string& ns = context.ns();
  const api::OwnerReference* owner = pod_owner(context);
  std::vector<Read> reads;
  const bool replica_set_known = context.document(kReadReplicaSet) != nullptr;
  if (owner && !replica_set_known)
    reads.push_back(read_of(kReadReplicaSet, get_request(kube::kReplicaSets, {ns, owner->name})));
  const std::string_view remembered = context.ref(kRefKind) == "Deployment" ? context.ref(kRefName) : "";
  std::string deployment(remembered);
  if (deployment.empty() && replica_set_known && context.document(kReadReplicaSet)->ok()) {
    if (const auto meta = api::decode_meta(context.document(kReadReplicaSet)->body)) {
      if (const auto* above = deployment_of(*meta)) deployment = above->name;
    }
  }
  if (!deployment.empty() && !context.document(kReadDeployment))
    reads.push_back(read_of(kReadDeployment, get_request(kube::kDeployments, {ns, deployment})));
  return reads;
}

void choosing_reads(const EvictorContext& context, std::vector<Read>& reads) {
  const std::string& ns = context.ns();
  if (!context.document(kReadAutoscalers)) reads.push_back(read_of(kReadAutoscalers, list_of(kAutoscalers, ns)));
  const auto budgets = context.eviction_version == "v1beta1" ? kube::kPdbsV1beta1 : kube::kPdbs;
  if (!context.document(kReadBudgets)) reads.push_back(read_of(kReadBudgets, list_of(budgets, ns)));
  std::size_t claims = 0;
  for (const api::Volume& volume : context.pod->volumes) {
    const std::string name = std::string(kReadClaim) + volume.source;
    if (volume.kind != api::VolumeKind::kPersistentVolumeClaim || ++claims > kMaxClaims || context.document(name))
      continue;
    reads.push_back(read_of(name, get_request(kube::kPersistentVolumeClaims, {ns, volume.source})));
  }
}

bool targets(const Json& autoscaler, const Workload& workload) {
  return api::text_at(autoscaler, {"spec", "scaleTargetRef", "kind"}) == workload.type.kind &&
         api::text_at(autoscaler, {"spec", "scaleTargetRef", "name"}) == workload.meta.name;
}

std::int64_t desired_after(const api::PodDisruptionBudget& budget, std::int64_t expected) {
  const auto scaled = [&](const api::IntOrPercent& value) {
    return value.percent ? (value.value * expected + 99) / 100 : value.value;
  };
  if (budget.min_available) return scaled(*budget.min_available);
  return budget.max_unavailable ? expected - scaled(*budget.max_unavailable) : 0;
}

bool usable_from_one_node_only(const Json& claim) {
  const Json* modes = api::find_at(claim, {"spec", "accessModes"});
  if (!modes || !modes->is_array()) return true;
  return std::none_of(modes->begin(), modes->end(),
                      [](const Json& mode) { return mode == "ReadWriteMany" || mode == "ReadOnlyMany"; });
}

/// Returns the state without the pods, which are the most expensive read.
SurgeState without_pods(const EvictorContext& context) {
  SurgeState view;
  const api::OwnerReference* owner = pod_owner(context);
  view.problem = wrong_owner(owner);
  if (!view.problem.empty() && context.ref(kRefName).empty()) {
    view.hopeless = true;
    return view;
  }
  view.problem.clear();
  const Document* replica_set = context.document(kReadReplicaSet);
  const auto json = parsed(replica_set);
  if (json && api::find_at(*json, {"spec", "template"}))
    view.old_template = comparable(*api::find_at(*json, {"spec", "template"}));
  const auto meta = json ? api::decode_meta(replica_set->body) : base::Result<api::ObjectMeta>(base::invalid("none"));
  const bool by_deployment = context.ref(kRefKind) == "Deployment" || (meta && deployment_of(*meta));
  take_workload(by_deployment ? context.document(kReadDeployment) : replica_set,
                by_deployment ? kube::kDeployments : kube::kReplicaSets, view);
  const std::string_view uid = context.ref(kRefUid);
  if (view.has(ReadResult::kYes) && !uid.empty() && uid != view.workload.meta.uid) view.found = ReadResult::kGone;
  view.workload.pod_template = comparable(std::move(view.workload.pod_template));
  return view;
}

}  // namespace

SurgeState read_state(const EvictorContext& context) {
  SurgeState view = without_pods(context);
  if (view.has(ReadResult::kYes)) take_pods(context, view);
  return view;
}

std::vector<Read> wanted_reads(const EvictorContext& context, bool choosing) {
  const api::OwnerReference* owner = pod_owner(context);
  if (!wrong_owner(owner).empty() && context.ref(kRefName).empty()) return {};
  std::vector<Read> reads = workload_reads(context);
  if (choosing && context.pod) choosing_reads(context, reads);
  const SurgeState view = without_pods(context);
  if (!view.has(ReadResult::kYes)) return reads;
  const std::string& ns = context.ns();
  if (!context.document(kReadPods) && !view.workload.selector.empty())
    reads.push_back(read_of(kReadPods, list_of(kube::kPods, ns, view.workload.selector)));
  const auto& mark = view.workload.mark;
  const bool foreign = mark && mark->token != context.token() && !mark->evacuation.empty();
  if (foreign && !context.document(kReadHolder))
    reads.push_back(read_of(kReadHolder, get_request(kube::kEvacuations, {ns, mark->evacuation})));
  return reads;
}

std::optional<std::string> autoscaler_of(const EvictorContext& context, const Workload& workload) {
  const Document* document = context.document(kReadAutoscalers);
  // A 404 here comes from the API server itself: the API is not served. A proxy's 404 never arrives as 404.
  if (document && document->status == 404) return std::string();
  const auto json = parsed(document);
  const Json* items = items_of(json);
  if (!items) return std::nullopt;
  for (const Json& item : *items) {
    if (targets(item, workload)) return api::text_at(item, {"metadata", "name"});
  }
  return std::string();
}

std::optional<Budget> blocking_budget(const EvictorContext& context) {
  const auto json = parsed(context.document(kReadBudgets));
  const Json* items = items_of(json);
  if (!items) return std::nullopt;
  std::optional<Budget> found;
  const bool old = context.eviction_version == "v1beta1";
  for (const Json& item : *items) {
    const std::string text = item.dump(-1, ' ', false, Json::error_handler_t::replace);
    const auto budget = old ? api::decode_pdb_v1beta1(text) : api::decode_pdb(text);
    if (!budget || !budget->covers(*context.pod) || budget->expected_pods == 0) continue;
    if (budget->desired_healthy < budget->expected_pods) continue;
    const std::int64_t more = std::int64_t{budget->expected_pods} + 1;
    const bool helped = desired_after(*budget, more) < more;
    if (!found || !helped) found = {budget->meta.name, budget->desired_healthy, budget->expected_pods, helped};
  }
  return found;
}

std::string exclusive_volume(const EvictorContext& context) {
  for (const Document& document : context.documents) {
    if (!document.name.starts_with(kReadClaim)) continue;
    const auto claim = parsed(&document);
    if (claim && usable_from_one_node_only(*claim)) return document.name.substr(kReadClaim.size());
  }
  return {};
}

bool holder_ended(const EvictorContext& context, const Mark& mark) {
  const Document* document = context.document(kReadHolder);
  if (!document) return mark.evacuation.empty();
  if (document->status == 404) return true;
  const auto json = parsed(document);
  if (!json) return false;
  const std::string uid = api::text_at(*json, {"metadata", "uid"});
  if (uid.empty()) return false;
  if (!mark.token.starts_with(uid + ".")) return true;
  const auto phase = api::parse_evacuation_phase(api::text_at(*json, {"status", "phase"}));
  const Json* finalizers = api::find_at(*json, {"metadata", "finalizers"});
  return phase && api::is_terminal(*phase) && (!finalizers || finalizers->empty());
}

std::string unschedulable_because(const api::Pod& pod) {
  for (const api::PodCondition& each : pod.conditions) {
    if (each.type == "PodScheduled" && each.status == api::ConditionStatus::kFalse)
      return base::truncate_utf8(each.message.get(), 200);
  }
  return {};
}

Replacement replacement_in(const SurgeState& view, const Mark& mark, const api::PodUid& leaving,
                           const api::NodeName& source) {
  Replacement result;
  const auto rank = [](const api::Pod& pod) {
    return std::tuple(!pod.is_ready(), pod.node_name.empty(), pod.meta.creation_timestamp,
                      std::string_view(pod.meta.name));
  };
  for (const api::Pod& pod : view.pods) {
    if (pod.uid() == leaving) continue;
    if (pod.is_ready()) ++result.ready_others;
    if (!is_new(mark, pod)) continue;
    const bool back = !source.empty() && pod.node_name == source;
    const api::Pod*& slot = back ? result.misplaced : result.best;
    if (!slot || rank(pod) < rank(*slot)) slot = &pod;
  }
  return result;
}

}  // namespace evictors::surge
