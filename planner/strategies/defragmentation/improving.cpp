/// DefragmentationSearch: improves the best plan by searching its neighborhood.

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/strategies/defragmentation/search.hpp"

namespace strategies {
namespace {

constexpr double kNoise = 0.3;  // maximum noise of sizes, so that equal attempts end differently
// Number of moves that the capacity of an average node is worth when nodes are exchanged.
constexpr double kMaxCapacityPrice = 100;
constexpr std::size_t kExchanged = 2;  // maximum number of exchanged nodes
constexpr std::size_t kExchangedOfUnlike = 4;
constexpr std::size_t kOneInFromScratch =
    3;  // one in kOneInFromScratch exchanges starts from no nodes while the plan is far from the bound
constexpr int kMaxNeighbours = 8;  // maximum neighbors generated to find one with sufficient capacity
constexpr double kMinGap = 1;
constexpr double kMaxGap = 3.5;
constexpr std::array kGaps = {2.0, 1.5, 3.0};  // PackingStyle::gap
constexpr double kMaxPrice = 0.2;              // maximum of PackingStyle::price
constexpr double kFillsFar = 0.75;             // share of attempts that start with PackingStyle::fills
constexpr double kFillsNear = 0.25;
constexpr double kMinTryMore = 0.15;  // minimum of try_more_ after many failures
constexpr double kLessHope = 0.97;    // factor of try_more_ after each failure
constexpr double kMaxDropped = 0.5;   // maximum share of the best plan's moves that are replanned
constexpr std::size_t kStepsOfAttempt = 500;
constexpr int kFarPatience = 40;  // PackingStyle::patience

constexpr int kPatience = 150;          // maximum consecutive attempts of a stream without any gain
constexpr int kPatienceOfPerfect = 20;  // replaces kPatience if only disturbance and waves can still improve

}  // namespace

/// Number of nodes that the next attempt empties: mostly one more than the best plan, otherwise as many with fewer
/// moves, or fewer if moves have a price.
std::size_t DefragmentationSearch::wanted_now() {
  const std::size_t best = state_.best.emptied.size();
  if (best < limits_.max_freed && rng_.fraction() < try_more_) return best + 1;
  return problem_.rules().weight_of_move > 0 && best > 1 && rng_.fraction() < 0.5 ? best - 1 : best;
}

/// Returns a key per position in freeable(); nodes with low keys are emptied first. Keys are mostly the effort; if
/// nodes differ in capacity, often also the value of keeping the node.
std::vector<double> DefragmentationSearch::random_keys() {
  const bool by_capacity = capacities_.differ() && rng_.below(2) == 0;
  const double price = by_capacity ? kMaxCapacityPrice * rng_.fraction() : 0;
  const double cpu = by_capacity ? rng_.fraction() : 0;
  const CapacityWorth worth = by_capacity && rng_.below(4) == 0 ? kWorthOfPods : worth_of_mix(cpu);
  std::vector<double> keys;
  for (const FreeableNode& each : problem_.freeable()) {
    const double capacity = by_capacity ? price * capacities_.worth_of(each.node, worth) : 0;
    keys.push_back((each.effort + capacity) * rng_.about_one(kKeyNoise));
  }
  return keys;
}

/// Returns the nodes of the best plan with a few exchanged, then adds or removes nodes until there are `wanted`. If the
/// plan is far from the bound, it sometimes starts from no nodes instead.
DefragmentationSearch::Nodes DefragmentationSearch::any_neighbour(std::size_t wanted) {
  Nodes nodes =
      capacities_.differ() && is_far() && rng_.below(kOneInFromScratch) == 0 ? empty_nodes() : state_.best_nodes;
  std::vector<std::tuple<std::uint32_t, double, NodeIndex>> in, out;
  const std::vector<double> keys = random_keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const FreeableNode& each = problem_.freeable()[i];
    if (!problem_.pods_on(each.node).empty()) (nodes[each.node] ? in : out).emplace_back(each.rank, keys[i], each.node);
  }
  std::ranges::sort(in, std::greater{});
  std::ranges::sort(out);
  const bool may_exchange = problem_.rules().empty_first.empty();
  const std::size_t most_exchanged = capacities_.differ() ? kExchangedOfUnlike : kExchanged;
  std::size_t now = in.size();
  std::size_t removed = may_exchange ? rng_.below(most_exchanged + 1) : 0;
  if (now > wanted) removed = std::max(removed, now - wanted);
  for (std::size_t i = 0; i < std::min(removed, in.size()); ++i, --now) nodes[std::get<2>(in[i])] = false;
  for (std::size_t i = 0; i < out.size() && now < wanted; ++i, ++now) nodes[std::get<2>(out[i])] = true;
  return nodes;
}

