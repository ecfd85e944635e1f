#include "planner/strategies/load/move_load.hpp"

#include <algorithm>
#include <span>

#include "planner/scheduling/predicates.hpp"
#include "planner/strategies/listing.hpp"
#include "planner/strategies/load/move_cost.hpp"

namespace strategies {
namespace {

constexpr double kNegligible = 0.1;  ///< Percentage of a node below which a move has no benefit

constexpr std::size_t kMaxRemembered = 64;
constexpr double kMaxGain = 1e9;  ///< Points²; more than any gain

/// A pod that may leave its node. Its loads are in LoadMover::shares_ and usual_shares_.
struct Candidate {
  PodIndex pod;
  double cost;
  bool is_tried = false;
};

/// A candidate that is about to leave `from` because of the resource `worst`.
struct Departure {
  NodeIndex from;
  PodIndex pod;
  std::span<const std::int64_t> wanted;  ///< Usage at a destination, by resource, in thousandths of the unit
  std::size_t worst;
};

class LoadMover {
 public:
  LoadMover(const StrategyContext& context, NominationSink& sink, LoadTable& giving, LoadTable& taking,
            const LoadRules& rules, std::optional<UsualLoad> usual)
      : context_(context),
        sink_(sink),
        giving_(giving),
        taking_(taking),
        rules_(rules),
        usual_(std::move(usual)),
        what_if_(context),
        may_take_pods_(context.cluster.base().node_count(), false),
        wanted_(giving.resources().size()),
        after_(giving.resources().size()) {
    for (const NodeIndex node : rules_.destinations) may_take_pods_[node] = true;
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
    std::vector<bool> over(resource_count());
    for (std::size_t r = 0; r < over.size(); ++r) over[r] = giving_.percent(node, r) > rules_.high[r];
    return over;
  }

  /// Returns the resource among these that is furthest above its level, or nullopt if none is above.
  std::optional<std::size_t> worst_resource(NodeIndex node, const std::vector<bool>& among) const {
    std::optional<std::size_t> worst;
    for (std::size_t r = 0; r < resource_count(); ++r) {
      if (!among[r] || excess(node, r) <= 0 || (worst && excess(node, r) <= excess(node, *worst))) continue;
      worst = r;
    }
    return worst;
  }

  /// Adds no candidate if the pod's load is unknown in a resource.
  void add_candidate(PodIndex pod, NodeIndex node) {
    for (std::size_t r = 0; r < resource_count(); ++r) {
      const auto share = giving_.share(pod, node, r);
      if (!share) return drop_loads_behind(candidates_.size());
      shares_.push_back(*share);
      if (usual_) usual_shares_.push_back(usual_->load.share(pod, node, r).value_or(*share));
    }
    candidates_.push_back({pod, move_cost(context_.cluster.base(), pod)});
  }
  void drop_loads_behind(std::size_t candidates) {
    shares_.resize(candidates * resource_count());
    if (usual_) usual_shares_.resize(candidates * resource_count());
  }

  std::optional<Refusal> objection_to(PodIndex pod) const {
    if (auto refusal = protection_refusal(context_, sink_, pod)) return refusal;
    return refusal_of_namespace(rules_.excluded_namespaces, context_.cluster.base().pod(pod));
  }

  /// Ordered by namespace, name and UID, like the snapshot's indexes, so that ties keep that order.
  void find_candidates_on(NodeIndex node) {
    candidates_.clear();
    drop_loads_behind(0);
    for (const PodIndex pod : pods_on(context_, node, PodStates::kActive)) {
      if (!is_refused(sink_, pod, objection_to(pod))) add_candidate(pod, node);
    }
  }
  double share_of(std::size_t candidate, std::size_t resource) const {
    return shares_[candidate * resource_count() + resource];
  }

  /// Ranks pods that exceed the excess after all others, the smallest first.
  double rank(std::size_t candidate, std::size_t resource, NodeIndex node, double excess) const {
    const double share = share_of(candidate, resource);
    const double cost = candidates_[candidate].cost;
    if (share > excess) return -kMaxGain - share * cost;
    if (!usual_) return share / excess / cost;
    const double gain = gain_for(candidate, resource, node, excess);
    return gain > 0 ? gain / cost : gain * cost;
  }

