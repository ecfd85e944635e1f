#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json/json.hpp"
#include "api/meta/service_uses.hpp"
#include "base/text.hpp"
#include "evictors/classify.hpp"
#include "evictors/document.hpp"
#include "evictors/handoff/adapters/adapters.hpp"
#include "evictors/handoff/switchover/patroni_view.hpp"
#include "evictors/handoff/switchover/switchover.hpp"
#include "kube/classify.hpp"
#include "kube/request.hpp"

namespace evictors::handoff {
namespace {

constexpr std::string_view kSpiloRole = "spilo-role";
constexpr std::string_view kSpiloCluster = "cluster-name";
constexpr std::string_view kSpiloPooler = "connection-pooler";
// Keys of status.refs.
constexpr std::string_view kSwitchoverRef = "switchover";
constexpr std::string_view kRefusedRef = "refused";         ///< candidates that Patroni refused, "a,b"
constexpr std::string_view kTimeoutRef = "patience";        ///< seconds that Patroni may take to answer
constexpr std::string_view kCandidateState = "candidate=";  // in intent.preState
constexpr std::size_t kMaxPatroniMessage = 300;
constexpr std::size_t kMaxRefused = 400;
/// Allowance for network latency on top of Patroni's own wait.
constexpr base::seconds kPatroniSlack{10};
/// Patroni's default wait, and the maximum timeout of a call.
constexpr base::seconds kPatroniCall{30};
constexpr base::seconds kMaxPatroniCall{120};

bool is_spilo(const api::Pod& pod) {
  return pod.meta.labels.contains(kSpiloRole) || pod_label(pod, "application") == "spilo";
}

bool is_pooler(const api::Pod& pod) {
  return pod.meta.labels.contains(kSpiloPooler) || pod_label(pod, "application") == "db-connection-pooler";
}

/// Returns true if "a,b" has an entry `name`.
bool lists(std::string_view names, std::string_view name) {
  return std::ranges::count(base::split(names, ","), name) > 0;
}

/// Returns the candidate that the call requested.
std::string candidate_in(const std::string& pre_state) {
  return pre_state.starts_with(kCandidateState) ? pre_state.substr(kCandidateState.size()) : std::string();
}

class PatroniAdapter final : public SwitchoverAdapter {
 public:
  std::string_view name() const override { return "patroni"; }

  /// The role label alone does not identify a member, because it is absent while PostgreSQL is not running. Other
  /// operators use other label keys. For their pods Patroni's own annotation decides.
  bool recognises(const api::Pod& pod) const override {
    if (is_helper(pod)) return false;
    return (is_spilo(pod) && is_plain_name(pod_label(pod, kSpiloCluster))) || patroni_member(pod).has_value();
  }

  base::seconds call_timeout(const EvictorContext& context) const override {
    const auto seconds = base::parse_number<std::int64_t>(context.ref(kTimeoutRef)).value_or(0);
    const auto stored = std::clamp<base::seconds>(base::seconds(seconds), kCallTimeout, kMaxPatroniCall);
    return std::max(stored, base::seconds(call_limit(context)));
  }

  /// Patroni cannot cancel an accepted switchover. Its failover key remains until Patroni has switched over or given
  /// up.
  Rollback undone(const EvictorContext& context) const override {
    if (!was_requested(context)) return Rollback::kNothingToDo;
    if (request_on_its_way(context) || !has_patroni_keys(context)) return Rollback::kPending;
    return is_switchover_pending(context) ? Rollback::kRemoteMarkRemains : Rollback::kNothingToDo;
  }

  std::string remains(const EvictorContext& context) const override {
    if (!was_requested(context)) return {};
    const std::string leader = patroni_leader(context);
    const std::string now =
        leader.empty() ? "no member is the leader now" : fmt::format("{} is the leader now", leader);
    const std::string to = patroni_failover(context, context.pod->meta.name);
    if (to.empty()) return patroni_store(context) == PatroniStore::kElsewhere ? std::string() : now;
    return fmt::format("Patroni continues the switchover to {}; {}", to == "?" ? "another member" : to, now);
  }

