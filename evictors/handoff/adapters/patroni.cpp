#include "evictors/handoff/adapters/adapters.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/meta/service_uses.hpp"
#include "base/text.hpp"
#include "evictors/classify.hpp"
#include "evictors/document.hpp"
#include "evictors/handoff/switchover.hpp"
#include "kube/classify.hpp"

namespace evictors::handoff {
namespace {

constexpr std::string_view kSpiloRole = "spilo-role";
constexpr std::string_view kSpiloCluster = "cluster-name";
constexpr std::string_view kAskedRef = "switchover";
constexpr std::size_t kMaxPatroniMessage = 300;
/// Patroni answers after the switchover, or gives up after its own loop_wait and ttl.
constexpr base::seconds kPatroniCall{30};

class PatroniAdapter final : public SwitchoverAdapter {
 public:
  std::string_view name() const override { return "patroni"; }
  bool recognises(const api::Pod& pod) const override {
    return pod.meta.labels.contains(kSpiloRole) && is_plain_name(pod_label(pod, kSpiloCluster));
  }

 private:
  InstanceRole role(const api::Pod& pod) const override { return role_of_label(pod_label(pod, kSpiloRole)); }
  base::seconds total() const override { return base::seconds(1200); }
  std::string_view cluster_role() const override { return "evacuator-handoff-patroni"; }

  std::vector<Read> switchover_reads(const EvictorContext& context) const override {
    const std::string& cluster = pod_label(*context.pod, kSpiloCluster);
    if (!is_plain_name(cluster)) return {};
    return {instances_read(context, kSpiloCluster, cluster)};
  }

  bool requested(const EvictorContext& context) const override { return context.ref(kAskedRef) == "asked"; }

  std::optional<Request> switchover(const EvictorContext& context) const override {
    const Document* instances = context.document(kInstances);
    if (!instances || !instances->ok()) return std::nullopt;
    const std::string candidate = switchover_candidate(context, instances, kSpiloRole);
    if (candidate.empty()) {
      return RemoteFailure{"NoHealthyReplica", "no Ready replica on another node could become leader", true};
    }
    const std::string service(context.parameter(kServiceParameter, ""));
    Action action;
    action.role = ActionRole::kRequest;
    action.name = kRequestSwitchover;
    action.service = service;
    action.service_use = service.empty() ? std::string_view() : api::kServiceAsPatroni;
    action.request.method = "POST";
    action.request.path = service.empty() ? proxy_path(*context.pod) : "/switchover";
    action.request.content_type = "application/json";
    action.request.accept = "*/*";  // Patroni answers in text
    // "leader" is the guard: a repeated call after the move is refused.
    api::Json body = {{"leader", context.pod->meta.name}, {"candidate", candidate}};
    // Names are unique in a namespace only. Patroni passes over members that it does not know; who stands before it can
    // compare.
    if (!service.empty()) body["namespace"] = context.pod->meta.ns;
    action.request.body = api::to_json_text(body);
    action.request.flow = kube::Flow::kWrite;
    action.request.timeout = kPatroniCall;
    action.pre_state = "candidate=" + candidate;
    return action;
  }

  static std::string proxy_path(const api::Pod& pod) {
    return fmt::format("/api/v1/namespaces/{}/pods/http:{}:8008/proxy/switchover", pod.meta.ns, pod.meta.name);
  }

  /// Patroni speaks plain text; Status objects come from the API server in between.
  Classification classify_switchover(const Action&, const CallResult& answer) const override {
    if (!answer || answer->body.find("\"kind\"") != std::string::npos || answer->status == 401) {
      return classify_patch(answer);
    }
    Classification meaning;
    meaning.message = fmt::format("Patroni: {}", base::short_text(answer->body, kMaxPatroniMessage));
    meaning.retry_after = answer->retry_after;
    if (answer->status == 200 || answer->status == 202) {
      meaning.answer = ResponseClass::kApplied;
      meaning.refs.emplace_back(kAskedRef, "asked");
      return meaning;
    }
    const bool is_page = kube::begins_like_html(answer->body) || answer->status == 408 || answer->status == 425;
    // 412: the leader has moved or no candidate is in shape; 503: it was tried and did not work. Both may pass.
    const bool may_pass = answer->status == 412 || answer->status == 409 || answer->status == 503;
    meaning.answer = may_pass ? ResponseClass::kRetryLater
                              : (answer->status >= 400 && answer->status < 500 && !is_page ? ResponseClass::kPermanent
                                                                                           : ResponseClass::kUnknown);
    return meaning;
  }
};

}  // namespace

std::unique_ptr<Adapter> patroni_adapter() { return std::make_unique<PatroniAdapter>(); }

}  // namespace evictors::handoff
