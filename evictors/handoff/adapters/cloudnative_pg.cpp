#include "evictors/handoff/adapters/adapters.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "evictors/classify.hpp"
#include "evictors/document.hpp"
#include "evictors/handoff/switchover/switchover.hpp"
#include "kube/request.hpp"

namespace evictors::handoff {
namespace {

constexpr kube::ResourceType kCnpgClusters{"postgresql.cnpg.io", "v1", "clusters", "Cluster"};
constexpr kube::ResourceType kEdbClusters{"postgresql.k8s.enterprisedb.io", "v1", "clusters", "Cluster"};

/// Label keys and kinds of CloudNativePG or of EDB's derived operator, which has the same objects under other names.
struct CnpgKeys {
  const kube::ResourceType* clusters;
  std::string cluster;   ///< label: the Cluster's name
  std::string role;      ///< label: primary, replica, unhealthy (a former primary during a failover)
  std::string pod_role;  ///< label, absent in older versions: instance, pooler
  std::string instance;  ///< label: the instance's name
  std::string pooler;    ///< label: only on poolers
  std::string job;       ///< label: only on pods of Jobs, which also have the instance's name
};

CnpgKeys keys_under(const std::string& prefix, const kube::ResourceType& clusters) {
  return {&clusters,          prefix + "cluster",      prefix + "instanceRole",
          prefix + "podRole", prefix + "instanceName", prefix + "poolerName",
          prefix + "jobRole"};
}

const CnpgKeys& keys_of(const api::Pod& pod) {
  static const CnpgKeys kCnpg = keys_under("cnpg.io/", kCnpgClusters);
  static const CnpgKeys kEdb = keys_under("k8s.enterprisedb.io/", kEdbClusters);
  const auto& labels = pod.meta.labels;
  const bool is_edb = labels.contains(kEdb.cluster) || labels.contains(kEdb.role);
  return is_edb && !labels.contains(kCnpg.cluster) ? kEdb : kCnpg;
}

constexpr std::string_view kOldRole = "role";  // role label before cnpg.io/instanceRole
constexpr std::string_view kCnpgCluster = "cluster";
constexpr std::string_view kInstanceStatus = "instance-status/";  // prefix of a pod's name
constexpr std::string_view kTargetRef = "targetPrimary";
constexpr std::string_view kTargetState = "targetPrimary=";  // in intent.preState
constexpr std::size_t kMaxCnpgSign = 64;

/// Fields of the Cluster that the adapter reads.
struct CnpgView {
  std::string uid;
  std::string resource_version;
  std::string current;
  std::string target;
  std::string phase;
  api::Json conditions;  ///< unmodified
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

/// Returns the conditions with the Ready condition that belongs to an unhealthy phase, at the position of the old
/// one, as `kubectl cnpg promote` writes it. Its time changes only with its status.
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

/// Parses a position in the log, such as "0/3000060". Returns 0 if invalid.
std::int64_t log_position(std::string_view lsn) {
  const std::size_t slash = lsn.find('/');
  if (slash == std::string_view::npos) return 0;
  std::uint32_t high = 0;
  std::uint32_t low = 0;
  const auto read = [](std::string_view text, std::uint32_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    return error == std::errc() && end == text.data() + text.size();
  };
  if (!read(lsn.substr(0, slash), high) || !read(lsn.substr(slash + 1), low) || high > 0x7fffffff) return 0;
  return static_cast<std::int64_t>(std::uint64_t{high} << 32 | low);
}

class CloudNativePgAdapter final : public SwitchoverAdapter {
 public:
  std::string_view name() const override { return "cloudnative-pg"; }

  /// The cluster label alone is not enough, because poolers and Jobs also have it.
  bool recognises(const api::Pod& pod) const override {
    const CnpgKeys& keys = keys_of(pod);
    if (!is_plain_name(pod_label(pod, keys.cluster)) || is_helper(pod)) return false;
    const auto& labels = pod.meta.labels;
    return pod_label(pod, keys.pod_role) == "instance" || labels.contains(keys.role) ||
           labels.contains(keys.instance) || labels.contains(kOldRole);
  }

