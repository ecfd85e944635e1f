#include "planning/target.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include "scheduling/scoring/preferences.hpp"

namespace planning {
namespace {

using scheduling::NodeIndex;
using scheduling::Preferences;
using scheduling::ResourceScores;

// Above Preferences::kComparedNodes nodes, so that a move stays cheap:
constexpr std::size_t kMostTies = 32;         // nodes with as much free capacity as the best one that are looked at
constexpr std::size_t kMostDoubtful = 100;    // nodes with more free capacity, but not the best otherwise
constexpr std::size_t kMostCandidates = 100;  // nodes that are compared in full
constexpr std::size_t kMostAvoided = 16;      // of those, nodes with a soft taint beside others

/// memchr, because std::find looks at one byte after the other.
const std::uint8_t* next_with(int score, const std::uint8_t* first, const std::uint8_t* last) {
  if (first == last) return last;
  const void* at = std::memchr(first, score, static_cast<std::size_t>(last - first));
  return at == nullptr ? last : static_cast<const std::uint8_t*>(at);
}

/// Calls `each` with the nodes, most free capacity first, then by name, until it says false.
template <typename F>
void for_each_by_capacity(const TargetPredictor::Ranking& ranking, F&& each) {
  const std::uint8_t* const first = ranking.score.data();
  const std::uint8_t* const last = first + ranking.score.size();
  for (int score = ResourceScores::kBest; score >= 0; --score) {
    if (ranking.with_score[score] == 0) continue;
    for (const std::uint8_t* at = next_with(score, first, last); at != last; at = next_with(score, at + 1, last)) {
      if (!each(static_cast<NodeIndex>(at - first), score)) return;
    }
  }
}

/// All nodes that pass the filters, with their scores, if they are so few that the scheduler compares all of them.
struct Pool {
  std::vector<NodeIndex> nodes;
  std::vector<int> capacity;
};
std::optional<Pool> small_pool(const TargetPredictor::Ranking& ranking, const scheduling::FitQuery& query) {
  Pool pool;
  bool is_small = true;
  for_each_by_capacity(ranking, [&](NodeIndex node, int score) {
    if (!query.fits(node)) return true;
    is_small = pool.nodes.size() < Preferences::kComparedNodes;
    pool.nodes.push_back(node);
    pool.capacity.push_back(score);
    return is_small;
  });
  return is_small ? std::optional(std::move(pool)) : std::nullopt;
}

/// Asks for nodes that may be few. Others would cost a hundred looks for nothing.
bool is_choosy(const scheduling::FitQuery& query, const TargetPredictor::Ranking& ranking) {
  if (has_node_terms(query) || has_volumes(query) || has_devices(query) || has_wanted_domains(query)) return true;
  return std::accumulate(ranking.with_score.begin(), ranking.with_score.end(), std::size_t{0}) <=
         Preferences::kComparedNodes;
}

/// One pod's choice among the nodes of a ranking.
class NodeChoice {
 public:
  NodeChoice(const TargetPredictor::Ranking& ranking, const scheduling::FitQuery& query, const strategies::Goal& goal,
             const scheduling::SchedulerRules& rules)
      : ranking_(ranking),
        query_(query),
        goal_(goal),
        preferences_(query, rules),
        pods_(query.cluster().used().column(scheduling::kPodsIndex)),
        is_exact_(ranking.score.size() <= Preferences::kComparedNodes) {}

  Placement make() const {
    if (const auto placement = obvious()) return *placement;
    return compare_all();
  }

  /// The choice of a scheduler that looks at all of them.
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

