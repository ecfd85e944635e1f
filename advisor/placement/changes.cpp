#include "advisor/placement/changes.hpp"

#include <algorithm>
#include <memory>

#include "api/core/pvc_risk.hpp"
#include "api/meta/well_known.hpp"

namespace advisor {
namespace {

using scheduling::SnapshotInput;

constexpr int kMaxWeight = 100;

void relax_anti_affinity(api::Pod& pod, Grade grade) {
  auto affinity = std::make_shared<api::Affinity>(*pod.affinity);
  if (grade == Grade::kPreferred)
    for (api::PodAffinityTerm& term : affinity->required_pod_anti_affinity)
      affinity->preferred_pod_anti_affinity.emplace_back(kMaxWeight, std::move(term));
  affinity->required_pod_anti_affinity.clear();
  pod.affinity = std::move(affinity);
}

bool is_hard(const api::TopologySpreadConstraint& constraint, bool over_hosts) {
  return !constraint.schedule_anyway && (constraint.topology_key == api::well_known::kHostnameLabel) == over_hosts;
}

/// Widens hard spread constraints from hosts to zones; those over zones become ScheduleAnyway. kDropped removes them.
void widen_spread(api::Pod& pod, bool over_hosts, Grade grade) {
  const auto is_meant = [&](const api::TopologySpreadConstraint& each) { return is_hard(each, over_hosts); };
  if (grade == Grade::kDropped) std::erase_if(pod.topology_spread.edit(), is_meant);
  for (api::TopologySpreadConstraint& each : pod.topology_spread) {
    if (!is_meant(each)) continue;
    if (over_hosts) {
      each.topology_key = api::well_known::kZoneLabel;
    } else {
      each.schedule_anyway = true;
    }
  }
}

void unpin(api::Pod& pod) {
  pod.node_selector = {};
  if (!pod.affinity || !pod.affinity->required_node_terms) return;
  auto affinity = std::make_shared<api::Affinity>(*pod.affinity);
  affinity->required_node_terms.reset();
  pod.affinity = std::move(affinity);
}

void own(api::Pod& pod) {
  pod.meta.owner_references = {{"apps/v1", "ReplicaSet", pod.meta.name, "advice-" + pod.meta.uid, true}};
}

/// `cause` must have an effect on pods other than by budgets or requests.
api::Pod changed_pod(Cause cause, Grade grade, const api::Pod& pod) {
  api::Pod changed = pod;
  switch (cause) {
    case Cause::kRequiredAntiAffinity: relax_anti_affinity(changed, grade); break;
    case Cause::kHostnameSpread: widen_spread(changed, true, grade); break;
    case Cause::kZoneSpread: widen_spread(changed, false, grade); break;
    case Cause::kNodeSelector: unpin(changed); break;
    case Cause::kLocalVolume:
    case Cause::kZonalVolume: std::erase_if(changed.volumes.edit(), api::uses_claim); break;
    case Cause::kBarePod: own(changed); break;
    default: break;
  }
  return changed;
}

void change_budget(SnapshotInput& cluster, const Finding& finding) {
  const auto at = std::ranges::find_if(
      cluster.pdbs, [&](const auto& each) { return each->meta.ns == finding.ns && each->meta.name == finding.name; });
  if (at == cluster.pdbs.end()) return;
  if (finding.cause == Cause::kOverlappingBudgets) {
    cluster.pdbs.erase(at);
    return;
  }
  api::PodDisruptionBudget changed = **at;
  changed.min_available.reset();
  changed.max_unavailable = api::IntOrPercent{1, false};
  changed.sync_failure.clear();
  changed.desired_healthy = std::max(changed.expected_pods - 1, 0);  // as the budget's controller will set it
  changed.disruptions_allowed = std::max(changed.disruptions_allowed, 1);
  *at = std::make_shared<const api::PodDisruptionBudget>(std::move(changed));
}

void scale(api::ResourceList& list, const FoundCause& cause) {
  for (auto& [name, amount] : list) {
    const double factor = name == "cpu" ? cause.cpu_factor : name == "memory" ? cause.memory_factor : 1;
    if (factor < 1)
      amount = api::Quantity::from_milli(static_cast<std::int64_t>(static_cast<double>(amount.milli()) * factor));
  }
}

api::Pod with_smaller_requests(api::Pod pod, const FoundCause& cause) {
  for (auto* containers : {&pod.containers, &pod.init_containers}) {
    for (api::Container& each : *containers) scale(each.requests, cause);
  }
  scale(pod.pod_requests.edit(), cause);
  return pod;
}

}  // namespace

SnapshotInput apply_changes(const SnapshotInput& cluster, const std::vector<const FoundCause*>& causes, Grade grade) {
  SnapshotInput changed = cluster;
  for (const FoundCause* cause : causes) {
    const Cause what = cause->finding.cause;
    if (blocks_drains(what)) {
      change_budget(changed, cause->finding);
      continue;
    }
    for (const std::size_t place : cause->pods) {
      const api::Pod& pod = *changed.pods[place];
      changed.pods[place] = std::make_shared<const api::Pod>(
          what == Cause::kOversizedRequests ? with_smaller_requests(pod, *cause) : changed_pod(what, grade, pod));
    }
  }
  return changed;
}

void drop_constraint(Finding& finding) {
  finding.grade = Grade::kDropped;
  finding.change = finding.cause == Cause::kRequiredAntiAffinity
                       ? "remove it, or replace it with a topology spread constraint over zones: a preferred "
                         "anti-affinity is not sufficient"
                       : "remove the constraint: ScheduleAnyway is not sufficient";
  finding.risk = finding.risk == Risk::kLow ? Risk::kMedium : Risk::kHigh;
}

bool has_grades(Cause cause) {
  return cause == Cause::kRequiredAntiAffinity || cause == Cause::kHostnameSpread || cause == Cause::kZoneSpread;
}

bool has_required_anti_affinity(const api::Pod& pod) {
  return pod.affinity && !pod.affinity->required_pod_anti_affinity.empty();
}

bool has_hard_spread(const api::Pod& pod, bool over_hosts) {
  return std::ranges::any_of(pod.topology_spread, [&](const auto& each) { return is_hard(each, over_hosts); });
}

}  // namespace advisor
