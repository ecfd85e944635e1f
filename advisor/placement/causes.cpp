#include "advisor/placement/causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "advisor/placement/changes.hpp"
#include "advisor/workloads.hpp"
#include "api/core/pvc_risk.hpp"
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
constexpr std::int64_t kAllPercent = 100;

/// Pods of one controller, as indices into SnapshotInput::pods.
struct PodGroup {
  std::string ns;
  std::string kind;  ///< "Deployment" for ReplicaSets of a Deployment; "Pod" for pods without a controller
  std::string name;
  std::vector<std::size_t> pods;
};

/// Returns kind and name.
std::pair<std::string, std::string> owner_of(const api::Pod& pod) {
  const api::OwnerReference* owner = pod.meta.controller();
  if (owner == nullptr) return {"Pod", pod.meta.name};
  const std::string* hash = pod.meta.labels.find(kTemplateHashLabel);
  if (owner->kind == "ReplicaSet" && hash != nullptr && owner->name.ends_with("-" + *hash))
    return {"Deployment", owner->name.substr(0, owner->name.size() - hash->size() - 1)};
  return {owner->kind, owner->name};
}

/// Returns all bound pods except terminal, DaemonSet and mirror pods, sorted by namespace, kind and name.
std::vector<PodGroup> pod_groups(const SnapshotInput& cluster) {
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < cluster.pods.size(); ++i) {
    const api::Pod& pod = *cluster.pods[i];
    if (pod.node_name.empty() || pod.is_terminal() || pod.is_daemon_set() || pod.is_mirror()) continue;
    auto [kind, name] = owner_of(pod);
    groups[{pod.meta.ns, std::move(kind), std::move(name)}].push_back(i);
  }
  std::vector<PodGroup> found;
  for (auto& [key, pods] : groups)
    found.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), std::move(pods)});
  return found;
}

/// A budget and the pods that it covers, as indices into SnapshotInput::pods.
struct CoveredPods {
  const api::PodDisruptionBudget* budget = nullptr;
  std::vector<std::size_t> pods;
};

/// Returns one entry for each budget, in their order. Terminal pods are left out.
std::vector<CoveredPods> covered_pods(const SnapshotInput& cluster) {
  std::vector<CoveredPods> all;
  std::map<std::string_view, std::vector<std::size_t>> budgets;  // by namespace
  for (const auto& budget : cluster.pdbs) {
    budgets[budget->meta.ns].push_back(all.size());
    all.push_back({budget.get(), {}});
  }
  for (std::size_t i = 0; i < cluster.pods.size(); ++i) {
    const api::Pod& pod = *cluster.pods[i];
    const auto here = budgets.find(pod.meta.ns);
    if (here == budgets.end() || pod.is_terminal()) continue;
    for (const std::size_t each : here->second) {
      if (all[each].budget->covers(pod)) all[each].pods.push_back(i);
    }
  }
  return all;
}

/// Returns why the budget never allows an eviction, even if all its pods are healthy. Returns "" if it sometimes does,
/// or covers no pod.
std::string why_blocking(const CoveredPods& covered) {
  const api::PodDisruptionBudget& budget = *covered.budget;
  if (covered.pods.empty()) return {};
  if (!budget.sync_failure.empty()) return "the disruption controller cannot compute it: " + budget.sync_failure;
  if (budget.max_unavailable && budget.max_unavailable->value == 0) return "maxUnavailable is 0";
  if (!budget.min_available) return {};
  const auto [least, percent] = *budget.min_available;
  if (percent) return least >= kAllPercent ? fmt::format("minAvailable is {} %", least) : std::string();
  const auto expected = std::max<std::int64_t>(budget.expected_pods, static_cast<std::int64_t>(covered.pods.size()));
  return least >= expected ? fmt::format("minAvailable is {} of {} pods", least, expected) : std::string();
}

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
                     .nodes = count_nodes(pods),
                     .risk = risk,
                     .why = std::move(why),
                     .change = std::move(change)};
    found.pods = std::move(pods);
    return found_.emplace_back(std::move(found));
  }
  std::int32_t count_nodes(const std::vector<std::size_t>& pods) const {
    std::set<std::string_view> nodes;
    for (const std::size_t each : pods) nodes.insert(pod(each).node_name.value);
    return static_cast<std::int32_t>(nodes.size());
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

  /// Adds a finding about the pods of the group that `is` selects, if any. `what` is about them: "must spread evenly".
  template <typename Is>
  void add_matching(Cause cause, const PodGroup& group, Is&& is, Risk risk, std::string_view what, std::string change) {
    if (auto pods = matching_pods(group, is); !pods.empty())
      add(cause, group, pods, risk, fmt::format("{} pods {}", pods.size(), what), std::move(change));
  }

  void find_constraints(const PodGroup& group, std::size_t zones) {
    add_matching(Cause::kRequiredAntiAffinity, group, has_required_anti_affinity, risk_of_sharing(group),
                 "with required anti-affinity", "make it preferred, with weight 100");
    const auto spreads_over = [](bool hosts) {
      return [hosts](const api::Pod& each) { return has_hard_spread(each, hosts); };
    };
    if (zones > 1)
      add_matching(Cause::kHostnameSpread, group, spreads_over(true), Risk::kLow, "must spread evenly over nodes",
                   fmt::format("spread them over the {} zones instead", zones));
    add_matching(Cause::kZoneSpread, group, spreads_over(false), Risk::kMedium, "must spread evenly over zones",
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
    auto pods = matching_pods(group, scheduling::asks_for_nodes);
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
      if (!api::uses_claim(each)) return false;
      const api::PersistentVolume* volume = volume_of(pod, each);
      return volume != nullptr && (volume->is_local || !volume->required_node_terms.empty()) &&
             volume->is_local == local;
    });
  }

  void look_at_volumes(const PodGroup& group) {
    const auto uses = [this](bool local) {
      return [this, local](const api::Pod& each) { return has_volume(each, local); };
    };
    add_matching(Cause::kLocalVolume, group, uses(true), Risk::kMedium, "use disks that are local to their node",
                 "use network storage where possible");
    add_matching(Cause::kZonalVolume, group, uses(false), Risk::kMedium, "use disks that are local to one zone",
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

}  // namespace advisor