  /// A node that meets every preference is the best one if no other has more free capacity, or loses more otherwise
  /// than it has more free capacity. nullopt: it takes a closer look.
  std::optional<Placement> obvious() const {
    Placement placement;
    int capacity = -1;
    std::size_t ties = 0;
    std::vector<std::pair<NodeIndex, int>> doubtful;
    for_each_by_capacity(ranking_, [&](NodeIndex node, int score) {
      if (score < capacity) return false;
      if (!is_exact_ && preferences_.avoids(node)) return true;  // more free capacity hardly ever makes up for it
      if (placement.node && helps(node) && rank(node) > rank(*placement.node)) return is_exact_ || ++ties < kMostTies;
      if (!preferences_.is_best(node)) {
        if (is_exact_ || score != capacity) doubtful.emplace_back(node, score);
        return is_exact_ || doubtful.size() < kMostDoubtful;
      }
      consider(node, placement);
      if (placement.node || placement.competing_node) capacity = score;
      return capacity < 0 || is_exact_ || ++ties < kMostTies;
    });
    if (!is_exact_) outdo(doubtful, capacity, placement);
    if (!placement.node && !placement.competing_node) return std::nullopt;
    const auto may_outdo = [&](const auto& each) {
      return each.second - preferences_.least_loss(each.first) >= capacity && query_.fits(each.first);
    };
    if (is_exact_ && std::ranges::any_of(doubtful, may_outdo)) return std::nullopt;
    return without_doubt(placement);
  }

  static Placement without_doubt(Placement placement) {
    if (placement.competing_node) placement.tied = std::exchange(placement.node, std::nullopt);
    return placement;
  }

  /// Takes the least losses for the true ones.
  void outdo(const std::vector<std::pair<NodeIndex, int>>& doubtful, int best, Placement& placement) const {
    for (const auto& [node, score] : doubtful) {
      const int sum = std::max(score - preferences_.least_loss(node), 0);
      if (sum < best || !query_.fits(node)) continue;
      if (sum > best) placement = {};
      best = sum;
      consider(node, placement);
    }
  }

  /// `node` is as good as what the placement has already.
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
      collect(pool, ranking_.score.size(), [](NodeIndex) { return true; });
      return among(pool);
    }
    collect(pool, kMostCandidates, [this](NodeIndex node) { return !preferences_.avoids(node); });
    collect(pool, pool.nodes.empty() ? kMostCandidates : pool.nodes.size() + kMostAvoided,
            [this](NodeIndex node) { return preferences_.avoids(node); });
    return among(pool);
  }

  /// Adds nodes that pass the filters, up to `most` in all and one that helps.
  template <typename F>
  void collect(Pool& pool, std::size_t most, F&& is_wanted) const {
    bool some_help = std::ranges::any_of(pool.nodes, [this](NodeIndex node) { return helps(node); });
    for_each_by_capacity(ranking_, [&](NodeIndex node, int score) {
      if (!is_wanted(node) || (pool.nodes.size() >= most && !helps(node))) return true;
      if (!query_.fits(node)) return true;
      pool.nodes.push_back(node);
      pool.capacity.push_back(score);
      some_help = some_help || helps(node);
      return pool.nodes.size() < most || !some_help;
    });
  }

  const TargetPredictor::Ranking& ranking_;
  const scheduling::FitQuery& query_;
  const strategies::Goal& goal_;
  const Preferences preferences_;
  const std::vector<std::int64_t>& pods_;  ///< by node
  const bool is_exact_;
};

std::shared_ptr<const scheduling::FitQuery> query_for(const scheduling::Overlay& cluster, scheduling::PodIndex pod,
                                                      scheduling::OldPod old_pod) {
  if (old_pod == scheduling::OldPod::kGone) return cluster.fit_query(pod, scheduling::FitLevel::kScheduler);
  return std::make_shared<const scheduling::FitQuery>(cluster, pod, scheduling::FitLevel::kScheduler, old_pod);
}

/// Of those that help the one with the best sum; ties by the number of pods, then by name. `preference` has one score
/// for each node of the pool.
std::optional<NodeIndex> best_helping(const Pool& pool, const std::vector<int>& preference,
                                      const strategies::Goal& goal, const std::vector<std::int64_t>& pods) {
  std::optional<NodeIndex> best;
  std::tuple<int, std::int64_t, NodeIndex> best_rank;
  for (std::size_t i = 0; i < pool.nodes.size(); ++i) {
    const NodeIndex node = pool.nodes[i];
    if (goal && !goal(node)) continue;
    const std::tuple rank(-(preference[i] + pool.capacity[i]), pods[node], node);
    if (best && best_rank < rank) continue;
    best = node;
    best_rank = rank;
  }
  return best;
}

}  // namespace

