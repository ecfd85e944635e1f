#include "advisor/placement/causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "advisor/placement/budgets.hpp"
#include "advisor/placement/changes.hpp"
#include "advisor/placement/workloads.hpp"
#include "planner/scheduling/predicates.hpp"
#include "planner/snapshot/resources.hpp"

namespace advisor {
namespace {

using scheduling::MeasuredUsage;
using scheduling::SnapshotInput;

/// A StatefulSet with at most this number of pods is probably a quorum.
constexpr std::size_t kQuorum = 7;
/// Requests of which less than this share is used are oversized.
constexpr double kOversized = 0.5;
/// Recommended request as a multiple of the usage.
constexpr double kHeadroom = 1.3;
constexpr std::int32_t kSystemPriority = 2'000'000'000;

class Finder {
 public:
  Finder(const SnapshotInput& cluster, const MeasuredUsage* measured)
      : cluster_(cluster), measured_(measured), groups_(pod_groups(cluster)), covered_(covered_pods(cluster)) {}

  std::vector<FoundCause> find() {
    std::set<std::string> zones;
    for (const auto& node : cluster_.nodes) zones.insert(node->zone());
    zones.erase("");
    for (const PodGroup& group : groups_) {
      find_constraints(group, zones.size());
      look_at_selectors(group);
      look_at_volumes(group);
      look_at_requests(group);
      look_at_replicas(group);
    }
    look_at_budgets();
    look_at_priorities();
    std::ranges::stable_sort(found_, {}, [](const FoundCause& each) {
      return std::tuple(static_cast<int>(each.finding.cause), -each.finding.pods);
    });
    return std::move(found_);
  }

 private:
  const api::Pod& pod(std::size_t place) const { return *cluster_.pods[place]; }

  FoundCause& add(Cause cause, const PodGroup& group, std::vector<std::size_t> pods, Risk risk, std::string why,
                  std::string change) {
    FoundCause found;
    found.finding = {.cause = cause,
                     .ns = group.ns,
                     .kind = group.kind,
                     .name = group.name,
                     .pods = static_cast<std::int32_t>(pods.size()),
                     .nodes = static_cast<std::int32_t>(nodes_of(cluster_, pods)),
                     .risk = risk,
                     .why = std::move(why),
                     .change = std::move(change)};
    found.pods = std::move(pods);
    return found_.emplace_back(std::move(found));
  }
  template <typename Is>
  std::vector<std::size_t> matching_pods(const PodGroup& group, Is&& is) const {
    std::vector<std::size_t> pods;
    std::ranges::copy_if(group.pods, std::back_inserter(pods), [&](std::size_t each) { return is(pod(each)); });
    return pods;
  }

  /// Risk if pods may share a node. A quorum on one node loses all members with it.
  static Risk risk_of_sharing(const PodGroup& group) {
    if (group.kind == "StatefulSet") return group.pods.size() <= kQuorum ? Risk::kHigh : Risk::kMedium;
    return group.pods.size() <= 2 ? Risk::kMedium : Risk::kLow;
  }

  void find_constraints(const PodGroup& group, std::size_t zones) {
    if (auto pods = matching_pods(group, has_required_anti_affinity); !pods.empty())
      add(Cause::kRequiredAntiAffinity, group, pods, risk_of_sharing(group),
          fmt::format("{} pods with required anti-affinity", pods.size()), "make it preferred, with weight 100");
    const auto hosts = [](const api::Pod& each) { return has_hard_spread(each, true); };
    if (auto pods = matching_pods(group, hosts); !pods.empty() && zones > 1)
      add(Cause::kHostnameSpread, group, pods, Risk::kLow,
          fmt::format("{} pods must spread evenly over nodes", pods.size()),
          fmt::format("spread them over the {} zones instead", zones));
    const auto wider = [](const api::Pod& each) { return has_hard_spread(each, false); };
    if (auto pods = matching_pods(group, wider); !pods.empty())
      add(Cause::kZoneSpread, group, pods, Risk::kMedium,
          fmt::format("{} pods must spread evenly over zones", pods.size()),
          "whenUnsatisfiable: ScheduleAnyway, or a larger maxSkew");
    if (group.kind == "Pod")
      add(Cause::kBarePod, group, group.pods, Risk::kLow, "it has no controller: nothing would recreate it",
          "manage it with a Deployment or a Job");
  }

