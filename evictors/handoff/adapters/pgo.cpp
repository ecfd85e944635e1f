#include "evictors/handoff/adapters/adapters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "base/text.hpp"
#include "evictors/classify.hpp"
#include "evictors/document.hpp"
#include "evictors/handoff/switchover.hpp"
#include "evictors/pod_patch.hpp"
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
constexpr std::string_view kRemoveTrigger = "RemoveTrigger";
constexpr std::string_view kTriggerRef = "trigger";
constexpr std::size_t kShownValue = 64;

/// A setting of spec.patroni.switchover as text, "" if it is not set. Whatever is no string is shown as it is.
std::string setting(const api::Json& cluster, std::string_view name) {
  const api::Json* value = api::find_at(cluster, {"spec", "patroni", "switchover", name});
  if (!value || value->is_null()) return {};
  return value->is_string() ? value->get<std::string>() : api::to_json_text(*value);
}

/// PGO carries out what spec.patroni.switchover says, leftovers of an old emergency included. Only a plain switchover
/// is wanted.
std::optional<RemoteFailure> refused_type(const api::Json& cluster, std::string_view name) {
  if (!api::flag_at(cluster, {"spec", "patroni", "switchover", "enabled"})) {
    return RemoteFailure{"SwitchoverNotEnabled",
                         fmt::format("set spec.patroni.switchover.enabled to true on PostgresCluster {}", name)};
  }
  const std::string type = setting(cluster, "type");
  if (type.empty() || type == "Switchover") return std::nullopt;
  return RemoteFailure{"SwitchoverTypeNotSafe",
                       fmt::format("spec.patroni.switchover.type of PostgresCluster {} is {}, which may lose data: set "
                                   "it to Switchover or remove it",
                                   name, base::short_text(type, kShownValue))};
}

/// An instance that the spec names has to be one that could take over as well.
std::optional<RemoteFailure> refused_target(const EvictorContext& context, const api::Json& cluster,
                                            const Document& instances) {
  const std::string target = setting(cluster, "targetInstance");
  const auto fit = switchover_candidates(context, &instances, kPgoRoleLabel);
  const bool is_fit =
      std::ranges::any_of(fit, [&](const api::Pod& each) { return pod_label(each, kPgoInstanceLabel) == target; });
  if (target.empty() || is_fit) return std::nullopt;
  return RemoteFailure{"TargetInstanceNotFit",
                       fmt::format("spec.patroni.switchover.targetInstance of PostgresCluster {} is {}, which is no "
                                   "Ready replica on another node: correct or remove it",
                                   pod_label(*context.pod, kPgoClusterLabel), base::short_text(target, kShownValue)),
                       true};
}

/// A trigger of this Evacuation, whatever the attempt.
bool carries_our_trigger(const EvictorContext& context, const api::Json& cluster) {
  return is_our_token(context, api::text_at(cluster, {"metadata", "annotations", kPgoTrigger}));
}

class PgoAdapter final : public SwitchoverAdapter {
 public:
  std::string_view name() const override { return "pgo"; }
  bool recognises(const api::Pod& pod) const override {
    return is_plain_name(pod_label(pod, kPgoClusterLabel)) && pod.meta.labels.contains(kPgoInstanceLabel) &&
           pod.meta.labels.contains(kPgoRoleLabel);
  }

  /// PGO acts on a trigger that it is not through with for ever, and does nothing else for the cluster while it fails.
  std::vector<Action> undo(const EvictorContext& context) const override { return removal(context, ActionRole::kUndo); }

  /// Without our trigger PGO begins no switchover for us any more. One that it is through with is not taken back.
  Rollback undone(const EvictorContext& context) const override {
    const auto cluster = object_of(context.document(kPgoCluster));
    if (cluster && carries_our_trigger(context, *cluster)) return Rollback::kPending;
    const bool asked = !context.ref(kTriggerRef).empty() || request_intent(context) != nullptr;
    if (!asked || is_gone(context.document(kPgoCluster))) return Rollback::kNothingToDo;
    if (!cluster || request_on_its_way(context)) return Rollback::kPending;
    return is_through(context, *cluster) ? Rollback::kNothingToDo : Rollback::kComplete;
  }

  std::vector<Read> cleanup_reads(const EvictorContext& context) const override {
    auto all = reads(context);
    std::erase_if(all, [](const Read& each) { return each.name != kPgoCluster; });
    return all;
  }

  std::vector<Action> cleanup(const EvictorContext& context) const override {
    return removal(context, ActionRole::kCleanUp);
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
    return !requested(context) || is_through(context, *cluster);
  }

  /// A trigger that is left behind fires again once the cluster's status is cleared.
  std::optional<Action> before_eviction(const EvictorContext& context) const override {
    auto all = removal(context, ActionRole::kCleanUp);
    return all.empty() ? std::nullopt : std::optional(std::move(all.front()));
  }

  static bool is_through(const EvictorContext& context, const api::Json& cluster) {
    return api::text_at(cluster, {"status", "patroni", "switchover"}) == context.evacuation.status.token;
  }

  std::optional<Request> switchover(const EvictorContext& context) const override {
    const auto cluster = object_of(context.document(kPgoCluster));
    const Document* instances = context.document(kInstances);
    if (!cluster || !instances || !instances->ok()) return std::nullopt;
    auto refusal = refused_type(*cluster, pod_label(*context.pod, kPgoClusterLabel));
    if (!refusal) refusal = refused_target(context, *cluster, *instances);
    if (refusal) return *std::move(refusal);
    if (switchover_candidate(context, instances, kPgoRoleLabel).empty()) {
      return RemoteFailure{"NoHealthyReplica", "no Ready replica on another node could become leader", true};
    }
    return patch_trigger(context, *cluster, ActionRole::kRequest, context.evacuation.status.token);
  }

  Classification classify_switchover(const Action& action, const CallResult& answer) const override {
    Classification meaning = classify_patch(answer);
    if (meaning.answer == ResponseClass::kApplied && action.name == kRequestSwitchover)
      meaning.refs.emplace_back(kTriggerRef, "set");
    return meaning;
  }

  /// Takes our trigger away; nothing while there is none, or somebody else's.
  static std::vector<Action> removal(const EvictorContext& context, ActionRole role) {
    const auto cluster = object_of(context.document(kPgoCluster));
    if (!cluster || !carries_our_trigger(context, *cluster)) return {};
    return {patch_trigger(context, *cluster, role, nullptr)};
  }

  /// `value` null removes the trigger.
  static Action patch_trigger(const EvictorContext& context, const api::Json& cluster, ActionRole role,
                              const api::Json& value) {
    const api::Json patch = {{"metadata",
                              {{"uid", api::text_at(cluster, {"metadata", "uid"})},
                               {"resourceVersion", api::text_at(cluster, {"metadata", "resourceVersion"})},
                               {"annotations", {{kPgoTrigger, value}}}}}};
    Action action;
    action.role = role;
    action.name = value.is_null() ? kRemoveTrigger : kRequestSwitchover;
    action.request =
        kube::patch_request(kPostgresClusters, {context.pod->meta.ns, pod_label(*context.pod, kPgoClusterLabel)},
                            kube::PatchType::kMerge, patch);
    action.pre_state =
        "trigger=" + api::text_at(cluster, {"metadata", "annotations", kPgoTrigger}).substr(0, kShownValue);
    return action;
  }
};

}  // namespace

std::unique_ptr<Adapter> pgo_adapter() { return std::make_unique<PgoAdapter>(); }

}  // namespace evictors::handoff