TargetPredictor::TargetPredictor(const scheduling::ClusterSnapshot& cluster, scheduling::NodeScoring scoring,
                                 const scheduling::SchedulerRules& rules)
    : rules_(rules), scores_(cluster, scoring, rules) {
  const auto is_open = [&](NodeIndex node) { return cluster.is_schedulable_by_all(node); };
  has_few_open_nodes_ =
      static_cast<std::size_t>(std::ranges::count_if(cluster.nodes(), is_open)) <= Preferences::kComparedNodes;
}

TargetPredictor::Ranking& TargetPredictor::ranking_of(const scheduling::Overlay& cluster, scheduling::PodIndex pod) {
  constexpr std::uint8_t kNoCapacity = ResourceScores::kNoCapacity;
  const std::uint32_t set = cluster.base().request_set_of(pod);
  if (rankings_.size() >= kMostRankings && !rankings_.contains(set)) rankings_.clear();
  const auto& changes = cluster.changes();
  Ranking& ranking = rankings_[set];
  const std::size_t nodes = cluster.base().node_count();
  if (ranking.score.size() != nodes || changes.size() - ranking.seen > nodes) {
    ranking.score.resize(nodes);
    ranking.with_score.fill(0);
    for (NodeIndex node = 0; node < nodes; ++node) {
      const std::uint8_t now = ranking.score[node] = scores_.score(cluster, pod, node);
      if (now != kNoCapacity) ++ranking.with_score[now];
    }
    ranking.seen = changes.size();
  }
  for (; ranking.seen < changes.size(); ++ranking.seen) {
    std::uint8_t& known = ranking.score[changes[ranking.seen]];
    if (known != kNoCapacity) --ranking.with_score[known];
    known = scores_.score(cluster, pod, changes[ranking.seen]);
    if (known != kNoCapacity) ++ranking.with_score[known];
  }
  return ranking;
}

Placement TargetPredictor::predict(const scheduling::Overlay& cluster, scheduling::PodIndex pod,
                                   const strategies::Goal& goal, scheduling::OldPod old_pod) {
  const Ranking& ranking = ranking_of(cluster, pod);
  const auto query = query_for(cluster, pod, old_pod);
  const NodeChoice choice(ranking, *query, goal, rules_);
  const bool is_large = ranking.score.size() > Preferences::kComparedNodes;
  if (is_large && (has_few_open_nodes_ || is_choosy(*query, ranking))) {
    if (const auto pool = small_pool(ranking, *query)) return choice.among(*pool);
  }
  return choice.make();
}

std::optional<NodeIndex> TargetPredictor::predict_hinted(const scheduling::Overlay& cluster, scheduling::PodIndex pod,
                                                         const strategies::Goal& goal, scheduling::OldPod old_pod) {
  const auto query = query_for(cluster, pod, old_pod);
  const auto pool = small_pool(ranking_of(cluster, pod), *query);
  if (!pool) return std::nullopt;
  const auto wanted = best_helping(*pool, Preferences(*query, rules_).scores(pool->nodes), goal,
                                   cluster.used().column(scheduling::kPodsIndex));
  if (!wanted) return std::nullopt;
  const auto best = scheduling::best_nodes(Preferences(*query, rules_, *wanted), pool->nodes, pool->capacity);
  return best == std::vector{*wanted} ? wanted : std::nullopt;
}

bool has_replacement(const scheduling::ClusterSnapshot& cluster, scheduling::PodIndex pod) {
  return cluster.is_active(pod) && cluster.owner_of(pod) && !cluster.is_daemon_set(pod) && !cluster.is_mirror(pod);
}

bool is_replaced_at_once(const scheduling::ClusterSnapshot& cluster, scheduling::PodIndex pod) {
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

}  // namespace planning