  std::size_t nodes_for(const api::Pod& pod) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        cluster_.nodes, [&](const auto& node) { return scheduling::matches_node_terms(pod, *node); }));
  }

  void look_at_selectors(const PodGroup& group) {
    auto pods = matching_pods(group, is_pinned);
    if (pods.empty()) return;
    const std::size_t nodes = nodes_for(pod(pods.front()));
    if (nodes >= cluster_.nodes.size()) return;
    add(Cause::kNodeSelector, group, pods, Risk::kMedium,
        fmt::format("{} pods are pinned to {} of {} nodes", pods.size(), nodes, cluster_.nodes.size()),
        "remove nodeSelector and required node affinity, or label more nodes");
  }

  const api::PersistentVolume* volume_of(const api::Pod& pod, const api::Volume& volume) {
    if (claims_.empty()) {
      for (const auto& claim : cluster_.claims) claims_[{claim->meta.ns, claim->meta.name}] = claim->volume_name;
      for (const auto& each : cluster_.volumes) volumes_[each->meta.name] = each.get();
    }
    const auto claim = claims_.find({pod.meta.ns, volume.source});
    if (claim == claims_.end()) return nullptr;
    const auto found = volumes_.find(claim->second);
    return found == volumes_.end() ? nullptr : found->second;
  }
  bool has_volume(const api::Pod& pod, bool local) {
    return std::ranges::any_of(pod.volumes, [&](const api::Volume& each) {
      if (each.kind != api::VolumeKind::kPersistentVolumeClaim && each.kind != api::VolumeKind::kEphemeral)
        return false;
      const api::PersistentVolume* volume = volume_of(pod, each);
      return volume != nullptr && (volume->is_local || !volume->required_node_terms.empty()) &&
             volume->is_local == local;
    });
  }

  void look_at_volumes(const PodGroup& group) {
    if (auto pods = matching_pods(group, [&](const api::Pod& each) { return has_volume(each, true); }); !pods.empty())
      add(Cause::kLocalVolume, group, pods, Risk::kMedium,
          fmt::format("{} pods use disks that are local to their node", pods.size()),
          "use network storage where possible");
    if (auto pods = matching_pods(group, [&](const api::Pod& each) { return has_volume(each, false); }); !pods.empty())
      add(Cause::kZonalVolume, group, pods, Risk::kMedium,
          fmt::format("{} pods use disks that are local to one zone", pods.size()),
          "use storage that is reachable from every zone");
  }

  // --- requests

  std::optional<std::size_t> column_of(const char* resource) const {
    const auto at = std::ranges::find(measured_->resources, resource, &MeasuredUsage::Resource::name);
    if (at == measured_->resources.end() || at->is_percent) return std::nullopt;
    return static_cast<std::size_t>(at - measured_->resources.begin());
  }
  std::int64_t used_by(const api::Pod& pod, std::size_t column) const {
    const auto key = std::tie(pod.meta.ns, pod.meta.name);
    const auto at = std::ranges::lower_bound(
        measured_->pods, key, {}, [](const MeasuredUsage::Pod& each) { return std::tie(each.ns, each.name); });
    if (at == measured_->pods.end() || std::tie(at->ns, at->name) != key) return scheduling::kUnknownUsage;
    return measured_
        ->pod_amounts[static_cast<std::size_t>(at - measured_->pods.begin()) * measured_->resources.size() + column];
  }
  /// Returns the used share of the requests of all measured pods, nullopt if no pod is measured or they request
  /// nothing.
  std::optional<double> share_used(const PodGroup& group, const char* resource,
                                   scheduling::ResourceIndex number) const {
    const auto column = column_of(resource);
    if (!column) return std::nullopt;
    double used = 0;
    double requested = 0;
    scheduling::ResourceNames names;
    scheduling::RequestSet requests;
    for (const std::size_t each : group.pods) {
      const std::int64_t amount = used_by(pod(each), *column);
      if (amount == scheduling::kUnknownUsage) continue;
      scheduling::effective_requests(pod(each), names, requests);
      used += static_cast<double>(amount);
      requested += static_cast<double>(scheduling::amount_of(requests, number));
    }
    return requested > 0 ? std::optional(used / requested) : std::nullopt;
  }

  void look_at_requests(const PodGroup& group) {
    if (measured_ == nullptr || measured_->pods.empty()) return;
    const auto cpu = share_used(group, "cpu", scheduling::kCpuIndex);
    const auto memory = share_used(group, "memory", scheduling::kMemoryIndex);
    if (cpu.value_or(1) >= kOversized && memory.value_or(1) >= kOversized) return;
    const auto text = [](const std::optional<double>& share) {
      return share ? fmt::format("{:.0f} %", *share * 100) : std::string("an unknown component");
    };
    FoundCause& found = add(Cause::kOversizedRequests, group, group.pods, Risk::kMedium,
                            fmt::format("{} of requested cpu and {} of memory is in use", text(cpu), text(memory)),
                            "request the measured use plus 30 % (evacuator advise requests)");
    if (cpu) found.cpu_factor = std::min(*cpu * kHeadroom, 1.0);
    if (memory) found.memory_factor = std::min(*memory * kHeadroom, 1.0);
  }

  // --- risks

  void look_at_replicas(const PodGroup& group) {
    static constexpr std::array<std::string_view, 4> kReplicated = {"Deployment", "ReplicaSet", "StatefulSet",
                                                                    "ReplicationController"};
    if (std::ranges::find(kReplicated, group.kind) == kReplicated.end()) return;
    if (group.pods.size() == 1) {
      add(Cause::kSingleReplica, group, group.pods, Risk::kMedium, "single pod: every move is an outage",
          "run two replicas, or make the move cheap (surge, handoff)");
      return;
    }
    const api::Pod& first = pod(group.pods.front());
    const bool has_budget = std::ranges::any_of(
        cluster_.pdbs, [&](const auto& budget) { return budget->meta.ns == group.ns && budget->covers(first); });
    if (!has_budget)
      add(Cause::kMissingBudget, group, group.pods, Risk::kLow, "no PodDisruptionBudget covers these pods",
          "add a PodDisruptionBudget with maxUnavailable 1 or more");
  }

  void look_at_budgets() {
    std::vector<const CoveredPods*> covering(cluster_.pods.size(), nullptr);
    for (const CoveredPods& each : covered_) {
      const PodGroup group{each.budget->meta.ns, "PodDisruptionBudget", each.budget->meta.name, {}};
      if (each.pods.empty()) {
        add(Cause::kEmptyBudget, group, {}, Risk::kLow, "it selects no pod", "correct its selector, or delete it");
        continue;
      }
      if (const std::string why = why_blocking(each); !why.empty())
        add(Cause::kBlockingBudget, group, each.pods, Risk::kMedium, "it blocks every drain: " + why,
            "maxUnavailable: 1");
      std::vector<std::size_t> shared;
      for (const std::size_t pod : each.pods) {
        if (covering[pod] != nullptr) shared.push_back(pod);
        covering[pod] = &each;
      }
      if (!shared.empty())
        add(Cause::kOverlappingBudgets, group, shared, Risk::kLow,
            "another PodDisruptionBudget covers these pods as well: the eviction API refuses to evict them",
            "use one PodDisruptionBudget per pod: delete this one");
    }
  }

  void look_at_priorities() {
    std::int32_t lowest = std::numeric_limits<std::int32_t>::max();
    std::map<std::string_view, std::vector<std::size_t>> of_class;
    for (std::size_t i = 0; i < cluster_.pods.size(); ++i) {
      if (pod(i).node_name.empty() || pod(i).is_terminal()) continue;
      lowest = std::min(lowest, pod(i).priority.value_or(0));
      of_class[pod(i).priority_class_name.get()].push_back(i);
    }
    for (const auto& each : cluster_.priority_classes) {
      const auto pods = of_class.find(each->meta.name);
      if (each->value >= kSystemPriority || each->value > lowest || pods == of_class.end()) continue;
      add(Cause::kIdlePriority, {"", "PriorityClass", each->meta.name, {}}, pods->second, Risk::kLow,
          fmt::format("no pod has a priority lower than its {}: it cannot preempt any pod", each->value),
          "give preemptible pods a PriorityClass with a lower value");
    }
  }

  const SnapshotInput& cluster_;
  const MeasuredUsage* measured_;
  const std::vector<PodGroup> groups_;
  const std::vector<CoveredPods> covered_;
  std::map<std::pair<std::string, std::string>, std::string> claims_;
  std::map<std::string, const api::PersistentVolume*> volumes_;
  std::vector<FoundCause> found_;
};

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

std::vector<FoundCause> find_causes(const SnapshotInput& cluster, const MeasuredUsage* measured) {
  return Finder(cluster, measured).find();
}

std::vector<std::size_t> blocked_pods(const SnapshotInput& cluster) {
  std::set<std::size_t> blocked;
  std::set<std::size_t> covered;
  for (const CoveredPods& each : covered_pods(cluster)) {
    const bool is_blocking = !why_blocking(each).empty();
    for (const std::size_t pod : each.pods) {
      if (!covered.insert(pod).second || is_blocking) blocked.insert(pod);
    }
  }
  return {blocked.begin(), blocked.end()};
}

SnapshotInput apply_changes(const SnapshotInput& cluster, const std::vector<const FoundCause*>& causes, Grade grade) {
  SnapshotInput changed = cluster;
  for (const FoundCause* cause : causes) {
    const Cause what = cause->finding.cause;
    if (what == Cause::kBlockingBudget || what == Cause::kOverlappingBudgets) {
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

}  // namespace advisor
