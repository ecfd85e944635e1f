#include "strategies/defragmentation/problem.hpp"

#include <algorithm>

namespace strategies {
namespace {

using scheduling::kCpuIndex;
using scheduling::kMemoryIndex;
using scheduling::Refusal;

double average(const std::vector<std::int64_t>& column, const std::vector<NodeIndex>& nodes) {
  double sum = 0;
  for (const NodeIndex node : nodes) sum += static_cast<double>(column[node]);
  return nodes.empty() || sum <= 0 ? 1 : sum / static_cast<double>(nodes.size());
}

}  // namespace

DefragmentationProblem::DefragmentationProblem(const StrategyContext& context, NominationSink& sink,
                                               const std::function<bool(const api::Node&)>& may_be_emptied)
    : context_(context),
      sink_(sink),
      is_looked_at_(context.cluster.base().node_count(), false),
      is_held_(context.cluster.base().node_count(), false),
      pods_(context.cluster.base().node_count()),
      takes_(context.cluster.base().node_count(), false),
      known_(context.cluster.base().pod_count(), 0) {
  for (const NodeIndex node : context.nodes) {
    is_looked_at_[node] = true;
    if (base().node(node).unschedulable) continue;
    takes_[node] = true;
    taking_.push_back(node);
  }
  cpu_ = average(base().allocatable().column(kCpuIndex), taking_);
  memory_ = average(base().allocatable().column(kMemoryIndex), taking_);
  objections_.emplace_back();  // shared by all that may move
  for (const NodeIndex node : context.nodes) add_node(node, !may_be_emptied || may_be_emptied(base().node(node)));
}

double DefragmentationProblem::size(PodIndex pod) const {
  const scheduling::RequestSet& requests = base().requests(pod);
  return std::max(static_cast<double>(scheduling::amount_of(requests, kCpuIndex)) / cpu_,
                  static_cast<double>(scheduling::amount_of(requests, kMemoryIndex)) / memory_);
}

bool DefragmentationProblem::goes_with_node(PodIndex pod) const {
  return base().is_daemon_set(pod) || base().is_mirror(pod) || !base().is_staying(pod);
}

bool DefragmentationProblem::has_to_stay_somewhere(PodIndex pod) const {
  const NodeIndex node = cluster().node_of(pod);
  return node != scheduling::kNoNode && is_looked_at_[node] && !goes_with_node(pod);
}

void DefragmentationProblem::add_node(NodeIndex node, bool may_be_emptied) {
  FreeableNode found{node};
  std::optional<HeldNode> held;
  cluster().for_each_on(node, [&](PodIndex pod) {
    if (goes_with_node(pod)) return;
    pods_[node].push_back(pod);
    found.load += size(pod);
    if (held || !may_be_emptied) return;
    if (const auto& objection = objection_to(pod)) held = HeldNode{node, pod, *objection};
  });
  std::ranges::stable_sort(pods_[node], std::greater{}, [&](PodIndex pod) { return size(pod); });
  is_held_[node] = held || (!may_be_emptied && !pods_[node].empty());
  held_nodes_ += is_held_[node] ? 1 : 0;
  if (held) held_.push_back(*held);
  if (!held && may_be_emptied) freeable_.push_back(found);
}

const std::optional<Refusal>& DefragmentationProblem::objection_to(PodIndex pod) const {
  if (known_[pod] == 0) {
    auto objection = find_objection(pod);
    known_[pod] = objection ? static_cast<std::uint32_t>(objections_.size()) + 1 : 1;
    if (objection) objections_.push_back(std::move(objection));
  }
  return objections_[known_[pod] - 1];
}

std::optional<Refusal> DefragmentationProblem::find_objection(PodIndex pod) const {
  if (goes_with_node(pod)) return Refusal{"GoesWithNode", "it goes with its node"};
  if (auto refusal = context_.evictability.refusal(pod)) return refusal;
  if (auto refusal = context_.evictability.refusal_by_namespace(pod)) return refusal;
  return sink_.objection(pod);
}

}  // namespace strategies
