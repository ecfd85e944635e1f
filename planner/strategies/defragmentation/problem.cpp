#include "planner/strategies/defragmentation/problem.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "api/meta/well_known.hpp"
#include "api/virtual_machine.hpp"
#include "planner/strategies/load/move_cost.hpp"

namespace strategies {
namespace {

constexpr std::int64_t kDefaultGrace = 30;           // seconds
constexpr std::int64_t kMaxGrace = 365 * 24 * 3600;  // longer periods count as this, so that sums do not overflow
constexpr double kUnlike = 4;                        // minimum ratio of cpu per byte between unlike pods
// Moves needed to make capacity for a pod as large as a node, in addition to its own.
constexpr double kEffortOfSize = 5;

double average(const std::vector<std::int64_t>& column, const std::vector<NodeIndex>& nodes) {
  double sum = 0;
  for (const NodeIndex node : nodes) sum += static_cast<double>(column[node]);
  return nodes.empty() || sum <= 0 ? 1 : sum / static_cast<double>(nodes.size());
}

}  // namespace

DefragmentationProblem::DefragmentationProblem(const StrategyContext& context, NominationSink& sink,
                                               const Defragmentation& rules)
    : context_(context),
      cluster_(&context.cluster),
      sink_(sink),
      rules_(rules),
      is_in_scope_(base().node_count(), false),
      is_held_(base().node_count(), false),
      pods_(base().node_count()),
      may_take_pods_(base().node_count(), false),
      known_(base().pod_table_size(), 0) {
  objections_.emplace_back();  // shared by all pods that may move
  find_taking();
  find_sizes();
  find_disturbances();
  for (const NodeIndex node : context.nodes) add_node(node);
  find_small_size();
  find_unlike_pods();
  rank_nodes();
  for (const auto& [name, percent] : rules.headroom) {
    if (const auto resource = base().resources().find(name)) headroom_.emplace_back(*resource, percent / 100);
  }
}

void DefragmentationProblem::find_taking() {
  for (const NodeIndex node : context_.nodes) {
    is_in_scope_[node] = true;
    if (base().node(node).unschedulable) continue;
    may_take_pods_[node] = true;
    taking_.push_back(node);
  }
}

void DefragmentationProblem::find_sizes() {
  average_cpu_ = average(base().allocatable().column(kCpuIndex), taking_);
  average_memory_ = average(base().allocatable().column(kMemoryIndex), taking_);
  sizes_.resize(base().request_set_count());
  for (const PodIndex pod : base().pods()) {
    double& size = sizes_[base().request_set_of(pod)];
    if (size > 0) continue;
    const RequestSet& requests = base().requests(pod);
    size = size_of(amount_of(requests, kCpuIndex), amount_of(requests, kMemoryIndex));
  }
}

void DefragmentationProblem::find_small_size() {
  std::vector<double> sizes;
  for (const NodeIndex node : nodes()) {
    for (const PodIndex pod : pods_on(node)) sizes.push_back(size(pod));
  }
  if (sizes.empty()) return;
  const auto tenth = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 10);
  std::ranges::nth_element(sizes, tenth);
  small_size_ = *tenth;
}

void DefragmentationProblem::find_unlike_pods() {
  double least = std::numeric_limits<double>::max();
  double most = 0;
  for (const NodeIndex node : nodes()) {
    for (const PodIndex pod : pods_on(node)) {
      const RequestSet& requests = base().requests(pod);
      const auto cpu = static_cast<double>(amount_of(requests, kCpuIndex));
      const auto memory = static_cast<double>(amount_of(requests, kMemoryIndex));
      if (cpu <= 0 || memory <= 0) continue;
      least = std::min(least, cpu_share(cpu) / memory_share(memory));
      most = std::max(most, cpu_share(cpu) / memory_share(memory));
    }
  }
  has_unlike_pods_ = most > kUnlike * least;
}

void DefragmentationProblem::find_disturbances() {
  std::vector<Disturbance> all(base().pod_table_size());
  for (const PodIndex pod : base().pods()) {
    const api::Pod& object = base().pod(pod);
    const std::int64_t grace = object.termination_grace_period_seconds.value_or(kDefaultGrace);
    all[pod] = {object.meta.annotations.contains(api::well_known::kPreferNoEviction) ? 1 : 0,
                object.priority.value_or(0), std::clamp<std::int64_t>(grace, 0, kMaxGrace)};
  }
  disturbances_ = std::make_shared<const std::vector<Disturbance>>(std::move(all));
}

