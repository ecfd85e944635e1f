#include "strategies/defragmentation/realization.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "api/meta/well_known.hpp"
#include "scheduling/predicates.hpp"

namespace strategies {

using scheduling::FitLevel;
using scheduling::FitQuery;
using scheduling::Overlay;

Realization::Wave::Wave(const Overlay& cluster)
    : before(cluster), budgets(cluster.base()), is_left(cluster.base().node_count(), 0) {}

Realization::Realization(const DefragmentationProblem& problem, std::unique_ptr<Rehearsal> rehearsal,
                         std::vector<bool> emptying, const ShouldStop& should_stop)
    : problem_(problem),
      rehearsal_(std::move(rehearsal)),
      emptying_(std::move(emptying)),
      takes_(emptying_.size(), false),
      should_stop_(should_stop) {
  std::vector<NodeIndex> avoided;
  for (NodeIndex node = 0; node < emptying_.size(); ++node) {
    takes_[node] = problem.takes(node) && !emptying_[node];
    if (emptying_[node]) avoided.push_back(node);
  }
  rehearsal_->avoid(api::well_known::kEmptyingTaint, avoided);
}

std::vector<NodeIndex> Realization::left() const {
  std::vector<NodeIndex> nodes;
  for (const FreeableNode& each : problem_.freeable()) {
    const auto is_here = [&](PodIndex pod) { return cluster().node_of(pod) == each.node; };
    if (emptying_[each.node] && std::ranges::any_of(each.pods, is_here)) nodes.push_back(each.node);
  }
  return nodes;
}

std::vector<PackedMove> Realization::pack() {
  Packing packing(problem_, cluster(), takes_);
  std::vector<PodIndex> pods;
  for (const FreeableNode& each : problem_.freeable()) {
    if (!emptying_[each.node]) continue;
    for (const PodIndex pod : each.pods) {
      if (cluster().node_of(pod) == each.node) pods.push_back(pod);
    }
  }
  std::ranges::stable_sort(pods, std::greater{}, [&](PodIndex pod) { return problem_.size(pod); });
  for (const PodIndex pod : pods) {
    if (should_stop_()) break;
    packing.place_all({pod});
  }
  std::vector<PackedMove> moves = packing.moves();
  // What others wait for first, then the largest: they have the fewest places.
  std::ranges::stable_sort(moves, {}, [&](const PackedMove& move) {
    return std::tuple(emptying_[move.from], -problem_.size(move.pod));
  });
  return moves;
}

bool Realization::run() {
  while (!left().empty()) {
    std::vector<PackedMove> pending = pack();
    std::size_t made = 0;
    while (!pending.empty() && !should_stop_()) {
      const std::size_t now = run_wave(pending);
      if (now == 0) break;
      made += now;
    }
    if (made == 0) return false;
  }
  return true;
}

/// Makes the moves that can be made now and takes them out of `pending`. How many.
std::size_t Realization::run_wave(std::vector<PackedMove>& pending) {
  Wave wave(cluster());
  ++wave_;
  std::vector<std::uint32_t> awaited(emptying_.size(), 0);
  wave.reserved.assign(emptying_.size(), 0);
  for (const PackedMove& move : pending) {
    ++awaited[move.from];
    if (move.needs_hole) ++wave.reserved[move.to];
  }
  const std::size_t before = pending.size();
  std::erase_if(pending, [&](const PackedMove& move) {
    if (should_stop_()) return false;
    const bool waits = move.needs_hole && (awaited[move.to] > 0 || wave.is_left[move.to] != 0);
    if (waits || !attempt(move, wave)) return false;
    --awaited[move.from];
    if (move.needs_hole) --wave.reserved[move.to];
    return true;
  });
  if (pending.size() == before) --wave_;
  return before - pending.size();
}

bool Realization::attempt(const PackedMove& move, Wave& wave) {
  if (wave.budgets.refusal(move.pod)) return false;
  const FitQuery before(wave.before, move.pod, FitLevel::kScheduler);
  const bool makes_room = !emptying_[move.from];
  const Goal goal = [&](NodeIndex to) {
    return takes_[to] && (!makes_room || wave.reserved[to] == 0) && fits_in_flight(move.pod, to, wave, before);
  };
  const auto to = rehearsal_->relocate(move.pod, goal);
  if (!to) return false;
  wave.budgets.spend(move.pod);
  wave.leaving.push_back(move.pod);
  wave.is_left[move.from] = 1;
  moves_.push_back({move.pod, move.from, *to, wave_});
  return true;
}

bool Realization::fits_in_flight(PodIndex pod, NodeIndex node, const Wave& wave, const FitQuery& before) const {
  if (wave.is_left[node] == 0) return true;
  if (!before.fits(node)) return false;
  const auto has_room = [&](scheduling::ResourceIndex resource, std::int64_t milli) {
    const auto& base = problem_.base();
    std::int64_t free =
        scheduling::saturating_subtract(base.allocatable().get(node, resource), cluster().used().get(node, resource));
    for (const PodIndex other : wave.leaving) {
      if (wave.before.node_of(other) != node) continue;
      const std::int64_t held = resource == scheduling::kPodsIndex
                                    ? 1000
                                    : scheduling::amount_of(wave.before.requests_on(other, node), resource);
      free = scheduling::saturating_subtract(free, held);
    }
    return milli <= free;
  };
  return has_room(scheduling::kPodsIndex, 1000) &&
         std::ranges::all_of(problem_.base().requests(pod), [&](const auto& request) {
           return request.second == 0 || has_room(request.first, request.second);
         });
}

}  // namespace strategies
