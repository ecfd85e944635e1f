#include "planner/plan/target.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include "planner/scheduling/scoring/preferences.hpp"

namespace planner {
namespace {

using scheduling::Preferences;
using scheduling::ResourceScores;

// Limits above Preferences::kComparedNodes nodes, which keep a move cheap:
constexpr std::size_t kMaxTies = 32;         // nodes checked that tie with the best free capacity
constexpr std::size_t kMaxDoubtful = 100;    // nodes with more free capacity that are not the best otherwise
constexpr std::size_t kMaxCandidates = 100;  // nodes compared in full
constexpr std::size_t kMaxAvoided = 16;      // maximum of those that have a soft taint, if there are others

/// Finds the next node with this score. Uses memchr, because std::find compares byte by byte.
const std::uint8_t* next_with(int score, const std::uint8_t* first, const std::uint8_t* last) {
  if (first == last) return last;
  const void* at = std::memchr(first, score, static_cast<std::size_t>(last - first));
  return at == nullptr ? last : static_cast<const std::uint8_t*>(at);
}

/// Calls `each` with the nodes by descending free capacity, then by name, until it returns false.
template <typename F>
void for_each_by_score(const TargetPredictor::Scores& scores, F&& each) {
  const std::uint8_t* const first = scores.of_node.data();
  const std::uint8_t* const last = first + scores.of_node.size();
  for (int score = ResourceScores::kBest; score >= 0; --score) {
    if (scores.count[score] == 0) continue;
    for (const std::uint8_t* at = next_with(score, first, last); at != last; at = next_with(score, at + 1, last)) {
      if (!each(static_cast<NodeIndex>(at - first), score)) return;
    }
  }
}

/// All nodes that pass the filters, with their capacity scores. Used only if the scheduler compares all of them.
struct Pool {
  std::vector<NodeIndex> nodes;
  std::vector<int> capacity;
};
std::optional<Pool> small_pool(const TargetPredictor::Ranking& ranking, const scheduling::FitQuery& query) {
  Pool pool;
  bool is_small = true;
  for_each_by_score(ranking.all, [&](NodeIndex node, int score) {
    if (!query.fits(node)) return true;
    is_small = pool.nodes.size() < Preferences::kComparedNodes;
    pool.nodes.push_back(node);
    pool.capacity.push_back(score);
    return is_small;
  });
  return is_small ? std::optional(std::move(pool)) : std::nullopt;
}

/// Returns true if the pod probably fits only few nodes. For other pods, small_pool() would waste a hundred checks.
bool is_choosy(const scheduling::FitQuery& query, const TargetPredictor::Ranking& ranking) {
  if (has_node_terms(query) || has_volumes(query) || has_devices(query) || has_wanted_domains(query)) return true;
  return std::accumulate(ranking.all.count.begin(), ranking.all.count.end(), std::size_t{0}) <=
         Preferences::kComparedNodes;
}

/// Chooses the node of one pod from a ranking.
class NodeChoice {
 public:
  NodeChoice(const TargetPredictor::Ranking& ranking, const scheduling::FitQuery& query, const Goal& goal,
             const scheduling::SchedulerRules& rules)
      : ranking_(ranking),
        query_(query),
        goal_(goal),
        preferences_(query, rules),
        pods_(query.cluster().used().column(scheduling::kPodsIndex)),
        is_exact_(ranking.all.of_node.size() <= Preferences::kComparedNodes) {}

  Placement make() const {
    if (const auto placement = obvious()) return *placement;
    return compare_all();
  }

  /// Choice of a scheduler that compares all nodes of the pool.
  Placement among(const Pool& pool) const {
    Placement placement;
    placement.fits_nowhere = pool.nodes.empty();
    if (std::ranges::none_of(pool.nodes, [this](NodeIndex node) { return helps(node); })) return placement;
    for (const NodeIndex node : scheduling::best_nodes(preferences_, pool.nodes, pool.capacity)) {
      std::optional<NodeIndex>& place = helps(node) ? placement.node : placement.competing_node;
      if (!place || rank(node) < rank(*place)) place = node;
    }
    return without_doubt(placement);
  }

 private:
  bool helps(NodeIndex node) const { return !goal_ || goal_(node); }
  std::tuple<std::int64_t, NodeIndex> rank(NodeIndex node) const { return {pods_[node], node}; }

