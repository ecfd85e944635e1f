#include "evictors/handoff/switchover.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/json/json_access.hpp"
#include "evictors/classify.hpp"
#include "evictors/document.hpp"
#include "evictors/eviction_call.hpp"
#include "evictors/timeouts.hpp"
#include "kube/request.hpp"

namespace evictors::handoff {
namespace {

using api::EvacuationPhase;

bool may_take_over(const EvictorContext& context, const api::Pod& pod, std::string_view role_label) {
  return pod.meta.name != context.pod->meta.name && pod.is_ready() && !pod.meta.is_terminating() &&
         !pod.is_terminal() && pod.node_name != context.pod->node_name &&
         role_of_label(pod_label(pod, role_label)) == InstanceRole::kReplica;
}

}  // namespace

InstanceRole role_of_label(std::string_view value) {
  if (value == "replica") return InstanceRole::kReplica;
  if (value == "primary" || value == "master" || value == "leader") return InstanceRole::kPrimary;
  return InstanceRole::kUnknown;
}

std::vector<api::Pod> switchover_candidates(const EvictorContext& context, const Document* document,
                                            std::string_view role_label) {
  const auto list = object_of(document);
  if (!list) return {};
  std::vector<api::Pod> candidates;
  for (const api::Json& item : api::items_at(*list, {"items"})) {
    auto pod = api::decode_pod(api::to_json_text(item));
    if (!pod || !is_plain_name(pod->meta.name) || !may_take_over(context, *pod, role_label)) continue;
    candidates.push_back(*std::move(pod));
  }
  return candidates;
}

std::string switchover_candidate(const EvictorContext& context, const Document* document, std::string_view role_label) {
  std::string best;
  for (const api::Pod& pod : switchover_candidates(context, document, role_label)) {
    if (best.empty() || pod.meta.name < best) best = pod.meta.name;
  }
  return best;
}

bool is_gone(const Document* document) { return document && document->status == 404; }

Read instances_read(const EvictorContext& context, std::string_view key, std::string_view value) {
  kube::ListOptions options;
  options.ns = context.pod->meta.ns;
  options.label_selector = fmt::format("{}={}", key, value);
  return {std::string(kInstances), kube::list_request(kube::kPods, options), {}};
}

const api::EvacuationIntent* SwitchoverAdapter::request_intent(const EvictorContext& context) {
  const auto& intent = context.evacuation.status.intent;
  const bool ours = intent && intent->token == context.evacuation.status.token && intent->action == kRequestSwitchover;
  return ours ? &*intent : nullptr;
}

bool SwitchoverAdapter::request_on_its_way(const EvictorContext& context) {
  const api::EvacuationIntent* intent = request_intent(context);
  return intent && !intent->resolved && context.now < intent->time + kCallTimeout;
}

/// A read that was refused will be refused again; anything else may pass.
std::optional<RemoteFailure> SwitchoverAdapter::refused_read(const EvictorContext& context) const {
  for (const Document& each : context.documents) {
    if ((each.status != 403 && each.status != 404) || may_be_missing(context, each)) continue;
    const std::string advice =
        each.status == 403 ? fmt::format("; bind the ClusterRole {} (config/optional)", cluster_role()) : std::string();
    return RemoteFailure{each.status == 403 ? "Forbidden" : "ClusterNotFound",
                         fmt::format("reading {}: {}{}", each.name, problem_of(each), advice), false, false,
                         each.status == 403 ? api::Reason::kForbidden : api::Reason::kHandoffFailed};
  }
  return std::nullopt;
}

std::vector<Read> SwitchoverAdapter::reads(const EvictorContext& context) const {
  return opted_in(context) ? switchover_reads(context) : std::vector<Read>{};
}

Probe SwitchoverAdapter::probe(const EvictorContext& context) const {
  if (role(*context.pod) == InstanceRole::kPrimary && !opted_in(context)) {
    return unsupported(
        name(),
        fmt::format("the pod is its cluster's primary: set parameter {} to \"true\" and bind the ClusterRole {}",
                    kSwitchoverParameter, cluster_role()));
  }
  return owner_probe(context, name(), total());
}

EvictionStep SwitchoverAdapter::plan(const EvictorContext& context) const {
  if (context.evacuation.status.phase == EvacuationPhase::kPreparing) return {NextMove::kProceed, {}};
  const InstanceRole now = role(*context.pod);
  if (now == InstanceRole::kReplica) {
    if (!settled(context)) return {NextMove::kWait, {}};
    auto first = before_eviction(context);
    return first ? act_now(*std::move(first)) : evict_now(context);
  }
  if (now == InstanceRole::kUnknown || !opted_in(context) || requested(context)) return {NextMove::kWait, {}};
  auto next = switchover(context);
  if (next && std::holds_alternative<Action>(*next)) return act_now(std::get<Action>(*std::move(next)));
  return {NextMove::kWait, {}};
}

Observation SwitchoverAdapter::observe(const EvictorContext& context) const {
  Observation seen;
  const InstanceRole now = role(*context.pod);
  seen.ready = now == InstanceRole::kReplica && settled(context);
  if (opted_in(context)) seen.refs = facts(context);
  if (seen.ready || !opted_in(context)) return seen;
  seen.requested = seen.acknowledged = requested(context);
  seen.alive = signs_of_life(context);
  seen.failed = refused_read(context);
  if (seen.failed || seen.requested || now != InstanceRole::kPrimary) return seen;
  if (auto next = switchover(context); next && std::holds_alternative<RemoteFailure>(*next)) {
    seen.failed = std::get<RemoteFailure>(*std::move(next));
  }
  return seen;
}

Classification SwitchoverAdapter::classify(const EvictorContext&, const Action& action,
                                           const CallResult& answer) const {
  return action.name == kPostEviction ? classify_eviction(answer) : classify_switchover(action, answer);
}

}  // namespace evictors::handoff
