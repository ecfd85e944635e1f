#include "strategies/defragmentation/search.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "api/meta/well_known.hpp"

namespace strategies {
namespace {

constexpr double kNoise = 0.3;              // of sizes at most, so that equal attempts end differently
constexpr double kKeyNoise = 0.7;           // of efforts, when nodes are exchanged
constexpr double kMostCapacityPrice = 100;  // moves for an average node's capacity, when nodes are exchanged
constexpr std::size_t kExchanged = 2;       // nodes at most
constexpr std::size_t kExchangedOfUnlike = 4;
constexpr std::size_t kAnew = 3;    // one of so many exchanges where much is missing begins with other nodes
constexpr int kMostNeighbours = 8;  // that are looked at for one that leaves enough
constexpr double kLeastHole = 1;
constexpr double kMostHole = 3.5;
constexpr std::array kHoles = {2.0, 1.5, 3.0};  // PackingStyle::hole
constexpr double kMostPrice = 0.2;              // PackingStyle::price
constexpr double kFillsFar = 0.75;              // share of the attempts that begin with PackingStyle::fills
constexpr double kFillsNear = 0.25;
constexpr double kTryMore = 0.6;        // share of the attempts that are about one more node
constexpr double kLeastTryMore = 0.15;  // of those after many that failed
constexpr double kLessHope = 0.97;      // after each
constexpr double kMostDropped = 0.5;    // share of the best plan's moves that are looked for anew
constexpr std::int64_t kLeash = 8;      // times as many steps as a plan took: an attempt that is worth it takes no more
constexpr int kMostFailures = 12;       // further nodes in a row that cannot be emptied
constexpr std::size_t kStepsOfAttempt = 500;
constexpr std::int64_t kLeastImproving = 30'000'000;  // for improvements: a second
constexpr std::int64_t kMostImproving = 60'000'000;
constexpr std::int64_t kFarImproving = 300'000'000;
constexpr int kFarPatience = 40;                 // PackingStyle::patience
constexpr std::int64_t kLeastSteps = 1'000'000;  // that an attempt may take
constexpr std::int64_t kFarSteps = 30'000'000;
constexpr std::size_t kNearPercent = 95;     // of the bound
constexpr std::size_t kCloseEnough = 500;    // of the bound: no closer look at how many nodes go
constexpr std::int64_t kMoment = 2'000'000;  // for each try after the time has run out
constexpr int kMostMoments = 12;
constexpr std::size_t kMostAlone = 8;  // nodes that are tried one by one where several at once bring nothing

}  // namespace

DefragmentationSearch::DefragmentationSearch(const DefragmentationProblem& problem, const Capacities& capacities,
                                             const Rehearsal* origin, bool chooses_targets, const SearchLimits& limits,
                                             SearchBudget& budget, std::uint64_t seed)
    : problem_(problem),
      capacities_(capacities),
      origin_(origin),
      chooses_targets_(chooses_targets),
      limits_(limits),
      budget_(budget),
      chance_(seed),
      reached_(problem.base().node_count(), false),
      try_more_(kTryMore) {}

std::size_t DefragmentationSearch::busy_in(const Nodes& nodes) const {
  return static_cast<std::size_t>(std::ranges::count_if(problem_.freeable(), [&](const FreeableNode& each) {
    return nodes[each.node] && !problem_.pods_on(each.node).empty();
  }));
}

double DefragmentationSearch::value_of(std::size_t freed, std::size_t moves) const {
  const DefragmentationRules& rules = problem_.rules();
  return rules.weight_of_node * static_cast<double>(freed) - rules.weight_of_move * static_cast<double>(moves);
}

/// With the same moves, the one that puts the taint on fewer nodes. Of equal ones the later: the search moves on.
bool DefragmentationSearch::is_better(std::size_t freed, std::size_t moves, const Nodes& avoided) const {
  const double now = value_of(freed, moves);
  const double best = value_of(state_.best.emptied.size(), state_.best.moves.size());
  if (now != best || state_.best.moves.empty()) return now > best;
  const auto tainted = static_cast<std::size_t>(std::ranges::count(avoided, true));
  return std::pair(moves, tainted) <= std::pair(state_.best.moves.size(), state_.best.avoided.size());
}

namespace {

std::int32_t waves_of(const DefragmentationPlan& plan) { return plan.moves.empty() ? 0 : plan.moves.back().wave; }

}  // namespace

/// The least disturbance, then the fewest waves, then the taint on the fewest nodes.
bool DefragmentationSearch::is_cheapest(const DefragmentationPlan& plan) const {
  if (state_.cheapest.moves.empty()) return value_of(plan.emptied.size(), plan.moves.size()) > 0;
  const auto rank = [this](const DefragmentationPlan& each) {
    return std::tuple(-value_of(each.emptied.size(), each.moves.size()), each.moves.size(), each.disturbance,
                      waves_of(each), each.avoided.size());
  };
  return rank(plan) < rank(state_.cheapest);
}

/// Keeps it if it is better than what is known, or disturbs less.
void DefragmentationSearch::consider(const Nodes& emptied, const Nodes& avoided, const std::vector<WaveMove>& moves) {
  DefragmentationPlan plan;
  plan.moves = moves;
  for (const FreeableNode& each : problem_.freeable()) {
    if (avoided[each.node]) plan.avoided.push_back(each.node);
    if (emptied[each.node] && !problem_.pods_on(each.node).empty()) plan.emptied.push_back(each.node);
  }
  for (const WaveMove& move : moves) plan.disturbance += problem_.disturbance(move.pod);
  const bool is_best = is_better(plan.emptied.size(), moves.size(), avoided);
  if (is_best) state_.best_nodes = emptied;
  if (is_cheapest(plan)) state_.cheapest = plan;
  if (is_best) state_.best = std::move(plan);
}

bool DefragmentationSearch::is_behind(const SearchState& other) const {
  const auto rank = [this](const DefragmentationPlan& each) {
    return std::pair(-value_of(each.emptied.size(), each.moves.size()), each.moves.size());
  };
  return rank(other.best) < rank(state_.best);
}

bool DefragmentationSearch::is_worse_than(const SearchState& other) const {
  const auto rank = [this](const SearchState& each) {
    const DefragmentationPlan& best = each.best;
    const DefragmentationPlan& cheapest = each.cheapest;
    return std::tuple(-value_of(best.emptied.size(), best.moves.size()), best.moves.size(), cheapest.disturbance,
                      waves_of(cheapest), best.avoided.size());
  };
  return rank(other) < rank(state_);
}

/// True: all of them can be emptied, and that is worth its moves. What comes of it is kept if it is better than what is
/// known, also where some nodes are left: a later attempt does without them and their moves.
bool DefragmentationSearch::attempt(const Nodes& emptying, PackingStyle style, std::size_t most_moves,
                                    SearchBudget& budget, const std::vector<WaveMove>& kept) {
  if (origin_ == nullptr) return false;
  Realization realization(problem_, origin_->fork(), emptying, chooses_targets_, style, budget, chance_);
  const std::int64_t before = budget.left();
  if (!kept.empty()) realization.repeat(kept, most_moves);
  const bool works = realization.run(most_moves);
  const std::int64_t steps = before - budget.left();
  const std::size_t moves = realization.moves().size();
  reached_ = emptying;
  for (const NodeIndex node : realization.left()) reached_[node] = false;
  const std::size_t freed = busy_in(reached_);
  if (moves <= most_moves) consider(reached_, emptying, realization.moves());
  if (works && value_of(freed, moves) > 0) {
    if (state_.steps_of_best == 0 || kept.empty()) state_.steps_of_best = steps;
    if (!budget_.is_stopped() && freed >= state_.best.emptied.size())
      extend(realization, style, limits_.most_moves, budget);
    return true;
  }
  left_ = works ? by_moves(emptying) : realization.left();
  left_size_ = realization.left_size();
  for (const NodeIndex node : left_) reached_[node] = false;
  if (left_.empty() || moves > most_moves) left_ = by_load(emptying);
  return false;
}

/// Further nodes one by one, the least effort first, on top of what has been emptied: a try costs only its own moves.
void DefragmentationSearch::extend(Realization& realization, PackingStyle style, std::size_t most_moves,
                                   SearchBudget& budget) {
  if (!problem_.rules().empty_first.empty()) return;
  std::vector<std::pair<double, NodeIndex>> others;
  for (const FreeableNode& each : problem_.freeable()) {
    if (!realization.emptying()[each.node] && !problem_.pods_on(each.node).empty())
      others.emplace_back(each.effort * chance_.about_one(kKeyNoise), each.node);
  }
  std::ranges::sort(others);
  std::size_t freed = busy_in(realization.emptying());
  int failures = 0;
  bool is_longer = false;
  for (const auto& [effort, node] : others) {
    if (freed >= limits_.most_freed || failures == kMostFailures || budget.is_over()) break;
    const bool works = realization.extend(node, style, most_moves);
    failures = works ? 0 : failures + 1;
    freed += works ? 1 : 0;
    is_longer = is_longer || works;
  }
  if (is_longer && is_better(freed, realization.moves().size(), realization.avoided()) && can_be_repeated(realization))
    consider(realization.emptying(), realization.avoided(), realization.moves());
}

/// Nodes that joined later bear the taint from the start when the plan is carried out.
bool DefragmentationSearch::can_be_repeated(const Realization& realization) const {
  const auto rehearsal = origin_->fork();
  std::vector<NodeIndex> avoided;
  for (NodeIndex node = 0; node < realization.avoided().size(); ++node) {
    if (realization.avoided()[node]) avoided.push_back(node);
  }
  rehearsal->avoid(api::well_known::kEmptyingTaint, avoided);
  return std::ranges::all_of(realization.moves(), [&](const WaveMove& move) {
    const auto to = rehearsal->relocate(move.pod, [&](NodeIndex node) {
      return move.is_chosen ? node == move.to : problem_.takes(node) && !realization.avoided()[node];
    });
    return to == move.to;
  });
}

/// Those with pods, the one with the most first.
std::vector<NodeIndex> DefragmentationSearch::by_moves(const Nodes& nodes) const {
  std::vector<NodeIndex> sorted = by_load(nodes);
  std::ranges::stable_sort(sorted, std::greater{}, [&](NodeIndex node) { return problem_.pods_on(node).size(); });
  return sorted;
}

/// Those with pods, the last to be emptied first.
std::vector<NodeIndex> DefragmentationSearch::by_load(const Nodes& nodes) const {
  std::vector<std::tuple<std::uint32_t, double, NodeIndex>> keys;
  for (const FreeableNode& each : problem_.freeable()) {
    if (nodes[each.node] && !problem_.pods_on(each.node).empty()) keys.emplace_back(each.rank, each.effort, each.node);
  }
  std::ranges::sort(keys, std::greater{});
  std::vector<NodeIndex> sorted;
  for (const auto& [rank, effort, node] : keys) sorted.push_back(node);
  return sorted;
}

/// Between all of `emptying`, which do not go, and what is left without `left`: the most that goes.
void DefragmentationSearch::bisect(Nodes emptying, std::vector<NodeIndex> left) {
  std::size_t fails = 0;
  std::size_t works = left.size() + 1;
  std::size_t next =
      std::clamp<std::size_t>(static_cast<std::size_t>(left_size_) + 1, 1, std::max<std::size_t>(left.size(), 1));
  const std::size_t close = std::max<std::size_t>(limits_.most_freed / kCloseEnough, 1);
  while (works - fails > close && !left.empty() && !budget_.is_over()) {
    Nodes fewer = emptying;
    for (std::size_t i = 0; i < next; ++i) fewer[left[i]] = false;
    if (attempt(fewer, first_style(), limits_.most_moves, budget_)) {
      works = next;
    } else {
      fails = next;
      if (next == left.size()) return bisect(std::move(fewer), left_);  // then without more of them
    }
    next = works > left.size() ? std::min(2 * next, left.size()) : (works + fails) / 2;
  }
}

/// Mostly one node more than the best plan, else as many with fewer moves; or fewer where moves have a price.
std::size_t DefragmentationSearch::wanted_now() {
  const std::size_t best = state_.best.emptied.size();
  if (best < limits_.most_freed && chance_.fraction() < try_more_) return best + 1;
  return problem_.rules().weight_of_move > 0 && best > 1 && chance_.fraction() < 0.5 ? best - 1 : best;
}

/// By position in freeable(): the lowest is emptied first. Mostly the effort; where nodes offer different amounts,
/// often what is worth keeping as well.
std::vector<double> DefragmentationSearch::random_keys() {
  const bool by_capacity = capacities_.differ() && chance_.below(2) == 0;
  const double price = by_capacity ? kMostCapacityPrice * chance_.fraction() : 0;
  const double cpu = by_capacity ? chance_.fraction() : 0;
  const CapacityWorth worth = by_capacity && chance_.below(4) == 0 ? kWorthOfPods : worth_of_mix(cpu);
  std::vector<double> keys;
  for (const FreeableNode& each : problem_.freeable()) {
    const double capacity = by_capacity ? price * capacities_.worth_of(each.node, worth) : 0;
    keys.push_back((each.effort + capacity) * chance_.about_one(kKeyNoise));
  }
  return keys;
}

/// The best plan's nodes, or where much is missing now and then none of them, with a few exchanged and others added or
/// taken out until there are `wanted`.
DefragmentationSearch::Nodes DefragmentationSearch::any_neighbour(std::size_t wanted) {
  Nodes nodes = capacities_.differ() && is_far() && chance_.below(kAnew) == 0 ? empty_nodes() : state_.best_nodes;
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
  std::size_t removed = may_exchange ? chance_.below(most_exchanged + 1) : 0;
  if (now > wanted) removed = std::max(removed, now - wanted);
  for (std::size_t i = 0; i < std::min(removed, in.size()); ++i, --now) nodes[std::get<2>(in[i])] = false;
  for (std::size_t i = 0; i < out.size() && now < wanted; ++i, ++now) nodes[std::get<2>(out[i])] = true;
  return nodes;
}

/// One that leaves enough for everything that is requested, if it finds one.
DefragmentationSearch::Nodes DefragmentationSearch::neighbour(std::size_t wanted) {
  Nodes nodes = any_neighbour(wanted);
  for (int tries = 1; tries < kMostNeighbours && !capacities_.suffices_without(nodes); ++tries)
    nodes = any_neighbour(wanted);
  return nodes;
}

/// Much is missing to the bound.
bool DefragmentationSearch::is_far() const {
  return state_.best.emptied.size() * 100 < limits_.most_freed * kNearPercent;
}

bool DefragmentationSearch::is_perfect() const {
  if (state_.best.emptied.size() < limits_.most_freed) return false;
  std::vector<std::size_t> pods;
  for (const FreeableNode& each : problem_.freeable()) {
    if (!problem_.pods_on(each.node).empty()) pods.push_back(problem_.pods_on(each.node).size());
  }
  std::ranges::sort(pods);
  const auto last = pods.begin() + static_cast<std::ptrdiff_t>(state_.best.emptied.size());
  return state_.best.moves.size() <= std::accumulate(pods.begin(), last, std::size_t{0});
}

/// Mostly little noise, and now and then a closer look.
PackingStyle DefragmentationSearch::random_style() {
  const double luck = chance_.fraction();
  PackingStyle style{.noise = kNoise * luck * luck, .direct_first = chance_.below(2) == 0};
  style.by_shape = problem_.has_unlike_pods() && chance_.below(2) == 0;
  if (is_far()) style.patience = kFarPatience;
  if (!chooses_targets_ && chance_.fraction() < (is_far() ? kFillsFar : kFillsNear)) {
    style.fills = true;
    style.open = chance_.fraction();
    style.price = kMostPrice * chance_.fraction();
  }
  if (chance_.below(4) == 0) ++style.depth;
  if (chance_.below(4) == 0) style.hole = kLeastHole + (kMostHole - kLeastHole) * chance_.fraction();
  if (chance_.below(3) != 0) return style;
  style.tries *= 4;
  style.ejected += 2;
  return style;
}

/// The same nodes, with larger holes that several pods share.
void DefragmentationSearch::improve_by_holes() {
  for (const double hole : kHoles) {
    if (budget_.is_over() || is_perfect()) return;
    attempt(state_.best_nodes, {.hole = hole}, state_.best.moves.size() - 1, budget_);
  }
}

/// The best plan's moves as far as they go with these nodes, but for some: mostly pods that make room, whose holes are
/// then looked for anew.
std::vector<WaveMove> DefragmentationSearch::most_of_best(const Nodes& emptying) {
  const double dropped = kMostDropped * chance_.fraction() * chance_.fraction();
  const bool by_node = chance_.below(2) == 0;
  Nodes shaken(by_node ? emptying.size() : 0, false);
  for (auto&& is_shaken : shaken) is_shaken = chance_.fraction() < dropped;
  std::vector<WaveMove> kept;
  for (const WaveMove& move : state_.best.moves) {
    const bool makes_room = !emptying[move.from];
    if (makes_room && state_.best_nodes[move.from]) continue;
    const bool is_dropped = by_node ? shaken[move.from] || shaken[move.to] : makes_room && chance_.fraction() < dropped;
    if (!is_dropped) kept.push_back(move);
  }
  return kept;
}

/// Near the best plan mostly, and sometimes from the beginning.
void DefragmentationSearch::improve_once(std::int64_t most_steps) {
  const std::size_t wanted = wanted_now();
  const std::size_t most =
      wanted > state_.best.emptied.size() ? limits_.most_moves : std::min(state_.best.moves.size(), limits_.most_moves);
  const bool is_same = wanted == state_.best.emptied.size() && chance_.below(2) == 0;
  const Nodes nodes = is_same ? state_.best_nodes : neighbour(wanted);
  const std::vector<WaveMove> kept =
      chance_.below(is_far() ? 2 : 8) == 0 ? std::vector<WaveMove>{} : most_of_best(nodes);
  const std::int64_t given = std::min(kept.empty() || is_far() ? most_steps : most_steps / 4, budget_.left());
  SearchBudget leash(given, [this] { return budget_.is_over(); });
  attempt(nodes, random_style(), most, leash, kept);
  budget_.spend(static_cast<std::size_t>(given - leash.left()) + kStepsOfAttempt + problem_.base().node_count());
}

int DefragmentationSearch::improve(std::int64_t most_steps, int failures, int patience) {
  while (failures < patience && !budget_.is_over() && !is_perfect()) {
    const std::pair before(state_.best.moves.size(), state_.best.emptied.size());
    improve_once(most_steps);
    const bool is_more = state_.best.emptied.size() > before.second;
    try_more_ = is_more || is_far() ? kTryMore : std::max(try_more_ * kLessHope, kLeastTryMore);
    failures = std::pair(state_.best.moves.size(), state_.best.emptied.size()) == before ? failures + 1 : 0;
  }
  return failures;
}

DefragmentationSearch::Nodes DefragmentationSearch::empty_nodes() const {
  Nodes empty(problem_.base().node_count(), false);
  for (const FreeableNode& each : problem_.freeable()) empty[each.node] = problem_.pods_on(each.node).empty();
  return empty;
}

/// Several nodes at once bring nothing: one that does, to which others may come.
void DefragmentationSearch::start_small() {
  const Nodes empty = empty_nodes();
  const std::vector<NodeIndex> nodes = by_load(Nodes(empty.size(), true));
  const std::size_t most = std::min(nodes.size(), kMostAlone);
  for (std::size_t i = 0; i < most && state_.best.moves.empty() && !budget_.is_over(); ++i) {
    Nodes alone = empty;
    alone[nodes[nodes.size() - 1 - i]] = true;
    attempt(alone, first_style(), limits_.most_moves, budget_);
  }
}

/// At least one of several, and none of one.
DefragmentationSearch::Nodes DefragmentationSearch::lightest_quarter(const Nodes& nodes) const {
  const std::vector<NodeIndex> sorted = by_load(nodes);
  const std::size_t kept = sorted.size() > 1 ? std::max<std::size_t>(sorted.size() / 4, 1) : 0;
  Nodes fewer = empty_nodes();
  for (std::size_t i = sorted.size() - kept; i < sorted.size(); ++i) fewer[sorted[i]] = true;
  return fewer;
}

/// The time has run out before any plan was complete: these nodes, or ever fewer, with a moment for each try.
void DefragmentationSearch::settle(Nodes nodes) {
  for (int tries = 0; tries < kMostMoments && busy_in(nodes) > 0; ++tries) {
    SearchBudget moment(kMoment, limits_.is_cancelled);
    if (moment.is_over() || attempt(nodes, first_style(), limits_.most_moves, moment)) return;
    nodes = busy_in(reached_) > 0 ? reached_ : lightest_quarter(nodes);
  }
}

void DefragmentationSearch::search() {
  const std::int64_t before = budget_.left();
  const Nodes first = choose_nodes(problem_, capacities_, limits_.most_moves, budget_, chance_);
  if (busy_in(first) > 0 && !attempt(first, first_style(), limits_.most_moves, budget_)) bisect(first, left_);
  if (state_.best.moves.empty()) start_small();
  if (state_.best.moves.empty() && budget_.is_stopped())
    settle(busy_in(reached_) > 0 ? reached_ : busy_in(first) > 0 ? first : lightest_quarter(Nodes(first.size(), true)));
  if (state_.best.moves.empty()) return;
  // About as long again: an attempt costs as much as it did. Longer as long as much is missing.
  const std::int64_t steps = std::clamp(before - budget_.left(), kLeastImproving, kMostImproving);
  const std::int64_t granted = std::min(budget_.left(), is_far() ? kFarImproving : steps);
  budget_.grant(granted);
  improve_by_holes();
  improve_in_streams(budget_.left(), std::max(is_far() ? kFarSteps : kLeastSteps, kLeash * state_.steps_of_best));
  budget_.grant(granted);
  cheapen();
}

/// Of pods that ask for as much, another one may make the same room.
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

/// The cheapest plan once more, with pods in the place of their likes.
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

DefragmentationPlan DefragmentationSearch::run() {
  if (limits_.most_freed > 0) search();
  DefragmentationPlan plan = std::move(state_.cheapest);
  plan.is_cut_short = budget_.is_stopped() && plan.emptied.size() < limits_.most_freed;
  return plan;
}

}  // namespace strategies