  /// Returns a placement if it needs no full comparison: a node that meets every preference is the best one if no other
  /// node gains more by free capacity than it loses otherwise. Returns nullopt if the nodes must be compared.
  std::optional<Placement> obvious() const {
    Placement placement;
    int capacity = -1;
    std::size_t ties = 0;
    std::vector<std::pair<NodeIndex, int>> doubtful;
    const auto look_at = [&](NodeIndex node, int score) {
      if (score < capacity) return false;
      if (placement.node && helps(node) && rank(node) > rank(*placement.node)) return is_exact_ || ++ties < kMaxTies;
      if (!preferences_.is_best(node)) {
        if (is_exact_ || score != capacity) doubtful.emplace_back(node, score);
        return is_exact_ || doubtful.size() < kMaxDoubtful;
      }
      consider(node, placement);
      if (placement.node || placement.competing_node) capacity = score;
      return capacity < 0 || is_exact_ || ++ties < kMaxTies;
    };
    if (is_exact_)
      for_each_by_score(ranking_.all, look_at);
    else
      for_each_not_avoided(look_at);                      // more free capacity rarely outweighs a taint
    if (!is_exact_ && capacity < 0) return std::nullopt;  // better nodes may follow the doubtful ones
    if (!is_exact_) outdo(doubtful, capacity, placement);
    if (!placement.node && !placement.competing_node) return std::nullopt;
    const auto may_outdo = [&](const auto& each) {
      return each.second - preferences_.min_loss(each.first) >= capacity && query_.fits(each.first);
    };
    if (is_exact_ && std::ranges::any_of(doubtful, may_outdo)) return std::nullopt;
    return without_doubt(placement);
  }

  template <typename F>
  void for_each_not_avoided(F&& each) const {
    if (!preferences_.tolerates_some_soft_taint())
      return for_each_by_score(ranking_.open.of_node.empty() ? ranking_.all : ranking_.open, each);
    for_each_by_score(ranking_.all,
                      [&](NodeIndex node, int score) { return preferences_.avoids(node) || each(node, score); });
  }

  static Placement without_doubt(Placement placement) {
    if (placement.competing_node) placement.tied = std::exchange(placement.node, std::nullopt);
    return placement;
  }

  /// Replaces the placement by better doubtful nodes, treating the lower bounds of their losses as exact.
  void outdo(const std::vector<std::pair<NodeIndex, int>>& doubtful, int best, Placement& placement) const {
    for (const auto& [node, score] : doubtful) {
      const int sum = std::max(score - preferences_.min_loss(node), 0);
      if (sum < best || !query_.fits(node)) continue;
      if (sum > best) placement = {};
      best = sum;
      consider(node, placement);
    }
  }

  /// Adds a node that scores the same as the current placement.
  void consider(NodeIndex node, Placement& placement) const {
    if (!helps(node)) {
      if (!placement.competing_node && query_.fits(node)) placement.competing_node = node;
    } else if ((!placement.node || rank(node) < rank(*placement.node)) && query_.fits(node)) {
      placement.node = node;
    }
  }

  Placement compare_all() const {
    Pool pool;
    if (is_exact_) {
      for_each_by_score(ranking_.all, Collector(*this, pool, ranking_.all.of_node.size()));
      return among(pool);
    }
    Collector open(*this, pool, kMaxCandidates);
    for_each_not_avoided(open);
    Collector avoided(*this, pool, pool.nodes.empty() ? kMaxCandidates : pool.nodes.size() + kMaxAvoided);
    for_each_by_score(ranking_.all,
                      [&](NodeIndex node, int score) { return !preferences_.avoids(node) || avoided(node, score); });
    return among(pool);
  }

  /// Adds nodes that pass the filters, up to `most` nodes, and at least one that helps.
  class Collector {
   public:
    Collector(const NodeChoice& choice, Pool& pool, std::size_t most) : choice_(choice), pool_(pool), most_(most) {
      some_help_ = std::ranges::any_of(pool.nodes, [&](NodeIndex node) { return choice.helps(node); });
    }
    bool operator()(NodeIndex node, int score) {
      const bool helps = choice_.helps(node);
      if ((pool_.nodes.size() >= most_ && !helps) || !choice_.query_.fits(node)) return true;
      pool_.nodes.push_back(node);
      pool_.capacity.push_back(score);
      some_help_ = some_help_ || helps;
      return pool_.nodes.size() < most_ || !some_help_;
    }

   private:
    const NodeChoice& choice_;
    Pool& pool_;
    std::size_t most_;
    bool some_help_;
  };

