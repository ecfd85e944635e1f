#include "evictors/handoff/adapters/adapters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "base/text.hpp"
#include "evictors/classify.hpp"
#include "evictors/document.hpp"
#include "evictors/handoff/switchover/patroni_view.hpp"
#include "evictors/handoff/switchover/switchover.hpp"
#include "evictors/pod_patch.hpp"
#include "evictors/timeouts.hpp"
#include "kube/request.hpp"

namespace evictors::handoff {
namespace {

constexpr kube::ResourceType kPostgresClusters{"postgres-operator.crunchydata.com", "v1beta1", "postgresclusters",
                                               "PostgresCluster"};
/// PostgresCluster in Percona's API group, used from operator 3.0 on.
constexpr kube::ResourceType kPerconaPostgresClusters{"upstream.pgv2.percona.com", "v1beta1", "postgresclusters",
                                                      "PostgresCluster"};
/// Percona's own kind. Its operator overwrites the annotations of the PostgresCluster with those of this object.
constexpr kube::ResourceType kPerconaPgClusters{"pgv2.percona.com", "v2", "perconapgclusters", "PerconaPGCluster"};
constexpr std::string_view kPgoClusterLabel = "postgres-operator.crunchydata.com/cluster";
constexpr std::string_view kPgoRoleLabel = "postgres-operator.crunchydata.com/role";
constexpr std::string_view kPgoInstanceLabel = "postgres-operator.crunchydata.com/instance";
constexpr std::string_view kPgoPatroniLabel = "postgres-operator.crunchydata.com/patroni";
constexpr std::string_view kPgoDataLabel = "postgres-operator.crunchydata.com/data";  // "postgres" for an instance
constexpr const char* kPgoTrigger = "postgres-operator.crunchydata.com/trigger-switchover";
// Names of documents.
constexpr std::string_view kPgoCluster = "postgrescluster";
constexpr std::string_view kPerconaPgoCluster = "percona-postgrescluster";
constexpr std::string_view kPerconaPgCluster = "perconapgcluster";
constexpr std::string_view kLeftBehind = "triggered-cluster";
constexpr std::string_view kRemoveTrigger = "RemoveTrigger";
// Keys of status.refs.
constexpr std::string_view kTriggerRef = "trigger";
constexpr std::string_view kTriggeredRef = "triggered";  ///< object with the trigger: "<plural>.<group>/<name>"
constexpr std::string_view kSet = "set";
constexpr std::string_view kRemoved = "removed";
constexpr std::size_t kShownValue = 64;

/// Object that carries the trigger annotation.
struct Triggered {
  const kube::ResourceType* type = nullptr;
  std::string name;
};

std::string to_ref(const Triggered& object) {
  return fmt::format("{}.{}/{}", object.type->plural, object.type->group, object.name);
}

std::optional<Triggered> from_ref(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  Triggered object{nullptr, std::string(text.substr(slash + 1))};
  for (const kube::ResourceType* type : {&kPostgresClusters, &kPerconaPostgresClusters, &kPerconaPgClusters}) {
    if (text.substr(0, slash) == fmt::format("{}.{}", type->plural, type->group)) object.type = type;
  }
  if (object.type == nullptr || !is_plain_name(object.name)) return std::nullopt;
  return object;
}

/// Returns the PerconaPGCluster that owns the PostgresCluster, empty if none exists.
std::string percona_owner(const api::Json& cluster) {
  for (const api::Json& owner : api::items_at(cluster, {"metadata", "ownerReferences"})) {
    const bool is_percona = api::text_at(owner, {"kind"}) == kPerconaPgClusters.kind &&
                            api::text_at(owner, {"apiVersion"}).starts_with("pgv2.percona.com/");
    std::string name = api::text_at(owner, {"name"});
    if (is_percona && is_plain_name(name)) return name;
  }
  return {};
}

bool is_unserved(const Document* document) { return document != nullptr && document->is_kind_unserved; }

/// Returns the document of the PostgresCluster, from Crunchy's API group or else from Percona's. A 404 for a group that
/// is not served does not show that the object is absent.
const Document* cluster_document(const EvictorContext& context) {
  const Document* document = context.document(kPgoCluster);
  const Document* other = context.document(kPerconaPgoCluster);
  if (is_unserved(document) && other != nullptr && other->ok()) return other;
  return is_gone(document) && !is_unserved(other) ? other : document;
}

/// State of a cluster, complete enough to decide about a switchover.
struct PgoView {
  api::Json cluster;  ///< the PostgresCluster with its settings and status
  Triggered triggered;
  api::Json holder;  ///< the object in `triggered`, which carries the trigger
};

std::optional<PgoView> pgo_view(const EvictorContext& context) {
  const Document* document = cluster_document(context);
  auto cluster = object_of(document);
  if (!cluster) return std::nullopt;
  const bool is_crunchys = document == context.document(kPgoCluster);
  const std::string owner = percona_owner(*cluster);
  if (owner.empty()) {
    Triggered self{is_crunchys ? &kPostgresClusters : &kPerconaPostgresClusters,
                   pod_label(*context.pod, kPgoClusterLabel)};
    return PgoView{*cluster, std::move(self), *cluster};
  }
  auto holder = object_of(context.document(kPerconaPgCluster));
  if (!holder) return std::nullopt;
  return PgoView{*std::move(cluster), {&kPerconaPgClusters, owner}, *std::move(holder)};
}

/// Returns a setting of spec.patroni.switchover as text, "" if unset. Values other than strings are returned as JSON.
std::string setting(const api::Json& cluster, std::string_view name) {
  const api::Json* value = api::find_at(cluster, {"spec", "patroni", "switchover", name});
  if (!value || value->is_null()) return {};
  return value->is_string() ? value->get<std::string>() : api::to_json_text(*value);
}

/// Returns "PostgresCluster db", the object whose settings an administrator must change.
std::string object_text(const PgoView& view) {
  return fmt::format("{} {}", view.triggered.type->kind, view.triggered.name);
}

/// PGO obeys all of spec.patroni.switchover, including leftovers from an old emergency. Accepts only a plain
/// switchover.
std::optional<RemoteFailure> refused_type(const PgoView& view) {
  if (!api::flag_at(view.cluster, {"spec", "patroni", "switchover", "enabled"})) {
    return RemoteFailure{"SwitchoverNotEnabled",
                         fmt::format("set spec.patroni.switchover.enabled to true on {}", object_text(view))};
  }
  const std::string type = setting(view.cluster, "type");
  if (type.empty() || type == "Switchover") return std::nullopt;
  return RemoteFailure{
      "SwitchoverTypeNotSafe",
      fmt::format("spec.patroni.switchover.type of {} is {}, which may lose data: set it to Switchover "
                  "or remove it",
                  object_text(view), base::truncate_utf8(type, kShownValue))};
}

/// An instance named in the spec must be one of the candidates.
std::optional<RemoteFailure> refused_target(const PgoView& view, const std::vector<api::Pod>& fit) {
  const std::string target = setting(view.cluster, "targetInstance");
  const bool is_fit =
      std::ranges::any_of(fit, [&](const api::Pod& each) { return pod_label(each, kPgoInstanceLabel) == target; });
  if (target.empty() || is_fit) return std::nullopt;
  return RemoteFailure{"TargetInstanceNotFit",
                       fmt::format("spec.patroni.switchover.targetInstance of {} is {}, which is not a Ready replica "
                                   "on another node: correct or remove it",
                                   object_text(view), base::truncate_utf8(target, kShownValue)),
                       true};
}

std::string trigger_of(const api::Json& holder) {
  return api::text_at(holder, {"metadata", "annotations", kPgoTrigger});
}

/// Returns the last trigger that PGO completed.
std::string done_trigger(const api::Json& cluster) {
  return api::text_at(cluster, {"status", "patroni", "switchover"});
}

/// Returns true for a trigger of this Evacuation, from any attempt.
bool carries_our_trigger(const EvictorContext& context, const api::Json& holder) {
  return is_our_token(context, trigger_of(holder));
}

/// Refuses to overwrite a pending trigger of another client.
std::optional<RemoteFailure> refused_by_other_trigger(const EvictorContext& context, const PgoView& view) {
  const std::string trigger = trigger_of(view.holder);
  if (trigger.empty() || trigger == done_trigger(view.cluster) || carries_our_trigger(context, view.holder))
    return std::nullopt;
  return RemoteFailure{"TriggerPending",
                       fmt::format("{} has the trigger-switchover \"{}\" of another requester, which PGO has not "
                                   "completed: wait for it, or remove it",
                                   object_text(view), base::truncate_utf8(trigger, kShownValue)),
                       true};
}

class PgoAdapter final : public SwitchoverAdapter {
 public:
  std::string_view name() const override { return "pgo"; }

