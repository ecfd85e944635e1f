#include "advisor/placement/advise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "advisor/placement/causes.hpp"
#include "advisor/placement/changes.hpp"
#include "planner/plan/planner.hpp"

namespace advisor {
namespace {

using scheduling::SnapshotInput;

constexpr const char* kPolicy = "advice";

class Adviser {
 public:
  explicit Adviser(const PlacementInput& question)
      : question_(question), causes_(find_causes(question.cluster, question.measured)) {}

  PlacementReport advise() {
    report_.nodes = static_cast<std::int32_t>(question_.cluster.nodes.size());
    report_.now = outcome_of(question_.cluster, question_, &report_.busy);
    for (const FoundCause& each : causes_) by_cause_[each.finding.cause].push_back(&each);
    plan_together();
    plan_individually();
    add_risks();
    std::ranges::stable_sort(report_.findings, {}, [&](const Finding& each) { return order_of(each); });
    report_.alerts = alerts_for(question_.cluster);
    return std::move(report_);
  }

 private:
  /// Returns one finding for all causes: no name, sum of their pods and nodes.
  static Finding all_of(const std::vector<const FoundCause*>& causes) {
    Finding finding = causes.front()->finding;
    finding.ns = finding.kind = finding.name = "";
    finding.pods = finding.nodes = 0;
    for (const FoundCause* each : causes) {
      finding.pods += each->finding.pods;
      finding.risk = std::max(finding.risk, each->finding.risk);
    }
    finding.why = std::to_string(causes.size()) + " of them together";
    return finding;
  }

  bool may_plan() const { return plans_ < question_.max_plans; }
  Outcome plan(const std::vector<const FoundCause*>& causes, Grade grade) {
    ++plans_;
    return outcome_of(apply_changes(question_.cluster, causes, grade), question_);
  }
  /// Plans with the softened constraint. If that gains nothing and the constraint can be dropped, plans without it.
  void plan_finding(Finding& finding, const std::vector<const FoundCause*>& causes) {
    finding.then = plan(causes, Grade::kPreferred);
    if (gains(finding) || !has_grades(finding.cause) || !may_plan()) return;
    Finding dropped = finding;
    drop_constraint(dropped);
    dropped.then = plan(causes, Grade::kDropped);
    if (gains(dropped)) finding = std::move(dropped);
  }
  bool gains(const Finding& finding) const {
    const auto nodes = gained_nodes(finding, report_.now);
    return nodes > 0 || (nodes == 0 && saved_moves(finding, report_.now) > 0);
  }
  void plan_together() {
    for (const auto& [cause, found] : by_cause_) {
      if (!has_effect(cause) || found.size() < 2 || !may_plan()) continue;
      Finding together = all_of(found);
      plan_finding(together, found);
      if (gains(together)) {
        report_.findings.push_back(std::move(together));
      } else {
        idle_.push_back(cause);
      }
    }
  }
  bool is_idle(Cause cause) const { return std::ranges::find(idle_, cause) != idle_.end(); }

  /// Plans each finding alone, those with the most pods first.
  void plan_individually() {
    std::vector<const FoundCause*> left;
    for (const FoundCause& each : causes_) {
      if (!has_effect(each.finding.cause)) continue;
      if (!is_idle(each.finding.cause)) {
        left.push_back(&each);
      } else if (blocks_drains(each.finding.cause)) {
        report_.findings.push_back(each.finding);
      }
    }
    std::ranges::stable_sort(left, std::ranges::greater{}, [](const FoundCause* each) { return each->finding.pods; });
    for (const FoundCause* each : left) {
      Finding finding = each->finding;
      if (may_plan()) {
        plan_finding(finding, {each});
      } else {
        ++report_.unplanned;
      }
      if (!finding.then || gains(finding) || blocks_drains(finding.cause))
        report_.findings.push_back(std::move(finding));
    }
  }

  void add_risks() {
    for (const FoundCause& each : causes_) {
      if (!has_effect(each.finding.cause)) report_.findings.push_back(each.finding);
    }
  }