void DefragmentationProblem::judge_all() const {
  for (const NodeIndex node : nodes()) {
    for (const PodIndex pod : pods_on(node)) static_cast<void>(objection_to(pod));
  }
}

bool DefragmentationProblem::is_node_bound(PodIndex pod) const {
  return strategies::is_node_bound(base(), pod) || api::is_hotplug_pod(base().pod(pod));
}

bool DefragmentationProblem::has_to_stay_somewhere(PodIndex pod) const {
  const NodeIndex node = cluster().node_of(pod);
  return node != kNoNode && is_in_scope_[node] && !is_node_bound(pod);
}

std::size_t DefragmentationProblem::max_of_workload(PodIndex pod) const {
  if (!rules_.per_workload) return SIZE_MAX;
  const auto [value, is_percent] = *rules_.per_workload;
  if (!is_percent) return static_cast<std::size_t>(value);
  return std::max<std::size_t>(base().living_siblings(pod) * static_cast<std::size_t>(value) / 100, 1);
}

std::int64_t DefragmentationProblem::headroom(NodeIndex node, ResourceIndex resource) const {
  for (const auto& [of, share] : headroom_) {
    if (of == resource)
      return static_cast<std::int64_t>(share * static_cast<double>(base().allocatable().get(node, of)));
  }
  return 0;
}

void DefragmentationProblem::add_node(NodeIndex node) {
  const bool may_be_emptied = !rules_.node_selector || rules_.node_selector->matches(base().node(node).meta.labels);
  FreeableNode found{node};
  std::optional<HeldNode> held;
  const auto of_no_use = may_be_emptied ? context_.evictability.refusal_to_empty(node) : std::nullopt;
  std::vector<PodIndex>& pods = pods_[node];
  cluster().for_each_on(node, [&](PodIndex pod) {
    if (is_node_bound(pod)) return;
    pods.push_back(pod);
    found.load += size(pod);
    found.disturbance += disturbance(pod);
    if (held || !may_be_emptied) return;
    if (of_no_use) {
      held = HeldNode{node, pod, *of_no_use};
    } else if (const auto& objection = objection_to(pod)) {
      held = HeldNode{node, pod, *objection};
    }
  });
  std::ranges::stable_sort(pods, {}, [&](PodIndex pod) { return std::pair(-size(pod), disturbance(pod)); });
  found.effort = static_cast<double>(pods.size()) + kEffortOfSize * found.load;
  is_held_[node] = held || (!may_be_emptied && !pods.empty());
  held_nodes_ += is_held_[node] ? 1 : 0;
  if (held) held_.push_back(*held);
  if (!held && may_be_emptied) freeable_.push_back(found);
}

void DefragmentationProblem::rank_nodes() {
  std::vector<const api::Node*> nodes;
  for (const FreeableNode& each : freeable_) nodes.push_back(&base().node(each.node));
  const std::vector<std::uint32_t> ranks = ranks_of(rules_.empty_first, nodes);
  for (std::size_t i = 0; i < freeable_.size(); ++i) freeable_[i].rank = ranks[i];
}

const std::optional<Refusal>& DefragmentationProblem::objection_to(PodIndex pod) const {
  if (known_[pod] == 0) {
    const auto objection = find_objection(pod);
    known_[pod] = objection ? static_cast<std::uint32_t>(objections_.size()) + 1 : 1;
    if (objection) objections_.push_back(objection);
  }
  return objections_[known_[pod] - 1];
}

std::optional<Refusal> DefragmentationProblem::find_objection(PodIndex pod) const {
  if (is_node_bound(pod)) return Refusal{"GoesWithNode", "it is bound to its node"};
  if (auto refusal = context_.evictability.refusal(pod)) return refusal;
  if (auto refusal = context_.evictability.refusal_by_namespace(pod)) return refusal;
  if (!base().owner_of(pod)) return Refusal{"NoReplacement", "nothing would recreate it on another node"};
  return sink_.objection(pod);
}

WorkloadCounts::WorkloadCounts(const DefragmentationProblem& problem)
    : problem_(problem), moved_(problem.rules().per_workload ? problem.base().owner_count() : 0, 0) {}

bool WorkloadCounts::allows(PodIndex pod) const {
  const auto owner = problem_.base().owner_of(pod);
  return moved_.empty() || !owner || moved_[*owner] < problem_.max_of_workload(pod);
}

void WorkloadCounts::add(PodIndex pod, int by) {
  const auto owner = problem_.base().owner_of(pod);
  if (!moved_.empty() && owner) moved_[*owner] += static_cast<std::uint32_t>(by);
}

}  // namespace strategies
