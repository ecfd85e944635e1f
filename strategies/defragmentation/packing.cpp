#include "strategies/defragmentation/packing.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "scheduling/predicates.hpp"

namespace strategies {
namespace {

using scheduling::FitLevel;
using scheduling::FitQuery;
using scheduling::kCpuIndex;
using scheduling::kMemoryIndex;
using scheduling::kNoNode;
using scheduling::kPodsIndex;
using scheduling::Overlay;

constexpr std::size_t kMostCandidates = 64;  // swaps that are compared for one pod
constexpr std::size_t kMostTries = 16;       // of those, how many are tried

std::int64_t free_of(const Overlay& cluster, NodeIndex node, scheduling::ResourceIndex resource) {
  return scheduling::saturating_subtract(cluster.base().allocatable().get(node, resource),
                                         cluster.used().get(node, resource));
}

/// The pod fits by its requests once `leaving` has gone; kNoPod: as it is.
bool has_room(const Overlay& cluster, PodIndex pod, NodeIndex node, PodIndex leaving) {
  const bool one_leaves = leaving != scheduling::kNoPod;
  if (free_of(cluster, node, kPodsIndex) + (one_leaves ? 1000 : 0) < 1000) return false;
  for (const auto& [resource, milli] : cluster.base().requests(pod)) {
    if (milli == 0) continue;
    std::int64_t free = free_of(cluster, node, resource);
    if (one_leaves && milli > free)
      free = scheduling::saturating_add(free, scheduling::amount_of(cluster.requests_on(leaving, node), resource));
    if (milli > free) return false;
  }
  return true;
}

}  // namespace

Packing::Packing(const DefragmentationProblem& problem, const Overlay& cluster, std::vector<bool> takes, int depth)
    : problem_(problem),
      cluster_(cluster),
      takes_(std::move(takes)),
      arrivals_(cluster.base().node_count(), 0),
      depth_(depth) {
  for (const NodeIndex node : cluster.base().nodes()) {
    if (takes_[node]) order_.push_back(node);
  }
}

void Packing::open(NodeIndex node) {
  takes_[node] = true;
  order_.push_back(node);
}

bool Packing::fits(PodIndex pod, NodeIndex node) const {
  return FitQuery(cluster_, pod, FitLevel::kScheduler).fits(node);
}

double Packing::free_share(NodeIndex node) const {
  const auto share = [&](scheduling::ResourceIndex resource) {
    const auto all = static_cast<double>(cluster_.base().allocatable().get(node, resource));
    return all <= 0 ? 0 : static_cast<double>(free_of(cluster_, node, resource)) / all;
  };
  return std::min(share(kCpuIndex), share(kMemoryIndex));
}

bool Packing::place_all(const std::vector<PodIndex>& pods) {
  const std::size_t before = moves_.size();
  for (const PodIndex pod : pods) {
    if (place(pod, depth_)) continue;
    stuck_ = pod;
    roll_back(before);
    return false;
  }
  return true;
}

void Packing::roll_back(std::size_t moves) {
  while (moves_.size() > moves) {
    const PackedMove& last = moves_.back();
    --arrivals_[last.to];
    cluster_.restore(last.pod);
    moves_.pop_back();
  }
}

void Packing::move(PodIndex pod, NodeIndex to, bool needs_hole) {
  moves_.push_back({pod, problem_.cluster().node_of(pod), to, needs_hole});
  cluster_.move(pod, to);
  ++arrivals_[to];
}

std::optional<NodeIndex> Packing::best_fit(PodIndex pod, const FitQuery& query) const {
  std::optional<NodeIndex> best;
  double least = 0;
  const NodeIndex here = cluster_.node_of(pod);
  for (const NodeIndex node : order_) {
    if (node == here || !has_room(cluster_, pod, node, scheduling::kNoPod)) continue;
    const double share = free_share(node);
    if ((best && share >= least) || query.refusal_beside_room(node)) continue;
    best = node;
    least = share;
  }
  return best;
}

bool Packing::place(PodIndex pod, int depth) {
  const FitQuery query(cluster_, pod, FitLevel::kScheduler);
  if (const auto node = best_fit(pod, query)) {
    move(pod, *node, false);
    return true;
  }
  return depth > 0 && place_by_ejection(pod, depth);
}

std::vector<Packing::Ejection> Packing::ejections_for(PodIndex pod, const FitQuery& query) const {
  std::vector<Ejection> found;
  const double size = problem_.size(pod);
  const NodeIndex here = cluster_.node_of(pod);
  for (std::size_t i = 0; i < order_.size() && found.size() < kMostCandidates; ++i) {
    const std::size_t at = (hint_ + i) % order_.size();
    const NodeIndex node = order_[at];
    if (node == here || query.refusal_beside_room(node)) continue;
    const double free = free_share(node);
    cluster_.for_each_on(node, [&](PodIndex other) {
      if (cluster_.is_moved(other) || !has_room(cluster_, pod, node, other) || !problem_.may_move(other)) return;
      const double other_size = problem_.size(other);
      found.push_back({node, other, other_size, free + other_size - size});
    });
    if (!found.empty() && found.size() >= kMostCandidates) hint_ = at;
  }
  std::ranges::sort(found, {}, [](const Ejection& each) { return std::tuple(each.size, each.rest, each.pod); });
  return found;
}

/// Nothing but its labels and requests says where it fits.
bool Packing::is_plain(PodIndex pod) const {
  const api::Pod& object = cluster_.base().pod(pod);
  return object.node_selector.empty() && !object.affinity && object.volumes.empty() && object.topology_spread.empty();
}

bool Packing::place_by_ejection(PodIndex pod, int depth) {
  const FitQuery query(cluster_, pod, FitLevel::kScheduler);
  const std::vector<Ejection> ejections = ejections_for(pod, query);
  std::set<std::pair<std::uint32_t, std::uint32_t>> hopeless;  // plain pods by labels and requests
  std::size_t tries = 0;
  for (const Ejection& each : ejections) {
    const std::pair kind(cluster_.base().label_group_of(each.pod), cluster_.base().request_set_of(each.pod));
    if (is_plain(each.pod) && hopeless.contains(kind)) continue;
    if (++tries > kMostTries) return false;
    const std::size_t before = moves_.size();
    // The other one goes first; it holds the place for the pod meanwhile, so the pod stands there as if it had come.
    const NodeIndex from = cluster_.node_of(pod);
    const bool was_moved = cluster_.is_moved(pod);
    cluster_.move(each.pod, kNoNode);
    cluster_.move(pod, each.node);
    if (place(each.pod, depth - 1)) {
      moves_.push_back({pod, problem_.cluster().node_of(pod), each.node, true});
      ++arrivals_[each.node];
      return true;
    }
    was_moved ? cluster_.move(pod, from) : cluster_.restore(pod);
    cluster_.restore(each.pod);
    roll_back(before);
    if (is_plain(each.pod)) hopeless.insert(kind);
  }
  return false;
}

}  // namespace strategies
