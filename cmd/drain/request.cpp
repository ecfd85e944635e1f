#include "cmd/drain/request.hpp"

#include <fmt/format.h>

#include <set>

#include "api/meta/label_value.hpp"
#include "api/meta/well_known.hpp"
#include "api/virtual_machine.hpp"

namespace cmd::plugin {
namespace {

constexpr std::size_t kMaxName = 253;

/// Returns true for an unfinished Evacuation that is neither a dry run nor suspended. Any user may create those, so
/// they do not count.
bool moves(const api::Evacuation& evacuation) {
  const bool is_held = evacuation.spec.suspend && evacuation.status.phase == api::EvacuationPhase::kPending;
  return !api::is_terminal(evacuation.status.phase) && !evacuation.spec.dry_run && !is_held;
}

}  // namespace

api::Evacuation evacuation_for(const api::Pod& pod, std::string name, const EvacuationRequest& request,
                               std::int32_t priority) {
  api::Evacuation evacuation;
  evacuation.meta.ns = pod.meta.ns;
  evacuation.meta.name = std::move(name);
  if (!pod.node_name.empty()) {
    evacuation.meta.labels =
        evacuation.meta.labels.with(api::well_known::kNodeLabel, api::label_value(pod.node_name.value));
  }
  if (!request.drain.empty())
    evacuation.meta.labels = evacuation.meta.labels.with(kDrainLabel, api::label_value(request.drain));
  api::EvacuationSpec& spec = evacuation.spec;
  spec.pod_ref = {pod.meta.name, pod.uid()};
  spec.node_name = pod.node_name;
  spec.reason = request.reason;
  spec.source.requester = request.requester;
  for (const std::string& evictor : request.evictors) spec.evictors.push_back({evictor, {}});
  spec.grace_period_seconds = request.grace_period_seconds;
  spec.timeouts.decision_ttl = request.decision_ttl;
  spec.ttl_after_finished = request.ttl;
  spec.priority = priority;
  return evacuation;
}

bool is_about(const api::Evacuation& evacuation, const api::Pod& pod) {
  const api::PodReference& ref = evacuation.spec.pod_ref;
  if (evacuation.meta.ns != pod.meta.ns) return false;
  if (!ref.uid.empty()) return ref.uid == pod.uid();
  return ref.name == pod.meta.name && !api::is_terminal(evacuation.status.phase);
}

Claim existing_evacuation(const api::Pod& pod, const std::vector<api::Evacuation>& known) {
  Claim claim;
  std::set<std::string> taken;
  for (const api::Evacuation& each : known) {
    if (each.meta.ns != pod.meta.ns) continue;
    taken.insert(each.meta.name);
    if (is_about(each, pod) && moves(each) && !claim.unfinished) claim.unfinished = each;
  }
  const std::string usual = api::evacuation_name(pod.meta.name, pod.uid());
  claim.free_name = usual;
  for (int number = 2; taken.contains(claim.free_name); ++number) {
    const std::string suffix = fmt::format("-{}", number);
    claim.free_name = usual.substr(0, kMaxName - suffix.size()) + suffix;
  }
  return claim;
}

std::string why_not_evacuable(const api::Pod& pod) {
  if (pod.is_mirror()) return "it is a static pod: its kubelet would restart it on the same node";
  if (pod.is_daemon_set()) return "it is managed by a DaemonSet and would come back to the same node";
  if (api::is_hotplug_pod(pod)) return "it attaches disks to a virtual machine and moves with the machine's own pod";
  if (pod.is_terminal()) return "it has terminated: none of its containers run";
  if (pod.meta.is_terminating()) return "it is already terminating";
  if (pod.node_name.empty()) return "it is not scheduled yet";
  return {};
}

}  // namespace cmd::plugin