  /// There is no undo(), because an accepted switchover must not be reverted. The old primary shuts down as soon as
  /// targetPrimary changes, and the new one is promoted before currentPrimary shows it. Setting the old primary as the
  /// target again during that time would start it as a second primary.
  Rollback undone(const EvictorContext& context) const override {
    const std::string target = our_target(context);
    if (target.empty()) return Rollback::kNothingToDo;
    const auto view = cnpg_view(context);
    if (!view) return is_gone(context.document(kCnpgCluster)) ? Rollback::kNothingToDo : Rollback::kPending;
    if (view->target == target && view->current != target) return Rollback::kRemoteMarkRemains;
    return request_on_its_way(context) ? Rollback::kPending : Rollback::kNothingToDo;
  }

  std::string remains(const EvictorContext& context) const override {
    const auto view = our_target(context).empty() ? std::nullopt : cnpg_view(context);
    if (!view || view->current.empty()) return {};
    if (view->target == view->current) return fmt::format("{} is the leader now", view->current);
    return fmt::format("the switchover to {} continues; {} is the leader now", view->target, view->current);
  }

 private:
  InstanceRole role(const EvictorContext&, const api::Pod& pod) const override {
    const std::string& current = pod_label(pod, keys_of(pod).role);
    return role_of_label(current.empty() ? pod_label(pod, kOldRole) : current);
  }

  bool is_helper(const api::Pod& pod) const override {
    const CnpgKeys& keys = keys_of(pod);
    const std::string& pod_role = pod_label(pod, keys.pod_role);
    return (!pod_role.empty() && pod_role != "instance") || pod.meta.labels.contains(keys.pooler) ||
           pod.meta.labels.contains(keys.job) || belongs_to_job(pod);
  }

  std::optional<std::pair<std::string, std::string>> cluster_label(const EvictorContext& context) const override {
    const CnpgKeys& keys = keys_of(*context.pod);
    const std::string& cluster = pod_label(*context.pod, keys.cluster);
    if (!is_plain_name(cluster)) return std::nullopt;
    return std::pair(keys.cluster, cluster);
  }
  base::seconds total() const override { return base::seconds(600); }
  std::string_view cluster_role() const override { return "evacuator-handoff-cloudnative-pg"; }

  std::vector<Read> switchover_reads(const EvictorContext& context) const override {
    const CnpgKeys& keys = keys_of(*context.pod);
    const std::string& cluster = pod_label(*context.pod, keys.cluster);
    if (!is_plain_name(cluster)) return {};
    return {read_of(kCnpgCluster, kube::get_request(*keys.clusters, {context.pod->meta.ns, cluster}))};
  }

  /// Reads the endpoint that `kubectl cnpg status` uses. Without permission for it, the instance counts as fit.
  std::vector<Read> candidate_reads(const EvictorContext& context, const api::Pod& candidate) const override {
    Read read;
    read.name = std::string(kInstanceStatus) + candidate.meta.name;
    read.request.path = fmt::format("/api/v1/namespaces/{}/pods/https:{}:8000/proxy/pg/status", context.pod->meta.ns,
                                    candidate.meta.name);
    read.request.timeout = base::seconds(1);
    read.optional = true;
    return {std::move(read)};
  }

  bool may_be_missing(const EvictorContext&, const Document& document) const override {
    return document.name.starts_with(kInstanceStatus);
  }

  static std::optional<api::Json> instance_status(const EvictorContext& context, const api::Pod& pod) {
    return object_of(context.document(std::string(kInstanceStatus) + pod.meta.name));
  }

  /// CloudNativePG's own rule for a new primary: an instance that does not receive the log may lack its end.
  std::string unfit(const EvictorContext& context, const api::Pod& pod) const override {
    const auto status = instance_status(context, pod);
    const api::Json* active = status ? api::find_at(*status, {"isWalReceiverActive"}) : nullptr;
    return active != nullptr && *active == api::Json(false) ? "its WAL receiver is not active" : std::string();
  }

