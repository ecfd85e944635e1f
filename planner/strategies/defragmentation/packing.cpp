#include "planner/strategies/defragmentation/packing.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "planner/scheduling/predicates.hpp"

namespace strategies {
namespace {

constexpr double kRounding = 1e-9;
constexpr double kTightness = 0.1;       // share of the fullest nodes considered with PackingStyle::by_shape
constexpr std::size_t kMaxEjected = 12;  // maximum for one pod if all others are small

}  // namespace

Packing::Packing(const DefragmentationProblem& problem, const WhatIf& cluster, std::vector<bool> takes,
                 WorkloadCounts moved, PackingStyle style, SearchBudget& budget, Rng& rng)
    : problem_(problem),
      cluster_(cluster),
      may_take_pods_(std::move(takes)),
      gone_(cluster.base().node_count()),
      free_(cluster.base().node_count()),
      counts_(std::move(moved)),
      style_(style),
      budget_(budget),
      rng_(rng) {
  for (const NodeIndex node : cluster.base().nodes()) {
    if (may_take_pods_[node]) order_.push_back(node);
    measure(node);
  }
}

void Packing::measure(NodeIndex node) {
  const auto room = [&](ResourceIndex resource) {
    return saturating_subtract(cluster_.free(node, resource), problem_.headroom(node, resource));
  };
  free_[node] = {room(kCpuIndex), room(kMemoryIndex), cluster_.free(node, kPodsIndex)};
}

void Packing::move(PodIndex pod, NodeIndex to) {
  const NodeIndex from = cluster_.node_of(pod);
  cluster_.move(pod, to);
  if (from != kNoNode) measure(from);
  if (to != kNoNode) measure(to);
}

void Packing::restore(PodIndex pod) {
  move(pod, cluster_.base().node_of(pod));
  cluster_.restore(pod);
}

Packing::Need Packing::need_of(PodIndex pod) const {
  Need need{INT64_MIN, INT64_MIN, true};
  for (const auto& [resource, milli] : cluster_.base().requests(pod)) {
    if (milli == 0) continue;
    if (resource == kCpuIndex) {
      need.cpu = milli;
    } else if (resource == kMemoryIndex) {
      need.memory = milli;
    } else {
      need.is_all = false;
    }
  }
  return need;
}

void Packing::open(NodeIndex node) {
  may_take_pods_[node] = true;
  order_.push_back(node);
}

std::optional<std::size_t> Packing::last_that_fits(PodIndex pod, std::span<const NodeIndex> nodes) const {
  const FitQuery query(cluster_, pod, FitLevel::kScheduler);
  budget_.spend(nodes.size());
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (query.fits(nodes[i])) return i;
  }
  return std::nullopt;
}

double Packing::free_share(NodeIndex node) const {
  const auto share = [&](ResourceIndex resource) {
    const auto all = static_cast<double>(cluster_.base().allocatable().get(node, resource));
    return all <= 0 ? 0 : static_cast<double>(cluster_.free(node, resource)) / all;
  };
  return std::min(share(kCpuIndex), share(kMemoryIndex));
}

/// Increase of the difference between free cpu and free memory shares when the pod arrives.
double Packing::imbalance_by(const Need& need, NodeIndex node) const {
  const auto difference = [this](double cpu, double memory) {
    return std::abs(problem_.cpu_share(cpu) - problem_.memory_share(memory));
  };
  const auto cpu = static_cast<double>(free_[node].cpu);
  const auto memory = static_cast<double>(free_[node].memory);
  const double taken_cpu = need.cpu == INT64_MIN ? 0 : static_cast<double>(need.cpu);
  const double taken_memory = need.memory == INT64_MIN ? 0 : static_cast<double>(need.memory);
  return difference(cpu - taken_cpu, memory - taken_memory) - difference(cpu, memory);
}

bool Packing::place_all(const std::vector<PodIndex>& pods) {
  const std::size_t before = moves_.size();
  for (const PodIndex pod : pods) {
    if (place(pod, style_.depth)) continue;
    stuck_ = pod;
    roll_back(before);
    return false;
  }
  return true;
}

void Packing::count_gone(const PackedMove& move, std::int64_t sign) {
  const RequestSet& held = cluster_.requests_on(move.pod, move.from);
  FreedSums& gone = gone_[move.from];
  gone.cpu += sign * amount_of(held, kCpuIndex);
  gone.memory += sign * amount_of(held, kMemoryIndex);
  gone.pods += static_cast<std::uint32_t>(sign);
}

/// Returns true if the pod fits the node only because of earlier moves.
bool Packing::needs_what_left(PodIndex pod, NodeIndex node) const {
  const FreedSums& gone = gone_[node];
  if (gone.pods == 0) return false;
  const auto is_short = [&](ResourceIndex resource, std::int64_t left) {
    const std::int64_t amount = amount_of(cluster_.base().requests(pod), resource);
    return amount > 0 && cluster_.free(node, resource) - left < amount;
  };
  return is_short(kCpuIndex, gone.cpu) || is_short(kMemoryIndex, gone.memory) || !is_plain(pod) ||
         cluster_.free(node, kPodsIndex) < (std::int64_t{gone.pods} + 1) * 1000;
}