 private:
  InstanceRole role(const EvictorContext& context, const api::Pod& pod) const override {
    const std::string key(context.parameter(kRoleLabelParameter, kSpiloRole));
    const InstanceRole labelled = role_of_label(pod_label(pod, key));
    if (labelled != InstanceRole::kUnknown) return labelled;
    // The label is absent, or has another key (pod_role_label).
    const auto member = patroni_member(pod);
    if (!member || member->state != "running") return InstanceRole::kUnknown;
    const InstanceRole annotated = role_of_label(member->role);
    const bool is_certain = annotated == InstanceRole::kReplica || !may_be_labelled(context, key);
    return is_certain ? annotated : InstanceRole::kUnknown;
  }

  /// Returns true if the members have the role label or cannot be listed. A member without the label is then changing
  /// its role.
  bool may_be_labelled(const EvictorContext& context, const std::string& key) const {
    if (!context.pod || !cluster_label(context)) return false;
    const auto members = instances(context);
    return members.empty() ||
           std::ranges::any_of(members, [&](const api::Pod& each) { return each.meta.labels.contains(key); });
  }

  bool is_helper(const api::Pod& pod) const override { return belongs_to_job(pod) || is_pooler(pod); }
  base::seconds total() const override { return base::seconds(1200); }
  std::string_view cluster_role() const override { return "evacuator-handoff-patroni"; }
  std::string role_hint() const override {
    return fmt::format(". If its role is in another label than {}, set the name of the label in parameter {}",
                       kSpiloRole, kRoleLabelParameter);
  }

  std::optional<std::pair<std::string, std::string>> cluster_label(const EvictorContext& context) const override {
    std::string key(context.parameter(kClusterLabelParameter, kSpiloCluster));
    const std::string& cluster = pod_label(*context.pod, key);
    const std::string& group = citus_group(*context.pod);
    if (!is_plain_name(cluster) || !(group.empty() || is_plain_name(group))) return std::nullopt;
    return std::pair(std::move(key), cluster);
  }

  std::vector<Read> switchover_reads(const EvictorContext& context) const override {
    const auto label = cluster_label(context);
    if (!label) return {};
    const bool is_replica = role(context, *context.pod) == InstanceRole::kReplica;
    const std::string& group = citus_group(*context.pod);
    const std::string scope = group.empty() ? label->second : fmt::format("{}-{}", label->second, group);
    return patroni_reads(context, scope, !is_replica || was_requested(context));
  }

  bool may_be_missing(const EvictorContext&, const Document& document) const override {
    return is_patroni_key(document) && document.status == 404;
  }

  /// Checks the leader key if Patroni stores it in Kubernetes.
  bool confirms(const EvictorContext& context, const api::Pod& leader) const override {
    return !opted_in(context) || patroni_confirms(context, leader);
  }

  bool settled(const EvictorContext& context) const override {
    return !opted_in(context) || (has_patroni_keys(context) && !patroni_may_promote(context));
  }

  std::string unfit(const EvictorContext& context, const api::Pod& pod) const override {
    if (auto why = unfit_patroni_member(pod); !why.empty()) return why;
    const auto standbys = patroni_sync_standbys(context);
    const bool may_lead = !standbys || std::ranges::find(*standbys, pod.meta.name) != standbys->end();
    return may_lead ? std::string() : "it is not a synchronous standby";
  }

  std::int64_t position(const EvictorContext&, const api::Pod& pod) const override {
    const auto member = patroni_member(pod);
    return member ? member->position : 0;
  }

  /// Returns true if a call of this attempt may have reached Patroni.
  static bool was_requested(const EvictorContext& context) {
    return !context.ref(kSwitchoverRef).empty() || !context.ref(kRefusedRef).empty() ||
           request_intent(context) != nullptr;
  }