  /// Reduction of the squared excess if the candidate leaves.
  double gain_for(std::size_t candidate, std::size_t resource, NodeIndex node, double excess) const {
    const auto gain = [](double share, double above) { return share * (2 * above - share); };
    const double usually = usual_->load.percent(node, resource) - usual_->level[resource];
    return kWeightOfCurrentLoad * gain(share_of(candidate, resource), excess) +
           (1 - kWeightOfCurrentLoad) * gain(usual_shares_[candidate * resource_count() + resource], usually);
  }

  /// Allows going below the level only while the node is above the limit that made it a source.
  std::optional<std::size_t> next_of(NodeIndex node, std::size_t resource) const {
    const double gap = excess(node, resource);
    const bool may_go_beyond = giving_.percent(node, resource) > rules_.high[resource];
    std::optional<std::size_t> best;
    double best_rank = 0;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const double share = share_of(i, resource);
      if (candidates_[i].is_tried || share < kNegligible || (share > gap && !may_go_beyond)) continue;
      const double its_rank = rank(i, resource, node, gap);
      if (best && its_rank <= best_rank) continue;
      best = i;
      best_rank = its_rank;
    }
    return best;
  }

  bool is_at_limit(std::uint32_t evicted) const {
    return rules_.evictions_per_node && evicted >= *rules_.evictions_per_node;
  }

  /// Returns false if the cycle's total limit is reached.
  bool relieve(NodeIndex node) {
    const std::vector<bool> over = resources_over(node);
    if (!worst_resource(node, over)) return true;
    find_candidates_on(node);
    std::uint32_t evicted = 0;
    while (!is_at_limit(evicted)) {
      const auto worst = worst_resource(node, over);
      if (!worst) return true;
      const auto next = next_of(node, *worst);
      if (!next) return true;
      candidates_[*next].is_tried = true;
      const NominationResult result = offer({node, candidates_[*next].pod, wanted_by(candidates_[*next].pod), *worst});
      if (result == NominationResult::kTotalLimit) return false;
      if (result == NominationResult::kNodeLimit) return true;
      if (result == NominationResult::kAccepted) ++evicted;
    }
    return true;
  }

  /// The result is valid until the next call.
  std::span<const std::int64_t> wanted_by(PodIndex pod) {
    for (std::size_t r = 0; r < resource_count(); ++r) wanted_[r] = taking_.amount(pod, r).value_or(0);
    return wanted_;
  }

  /// A pod that uses at least as much as one that found no destination finds none either, because destinations only
  /// get fuller.
  bool is_hopeless(std::span<const std::int64_t> wanted) const {
    for (std::size_t at = 0; at < too_large_.size(); at += resource_count()) {
      const auto known = std::span(too_large_).subspan(at, resource_count());
      if (std::ranges::equal(wanted, known, std::ranges::greater_equal{})) return true;
    }
    return false;
  }

  NominationResult offer(const Departure& departure) {
    if (is_refused(sink_, departure.pod, last_protection_of(context_, sink_, departure.pod)))
      return NominationResult::kRefused;
    const auto place = find_place(departure);
    if (!place) {
      sink_.refused_because(
          departure.pod,
          {"NoDestinationHasCapacity", "no node accepts it and stays below the threshold by measured usage"},
          [&] { return why_no_place(departure); });
      return NominationResult::kRefused;
    }
    const Goal goal = [this, &departure](NodeIndex to) { return may_take_pods_[to] && may_take(to, departure); };
    const NominationResult result = sink_.offer_towards(departure.pod, rules_.reason(departure.from), goal);
    if (result == NominationResult::kAccepted) account(departure, *place);
    return result;
  }

  /// The destination must stay below the source's current load. Otherwise it would be the next source.
  bool may_take(NodeIndex to, const Departure& departure) {
    bool is_level = true;
    for (std::size_t r = 0; r < resource_count(); ++r) {
      after_[r] = taking_.percent(to, r) + taking_.percent_of(to, r, departure.wanted[r]);
      is_level = is_level && after_[r] <= rules_.level[r];
    }
    if (after_[departure.worst] >= giving_.percent(departure.from, departure.worst)) return false;
    return rules_.accepts ? rules_.accepts(departure.from, after_) : is_level;
  }

