#include "advisor/placement/changes.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "api/meta/well_known.hpp"

namespace advisor {
namespace {

constexpr int kMaxWeight = 100;

void relax_anti_affinity(api::Pod& pod, Grade grade) {
  auto affinity = std::make_shared<api::Affinity>(*pod.affinity);
  if (grade == Grade::kPreferred)
    for (api::PodAffinityTerm& term : affinity->required_pod_anti_affinity)
      affinity->preferred_pod_anti_affinity.emplace_back(kMaxWeight, std::move(term));
  affinity->required_pod_anti_affinity.clear();
  pod.affinity = std::move(affinity);
}

/// Widens hard spread constraints from hosts to zones; those over zones become ScheduleAnyway. kDropped removes them.
void widen_spread(api::Pod& pod, bool over_hosts, Grade grade) {
  if (grade == Grade::kDropped) {
    std::erase_if(pod.topology_spread.edit(), [&](const api::TopologySpreadConstraint& each) {
      return !each.schedule_anyway && (each.topology_key == api::well_known::kHostnameLabel) == over_hosts;
    });
  }
  for (api::TopologySpreadConstraint& each : pod.topology_spread) {
    const bool is_of_hosts = each.topology_key == api::well_known::kHostnameLabel;
    if (each.schedule_anyway || is_of_hosts != over_hosts) continue;
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

void take_claims_off(api::Pod& pod) {
  std::erase_if(pod.volumes.edit(), [](const api::Volume& volume) {
    return volume.kind == api::VolumeKind::kPersistentVolumeClaim || volume.kind == api::VolumeKind::kEphemeral;
  });
}

}  // namespace

api::Pod changed_pod(Cause cause, Grade grade, const api::Pod& pod) {
  api::Pod changed = pod;
  switch (cause) {
    case Cause::kRequiredAntiAffinity: relax_anti_affinity(changed, grade); break;
    case Cause::kHostnameSpread: widen_spread(changed, true, grade); break;
    case Cause::kZoneSpread: widen_spread(changed, false, grade); break;
    case Cause::kNodeSelector: unpin(changed); break;
    case Cause::kLocalVolume:
    case Cause::kZonalVolume: take_claims_off(changed); break;
    case Cause::kBarePod: own(changed); break;
    default: break;
  }
  return changed;
}

bool has_grades(Cause cause) {
  return cause == Cause::kRequiredAntiAffinity || cause == Cause::kHostnameSpread || cause == Cause::kZoneSpread;
}

bool has_required_anti_affinity(const api::Pod& pod) {
  return pod.affinity && !pod.affinity->required_pod_anti_affinity.empty();
}

bool has_hard_spread(const api::Pod& pod, bool over_hosts) {
  return std::ranges::any_of(pod.topology_spread, [&](const api::TopologySpreadConstraint& each) {
    return !each.schedule_anyway && (each.topology_key == api::well_known::kHostnameLabel) == over_hosts;
  });
}

bool is_pinned(const api::Pod& pod) {
  return !pod.node_selector.empty() || (pod.affinity && pod.affinity->required_node_terms);
}

}  // namespace advisor
