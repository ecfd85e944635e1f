#include "planner/scheduling/scoring/preferences.hpp"

#include <algorithm>
#include <cmath>

#include "api/core/placement_hint.hpp"
#include "api/meta/well_known.hpp"

namespace scheduling {
namespace {

// Maximum skews of the built-in spread constraints.
constexpr std::int64_t kDefaultNodeSkew = 3;
constexpr std::int64_t kDefaultZoneSkew = 5;

// If pods per domain exceed 1/kCountsPerSlot, an array is faster than a sorted list.
constexpr std::size_t kCountsPerSlot = 32;

/// Weight of a topology with this number of domains. The logarithm, as in kube-scheduler, keeps topologies with many
/// domains from mattering less.
double spread_weight(std::size_t domains) { return std::log(static_cast<double>(domains) + 2); }

/// Computes a percentage in floating point like kube-scheduler does for InterPodAffinity, so that 29 of 100 gives 28.
std::int64_t share_of_100(std::int64_t part, std::int64_t whole) {
  return static_cast<std::int64_t>(100.0 * (static_cast<double>(part) / static_cast<double>(whole)));
}

}  // namespace

void DomainCounts::seal(std::size_t domains) {
  if (domains == 0) return;
  if (pods_.size() > domains / kCountsPerSlot) {
    dense_.assign(domains, 0);
    for (const std::uint32_t domain : pods_) ++dense_[domain];
    const auto [least, most] = std::ranges::minmax(dense_);
    least_ = least;
    most_ = most;
    return;
  }
  std::ranges::sort(pods_);
  sparse_.reserve(pods_.size());
  for (const std::uint32_t domain : pods_) {
    if (sparse_.empty() || sparse_.back().first != domain) sparse_.emplace_back(domain, 0);
    most_ = std::max(most_, ++sparse_.back().second);
  }
}

std::int64_t DomainCounts::at(std::uint32_t domain) const {
  if (!dense_.empty()) return dense_[domain];
  const auto found = std::ranges::lower_bound(sparse_, domain, {}, &std::pair<std::uint32_t, std::int64_t>::first);
  return found != sparse_.end() && found->first == domain ? found->second : 0;
}

Preferences::Preferences(const FitQuery& query, const SchedulerRules& rules)
    : query_(query), index_(query.cluster().preference_index()), rules_(rules) {
  find_taints();
  if (query.pod().affinity) {
    for (const auto& preferred : query.pod().affinity->preferred_node_terms) most_node_preference_ += preferred.weight;
  }
  find_affinity_scores();
  find_spread();
}

Preferences::Preferences(const FitQuery& query, const SchedulerRules& rules, NodeIndex hinted)
    : Preferences(query, rules) {
  hinted_ = hinted;
  most_node_preference_ += api::kPlacementHintWeight;
}

void Preferences::find_taints() {
  const auto& soft = query_.cluster().soft_taint_table();
  for (const NodeIndex node : soft->foreign) {
    const auto& taints = query_.base().node(node).taints;
    const auto count = std::ranges::count_if(taints, [&](const api::Taint& taint) {
      if (soft->holds(taint)) return false;
      return first_untolerated(query_.pod().tolerations, {taint}, {api::TaintEffect::kPreferNoSchedule}) != nullptr;
    });
    if (count > 0) untolerated_.emplace_back(node, count);
  }
  add_soft_taints(soft);
  for (const auto& [node, count] : untolerated_) most_untolerated_ = std::max(most_untolerated_, count);
}

void Preferences::add_soft_taints(const std::shared_ptr<const SoftTaintTable>& soft) {
  std::vector<std::size_t> untolerated;
  for (std::size_t i = 0; i < soft->all.size(); ++i) {
    const SoftTaint& each = soft->all[i];
    const api::Taint taint{each.key, each.value, api::TaintEffect::kPreferNoSchedule};
    const bool is_tolerated = first_untolerated(query_.pod().tolerations, {taint}, {taint.effect}) == nullptr;
    if (!is_tolerated) untolerated.push_back(i);
    tolerates_some_ = tolerates_some_ || (is_tolerated && !each.nodes.empty());
  }
  if (untolerated.size() == soft->all.size() && untolerated_.empty()) {  // the usual case
    soft_table_ = soft;
    most_untolerated_ = soft->most;
    return;
  }
  for (const std::size_t i : untolerated) {
    for (const NodeIndex node : soft->where[i]) untolerated_.emplace_back(node, 1);
  }
  add_up_untolerated();
}

void Preferences::add_up_untolerated() {
  if (std::ranges::is_sorted(untolerated_, std::ranges::less_equal{})) return;
  std::ranges::sort(untolerated_);
  auto last = untolerated_.begin();
  for (auto each = std::next(last); each != untolerated_.end(); ++each) {
    if (each->first == last->first)
      last->second += each->second;
    else
      *++last = *each;
  }
  untolerated_.erase(std::next(last), untolerated_.end());
}

bool Preferences::avoids(NodeIndex node) const {
  return query_.cluster().has_soft_taint(node) && (!tolerates_some_ || untolerated_taints(node) > 0);
}

// --- Pod affinity

/// Returns nullptr if no node has the label, so that the term changes no score.
Preferences::AffinityScores* Preferences::affinity_scores_over(std::string_view key) {
  const Topology& topology = query_.cluster().topology(key);
  if (topology.domain_names.empty()) return nullptr;
  const auto [at, is_new] = affinity_scores_at_.try_emplace(&topology, affinity_scores_.size());
  return is_new ? &affinity_scores_.emplace_back(AffinityScores{&topology, {}}) : &affinity_scores_[at->second];
}

void Preferences::find_affinity_scores() {
  add_own_terms();
  add_terms_of_others();
  for (AffinityScores& each : affinity_scores_) {
    const bool is_everywhere = each.topology->covers_all && each.weight.size() == each.topology->domain_names.size();
    bool first = is_everywhere;  // otherwise some node has a score of 0
    for (const auto& [domain, weight] : each.weight) {
      each.best = first ? weight : std::max(each.best, weight);
      each.worst = first ? weight : std::min(each.worst, weight);
      first = false;
    }
  }
}

void Preferences::add_own_terms() {
  if (!query_.pod().affinity) return;
  const auto weigh = [&](const api::PodAffinityTerm& term, std::int64_t weight) {
    AffinityScores* const scores = affinity_scores_over(term.topology_key);
    if (scores == nullptr) return;
    const auto weigh_one = [&](PodIndex other) {
      const NodeIndex node = query_.cluster().node_of(other);
      if (node == kNoNode || scores->topology->domain_of[node] == Topology::kNone) return;
      scores->weight[scores->topology->domain_of[node]] += weight;
    };
    for_each_covered(term, query_.index(), query_.cluster(), weigh_one);
    const PodIndex self = query_.index();
    if (query_.counts(self) && covers(term, self, self, query_.base())) weigh_one(self);
  };
  for (const auto& [weight, term] : query_.pod().affinity->preferred_pod_affinity) weigh(term, weight);
  for (const auto& [weight, term] : query_.pod().affinity->preferred_pod_anti_affinity) weigh(term, -weight);
}

void Preferences::add_terms_of_others() {
  const auto& all = query_.cluster().selector_cache().preferences_about(
      query_.index(), index_.affinity_pods_towards(query_.base().namespace_of(query_.index())),
      index_.affinity_pods_by_namespace_labels());
  for (const auto& [owners, term, weight] : all) {
    AffinityScores* const scores = affinity_scores_over(term->topology_key);
    if (scores == nullptr) continue;
    for (const PodIndex other : *owners) {
      const NodeIndex node = query_.cluster().node_of(other);
      if (!query_.counts(other) || node == kNoNode || scores->topology->domain_of[node] == Topology::kNone) continue;
      scores->weight[scores->topology->domain_of[node]] += weight;
    }
  }
}

// --- Topology spread

bool Preferences::lacks_built_in_topology(NodeIndex node) const {
  return query_.cluster().topology(api::well_known::kHostnameLabel).domain_of[node] == Topology::kNone ||
         query_.cluster().topology(api::well_known::kZoneLabel).domain_of[node] == Topology::kNone;
}

void Preferences::find_default_spread() {
  const auto siblings = index_.siblings(query_.index());
  if (siblings.empty()) return;
  const api::Pod& pod = query_.pod();
  const bool may_be_anywhere = !asks_for_nodes(pod);
  needs_all_topologies_ = rules_.built_in_spread_needs_labels;
  std::vector<NodeIndex> places;
  places.reserve(siblings.size());
  for (const PodIndex other : siblings) {
    const NodeIndex node = query_.cluster().node_of(other);
    if (other == query_.index() || node == kNoNode || (needs_all_topologies_ && lacks_built_in_topology(node)))
      continue;
    if (may_be_anywhere || is_counted_node({}, pod, query_.base().node(node))) places.push_back(node);
  }
  spread_.reserve(2);
  spread_over(api::well_known::kHostnameLabel, kDefaultNodeSkew, places);
  spread_over(api::well_known::kZoneLabel, kDefaultZoneSkew, places);
}

void Preferences::find_spread() {
  const api::Pod& pod = query_.pod();
  if (pod.topology_spread.empty()) return find_default_spread();
  needs_all_topologies_ = true;
  const PatchyTopologies patchy = patchy_topologies(pod, true, query_.cluster());
  for (const api::TopologySpreadConstraint& constraint : pod.topology_spread) {
    if (!constraint.schedule_anyway) continue;
    std::vector<NodeIndex> places;
    for (const PodIndex other : query_.cluster().selector_cache().counted_by(constraint, query_.index())) {
      const NodeIndex node = query_.cluster().node_of(other);
      if (other == query_.index() || node == kNoNode || !has_all(patchy, node)) continue;
      if (is_counted_node(constraint, pod, query_.base().node(node))) places.push_back(node);
    }
    spread_over(constraint.topology_key, constraint.max_skew, places);
  }
}

/// Adds a constraint. `places` contains the node of each counted pod.
void Preferences::spread_over(std::string_view key, std::int64_t max_skew, std::span<const NodeIndex> places) {
  const Topology& topology = query_.cluster().topology(key);
  if (topology.domain_names.empty() && !needs_all_topologies_) return;  // a cluster without zones
  Spread& spread = spread_.emplace_back(Spread{&topology, key == api::well_known::kHostnameLabel, max_skew, {}});
  spread.pods.reserve(places.size());
  for (const NodeIndex node : places) {
    if (topology.domain_of[node] != Topology::kNone) spread.pods.add(topology.domain_of[node]);
  }
  spread.pods.seal(topology.domain_names.size());
}

// --- Single nodes

std::int64_t Preferences::untolerated_taints(NodeIndex node) const {
  if (soft_table_ != nullptr) return soft_table_->count[node];
  const auto at = std::ranges::lower_bound(untolerated_, node, {}, &std::pair<NodeIndex, std::int64_t>::first);
  return at != untolerated_.end() && at->first == node ? at->second : 0;
}

std::int64_t Preferences::node_preference(NodeIndex node) const {
  if (most_node_preference_ == 0) return 0;
  std::int64_t sum = node == hinted_ ? api::kPlacementHintWeight : 0;
  if (!query_.pod().affinity) return sum;
  for (const auto& [weight, term] : query_.pod().affinity->preferred_node_terms) {
    if (matches(term, query_.base().node(node))) sum += weight;
  }
  return sum;
}

std::int64_t Preferences::affinity_score(NodeIndex node) const {
  std::int64_t sum = 0;
  for (const AffinityScores& each : affinity_scores_) {
    const auto at = each.weight.find(each.topology->domain_of[node]);
    if (at != each.weight.end()) sum += at->second;
  }
  return sum;
}

bool Preferences::lacks_topology(NodeIndex node) const {
  return needs_all_topologies_ && std::ranges::any_of(spread_, [&](const Spread& spread) {
           return spread.topology->domain_of[node] == Topology::kNone;
         });
}

std::int64_t Preferences::spread_score(NodeIndex node, std::span<const double> weights) const {
  double sum = 0;
  for (std::size_t i = 0; i < spread_.size(); ++i) {
    const std::uint32_t domain = spread_[i].topology->domain_of[node];
    if (domain == Topology::kNone) continue;
    sum += static_cast<double>(spread_[i].pods.at(domain)) * weights[i] + static_cast<double>(spread_[i].max_skew - 1);
  }
  return rules_.spread_cuts_off ? static_cast<std::int64_t>(sum) : std::llround(sum);
}

bool Preferences::is_best(NodeIndex node) const {
  if (most_untolerated_ > 0 && untolerated_taints(node) > 0) return false;
  if (node_preference(node) < most_node_preference_) return false;
  for (const AffinityScores& each : affinity_scores_) {
    const auto at = each.weight.find(each.topology->domain_of[node]);
    if ((at == each.weight.end() ? 0 : at->second) < each.best) return false;
  }
  return std::ranges::all_of(spread_, [&](const Spread& spread) {
    const std::uint32_t domain = spread.topology->domain_of[node];
    if (domain == Topology::kNone) return !needs_all_topologies_;
    return (needs_all_topologies_ || spread.topology->covers_all) && spread.pods.at(domain) == spread.pods.least();
  });
}

// --- Loss of a node compared with a best node

std::int64_t Preferences::affinity_loss(NodeIndex node) const {
  std::int64_t best = 0;
  std::int64_t worst = 0;
  for (const AffinityScores& each : affinity_scores_) {
    best += each.best;
    worst += each.worst;
  }
  return best <= worst ? 0 : 100 * std::max<std::int64_t>(best - affinity_score(node), 0) / (best - worst);
}

/// The topology weights depend on the candidates. The estimate is a lower bound: it uses the lowest weight for the
/// excess of this node and the highest for the maximum of any node.
std::int64_t Preferences::spread_loss(NodeIndex node) const {
  if (spread_.empty()) return 0;
  if (lacks_topology(node)) return 100;
  const bool is_exact = query_.base().node_count() <= kExactLossNodes;
  double more = is_exact ? -1 : 0;  // allowance for rounding
  double most = 0;
  for (const Spread& spread : spread_) {
    const double high = spread_weight(spread.topology->domain_names.size() + (spread.topology->covers_all ? 0 : 1));
    const std::uint32_t domain = spread.topology->domain_of[node];
    const std::int64_t pods = domain == Topology::kNone ? spread.pods.least() : spread.pods.at(domain);
    more += static_cast<double>(pods - spread.pods.least()) * (is_exact ? spread_weight(1) : high);
    most += static_cast<double>(spread.pods.most()) * high + static_cast<double>(spread.max_skew);
  }
  return static_cast<std::int64_t>(std::max(0.0, 100 * more / most));
}

int Preferences::min_loss(NodeIndex node) const {
  const ScoreWeights& weights = rules_.weights;
  std::int64_t loss = weights.pod_affinity * affinity_loss(node) + weights.spread * spread_loss(node);
  if (most_untolerated_ > 0) loss += weights.taints * (100 * untolerated_taints(node) / most_untolerated_);
  if (most_node_preference_ > 0)
    loss += weights.node_affinity * (100 - 100 * node_preference(node) / most_node_preference_);
  return static_cast<int>(loss);
}

// --- All candidates

std::vector<double> Preferences::spread_weights(std::span<const NodeIndex> candidates) const {
  std::vector<double> weights;
  for (const Spread& spread : spread_) {
    std::vector<std::uint32_t> domains;
    for (const NodeIndex node : candidates) {
      if (!lacks_topology(node)) domains.push_back(spread.over_nodes ? node : spread.topology->domain_of[node]);
    }
    std::ranges::sort(domains);
    domains.erase(std::unique(domains.begin(), domains.end()), domains.end());
    weights.push_back(spread_weight(domains.size()));
  }
  return weights;
}

void Preferences::add_spread(std::span<const NodeIndex> candidates, int weight, std::vector<int>& scores) const {
  const std::vector<double> weights = spread_weights(candidates);
  std::vector<std::int64_t> raw(candidates.size(), -1);  // -1 if the node gets no score
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (lacks_topology(candidates[i])) continue;
    raw[i] = spread_score(candidates[i], weights);
    least = std::min(least, raw[i]);
    most = std::max(most, raw[i]);
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (raw[i] < 0) continue;
    scores[i] += weight * static_cast<int>(most == 0 ? 100 : 100 * (most + least - raw[i]) / most);
  }
}