/// Returns a neighbor whose remaining nodes have enough capacity for all requests, if one is found.
DefragmentationSearch::Nodes DefragmentationSearch::neighbour(std::size_t wanted) {
  Nodes nodes = any_neighbour(wanted);
  for (int tries = 1; tries < kMaxNeighbours && !capacities_.suffices_without(nodes); ++tries)
    nodes = any_neighbour(wanted);
  return nodes;
}

/// Returns a style with mostly little noise, and sometimes a more thorough search.
PackingStyle DefragmentationSearch::random_style() {
  const double luck = rng_.fraction();
  PackingStyle style{.noise = kNoise * luck * luck, .direct_first = rng_.below(2) == 0};
  style.by_shape = problem_.has_unlike_pods() && rng_.below(2) == 0;
  if (is_far()) style.patience = kFarPatience;
  if (!chooses_targets_ && rng_.fraction() < (is_far() ? kFillsFar : kFillsNear)) {
    style.fills = true;
    style.open = rng_.fraction();
    style.price = kMaxPrice * rng_.fraction();
  }
  if (rng_.below(4) == 0) ++style.depth;
  if (rng_.below(4) == 0) style.gap = kMinGap + (kMaxGap - kMinGap) * rng_.fraction();
  if (rng_.below(3) != 0) return style;
  style.tries *= 4;
  style.ejected += 2;
  return style;
}

/// Replans the same nodes with larger gaps that several pods share.
void DefragmentationSearch::improve_by_gaps() {
  for (const double gap : kGaps) {
    if (budget_.is_over() || is_perfect()) return;
    attempt(state_.best_nodes, {.gap = gap}, state_.best.moves.size() - 1, budget_);
  }
}

/// Returns the best plan's moves that apply to these nodes, without a random part of them: mostly pods that make
/// capacity, whose gaps are then searched again.
std::vector<WaveMove> DefragmentationSearch::most_of_best(const Nodes& emptying) {
  const double dropped = kMaxDropped * rng_.fraction() * rng_.fraction();
  const bool by_node = rng_.below(2) == 0;
  Nodes shaken(by_node ? emptying.size() : 0, false);
  for (auto&& is_shaken : shaken) is_shaken = rng_.fraction() < dropped;
  std::vector<WaveMove> kept;
  for (const WaveMove& move : state_.best.moves) {
    const bool frees_enough = !emptying[move.from];
    if (frees_enough && state_.best_nodes[move.from]) continue;
    const bool is_dropped = by_node ? shaken[move.from] || shaken[move.to] : frees_enough && rng_.fraction() < dropped;
    if (!is_dropped) kept.push_back(move);
  }
  return kept;
}