  /// Recognises instances of PostgreSQL. The role label alone is not enough, because Patroni removes it while
  /// PostgreSQL does not run.
  bool recognises(const api::Pod& pod) const override {
    if (!is_plain_name(pod_label(pod, kPgoClusterLabel)) || is_helper(pod)) return false;
    const auto& labels = pod.meta.labels;
    return labels.contains(kPgoInstanceLabel) && (labels.contains(kPgoRoleLabel) || labels.contains(kPgoPatroniLabel) ||
                                                  pod_label(pod, kPgoDataLabel) == "postgres");
  }

  /// Removes the trigger. PGO retries an incomplete trigger forever, and does nothing else for the cluster while it
  /// fails.
  std::vector<Action> undo(const EvictorContext& context) const override { return removal(context, ActionRole::kUndo); }

  /// Once the trigger is removed, PGO starts no further switchover. A completed switchover is not reverted.
  Rollback undone(const EvictorContext& context) const override {
    const auto view = pgo_view(context);
    if (view && carries_our_trigger(context, view->holder)) return Rollback::kPending;
    const bool asked = !context.ref(kTriggerRef).empty() || request_intent(context) != nullptr;
    if (!asked || has_gone(context)) return Rollback::kNothingToDo;
    if (!view || request_on_its_way(context)) return Rollback::kPending;
    return is_done_leaving(context, view->cluster) ? Rollback::kNothingToDo : Rollback::kComplete;
  }

