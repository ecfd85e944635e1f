#include "planner/strategies/defragmentation/bound/apart.hpp"

#include <algorithm>

#include "planner/scheduling/predicates.hpp"
#include "planner/snapshot/matching.hpp"

namespace strategies {
namespace {

constexpr std::size_t kMaxSelections = 200;  // maximum number of groups that selectors are matched against

class EvenSpread {
 public:
  explicit EvenSpread(const DefragmentationProblem& problem) : problem_(problem), base_(problem.base()) {}

  std::vector<EvenPods> find() {
    for (NamespaceIndex ns = 0; ns < base_.namespace_count(); ++ns) {
      for (const ClusterSnapshot::LabelGroup& group : base_.label_groups(ns)) look_at(group, ns);
    }
    return std::move(found_);
  }

 private:
  void look_at(const ClusterSnapshot::LabelGroup& group, NamespaceIndex ns) {
    const api::Pod& first = base_.pod(group.pods.front());
    if (first.topology_spread.empty() || !are_alike(group.pods) || !reaches_all(first)) return;
    for (const api::TopologySpreadConstraint& constraint : first.topology_spread) {
      if (is_simple(constraint) && selects_only(constraint, group, ns)) add(group.pods, constraint);
    }
  }

  /// Returns true if all pods have equal requests and spread constraints, must stay somewhere, and run on nodes in
  /// scope.
  bool are_alike(const std::vector<PodIndex>& pods) const {
    const PodIndex first = pods.front();
    return std::ranges::all_of(pods, [&](PodIndex pod) {
      return problem_.has_to_stay_somewhere(pod) && base_.request_set_of(pod) == base_.request_set_of(first) &&
             std::ranges::equal(base_.pod(pod).topology_spread, base_.pod(first).topology_spread) &&
             reaches_all(base_.pod(pod));
    });
  }

  /// Returns true if every node counts for the pod's spread and has a domain in all of its topologies.
  bool reaches_all(const api::Pod& pod) const {
    if (scheduling::asks_for_nodes(pod)) return false;
    return std::ranges::all_of(pod.topology_spread, [this](const api::TopologySpreadConstraint& constraint) {
      return problem_.cluster().topology(constraint.topology_key).covers_all;
    });
  }

  static bool is_simple(const api::TopologySpreadConstraint& constraint) {
    return !constraint.schedule_anyway && constraint.max_skew == 1 && !constraint.min_domains &&
           !constraint.honor_node_taints && constraint.match_label_keys.empty() && constraint.label_selector;
  }

  bool selects_only(const api::TopologySpreadConstraint& constraint, const ClusterSnapshot::LabelGroup& group,
                    NamespaceIndex ns) {
    if (!scheduling::asks_for_pods(constraint, base_.pod(group.pods.front()))) return false;
    if (!constraint.label_selector->matches(*group.labels)) return false;
    if (selections_ == kMaxSelections) return false;
    ++selections_;
    return std::ranges::none_of(base_.label_groups(ns), [&](const ClusterSnapshot::LabelGroup& other) {
      return &other != &group && constraint.label_selector->matches(*other.labels);
    });
  }

  void add(const std::vector<PodIndex>& pods, const api::TopologySpreadConstraint& constraint) {
    const Topology& topology = problem_.cluster().topology(constraint.topology_key);
    std::vector<std::size_t> in_domain(topology.domain_names.size(), 0);
    for (const PodIndex pod : pods) ++in_domain[topology.domain_of[problem_.cluster().node_of(pod)]];
    const auto [least, most] = std::ranges::minmax_element(in_domain);
    if (*most - *least > 1) return;
    found_.push_back({pods, constraint.topology_key, &topology, pods.size() / in_domain.size()});
  }

  const DefragmentationProblem& problem_;
  const ClusterSnapshot& base_;
  std::vector<EvenPods> found_;
  std::size_t selections_ = 0;
};

}  // namespace

std::vector<EvenPods> evenly_spread(const DefragmentationProblem& problem) { return EvenSpread(problem).find(); }

}  // namespace strategies