  std::int64_t position(const EvictorContext& context, const api::Pod& pod) const override {
    const auto status = instance_status(context, pod);
    return status ? log_position(api::text_at(*status, {"receivedLsn"})) : 0;
  }

  /// A 5xx comes from the pod proxy or from the instance itself.
  bool is_silent(const EvictorContext& context, const api::Pod& pod) const override {
    const Document* status = context.document(std::string(kInstanceStatus) + pod.meta.name);
    return status != nullptr && !status->was_skipped && (status->status == 0 || status->status >= 500);
  }

  bool confirms(const EvictorContext& context, const api::Pod& leader) const override {
    if (!opted_in(context)) return true;
    const auto view = cnpg_view(context);
    return view && view->current == leader.meta.name;
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

  std::string heartbeat_signs(const EvictorContext& context) const override {
    const auto view = cnpg_view(context);
    if (!view) return {};
    std::string sign = fmt::format("{}|{}|{}", view->phase, view->current, view->target);
    return sign.size() <= 3 * kMaxCnpgSign ? sign : fmt::format("({} bytes)", sign.size());
  }

  std::optional<Request> switchover(const EvictorContext& context) const override {
    const auto view = cnpg_view(context);
    const Document* listed = context.document(kInstances);
    if (!view || !listed || !listed->ok()) return std::nullopt;
    if (view->current != context.pod->meta.name) return std::nullopt;  // the label lags behind
    const auto fit = candidates(context);
    if (fit.empty()) return no_candidate(context);
    return patch_status(context, *view, fit.front().meta.name);
  }

  Classification classify_switchover(const EvictorContext&, const Action& action,
                                     const CallResult& answer) const override {
    Classification meaning = classify_patch(answer);
    const auto at = action.pre_state.rfind(kTargetState);
    if (meaning.answer == ResponseClass::kApplied && action.name == kRequestSwitchover && at != std::string::npos) {
      meaning.refs.emplace_back(kTargetRef, action.pre_state.substr(at + kTargetState.size()));
    }
    return meaning;
  }

  /// Returns the instance that this attempt requested as primary, empty if none. Falls back to the intent if the answer
  /// to the call was lost.
  static std::string our_target(const EvictorContext& context) {
    if (const auto ref = context.ref(kTargetRef); !ref.empty()) return std::string(ref);
    const api::EvacuationIntent* intent = request_intent(context);
    if (!intent) return {};
    const auto at = intent->pre_state.rfind(kTargetState);
    return at == std::string::npos ? std::string() : intent->pre_state.substr(at + kTargetState.size());
  }

  static Action patch_status(const EvictorContext& context, const CnpgView& view, const std::string& target) {
    const std::string why = fmt::format("Evacuation {} moves {} off its node", context.token(), context.pod->meta.name);
    const api::Json patch = {{"metadata", {{"uid", view.uid}, {"resourceVersion", view.resource_version}}},
                             {"status",
                              {{"targetPrimary", target},
                               {"targetPrimaryTimestamp", base::format_micro_time(context.now)},
                               {"phase", "Switchover in progress"},
                               {"phaseReason", why},
                               {"conditions", conditions_of_switchover(view, context.now)}}}};
    const CnpgKeys& keys = keys_of(*context.pod);
    return make_action(
        ActionRole::kRequest, kRequestSwitchover,
        kube::patch_request(*keys.clusters, {context.pod->meta.ns, pod_label(*context.pod, keys.cluster)},
                            kube::PatchType::kMerge, patch, "status"),
        fmt::format("currentPrimary={},{}{}", view.current, kTargetState, target));
  }
};

}  // namespace

std::unique_ptr<Adapter> cloudnative_pg_adapter() { return std::make_unique<CloudNativePgAdapter>(); }

}  // namespace evictors::handoff