  std::vector<Read> cleanup_reads(const EvictorContext& context) const override {
    return opted_in(context) ? cluster_reads(context) : std::vector<Read>{};
  }

  std::vector<Action> cleanup(const EvictorContext& context) const override {
    return removal(context, ActionRole::kCleanUp);
  }

  bool awaits_cleanup(const EvictorContext& context) const override {
    return may_be_left(context) && !has_gone(context) && (!pgo_view(context) || request_on_its_way(context));
  }

  /// Uses status.refs, because the pod with the cluster's label is gone.
  std::vector<Read> leftover_reads(const EvictorContext& context) const override {
    const auto triggered = from_ref(context.ref(kTriggeredRef));
    if (!triggered || !may_be_left(context)) return {};
    return {read_of(kLeftBehind, kube::get_request(*triggered->type, {context.ns(), triggered->name}))};
  }

  std::vector<Action> leftovers(const EvictorContext& context) const override {
    const auto triggered = from_ref(context.ref(kTriggeredRef));
    const auto holder = object_of(context.document(kLeftBehind));
    if (!triggered || !holder || !carries_our_trigger(context, *holder)) return {};
    return {patch_trigger(context, *triggered, *holder, ActionRole::kCleanUp, nullptr)};
  }

  bool awaits_leftovers(const EvictorContext& context) const override {
    if (!from_ref(context.ref(kTriggeredRef)) || !may_be_left(context)) return false;
    const Document* document = context.document(kLeftBehind);
    if (is_gone(document)) return false;
    const api::EvacuationIntent* intent = request_intent(context);
    const bool on_its_way = intent && context.ref(kTriggerRef).empty() && context.now < intent->time + kCallTimeout;
    return on_its_way || !object_of(document);
  }

 private:
  InstanceRole role(const EvictorContext&, const api::Pod& pod) const override {
    return role_of_label(pod_label(pod, kPgoRoleLabel));
  }
  std::optional<std::pair<std::string, std::string>> cluster_label(const EvictorContext& context) const override {
    const std::string& cluster = pod_label(*context.pod, kPgoClusterLabel);
    if (!is_plain_name(cluster)) return std::nullopt;
    return std::pair(std::string(kPgoClusterLabel), cluster);
  }

  /// PGO's Patroni chooses the new leader itself. Do not trigger it for members that it would refuse.
  std::string unfit(const EvictorContext&, const api::Pod& pod) const override { return unfit_patroni_member(pod); }

  base::seconds total() const override { return base::seconds(1200); }
  std::string_view cluster_role() const override { return "evacuator-handoff-pgo"; }

  /// Returns the reads of the PostgresCluster and of its Patroni's keys.
  std::vector<Read> switchover_reads(const EvictorContext& context) const override {
    const std::string& cluster = pod_label(*context.pod, kPgoClusterLabel);
    if (!is_plain_name(cluster)) return {};
    std::vector<Read> all = patroni_reads(context, cluster + "-ha", false, false);
    for (Read& each : cluster_reads(context)) all.push_back(std::move(each));
    return all;
  }

  /// Each answer determines the next read.
  static std::vector<Read> cluster_reads(const EvictorContext& context) {
    const std::string& cluster = pod_label(*context.pod, kPgoClusterLabel);
    if (!is_plain_name(cluster)) return {};
    const auto get = [&](std::string_view name, const kube::ResourceType& type, const std::string& object) {
      return read_of(name, kube::get_request(type, {context.pod->meta.ns, object}));
    };
    std::vector<Read> all = {get(kPgoCluster, kPostgresClusters, cluster)};
    const Document* crunchys = context.document(kPgoCluster);
    if (is_gone(crunchys) || is_unserved(crunchys))
      all.push_back(get(kPerconaPgoCluster, kPerconaPostgresClusters, cluster));
    const auto found = object_of(cluster_document(context));
    const std::string owner = found ? percona_owner(*found) : std::string();
    if (!owner.empty()) all.push_back(get(kPerconaPgCluster, kPerconaPgClusters, owner));
    return all;
  }

