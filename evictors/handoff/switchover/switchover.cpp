#include "evictors/handoff/switchover/switchover.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "evictors/classify.hpp"
#include "evictors/document.hpp"
#include "evictors/eviction_call.hpp"

namespace evictors::handoff {
namespace {

/// Maximum number of candidates, because each one costs reads.
constexpr std::size_t kMaxCandidates = 16;
/// Maximum number of objections in a message.
constexpr std::size_t kShownObjections = 5;

}  // namespace

/// Returns a failure for reads that were refused (403, 404), which a retry would not change. Other errors may pass.
std::optional<RemoteFailure> SwitchoverAdapter::refused_read(const EvictorContext& context) const {
  for (const Document& each : context.documents) {
    if (each.status != 403 && each.status != 404) continue;
    if (is_node_document(each) || may_be_missing(context, each)) continue;
    const std::string advice =
        each.status == 403 ? fmt::format("; bind the ClusterRole {} (config/optional)", cluster_role()) : std::string();
    return RemoteFailure{each.status == 403 ? "Forbidden" : "ClusterNotFound",
                         fmt::format("reading {}: {}{}", each.name, problem_of(each), advice), false, false,
                         each.status == 403 ? api::Reason::kForbidden : api::Reason::kHandoffFailed};
  }
  return std::nullopt;
}

// --- members

/// Returns why the member cannot become leader, empty if no reason is known.
std::string SwitchoverAdapter::reason_not_candidate(const EvictorContext& context, const api::Pod& pod) const {
  if (pod.node_name == context.pod->node_name) return "it runs on the same node";
  if (!pod.is_ready()) return "it is not Ready";
  if (!is_live(pod)) return "it is leaving";
  if (auto why = leaving_node(context, pod.node_name); !why.empty()) return why;
  return unfit(context, pod);
}

std::vector<api::Pod> SwitchoverAdapter::candidates(const EvictorContext& context) const {
  std::vector<api::Pod> fit;
  for (api::Pod& pod : instances(context)) {
    const bool other_replica =
        pod.meta.name != context.pod->meta.name && !is_helper(pod) && role(context, pod) == InstanceRole::kReplica;
    if (other_replica && fit.size() < kMaxCandidates && reason_not_candidate(context, pod).empty())
      fit.push_back(std::move(pod));
  }
  std::ranges::sort(fit, {}, [&](const api::Pod& pod) {
    return std::tuple(is_silent(context, pod), is_evacuated(context, pod.meta.name), -position(context, pod),
                      pod.meta.name);
  });
  return fit;
}

RemoteFailure SwitchoverAdapter::no_candidate(const EvictorContext& context) const {
  std::string why = "no Ready replica on another node can become leader";
  std::size_t shown = 0;
  for (const api::Pod& pod : instances(context)) {
    if (pod.meta.name == context.pod->meta.name || is_helper(pod) || shown == kShownObjections) continue;
    const bool is_replica = role(context, pod) == InstanceRole::kReplica;
    why += fmt::format("{}{}: {}", shown++ == 0 ? ": " : "; ", pod.meta.name,
                       is_replica ? reason_not_candidate(context, pod) : "it is not a replica now");
  }
  return RemoteFailure{"NoHealthyReplica", std::move(why), true};
}

std::optional<std::string> SwitchoverAdapter::other_leader(const EvictorContext& context) const {
  for (const api::Pod& pod : instances(context)) {
    const bool leads = pod.meta.name != context.pod->meta.name && is_live(pod) && !is_helper(pod) &&
                       role(context, pod) == InstanceRole::kPrimary;
    if (leads && confirms(context, pod)) return pod.meta.name;
  }
  return std::nullopt;
}

/// Returns true if another member leads, so that the replica may be evicted. Without a cluster label the members cannot
/// be listed; they are then required only with the opt-in.
bool SwitchoverAdapter::may_leave(const EvictorContext& context) const {
  if (!opted_in(context) && !cluster_label(context)) return true;
  return other_leader(context).has_value() && settled(context);
}

// --- reads

/// Returns the reads of the candidates, of their nodes, and of which candidates another Evacuation moves.
std::vector<Read> SwitchoverAdapter::reads_of_candidates(const EvictorContext& context) const {
  std::vector<Read> all;
  std::vector<std::string> names;
  std::set<std::string> nodes;
  for (const api::Pod& pod : instances(context)) {
    const bool is_other = pod.meta.name != context.pod->meta.name && !is_helper(pod) && is_live(pod) &&
                          role(context, pod) == InstanceRole::kReplica;
    if (!is_other || names.size() == kMaxCandidates) continue;
    names.push_back(pod.meta.name);
    if (is_path_segment(pod.node_name.value) && nodes.insert(pod.node_name.value).second)
      all.push_back(node_read(pod.node_name));
    for (Read& each : candidate_reads(context, pod)) all.push_back(std::move(each));
  }
  if (!names.empty()) all.push_back(evacuated_read(std::move(names)));
  return all;
}

std::vector<Read> SwitchoverAdapter::reads(const EvictorContext& context) const {
  const InstanceRole now = role(context, *context.pod);
  if (!opted_in(context) && now == InstanceRole::kPrimary) return {};
  std::vector<Read> all;
  if (const auto label = cluster_label(context)) all.push_back(instances_read(context, *label));
  if (!opted_in(context)) return all;
  if (now == InstanceRole::kPrimary && !requested(context)) {
    for (Read& each : reads_of_candidates(context)) all.push_back(std::move(each));
  }
  for (Read& each : switchover_reads(context)) all.push_back(std::move(each));
  return all;
}

// --- decisions

std::string SwitchoverAdapter::hint() const {
  return fmt::format("the pod is its cluster's primary: set parameter {} to \"true\" and bind the ClusterRole {}",
                     kSwitchoverParameter, cluster_role());
}

std::string SwitchoverAdapter::advice(const EvictorContext& context) const {
  if (role(context, *context.pod) != InstanceRole::kPrimary) return {};
  return fmt::format(
      "the pod is its cluster's primary, which hands over before it leaves: list evictor stateful-handoff with "
      "parameter {}: \"true\", and bind the ClusterRole {}. The budget does not have to change",
      kSwitchoverParameter, cluster_role());
}

Probe SwitchoverAdapter::probe(const EvictorContext& context) const {
  if (role(context, *context.pod) == InstanceRole::kPrimary && !opted_in(context)) return unsupported(name(), hint());
  return owner_probe(context, name(), total());
}

/// Returns the first unanswered read that the attempt waits for, empty if none exists.
std::string SwitchoverAdapter::unread(const EvictorContext& context) const {
  for (const Document& each : context.documents) {
    if (each.status != 0 && each.status != 403 && each.status < 500) continue;
    if (is_node_document(each) || may_be_missing(context, each)) continue;
    return fmt::format("{} cannot be read: {}", each.name, problem_of(each));
  }
  return {};
}

std::string SwitchoverAdapter::why_waiting(const EvictorContext& context, InstanceRole now) const {
  if (now == InstanceRole::kUnknown)
    return fmt::format("the pod has no role in its cluster yet: it waits until its operator sets one{}", role_hint());
  if (now == InstanceRole::kPrimary) return opted_in(context) ? unread(context) : hint();
  if (auto why = unread(context); !why.empty()) return why;
  if (!other_leader(context)) return "no other Ready member is the leader of the cluster";
  return settled(context) ? std::string() : "its operator has not completed a switchover";
}

EvictionStep SwitchoverAdapter::plan(const EvictorContext& context) const {
  if (context.phase() == EvacuationPhase::kPreparing) return {NextMove::kProceed, {}};
  const InstanceRole now = role(context, *context.pod);
  const EvictionStep wait{NextMove::kWait, {}, why_waiting(context, now)};
  if (now == InstanceRole::kReplica) {
    if (!may_leave(context)) return wait;
    auto first = before_eviction(context);
    return first ? act_now(*std::move(first)) : evict_as_seen(context);
  }
  if (now == InstanceRole::kUnknown || !opted_in(context) || requested(context)) return wait;
  auto next = switchover(context);
  if (next && std::holds_alternative<Action>(*next)) return act_now(std::get<Action>(*std::move(next)));
  return wait;
}

Observation SwitchoverAdapter::observe(const EvictorContext& context) const {
  Observation seen;
  const InstanceRole now = role(context, *context.pod);
  seen.ready = now == InstanceRole::kReplica && may_leave(context);
  if (opted_in(context)) seen.refs = facts(context);
  if (seen.ready) return seen;
  if (!opted_in(context)) {
    if (now == InstanceRole::kPrimary)
      seen.failed = RemoteFailure{"PrimaryNotAsked", hint(), false, false, api::Reason::kNotEvictable};
    return seen;
  }
  seen.requested = seen.acknowledged = requested(context);
  seen.alive = heartbeat_signs(context);
  seen.failed = refused_read(context);
  if (seen.failed || seen.requested || now != InstanceRole::kPrimary) return seen;
  if (auto next = switchover(context); next && std::holds_alternative<RemoteFailure>(*next)) {
    seen.failed = std::get<RemoteFailure>(*std::move(next));
  }
  return seen;
}

Classification SwitchoverAdapter::classify(const EvictorContext& context, const Action& action,
                                           const CallResult& answer) const {
  return action.name == kPostEviction ? classify_eviction(answer) : classify_switchover(context, action, answer);
}

}  // namespace evictors::handoff