void Packing::make(const PackedMove& move) {
  count_gone(move, 1);
  this->move(move.pod, move.to);
  counts_.add(move.pod, 1);
  moves_.push_back(move);
}

void Packing::roll_back(std::size_t moves) {
  while (moves_.size() > moves) {
    restore(moves_.back().pod);
    count_gone(moves_.back(), -1);
    counts_.add(moves_.back().pod, -1);
    moves_.pop_back();
  }
}

bool Packing::is_free_to_leave(PodIndex pod) const {
  return !cluster_.is_moved(pod) && problem_.may_move(pod) && counts_.allows(pod);
}

/// Returns true if the node has free capacity for the pod's requests once `leaving` have left.
bool Packing::has_free_capacity(PodIndex pod, NodeIndex node, std::span<const PodIndex> leaving) const {
  const auto capacity = static_cast<std::int64_t>(leaving.size()) * 1000 + cluster_.free(node, kPodsIndex);
  if (capacity < 1000) return false;
  for (const auto& [resource, milli] : cluster_.base().requests(pod)) {
    if (milli == 0) continue;
    std::int64_t free = saturating_subtract(cluster_.free(node, resource), problem_.headroom(node, resource));
    for (const PodIndex other : leaving)
      free = saturating_add(free, amount_of(cluster_.requests_on(other, node), resource));
    if (milli > free) return false;
  }
  return true;
}

std::optional<NodeIndex> Packing::best_fit(PodIndex pod, const FitQuery& query) {
  std::optional<NodeIndex> best;
  double least = 0;
  const Need need = need_of(pod);
  const NodeIndex here = cluster_.node_of(pod);
  const NodeIndex home = problem_.cluster().node_of(pod);
  budget_.spend(order_.size());
  for (const NodeIndex node : order_) {
    if (!need.is_met(free_[node]) || node == here || node == home) continue;
    if (!need.is_all && !has_free_capacity(pod, node, {})) continue;
    const double share = style_.by_shape ? imbalance_by(need, node) + kTightness * free_share(node) : free_share(node);
    if ((best && share >= least) || query.refusal_ignoring_capacity(node)) continue;
    best = node;
    least = share;
  }
  return best;
}

bool Packing::place(PodIndex pod, int depth) {
  if (!counts_.allows(pod)) return false;
  const FitQuery query(cluster_, pod, FitLevel::kScheduler);
  if (const auto node = best_fit(pod, query)) {
    make({pod, problem_.cluster().node_of(pod), *node, needs_what_left(pod, *node)});
    return true;
  }
  return depth > 0 && !budget_.is_over() && place_by_ejection(pod, query, depth);
}

/// Removes pods that became unnecessary because a later one frees enough by itself.
Packing::Ejection Packing::without_needless(Ejection ejection, PodIndex pod) const {
  for (std::size_t i = 0; i + 1 < ejection.pods.size();) {
    const PodIndex spared = ejection.pods[i];
    const auto at = ejection.pods.begin() + static_cast<std::ptrdiff_t>(i);
    ejection.pods.erase(at);
    if (has_free_capacity(pod, ejection.node, ejection.pods)) {
      ejection.cost -= problem_.size(spared);
    } else {
      ejection.pods.insert(ejection.pods.begin() + static_cast<std::ptrdiff_t>(i++), spared);
    }
  }
  return ejection;
}

/// Difference between the size of `other` and the desired gap for the pod.
double Packing::misfit(PodIndex other, PodIndex pod) const {
  return std::abs(problem_.size(other) - style_.gap * problem_.size(pod));
}

/// Collects pods, largest first, until there is enough capacity. Returns nullopt if that takes too many pods or is
/// impossible.
std::optional<Packing::Ejection> Packing::several_on(NodeIndex node, PodIndex pod, std::size_t most) const {
  Ejection found{node, {}, 0};
  for (const PodIndex other : problem_.pods_on(node)) {  // pods that arrived do not leave again
    if (problem_.size(other) >= problem_.size(pod) || cluster_.node_of(other) != node || !is_free_to_leave(other))
      continue;
    found.pods.push_back(other);
    found.cost += problem_.size(other);
    if (has_free_capacity(pod, node, found.pods)) return without_needless(std::move(found), pod);
    if (found.pods.size() == most) break;
  }
  return std::nullopt;
}

/// Missing capacity, as the size of a pod that requests it. Smaller pods cannot free enough by leaving.
double Packing::shortage(const Need& need, NodeIndex node) const {
  const auto missing = [](std::int64_t wanted, std::int64_t free) {
    return wanted == INT64_MIN ? 0 : std::max<std::int64_t>(saturating_subtract(wanted, free), 0);
  };
  return problem_.size_of(missing(need.cpu, free_[node].cpu), missing(need.memory, free_[node].memory));
}

