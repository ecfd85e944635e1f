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

constexpr kube::ResourceType kPostgresClusters{"postgres-operator.crunchydata.com", "v1beta1", "postgresclusters",
                                               "PostgresCluster"};
constexpr std::string_view kPgoClusterLabel = "postgres-operator.crunchydata.com/cluster";
constexpr std::string_view kPgoRoleLabel = "postgres-operator.crunchydata.com/role";
constexpr std::string_view kPgoInstanceLabel = "postgres-operator.crunchydata.com/instance";
constexpr const char* kPgoTrigger = "postgres-operator.crunchydata.com/trigger-switchover";
constexpr std::string_view kPgoCluster = "postgrescluster";

class PgoAdapter final : public SwitchoverAdapter {
 public:
  std::string_view name() const override { return "pgo"; }
  bool recognises(const api::Pod& pod) const override {
    return is_plain_name(pod_label(pod, kPgoClusterLabel)) && pod.meta.labels.contains(kPgoInstanceLabel) &&
           pod.meta.labels.contains(kPgoRoleLabel);
  }

 private:
  InstanceRole role(const api::Pod& pod) const override { return role_of_label(pod_label(pod, kPgoRoleLabel)); }
  base::seconds total() const override { return base::seconds(1200); }
  std::string_view cluster_role() const override { return "evacuator-handoff-pgo"; }

  std::vector<Read> switchover_reads(const EvictorContext& context) const override {
    const std::string& cluster = pod_label(*context.pod, kPgoClusterLabel);
    if (!is_plain_name(cluster)) return {};
    return {{std::string(kPgoCluster), kube::get_request(kPostgresClusters, {context.pod->meta.ns, cluster}), {}},
            instances_read(context, kPgoClusterLabel, cluster)};
  }

  bool requested(const EvictorContext& context) const override {
    const auto cluster = object_of(context.document(kPgoCluster));
    return cluster &&
           api::text_at(*cluster, {"metadata", "annotations", kPgoTrigger}) == context.evacuation.status.token;
  }

  /// If we asked, the operator has to say that it is through with it.
  bool settled(const EvictorContext& context) const override {
    if (!opted_in(context)) return true;
    const auto cluster = object_of(context.document(kPgoCluster));
    if (!cluster) return false;
    if (!requested(context)) return true;
    return api::text_at(*cluster, {"status", "patroni", "switchover"}) == context.evacuation.status.token;
  }

  std::optional<Request> switchover(const EvictorContext& context) const override {
    const auto cluster = object_of(context.document(kPgoCluster));
    const Document* instances = context.document(kInstances);
    if (!cluster || !instances || !instances->ok()) return std::nullopt;
    if (!api::flag_at(*cluster, {"spec", "patroni", "switchover", "enabled"})) {
      return RemoteFailure{"SwitchoverNotEnabled",
                           fmt::format("set spec.patroni.switchover.enabled to true on PostgresCluster {}",
                                       pod_label(*context.pod, kPgoClusterLabel))};
    }
    if (switchover_candidate(context, instances, kPgoRoleLabel).empty()) {
      return RemoteFailure{"NoHealthyReplica", "no Ready replica on another node could become leader", true};
    }
    return trigger(context, *cluster);
  }

  Classification classify_switchover(const Action&, const CallResult& answer) const override {
    return classify_patch(answer);
  }

  static Action trigger(const EvictorContext& context, const api::Json& cluster) {
    const api::Json patch = {{"metadata",
                              {{"uid", api::text_at(cluster, {"metadata", "uid"})},
                               {"resourceVersion", api::text_at(cluster, {"metadata", "resourceVersion"})},
                               {"annotations", {{kPgoTrigger, context.evacuation.status.token}}}}}};
    Action action;
    action.role = ActionRole::kRequest;
    action.name = kRequestSwitchover;
    action.request =
        kube::patch_request(kPostgresClusters, {context.pod->meta.ns, pod_label(*context.pod, kPgoClusterLabel)},
                            kube::PatchType::kMerge, patch);
    action.pre_state = "trigger=" + api::text_at(cluster, {"metadata", "annotations", kPgoTrigger}).substr(0, 64);
    return action;
  }
};

}  // namespace

std::unique_ptr<Adapter> pgo_adapter() { return std::make_unique<PgoAdapter>(); }

}  // namespace evictors::handoff