  /// Returns true if the requested switchover is neither complete nor given up.
  static bool is_switchover_pending(const EvictorContext& context) {
    return !patroni_failover(context, context.pod->meta.name).empty();
  }

  /// Returns true if the pod leads again after Patroni accepted the switchover, because the candidate could not take
  /// over.
  bool has_come_back(const EvictorContext& context) const {
    const api::EvacuationIntent* intent = request_intent(context);
    const bool leads = role(context, *context.pod) == InstanceRole::kPrimary &&
                       patroni_leader(context) == context.pod->meta.name && has_patroni_keys(context);
    return leads && intent && context.now >= intent->time + call_timeout(context);
  }

  bool requested(const EvictorContext& context) const override {
    if (is_switchover_pending(context)) return true;
    return context.ref(kSwitchoverRef) == "asked" && !has_come_back(context);
  }

  std::string heartbeat_signs(const EvictorContext& context) const override {
    const auto member = patroni_member(*context.pod);
    return base::truncate_utf8(
        fmt::format("{}|{}|{}", patroni_leader(context), patroni_failover(context, context.pod->meta.name),
                    member ? member->state : std::string()),
        kMaxPatroniMessage);
  }

  /// Stores the call timeout before the call is made, so that the next leader of the operator knows it.
  Refs facts(const EvictorContext& context) const override {
    const std::string seconds = std::to_string(call_limit(context).count());
    if (call_limit(context) <= kCallTimeout || context.ref(kTimeoutRef) == seconds) return {};
    return {{std::string(kTimeoutRef), seconds}};
  }

  static base::seconds call_limit(const EvictorContext& context) {
    const auto patience = patroni_patience(context);
    return patience ? std::clamp(*patience + kPatroniSlack, kPatroniCall, kMaxPatroniCall) : kPatroniCall;
  }

  /// Returns the best candidate not refused in this attempt. If all were refused, returns the best one again.
  std::optional<api::Pod> next_candidate(const EvictorContext& context) const {
    const auto all = candidates(context);
    const std::string_view refused = context.ref(kRefusedRef);
    const auto fresh = std::ranges::find_if(all, [&](const auto& each) { return !lists(refused, each.meta.name); });
    if (fresh != all.end()) return *fresh;
    return all.empty() ? std::nullopt : std::optional(all.front());
  }

  std::optional<Request> switchover(const EvictorContext& context) const override {
    if (!cluster_label(context)) {
      return RemoteFailure{
          "ClusterUnknown",
          fmt::format("the pod has no label {}: set the label of the cluster in parameter {}",
                      context.parameter(kClusterLabelParameter, kSpiloCluster), kClusterLabelParameter),
          false, false, api::Reason::kNotEvictable};
    }
    const Document* listed = context.document(kInstances);
    if (!listed || !listed->ok() || !has_patroni_keys(context)) return std::nullopt;
    const bool leads = patroni_leader(context) == context.pod->meta.name;
    if (!leads && patroni_store(context) != PatroniStore::kElsewhere) return std::nullopt;  // the label lags behind
    const auto candidate = next_candidate(context);
    if (!candidate) return no_candidate(context);
    return ask(context, candidate->meta.name);
  }

  static Action ask(const EvictorContext& context, const std::string& candidate) {
    const std::string service(context.parameter(kServiceParameter, ""));
    // "leader" is the guard: Patroni refuses a repeated call after the move.
    api::Json body = {{"leader", context.pod->meta.name}, {"candidate", candidate}};
    // Names are unique only within a namespace. Patroni ignores the unknown member "namespace"; a proxy in front of it
    // can check it.
    if (!service.empty()) body["namespace"] = context.pod->meta.ns;
    kube::Request request =
        kube::json_request("POST", service.empty() ? proxy_path(*context.pod) : "/switchover", body);
    request.accept = "*/*";  // Patroni answers in text
    request.timeout = call_limit(context);
    Action action = make_action(ActionRole::kRequest, kRequestSwitchover, std::move(request),
                                std::string(kCandidateState) + candidate);
    action.service = service;
    action.service_use = service.empty() ? std::string_view() : api::kServiceAsPatroni;
    return action;
  }

