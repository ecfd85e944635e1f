#include "evictors/handoff/adapters/adapters.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "evictors/classify.hpp"
#include "evictors/document.hpp"
#include "evictors/handoff/switchover.hpp"
#include "kube/request.hpp"

namespace evictors::handoff {
namespace {

constexpr kube::ResourceType kCnpgClusters{"postgresql.cnpg.io", "v1", "clusters", "Cluster"};
constexpr std::string_view kCnpgClusterLabel = "cnpg.io/cluster";
constexpr std::string_view kCnpgRoleLabel = "cnpg.io/instanceRole";
constexpr std::string_view kCnpgCluster = "cluster";
constexpr std::string_view kTargetRef = "targetPrimary";
constexpr std::string_view kTargetState = "targetPrimary=";  // in intent.preState
constexpr std::size_t kMaxCnpgSign = 64;

/// Status of the Cluster as far as it is read.
struct CnpgView {
  std::string uid;
  std::string resource_version;
  std::string current;
  std::string target;
  std::string phase;
  api::Json conditions;  ///< as they are
  std::int64_t generation = 0;
};

std::optional<CnpgView> cnpg_view(const EvictorContext& context) {
  const auto cluster = object_of(context.document(kCnpgCluster));
  if (!cluster) return std::nullopt;
  return CnpgView{api::text_at(*cluster, {"metadata", "uid"}),
                  api::text_at(*cluster, {"metadata", "resourceVersion"}),
                  api::text_at(*cluster, {"status", "currentPrimary"}),
                  api::text_at(*cluster, {"status", "targetPrimary"}),
                  api::text_at(*cluster, {"status", "phase"}),
                  api::items_at(*cluster, {"status", "conditions"}),
                  api::number_at(*cluster, {"metadata", "generation"}).value_or(0)};
}

/// The conditions with the one that a phase other than healthy stands for, in its place, as `kubectl cnpg promote`
/// writes it. Its time moves only when its status does.
api::Json conditions_of_switchover(const CnpgView& view, base::TimePoint now) {
  api::Json ready = {{"type", "Ready"},
                     {"status", "False"},
                     {"reason", "ClusterIsNotReady"},
                     {"message", "Cluster Is Not Ready"},
                     {"lastTransitionTime", base::format_time(now)}};
  if (view.generation > 0) ready["observedGeneration"] = view.generation;
  api::Json all = view.conditions;
  for (api::Json& each : all) {
    if (api::text_at(each, {"type"}) != "Ready") continue;
    const std::string since = api::text_at(each, {"lastTransitionTime"});
    if (api::text_at(each, {"status"}) == "False" && !since.empty()) ready["lastTransitionTime"] = since;
    each = ready;
    return all;
  }
  all.push_back(std::move(ready));
  return all;
}

class CloudNativePgAdapter final : public SwitchoverAdapter {
 public:
  std::string_view name() const override { return "cloudnative-pg"; }
  bool recognises(const api::Pod& pod) const override { return is_plain_name(pod_label(pod, kCnpgClusterLabel)); }

  /// An accepted switchover is never taken back, so there is no undo(): the old primary shuts down as soon as
  /// targetPrimary changes, and the new one is promoted before currentPrimary says so. An old primary that is named as
  /// the target again in that time starts as a second primary.
  Rollback undone(const EvictorContext& context) const override {
    const std::string target = our_target(context);
    if (target.empty()) return Rollback::kNothingToDo;
    const auto view = cnpg_view(context);
    if (!view) return is_gone(context.document(kCnpgCluster)) ? Rollback::kNothingToDo : Rollback::kPending;
    if (view->target == target && view->current != target) return Rollback::kRemoteMarkRemains;
    return request_on_its_way(context) ? Rollback::kPending : Rollback::kNothingToDo;
  }

 private:
  InstanceRole role(const api::Pod& pod) const override {
    const std::string& current = pod_label(pod, kCnpgRoleLabel);
    return role_of_label(current.empty() ? pod_label(pod, "role") : current);
  }
  base::seconds total() const override { return base::seconds(600); }
  std::string_view cluster_role() const override { return "evacuator-handoff-cloudnative-pg"; }