  const TargetPredictor::Ranking& ranking_;
  const scheduling::FitQuery& query_;
  const Goal& goal_;
  const Preferences preferences_;
  const std::vector<std::int64_t>& pods_;  ///< number of pods, indexed by node
  const bool is_exact_;
};

std::shared_ptr<const scheduling::FitQuery> query_for(const WhatIf& cluster, PodIndex pod, scheduling::OldPod old_pod) {
  if (old_pod == scheduling::OldPod::kGone) return cluster.fit_query(pod, scheduling::FitLevel::kScheduler);
  return std::make_shared<const scheduling::FitQuery>(cluster, pod, scheduling::FitLevel::kScheduler, old_pod);
}

/// Returns the node with the best sum among those that `goal` accepts. Breaks ties by number of pods, then by name.
/// `preference` has one score per node of the pool.
std::optional<NodeIndex> best_helping(const Pool& pool, const std::vector<int>& preference, const Goal& goal,
                                      const std::vector<std::int64_t>& pods) {
  std::optional<std::tuple<int, std::int64_t, NodeIndex>> best;
  for (std::size_t i = 0; i < pool.nodes.size(); ++i) {
    const NodeIndex node = pool.nodes[i];
    if (goal && !goal(node)) continue;
    const std::tuple rank(-(preference[i] + pool.capacity[i]), pods[node], node);
    if (!best || rank < *best) best = rank;
  }
  return best ? std::optional(std::get<NodeIndex>(*best)) : std::nullopt;
}

}  // namespace

TargetPredictor::TargetPredictor(const ClusterSnapshot& cluster, scheduling::NodeScoring scoring,
                                 const scheduling::SchedulerRules& rules)
    : rules_(rules), scores_(scoring, rules) {
  const auto is_open = [&](NodeIndex node) { return cluster.is_schedulable_by_all(node); };
  has_few_open_nodes_ =
      static_cast<std::size_t>(std::ranges::count_if(cluster.nodes(), is_open)) <= Preferences::kComparedNodes;
}

void TargetPredictor::update_soft_taints(const WhatIf& cluster) {
  if (cluster.soft_taints() == soft_taints_) return;
  soft_taints_ = cluster.soft_taints();
  ++soft_taints_state_;
}

void TargetPredictor::Scores::set(NodeIndex node, std::uint8_t score) {
  if (of_node[node] != ResourceScores::kNoCapacity) --count[of_node[node]];
  of_node[node] = score;
  if (score != ResourceScores::kNoCapacity) ++count[score];
}

/// Updates the scores of one node.
void TargetPredictor::rank(Ranking& ranking, const WhatIf& cluster, PodIndex pod, NodeIndex node) const {
  const std::uint8_t now = scores_.score(cluster, pod, node);
  ranking.all.set(node, now);
  if (!ranking.open.of_node.empty())
    ranking.open.set(node, cluster.has_soft_taint(node) ? ResourceScores::kNoCapacity : now);
}

TargetPredictor::Ranking& TargetPredictor::ranking_of(const WhatIf& cluster, PodIndex pod) {
  const std::uint32_t set = cluster.base().request_set_of(pod);
  if (rankings_.size() >= kMaxRankings && !rankings_.contains(set)) rankings_.clear();
  update_soft_taints(cluster);
  const auto& changes = cluster.changes();
  Ranking& ranking = rankings_[set];
  const std::size_t nodes = cluster.base().node_count();
  const bool is_outdated = ranking.soft_taints != soft_taints_state_ || changes.size() - ranking.seen > nodes;
  if (ranking.all.of_node.size() != nodes || is_outdated) {
    ranking.all.reset(nodes);
    ranking.open.reset(soft_taints_.empty() ? 0 : nodes);
    for (NodeIndex node = 0; node < nodes; ++node) rank(ranking, cluster, pod, node);
    ranking.seen = changes.size();
    ranking.soft_taints = soft_taints_state_;
  }
  for (; ranking.seen < changes.size(); ++ranking.seen) rank(ranking, cluster, pod, changes[ranking.seen]);
  return ranking;
}

Placement TargetPredictor::predict(const WhatIf& cluster, PodIndex pod, const Goal& goal, scheduling::OldPod old_pod) {
  const Ranking& ranking = ranking_of(cluster, pod);
  const auto query = query_for(cluster, pod, old_pod);
  const NodeChoice choice(ranking, *query, goal, rules_);
  const bool is_large = ranking.all.of_node.size() > Preferences::kComparedNodes;
  if (is_large && (has_few_open_nodes_ || is_choosy(*query, ranking))) {
    if (const auto pool = small_pool(ranking, *query)) return choice.among(*pool);
  }
  return choice.make();
}

std::optional<NodeIndex> TargetPredictor::predict_hinted(const WhatIf& cluster, PodIndex pod, const Goal& goal,
                                                         scheduling::OldPod old_pod) {
  const auto query = query_for(cluster, pod, old_pod);
  const auto pool = small_pool(ranking_of(cluster, pod), *query);
  if (!pool) return std::nullopt;
  const auto wanted = best_helping(*pool, Preferences(*query, rules_).scores(pool->nodes), goal,
                                   cluster.used().column(scheduling::kPodsIndex));
  if (!wanted) return std::nullopt;
  const auto best = scheduling::best_nodes(Preferences(*query, rules_, *wanted), pool->nodes, pool->capacity);
  return best == std::vector{*wanted} ? wanted : std::nullopt;
}

bool has_replacement(const ClusterSnapshot& cluster, PodIndex pod) {
  return cluster.is_active(pod) && cluster.owner_of(pod) && !cluster.is_daemon_set(pod) && !cluster.is_mirror(pod);
}

bool is_replaced_at_once(const ClusterSnapshot& cluster, PodIndex pod) {
  const api::Pod& object = cluster.pod(pod);
  if (object.termination_grace_period_seconds == 0) return false;
  if (std::ranges::any_of(object.meta.owner_references,
                          [](const api::OwnerReference& owner) { return owner.kind == "StatefulSet"; }))
    return false;
  return std::ranges::none_of(object.volumes, [&](const api::Volume& volume) {
    if (volume.kind != api::VolumeKind::kPersistentVolumeClaim) return false;
    const auto* claim = cluster.find_claim(object.meta.ns, volume.source);
    return claim != nullptr && std::ranges::find(claim->access_modes, "ReadWriteOncePod") != claim->access_modes.end();
  });
}

}  // namespace planner
