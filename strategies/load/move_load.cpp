#include "strategies/load/move_load.hpp"

#include <algorithm>
#include <tuple>

#include "scheduling/predicates.hpp"
#include "strategies/listing.hpp"
#include "strategies/load/move_cost.hpp"
#include "strategies/trial.hpp"

namespace strategies {
namespace {

constexpr double kNegligible = 0.1;  ///< percent of a node: moving so little helps nobody

constexpr std::size_t kMostRemembered = 64;

/// A pod that may leave its node.
struct Candidate {
  PodIndex pod;
  double cost;
  std::vector<double> share;          ///< percent of its node, by resource
  std::vector<std::int64_t> amounts;  ///< the same in the resource's unit
  bool is_tried = false;
};

class LoadMover {
 public:
  LoadMover(const StrategyContext& context, NominationSink& sink, LoadTable& giving, LoadTable& taking,
            const LoadRules& rules)
      : context_(context),
        sink_(sink),
        giving_(giving),
        taking_(taking),
        rules_(rules),
        trial_(context),
        takes_(context.cluster.base().node_count(), false) {
    for (const NodeIndex node : rules_.destinations) takes_[node] = true;
  }

  void run() {
    for (const NodeIndex source : rules_.sources) {
      if (!relieve(source)) return;
    }
  }

 private:
  std::size_t resource_count() const { return giving_.resources().size(); }
  double excess(NodeIndex node, std::size_t r) const { return giving_.percent(node, r) - rules_.level[r]; }

  std::vector<bool> resources_over(NodeIndex node) const {
    std::vector<bool> over;
    for (std::size_t r = 0; r < resource_count(); ++r) over.push_back(giving_.percent(node, r) > rules_.high[r]);
    return over;
  }

  /// Of these resources the one that is farthest above its level; nullopt: none is above.
  std::optional<std::size_t> worst_resource(NodeIndex node, const std::vector<bool>& among) const {
    std::optional<std::size_t> worst;
    for (std::size_t r = 0; r < resource_count(); ++r) {
      if (!among[r] || excess(node, r) <= 0 || (worst && excess(node, r) <= excess(node, *worst))) continue;
      worst = r;
    }
    return worst;
  }

  std::optional<Candidate> candidate_of(PodIndex pod, NodeIndex node) const {
    const scheduling::ClusterSnapshot& cluster = context_.cluster.base();
    Candidate candidate{pod, move_cost(cluster, pod), {}, {}};
    for (std::size_t r = 0; r < resource_count(); ++r) {
      const auto share = giving_.share(pod, node, r);
      if (!share) return std::nullopt;
      candidate.share.push_back(*share);
      candidate.amounts.push_back(static_cast<std::int64_t>(*share * giving_.capacity(node, r) / 100));
    }
    return candidate;
  }

  std::optional<scheduling::Refusal> objection_to(PodIndex pod) const {
    if (auto refusal = context_.evictability.refusal(pod)) return refusal;
    const std::string& ns = context_.cluster.base().pod(pod).meta.ns;
    if (std::ranges::find(rules_.excluded_namespaces, ns) == rules_.excluded_namespaces.end()) return std::nullopt;
    return scheduling::Refusal{"NamespaceExcluded", "evictableNamespaces excludes the namespace {subject}", ns};
  }

  /// By namespace, name and UID, so that equal ones keep that order.
  std::vector<Candidate> candidates_on(NodeIndex node) {
    std::vector<Candidate> candidates;
    for (const PodIndex pod : pods_on(context_, node, PodStates::kActive)) {
      if (const auto refusal = objection_to(pod)) {
        sink_.refused(pod, *refusal);
      } else if (auto candidate = candidate_of(pod, node)) {
        candidates.push_back(*std::move(candidate));
      }
    }
    std::ranges::stable_sort(candidates, {}, [&](const Candidate& each) {
      const api::ObjectMeta& meta = context_.cluster.base().pod(each.pod).meta;
      return std::tie(meta.ns, meta.name, meta.uid);
    });
    return candidates;
  }

  /// What goes beyond comes after all that does not, the smallest first.
  static double rank(const Candidate& each, std::size_t resource, double excess) {
    const double share = each.share[resource];
    return share <= excess ? share / excess / each.cost : -share * each.cost;
  }

  /// Beyond the level only while the node is above what made it a source.
  Candidate* next_of(NodeIndex node, std::vector<Candidate>& candidates, std::size_t resource) const {
    const double gap = excess(node, resource);
    const bool may_go_beyond = giving_.percent(node, resource) > rules_.high[resource];
    Candidate* best = nullptr;
    double best_rank = 0;
    for (Candidate& each : candidates) {
      if (each.is_tried || each.share[resource] < kNegligible) continue;
      if (each.share[resource] > gap && !may_go_beyond) continue;
      const double its_rank = rank(each, resource, gap);
      if (best != nullptr && its_rank <= best_rank) continue;
      best = &each;
      best_rank = its_rank;
    }
    return best;
  }