  /// Sorts by gain, largest first, then findings that were not planned, then risks.
  std::tuple<int, std::int32_t, std::int32_t, int> order_of(const Finding& finding) const {
    const int rank = !has_effect(finding.cause) ? 2 : finding.then ? 0 : 1;
    return {rank, -gained_nodes(finding, report_.now), -saved_moves(finding, report_.now),
            static_cast<int>(finding.cause)};
  }

  const PlacementInput& question_;
  const std::vector<FoundCause> causes_;
  std::map<Cause, std::vector<const FoundCause*>> by_cause_;
  std::vector<Cause> idle_;  ///< causes that gain nothing even if all their findings are changed together
  std::size_t plans_ = 0;
  PlacementReport report_;
};

/// Usable share of the capacity without the largest node: pods have discrete sizes, so nodes are never completely full.
constexpr double kFillable = 0.8;
constexpr double kMax = 95;

constexpr const char* kRequested =
    R"(100 * max(sum by (resource) (kube_pod_container_resource_requests{resource=~"cpu|memory"})"
    R"( * on (namespace, pod) group_left () (kube_pod_status_phase{phase="Running"} == 1)))"
    R"( / sum by (resource) (kube_node_status_allocatable{resource=~"cpu|memory"})))";
constexpr const char* kNodeLoad = R"(100 * (1 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[5m]))))";

/// Returns the percentage of the cluster's capacity that remains without its largest node, for the scarcer of CPU and
/// memory.
double left_without_largest(const scheduling::SnapshotInput& cluster) {
  double left = 100;
  for (const char* resource : {"cpu", "memory"}) {
    double sum = 0;
    double largest = 0;
    for (const auto& node : cluster.nodes) {
      if (node->unschedulable) continue;
      const auto amount = static_cast<double>(api::amount_of(node->allocatable, resource).milli());
      sum += amount;
      largest = std::max(largest, amount);
    }
    if (sum > 0) left = std::min(left, (sum - largest) / sum * 100);
  }
  return left;
}

}  // namespace

PlacementReport advise_placement(const PlacementInput& question) { return Adviser(question).advise(); }

Outcome outcome_of(const SnapshotInput& cluster, const PlacementInput& question, std::int32_t* busy) {
  api::DeschedulerPolicySpec policy;
  policy.strategies.push_back({"Defragmentation", "{}"});
  const planner::PlanSpec spec(policy);
  const scheduling::ClusterSnapshot snapshot(cluster);
  planner::PlanInput input{.spec = spec, .cluster = snapshot, .leaving = {}, .now = question.now};
  input.options.spend_pdbs = false;
  input.options.taint_value = kPolicy;
  if (question.stopwatch) input.options.elapsed = question.stopwatch();
  for (const std::size_t place : blocked_pods(cluster))
    input.cooling.push_back({cluster.pods[place]->meta.ns, cluster.pods[place]->uid()});
  const planner::Plan plan = planner::plan_cycle(input);
  Outcome outcome;
  outcome.moves = static_cast<std::int32_t>(plan.moves.size());
  for (const planner::StrategyResult& each : plan.strategies) {
    if (!each.emptying) continue;
    outcome.freed = each.emptying->freed;
    outcome.bound = each.emptying->bound;
    outcome.bound_reason = each.emptying->bound_reason;
    if (busy != nullptr) *busy = each.emptying->busy;
  }
  return outcome;
}

std::vector<Alert> alerts_for(const scheduling::SnapshotInput& cluster) {
  const double left = left_without_largest(cluster);
  const double low = std::floor(left * kFillable);
  const double high = std::floor(std::min(left, kMax));
  std::vector<Alert> alerts;
  if (low > 0)
    alerts.push_back({"ClusterRequestsLow", low, "the pods would fit on one node fewer",
                      fmt::format("{} < {:.0f}", kRequested, low)});
  if (high <= 0) return alerts;
  alerts.push_back({"ClusterRequestsHigh", high, "the cluster cannot take over the pods of its largest node",
                    fmt::format("{} > {:.0f}", kRequested, high)});
  alerts.push_back({"NodeLoadHigh", high, "a node's measured cpu is higher than all nodes could be without one",
                    fmt::format("{} > {:.0f}", kNodeLoad, high)});
  return alerts;
}

}  // namespace advisor