  /// Returns true for Crunchy's group until Percona's is known to have no such object either.
  bool may_be_missing(const EvictorContext& context, const Document& document) const override {
    if (is_patroni_key(document)) return document.status == 404;
    const Document* other = context.document(kPerconaPgoCluster);
    return document.name == kPgoCluster && is_gone(&document) && !is_gone(other) && !is_unserved(other);
  }

  static bool has_gone(const EvictorContext& context) {
    return is_gone(cluster_document(context)) || is_gone(context.document(kPerconaPgCluster));
  }

  /// Returns true if the trigger was set, or may have been, and is not known to be removed.
  static bool may_be_left(const EvictorContext& context) {
    const std::string_view known = context.ref(kTriggerRef);
    return known == kSet || (known.empty() && request_intent(context) != nullptr);
  }

  Refs facts(const EvictorContext& context) const override {
    const auto view = pgo_view(context);
    std::string triggered = view ? to_ref(view->triggered) : std::string();
    if (triggered.empty() || triggered == context.ref(kTriggeredRef)) return {};
    return {{std::string(kTriggeredRef), std::move(triggered)}};
  }

  bool requested(const EvictorContext& context) const override {
    const auto view = pgo_view(context);
    return view && trigger_of(view->holder) == context.token();
  }

  /// PGO's Patroni stores its keys only in Endpoints, so an absent leader key confirms no leader.
  static bool has_keys(const EvictorContext& context) {
    return patroni_store(context) == PatroniStore::kEndpoints && has_patroni_keys(context);
  }

  /// Checks the leader key, because a frozen member no longer updates its label.
  bool confirms(const EvictorContext& context, const api::Pod& leader) const override {
    return !opted_in(context) || (has_keys(context) && patroni_leader(context) == leader.meta.name);
  }

  /// If this attempt set the trigger, PGO must have completed it.
  bool settled(const EvictorContext& context) const override {
    if (!opted_in(context)) return true;
    const auto view = pgo_view(context);
    if (!view) return false;
    if (!has_keys(context) || patroni_may_promote(context)) return false;
    return !requested(context) || is_done_leaving(context, view->cluster);
  }

  /// Removes the trigger. A remaining trigger would fire again once the cluster's status is cleared.
  std::optional<Action> before_eviction(const EvictorContext& context) const override {
    auto all = removal(context, ActionRole::kCleanUp);
    return all.empty() ? std::nullopt : std::optional(std::move(all.front()));
  }

  static bool is_done_leaving(const EvictorContext& context, const api::Json& cluster) {
    return done_trigger(cluster) == context.token();
  }

  std::optional<Request> switchover(const EvictorContext& context) const override {
    const auto view = pgo_view(context);
    const Document* listed = context.document(kInstances);
    if (!view || !listed || !listed->ok() || !has_keys(context)) return std::nullopt;
    if (patroni_leader(context) != context.pod->meta.name) return std::nullopt;  // the label lags behind
    const auto fit = candidates(context);
    auto refusal = refused_type(*view);
    if (!refusal) refusal = refused_target(*view, fit);
    if (!refusal) refusal = refused_by_other_trigger(context, *view);
    if (refusal) return *std::move(refusal);
    if (fit.empty()) return no_candidate(context);
    return patch_trigger(context, view->triggered, view->holder, ActionRole::kRequest, context.token());
  }

  Classification classify_switchover(const EvictorContext&, const Action& action,
                                     const CallResult& answer) const override {
    Classification meaning = classify_patch(answer);
    if (meaning.answer != ResponseClass::kApplied) return meaning;
    meaning.refs.emplace_back(kTriggerRef, action.name == kRequestSwitchover ? kSet : kRemoved);
    return meaning;
  }

  /// Returns the removal of the trigger, empty if none exists or it is another client's.
  static std::vector<Action> removal(const EvictorContext& context, ActionRole role) {
    const auto view = pgo_view(context);
    if (!view || !carries_our_trigger(context, view->holder)) return {};
    return {patch_trigger(context, view->triggered, view->holder, role, nullptr)};
  }

  /// A null `value` removes the trigger.
  static Action patch_trigger(const EvictorContext& context, const Triggered& object, const api::Json& holder,
                              ActionRole role, const api::Json& value) {
    const api::Json patch = {{"metadata",
                              {{"uid", api::text_at(holder, {"metadata", "uid"})},
                               {"resourceVersion", api::text_at(holder, {"metadata", "resourceVersion"})},
                               {"annotations", {{kPgoTrigger, value}}}}}};
    return make_action(role, value.is_null() ? kRemoveTrigger : kRequestSwitchover,
                       kube::patch_request(*object.type, {context.ns(), object.name}, kube::PatchType::kMerge, patch),
                       "trigger=" + trigger_of(holder).substr(0, kShownValue));
  }
};

}  // namespace

std::unique_ptr<Adapter> pgo_adapter() { return std::make_unique<PgoAdapter>(); }

}  // namespace evictors::handoff