  std::vector<Read> switchover_reads(const EvictorContext& context) const override {
    const std::string& cluster = pod_label(*context.pod, kCnpgClusterLabel);
    if (!is_plain_name(cluster)) return {};
    return {{std::string(kCnpgCluster), kube::get_request(kCnpgClusters, {context.pod->meta.ns, cluster}), {}},
            instances_read(context, kCnpgClusterLabel, cluster)};
  }

  bool requested(const EvictorContext& context) const override {
    const auto view = cnpg_view(context);
    return view && !view->target.empty() && view->target != view->current;
  }

  bool settled(const EvictorContext& context) const override {
    if (!opted_in(context)) return true;
    const auto view = cnpg_view(context);
    const std::string& us = context.pod->meta.name;
    return view && view->current != us && view->target != us && view->current == view->target;
  }

  std::string signs_of_life(const EvictorContext& context) const override {
    const auto view = cnpg_view(context);
    if (!view) return {};
    std::string sign = fmt::format("{}|{}|{}", view->phase, view->current, view->target);
    return sign.size() <= 3 * kMaxCnpgSign ? sign : fmt::format("({} bytes)", sign.size());
  }

  std::optional<Request> switchover(const EvictorContext& context) const override {
    const auto view = cnpg_view(context);
    const Document* instances = context.document(kInstances);
    if (!view || !instances || !instances->ok()) return std::nullopt;
    if (view->current != context.pod->meta.name) return std::nullopt;  // the label lags behind
    const std::string candidate = switchover_candidate(context, instances, kCnpgRoleLabel);
    if (candidate.empty()) {
      return RemoteFailure{"NoHealthyReplica", "no Ready replica on another node could become primary", true};
    }
    return patch_status(context, *view, candidate);
  }

  Classification classify_switchover(const Action& action, const CallResult& answer) const override {
    Classification meaning = classify_patch(answer);
    const auto at = action.pre_state.rfind(kTargetState);
    if (meaning.answer == ResponseClass::kApplied && action.name == kRequestSwitchover && at != std::string::npos) {
      meaning.refs.emplace_back(kTargetRef, action.pre_state.substr(at + kTargetState.size()));
    }
    return meaning;
  }

  /// Whom this attempt asked to become primary; empty: nobody. Also when the answer to the call was lost.
  static std::string our_target(const EvictorContext& context) {
    if (const auto ref = context.ref(kTargetRef); !ref.empty()) return std::string(ref);
    const api::EvacuationIntent* intent = request_intent(context);
    if (!intent) return {};
    const auto at = intent->pre_state.rfind(kTargetState);
    return at == std::string::npos ? std::string() : intent->pre_state.substr(at + kTargetState.size());
  }

  static Action patch_status(const EvictorContext& context, const CnpgView& view, const std::string& target) {
    const std::string why =
        fmt::format("Evacuation {} moves {} off its node", context.evacuation.status.token, context.pod->meta.name);
    const api::Json patch = {{"metadata", {{"uid", view.uid}, {"resourceVersion", view.resource_version}}},
                             {"status",
                              {{"targetPrimary", target},
                               {"targetPrimaryTimestamp", base::format_micro_time(context.now)},
                               {"phase", "Switchover in progress"},
                               {"phaseReason", why},
                               {"conditions", conditions_of_switchover(view, context.now)}}}};
    Action action;
    action.role = ActionRole::kRequest;
    action.name = kRequestSwitchover;
    action.request =
        kube::patch_request(kCnpgClusters, {context.pod->meta.ns, pod_label(*context.pod, kCnpgClusterLabel)},
                            kube::PatchType::kMerge, patch, "status");
    action.pre_state = fmt::format("currentPrimary={},{}{}", view.current, kTargetState, target);
    return action;
  }
};

}  // namespace

std::unique_ptr<Adapter> cloudnative_pg_adapter() { return std::make_unique<CloudNativePgAdapter>(); }

}  // namespace evictors::handoff