  /// Starts after the last destination, which spreads the load and avoids checking full nodes repeatedly.
  std::optional<NodeIndex> find_place(const Departure& departure) {
    if (is_hopeless(departure.wanted)) return std::nullopt;
    std::shared_ptr<const FitQuery> query;
    bool has_place_for_load = false;
    const auto found = find_around(rules_.destinations.size(), hint_, [&](std::size_t at) {
      if (!may_take(rules_.destinations[at], departure)) return false;
      has_place_for_load = true;
      if (!query) query = what_if_.cluster().fit_query(departure.pod, context_.evictability.fit_level());
      return query->fits(rules_.destinations[at]);
    });
    if (found) {
      hint_ = *found + 1;
      return rules_.destinations[*found];
    }
    if (!has_place_for_load && too_large_.size() < kMaxRemembered * resource_count())
      too_large_.insert(too_large_.end(), departure.wanted.begin(), departure.wanted.end());
    return std::nullopt;
  }

  /// Lists the scheduler's rules before the load.
  std::string why_no_place(const Departure& departure) {
    if (rules_.destinations.empty()) return why_no_destination(departure);
    const auto query = what_if_.cluster().fit_query(departure.pod, context_.evictability.fit_level());
    scheduling::Misfits misfits(context_.cluster.base());
    for (const NodeIndex node : rules_.destinations) {
      if (misfits.nodes() == scheduling::kMaxCheckedNodes) break;
      auto refusal = query->refusal_ignoring_capacity(node);
      if (!refusal) refusal = query->refusal(node);
      if (!refusal && may_take(node, departure)) return {};
      misfits.add(node, refusal ? *refusal : Refusal{"AboveTarget", "its load would be too high"});
    }
    return misfits.text();
  }

  /// Explains for nodes outside the destinations. Omits nodes in scope that belong to other pools.
  std::string why_no_destination(const Departure& departure) const {
    scheduling::Misfits misfits(context_.cluster.base());
    for (const NodeIndex node : context_.cluster.base().nodes()) {
      if (misfits.nodes() == scheduling::kMaxCheckedNodes) break;
      const auto refusal = node == departure.from ? std::nullopt : why_no_destination(node);
      if (refusal) misfits.add(node, *refusal);
    }
    return misfits.text();
  }

  std::optional<Refusal> why_no_destination(NodeIndex node) const {
    if (auto refusal = why_out_of_scope(context_, node)) return refusal;
    if (std::ranges::find(taking_.unknown(), node) != taking_.unknown().end())
      return Refusal{"AboveTarget", "its {subject} is unknown", "load"};
    if (!taking_.knows(node)) return std::nullopt;
    if (context_.cluster.base().node(node).unschedulable) return Refusal{"NodeCordoned", "the node is cordoned"};
    return Refusal{"AboveTarget", "its load is already too high"};
  }

  void account(const Departure& departure, NodeIndex expected) {
    const NodeIndex to = what_if_.place(departure.pod, expected);
    giving_.move(departure.pod, departure.from, to);
    taking_.move(departure.pod, departure.from, to);
    if (usual_) usual_->load.move(departure.pod, departure.from, to);
  }

  const StrategyContext& context_;
  NominationSink& sink_;
  LoadTable& giving_;
  LoadTable& taking_;
  const LoadRules& rules_;
  std::optional<UsualLoad> usual_;
  StrategyWhatIf what_if_;
  std::vector<bool> may_take_pods_;  ///< By node: whether it is a destination
  std::size_t hint_ = 0;
  std::vector<Candidate> candidates_;    ///< Candidates on the node being relieved
  std::vector<double> shares_;           ///< Percentages of the node, by candidate and resource
  std::vector<double> usual_shares_;     ///< Percentages of the node by usual usage, by candidate and resource
  std::vector<std::int64_t> wanted_;     ///< Usage of the leaving pod at a destination, by resource
  std::vector<std::int64_t> too_large_;  ///< Usage that no destination could take, concatenated
  std::vector<double> after_;            ///< Buffer of may_take(), to avoid allocations
};

}  // namespace

void move_load(const StrategyContext& context, NominationSink& sink, LoadTable& giving, LoadTable& taking,
               const LoadRules& rules, std::optional<UsualLoad> usual) {
  LoadMover(context, sink, giving, taking, rules, std::move(usual)).run();
}

}  // namespace strategies