  bool is_at_limit(std::uint32_t evicted) const {
    return rules_.evictions_per_node && evicted >= *rules_.evictions_per_node;
  }

  /// False: the cycle's total limit is reached.
  bool relieve(NodeIndex node) {
    const std::vector<bool> over = resources_over(node);
    if (!worst_resource(node, over)) return true;
    std::vector<Candidate> candidates = candidates_on(node);
    std::uint32_t evicted = 0;
    while (!is_at_limit(evicted)) {
      const auto worst = worst_resource(node, over);
      if (!worst) return true;
      Candidate* const next = next_of(node, candidates, *worst);
      if (next == nullptr) return true;
      next->is_tried = true;
      const NominationResult result = offer(node, *next, *worst);
      if (result == NominationResult::kTotalLimit) return false;
      if (result == NominationResult::kNodeLimit) return true;
      if (result == NominationResult::kAccepted) ++evicted;
    }
    return true;
  }

  /// Where one found no place for its load, one that uses as much or more finds none: destinations only get fuller.
  bool is_hopeless(const Candidate& candidate) const {
    return std::ranges::any_of(too_large_, [&](const std::vector<std::int64_t>& amounts) {
      return std::ranges::equal(candidate.amounts, amounts, std::ranges::greater_equal{});
    });
  }

  NominationResult offer(NodeIndex node, const Candidate& candidate, std::size_t worst) {
    auto refusal = context_.evictability.refusal_before_eviction(candidate.pod, context_.cluster);
    std::optional<NodeIndex> place;
    if (!refusal) {
      place = find_place(node, candidate, worst);
      if (!place) refusal = {"NoDestinationHasCapacity", "no node that takes it stays low enough by measured usage"};
    }
    if (refusal) {
      sink_.refused(candidate.pod, *refusal);
      return NominationResult::kRefused;
    }
    const Goal goal = [&](NodeIndex to) { return takes_[to] && may_take(node, to, candidate, worst); };
    const NominationResult result = sink_.offer_towards(candidate.pod, rules_.reason(node), goal);
    if (result == NominationResult::kAccepted) account(candidate.pod, node, *place);
    return result;
  }

  /// The move must leave the destination below where the source is now: it would be the next source otherwise.
  bool may_take(NodeIndex from, NodeIndex to, const Candidate& candidate, std::size_t worst) const {
    std::vector<double> before(resource_count());
    std::vector<double> after(resource_count());
    for (std::size_t r = 0; r < resource_count(); ++r) {
      before[r] = taking_.percent(to, r);
      after[r] = before[r] + taking_.share(candidate.pod, to, r).value_or(0);
    }
    return after[worst] < giving_.percent(from, worst) && rules_.accepts(from, to, before, after);
  }

  /// Begins after the last one, so that the load is dealt out and full nodes are not asked again and again.
  std::optional<NodeIndex> find_place(NodeIndex from, const Candidate& candidate, std::size_t worst) {
    if (is_hopeless(candidate)) return std::nullopt;
    std::shared_ptr<const scheduling::FitQuery> query;
    bool has_place_for_load = false;
    const std::size_t count = rules_.destinations.size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = (hint_ + i) % count;
      const NodeIndex to = rules_.destinations[at];
      if (!may_take(from, to, candidate, worst)) continue;
      has_place_for_load = true;
      if (!query) query = trial_.cluster().fit_query(candidate.pod, context_.evictability.fit_level());
      if (!query->fits(to)) continue;
      hint_ = at + 1;
      return to;
    }
    if (!has_place_for_load && too_large_.size() < kMostRemembered) too_large_.push_back(candidate.amounts);
    return std::nullopt;
  }

  void account(PodIndex pod, NodeIndex from, NodeIndex expected) {
    const NodeIndex to = trial_.place(pod, expected);
    giving_.move(pod, from, to);
    taking_.move(pod, from, to);
  }

  const StrategyContext& context_;
  NominationSink& sink_;
  LoadTable& giving_;
  LoadTable& taking_;
  const LoadRules& rules_;
  Trial trial_;
  std::vector<bool> takes_;  ///< by node: is a destination
  std::size_t hint_ = 0;
  std::vector<std::vector<std::int64_t>> too_large_;  ///< loads that no destination could take
};

}  // namespace

void move_load(const StrategyContext& context, NominationSink& sink, LoadTable& giving, LoadTable& taking,
               const LoadRules& rules) {
  LoadMover(context, sink, giving, taking, rules).run();
}

}  // namespace strategies