  static std::string proxy_path(const api::Pod& pod) {
    const PatroniMember member = patroni_member(pod).value_or(PatroniMember{});
    return fmt::format("/api/v1/namespaces/{}/pods/{}:{}:{}/proxy/switchover", pod.meta.ns, member.scheme,
                       pod.meta.name, member.port);
  }

  Classification classify_switchover(const EvictorContext& context, const Action& action,
                                     const CallResult& answer) const override {
    if (!answer || (action.service.empty() && is_of_api_server(*answer))) return classify_patch(answer);
    Classification meaning;
    meaning.answer = class_of(*answer);
    meaning.message = fmt::format("Patroni: {}", base::truncate_utf8(answer->body, kMaxPatroniMessage));
    if (!action.service.empty() && answer->status >= 300) meaning.message = service_refusal(action.service, *answer);
    meaning.retry_after = answer->retry_after;
    if (meaning.answer == ResponseClass::kApplied) meaning.refs.emplace_back(kSwitchoverRef, "asked");
    const bool wants_credentials = answer->status == 401 || answer->status == 403;
    if (meaning.answer == ResponseClass::kPermanent && wants_credentials)
      return refused_credentials(context, std::move(meaning));
    if (blames_candidate(*answer)) meaning.refs = refused_refs(context, action);
    return meaning;
  }

  static ResponseClass class_of(const kube::Response& answer) {
    const int status = answer.status;
    if (status == 200 || status == 202) return ResponseClass::kApplied;
    // 412: the leader has moved, or the candidate is unfit. 503: the switchover was tried and failed, or is still
    // running.
    if (status == 409 || status == 412 || status == 429 || status == 503) return ResponseClass::kRetryLater;
    const bool is_page = kube::begins_like_html(answer.body) || status == 408 || status == 425;
    return status >= 400 && status < 500 && !is_page ? ResponseClass::kPermanent : ResponseClass::kUnknown;
  }

  static bool blames_candidate(const kube::Response& answer) {
    const bool may_be = answer.status == 409 || answer.status == 412 || answer.status == 503;
    return may_be && answer.body.find("leader name does not match") == std::string::npos;
  }

  /// Returns true if the answer comes from the API server that proxies the call: a Status object, or a plain
  /// "Unauthorized". Patroni answers in plain text. Calls through a service do not pass an API server.
  static bool is_of_api_server(const kube::Response& answer) {
    if (answer.body.find("\"kind\"") != std::string::npos) return true;
    return answer.status == 401 && (answer.body.empty() || answer.body.starts_with("Unauthorized"));
  }

  /// Wrong credentials are a configuration error that a retry does not fix.
  static Classification refused_credentials(const EvictorContext& context, Classification meaning) {
    const std::string service(context.parameter(kServiceParameter, ""));
    meaning.answer = ResponseClass::kPermanent;
    meaning.message += service.empty()
                           ? fmt::format(
                                 ". Its REST API requires credentials, which the pod proxy does not have: set a "
                                 "service of the operator's configuration that has them in parameter {}",
                                 kServiceParameter)
                           : fmt::format(". It does not accept the credentials of service {}", service);
    return meaning;
  }

  /// Adds the candidate to the refused ones. Starts a new list once every candidate was refused.
  Refs refused_refs(const EvictorContext& context, const Action& action) const {
    const std::string candidate = candidate_in(action.pre_state);
    if (candidate.empty()) return {};
    std::string refused(context.ref(kRefusedRef));
    if (lists(refused, candidate) || refused.size() + candidate.size() >= kMaxRefused) refused.clear();
    refused += (refused.empty() ? "" : ",") + candidate;
    return {{std::string(kRefusedRef), std::move(refused)}};
  }
};

}  // namespace

std::unique_ptr<Adapter> patroni_adapter() { return std::make_unique<PatroniAdapter>(); }

}  // namespace evictors::handoff