std::vector<int> Preferences::scores(std::span<const NodeIndex> candidates) const {
  const ScoreWeights& weights = rules_.weights;
  std::vector<int> scores(candidates.size(), 0);
  if (candidates.empty()) return scores;
  const auto add = [&](int weight, auto&& raw_of, auto&& points_of) {
    std::vector<std::int64_t> raw;
    for (const NodeIndex node : candidates) raw.push_back(raw_of(node));
    const auto [least, most] = std::ranges::minmax(raw);
    for (std::size_t i = 0; i < raw.size(); ++i) scores[i] += weight * static_cast<int>(points_of(raw[i], least, most));
  };
  using Points = std::int64_t;
  add(
      weights.taints, [&](NodeIndex node) { return untolerated_taints(node); },
      [](Points raw, Points, Points most) { return most == 0 ? 100 : 100 - 100 * raw / most; });
  add(
      weights.node_affinity, [&](NodeIndex node) { return node_preference(node); },
      [](Points raw, Points, Points most) { return most == 0 ? 0 : 100 * raw / most; });
  add(
      weights.pod_affinity, [&](NodeIndex node) { return affinity_score(node); },
      [this](Points raw, Points least, Points most) {
        if (rules_.affinity_counts_from_zero) least = std::min<Points>(least, 0), most = std::max<Points>(most, 0);
        return most == least ? 0 : share_of_100(raw - least, most - least);
      });
  if (!spread_.empty()) add_spread(candidates, weights.spread, scores);
  return scores;
}

std::vector<NodeIndex> best_nodes(const Preferences& preferences, std::span<const NodeIndex> candidates,
                                  std::span<const int> capacity) {
  std::vector<int> sums = preferences.scores(candidates);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += capacity[i];
  std::vector<NodeIndex> best;
  if (candidates.empty()) return best;
  const int most = std::ranges::max(sums);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] == most) best.push_back(candidates[i]);
  }
  return best;
}

}  // namespace scheduling