/// Makes one attempt, mostly near the best plan, sometimes from scratch.
void DefragmentationSearch::improve_once(std::int64_t most_steps) {
  const std::size_t wanted = wanted_now();
  const std::size_t most =
      wanted > state_.best.emptied.size() ? limits_.most_moves : std::min(state_.best.moves.size(), limits_.most_moves);
  const bool is_same = wanted == state_.best.emptied.size() && rng_.below(2) == 0;
  const Nodes nodes = is_same ? state_.best_nodes : neighbour(wanted);
  const std::vector<WaveMove> kept = rng_.below(is_far() ? 2 : 8) == 0 ? std::vector<WaveMove>{} : most_of_best(nodes);
  const std::int64_t given = std::min(kept.empty() || is_far() ? most_steps : most_steps / 4, budget_.left());
  SearchBudget attempt_budget(given, [this] { return budget_.is_over(); });
  attempt(nodes, random_style(), most, attempt_budget, kept);
  budget_.spend(static_cast<std::size_t>(given - attempt_budget.left()) + kStepsOfAttempt +
                problem_.base().node_count());
}

/// Returns true after too many failures. A perfect plan can only improve in disturbance and waves, so its limit is
/// lower.
bool DefragmentationSearch::is_hopeless_after(int failures) const {
  return failures >= (is_perfect() ? kPatienceOfPerfect : kPatience);
}

int DefragmentationSearch::improve(std::int64_t most_steps, int failures) {
  const auto rank = [this] {
    const DefragmentationPlan& best = state_.best;
    const auto disturbs = is_perfect() ? std::pair(state_.cheapest.disturbance, state_.cheapest.waves())
                                       : std::pair<Disturbance, std::int32_t>();
    return std::tuple(best.moves.size(), best.emptied.size(), disturbs);
  };
  while (!is_hopeless_after(failures) && !budget_.is_over()) {
    const auto before = rank();
    improve_once(most_steps);
    const bool is_more = state_.best.emptied.size() > std::get<1>(before);
    try_more_ = is_more || is_far() ? kTryMore : std::max(try_more_ * kLessHope, kMinTryMore);
    failures = rank() == before ? failures + 1 : 0;
  }
  return failures;
}

/// Replaces pods that make capacity by cheaper ones with the same requests. With `alike_only`, owner and labels must
/// also be equal.
std::vector<WaveMove> DefragmentationSearch::with_cheaper_pods(const DefragmentationPlan& plan, bool alike_only) const {
  const auto& base = problem_.base();
  std::vector<WaveMove> moves = plan.moves;
  std::vector<bool> is_used(base.pod_table_size(), false);
  for (const WaveMove& move : moves) is_used[move.pod] = true;
  const auto is_like = [&](PodIndex a, PodIndex b) {
    return base.request_set_of(a) == base.request_set_of(b) &&
           (!alike_only || (base.owner_of(a) == base.owner_of(b) && base.label_group_of(a) == base.label_group_of(b)));
  };
  for (WaveMove& move : moves) {
    if (std::ranges::binary_search(plan.emptied, move.from)) continue;
    PodIndex cheapest = move.pod;
    for (const PodIndex other : problem_.pods_on(move.from)) {
      if (is_used[other] || !problem_.may_move(other) || !is_like(move.pod, other)) continue;
      if (problem_.disturbance(other) < problem_.disturbance(cheapest)) cheapest = other;
    }
    is_used[move.pod] = false;
    is_used[cheapest] = true;
    move.pod = cheapest;
  }
  return moves;
}

/// Replans the cheapest plan with cheaper pods in place of similar ones.
void DefragmentationSearch::cheapen() {
  for (const bool alike_only : {false, true}) {
    const DefragmentationPlan plan = state_.cheapest;
    const std::vector<WaveMove> moves = with_cheaper_pods(plan, alike_only);
    const auto pod_of = [](const WaveMove& move) { return move.pod; };
    if (budget_.is_over() || std::ranges::equal(moves, plan.moves, {}, pod_of, pod_of)) continue;
    Nodes emptying(problem_.base().node_count(), false);
    for (const NodeIndex node : plan.avoided) emptying[node] = true;
    attempt(emptying, {}, plan.moves.size(), budget_, moves);
  }
}

}  // namespace strategies