/// Returns true if `other` frees enough capacity by itself.
bool Packing::frees_enough(PodIndex other, const Need& need, PodIndex pod, NodeIndex node) const {
  const RequestSet& held = cluster_.requests_on(other, node);
  FreeResources room = free_[node];
  room.cpu = saturating_add(room.cpu, amount_of(held, kCpuIndex));
  room.memory = saturating_add(room.memory, amount_of(held, kMemoryIndex));
  room.pods += 1000;
  return need.is_met(room) && (need.is_all || has_free_capacity(pod, node, std::span(&other, 1)));
}

void Packing::add_ejections_on(NodeIndex node, PodIndex pod, std::size_t max_ejected, std::vector<Ejection>& found) {
  const std::vector<PodIndex>& pods = problem_.pods_on(node);  // largest first
  const Need need = need_of(pod);
  const double missing = shortage(need, node) * (1 - kRounding);
  if (pods.empty() || problem_.size(pods.front()) * static_cast<double>(max_ejected) < missing) return;
  const std::size_t before = found.size();
  for (const PodIndex other : pods) {
    if (problem_.size(other) < missing) break;
    if (cluster_.node_of(other) != node || !frees_enough(other, need, pod, node) || !is_free_to_leave(other)) continue;
    found.push_back({node, {other}, misfit(other, pod) * rng_.about_one(style_.noise)});
  }
  if (found.size() > before) return;
  if (auto several = several_on(node, pod, max_ejected)) {
    several->cost += style_.gap * problem_.size(pod);
    several->cost *= 1.5 * rng_.about_one(style_.noise);  // more moves for one gap
    found.push_back(*std::move(several));
  }
}

void Packing::add_ejections(PodIndex pod, const FitQuery& query, std::size_t max_ejected,
                            std::vector<Ejection>& found) {
  const NodeIndex here = cluster_.node_of(pod);
  const NodeIndex home = problem_.cluster().node_of(pod);
  std::size_t looked_at = 0;
  for (; looked_at < order_.size() && found.size() < 4 * style_.tries; ++looked_at) {
    const NodeIndex node = order_[(hint_ + looked_at) % order_.size()];
    if (node != here && node != home && !query.refusal_ignoring_capacity(node))
      add_ejections_on(node, pod, max_ejected, found);
  }
  budget_.spend(looked_at);
  if (looked_at < order_.size()) hint_ = (hint_ + looked_at) % order_.size();
}

std::vector<Packing::Ejection> Packing::ejections_for(PodIndex pod, const FitQuery& query) {
  std::vector<Ejection> found;
  add_ejections(pod, query, style_.ejected, found);
  if (found.empty()) add_ejections(pod, query, kMaxEjected, found);
  std::ranges::stable_sort(found, {}, [this](const Ejection& each) {
    Disturbance disturbance;
    for (const PodIndex other : each.pods) disturbance += problem_.disturbance(other);
    return std::pair(each.cost, disturbance);
  });
  return found;
}

/// Returns true if only labels and requests determine where the pod fits.
bool Packing::is_plain(PodIndex pod) const {
  const api::Pod& object = cluster_.base().pod(pod);
  return object.node_selector.empty() && !object.affinity && object.volumes.empty() && object.topology_spread.empty();
}

/// Takes the others off the node and puts the pod there immediately, so that the others search for places next to it.
bool Packing::eject(PodIndex pod, const Ejection& ejection, int depth) {
  const std::size_t before = moves_.size();
  const NodeIndex here = cluster_.node_of(pod);
  const bool was_moved = cluster_.is_moved(pod);
  for (const PodIndex other : ejection.pods) move(other, kNoNode);
  move(pod, ejection.node);
  const auto finds_place = [&](PodIndex other) { return place(other, depth - 1); };
  if (std::ranges::all_of(ejection.pods, finds_place)) {
    make({pod, problem_.cluster().node_of(pod), ejection.node, true});
    return true;
  }
  roll_back(before);
  for (const PodIndex other : ejection.pods) restore(other);
  was_moved ? move(pod, here) : restore(pod);
  return false;
}

bool Packing::place_by_ejection(PodIndex pod, const FitQuery& query, int depth) {
  const std::vector<Ejection> ejections = ejections_for(pod, query);
  std::set<std::pair<std::uint32_t, std::uint32_t>> hopeless;  // plain pods by labels and requests
  std::size_t tries = 0;
  for (const Ejection& each : ejections) {
    const PodIndex other = each.pods.front();
    const std::pair kind(cluster_.base().label_group_of(other), cluster_.base().request_set_of(other));
    if (hopeless.contains(kind)) continue;
    if (++tries > style_.tries || budget_.is_over()) return false;
    if (eject(pod, each, depth)) return true;
    if (each.pods.size() == 1 && is_plain(other)) hopeless.insert(kind);
  }
  return false;
}

}  // namespace strategies
