#include "planner/report/report.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "planner/report/plain_text.hpp"

namespace report {
namespace {

using scheduling::ClusterSnapshot;
using scheduling::PodIndex;

constexpr std::array kIndexes = {scheduling::kCpuIndex, scheduling::kMemoryIndex, scheduling::kPodsIndex};
constexpr std::array<std::string_view, 3> kResourceNames = {"cpu", "memory", "pods"};
constexpr std::array<std::string_view, 4> kFateNames = {"empty", "freed", "held", "stays"};

std::string key_of(std::string_view ns, std::string_view pod) {
  return pod.empty() ? std::string() : plain_text(ns) + "/" + plain_text(pod);
}

/// Builds a Report step by step. Each step depends on the previous ones.
class ReportBuilder {
 public:
  explicit ReportBuilder(const ReportInput& input)
      : input_(input), plan_(input.plan), cluster_(input.cluster), row_of_(input.cluster.pod_table_size(), kNoRow) {}

  Report build() {
    report_.policy = plain_text(input_.policy);
    report_.now = base::format_time(input_.now);
    for (const api::ReasonCount& each : plan_.refused) report_.refused.push_back({plain_text(each.reason), each.count});
    add_nodes();
    add_pods();
    add_moves();
    take_utilization();
    find_fates();
    add_bounds();
    add_histograms();
    add_busy_shares();
    add_warnings();
    return std::move(report_);
  }

 private:
  static constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);

  void add_nodes() {
    busy_.resize(cluster_.node_count());
    for (const NodeIndex node : cluster_.nodes()) {
      ReportNode& row = report_.nodes.emplace_back();
      row.name = plain_text(cluster_.node(node).meta.name);
      for (std::size_t i = 0; i < kResources.size(); ++i) {
        const auto units = [&](std::int64_t milli) { return scheduling::comparable(kIndexes[i], milli); };
        const std::int64_t used = units(cluster_.used().get(node, kIndexes[i]));
        row.amounts[i] = {units(cluster_.allocatable().get(node, kIndexes[i])), used, used};
      }
    }
  }

  void add_pods() {
    std::set<std::pair<std::string_view, std::string_view>> leaving;
    for (const planner::PodIdentity& each : input_.leaving) leaving.emplace(each.ns, each.uid.value);
    for (const NodeIndex node : cluster_.nodes()) {
      for (const PodIndex pod : cluster_.pods_on(node)) {
        if (!cluster_.is_active(pod)) continue;
        const api::ObjectMeta& meta = cluster_.pod(pod).meta;
        row_of_[pod] = report_.pods.size();
        report_.pods.push_back(row(pod, node, leaving.contains({meta.ns, meta.uid})));
        if (report_.pods.back().role == PodRole::kOrdinary) ++busy_[node].before;
      }
    }
    for (const PodIndex pod : cluster_.unscheduled_pods())
      report_.pending += cluster_.is_staying(pod) && cluster_.pod(pod).node_name.empty() ? 1 : 0;
    for (Busy& each : busy_) each.after = each.before;
  }

  ReportPod row(PodIndex pod, NodeIndex node, bool is_leaving) const {
    const api::Pod& object = cluster_.pod(pod);
    const scheduling::RequestSet& held = cluster_.held(pod).amounts;
    ReportPod row;
    row.ns = plain_text(object.meta.ns);
    row.name = plain_text(object.meta.name);
    if (const auto& owners = object.meta.owner_references; !owners.empty())
      row.owner = plain_text(owners.front().kind) + "/" + plain_text(owners.front().name);
    row.node = node;
    if (is_leaving || !cluster_.is_staying(pod)) row.role = PodRole::kLeaving;
    if (cluster_.is_daemon_set(pod) || cluster_.is_mirror(pod)) row.role = PodRole::kGoesWithNode;
    row.cpu = scheduling::amount_of(held, scheduling::kCpuIndex);
    row.memory = api::Quantity::from_milli(scheduling::amount_of(held, scheduling::kMemoryIndex)).units();
    return row;
  }

  void add_moves() {
    for (const api::PlannedMove& move : plan_.moves) {
      const auto pod = cluster_.find_pod(move.ns, move.pod);
      if (!pod || row_of_[*pod] == kNoRow) continue;
      const NodeIndex to = cluster_.find_node(move.to).value_or(kNoNode);
      const std::size_t row = row_of_[*pod];
      report_.moves.push_back(
          {row, to, move.wave, false, plain_text(move.strategy), plain_text(move.reason), move.score});
      count(report_.pods[row], report_.pods[row].node, -1);
      count(report_.pods[row], to, 1);
    }
  }

  void count(const ReportPod& pod, NodeIndex node, std::int64_t sign) {
    if (node == kNoNode) return;
    busy_[node].after += pod.role == PodRole::kOrdinary ? sign : 0;
    const std::array<std::int64_t, kResources.size()> held = {pod.cpu, pod.memory, 1};
    for (std::size_t i = 0; i < held.size(); ++i) {
      std::int64_t& after = report_.nodes[node].amounts[i].after;
      after = scheduling::saturating_add(after, sign * held[i]);
    }
  }

  /// Takes the plan's values for nodes in scope, which include pods that are already leaving or pending.
  void take_utilization() {
    for (const planner::NodeUtilization& each : plan_.utilization) {
      const auto node = cluster_.find_node(each.node);
      if (!node) continue;
      const std::array amounts = {&each.cpu, &each.memory, &each.pods};
      for (std::size_t i = 0; i < amounts.size(); ++i)
        report_.nodes[*node].amounts[i].after = scheduling::comparable(kIndexes[i], amounts[i]->after.milli());
    }
  }

  void find_fates() {
    for (const NodeIndex node : cluster_.nodes()) {
      const auto [before, after] = busy_[node];
      report_.busy_before += before > 0 ? 1 : 0;
      report_.busy_after += after > 0 ? 1 : 0;
      NodeFate& fate = report_.nodes[node].fate;
      if (after > 0) fate = NodeFate::kStays;
      if (before > 0 && after <= 0) fate = NodeFate::kFreed;
    }
    for (ReportMove& move : report_.moves) move.empties_node = fate_of(report_.pods[move.pod].node) == NodeFate::kFreed;
  }

  NodeFate fate_of(NodeIndex node) const { return report_.nodes[node].fate; }

  void add_bounds() {
    std::map<NodeIndex, ReportHold> held;
    for (const planner::StrategyResult& result : plan_.strategies) {
      if (!result.emptying) continue;
      const strategies::EmptyingReport& emptying = *result.emptying;
      report_.bounds.push_back({plain_text(result.strategy), emptying.busy, emptying.freed, emptying.bound,
                                plain_text(emptying.bound_reason), plain_text(emptying.note)});
      for (const auto& each : emptying.held) {
        const auto node = cluster_.find_node(each.node);
        if (!node || fate_of(*node) != NodeFate::kStays) continue;
        held.try_emplace(
            *node, ReportHold{*node, key_of(each.ns, each.pod), plain_text(each.reason), plain_text(each.message)});
      }
    }
    for (auto& [node, hold] : held) {
      report_.nodes[node].fate = NodeFate::kHeld;
      report_.held.push_back(std::move(hold));
    }
  }

  void add_histograms() {
    for (const ReportNode& node : report_.nodes) {
      for (std::size_t i = 0; i < kResources.size(); ++i) {
        const Amount& amount = node.amounts[i];
        if (amount.allocatable <= 0) continue;
        ++report_.histograms[i].before[bin_of(amount.before, amount.allocatable)];
        ++report_.histograms[i].after[bin_of(amount.after, amount.allocatable)];
      }
    }
  }

  static std::size_t bin_of(std::int64_t used, std::int64_t all) {
    if (used > all) return kHistogramBins - 1;
    const double share = static_cast<double>(std::max<std::int64_t>(used, 0)) / static_cast<double>(all);
    return std::min(static_cast<std::size_t>(share * 10), kHistogramBins - 2);
  }

  void add_busy_shares() {
    for (std::size_t i = 0; i < kResources.size(); ++i) {
      double offered[2] = {}, used[2] = {};
      for (const NodeIndex node : cluster_.nodes()) {
        const Amount& amount = report_.nodes[node].amounts[i];
        const bool is_busy[2] = {busy_[node].before > 0, busy_[node].after > 0};
        const std::int64_t requested[2] = {amount.before, amount.after};
        for (int when = 0; when < 2; ++when) {
          if (!is_busy[when]) continue;
          offered[when] += static_cast<double>(amount.allocatable);
          used[when] += static_cast<double>(requested[when]);
        }
      }
      const auto share = [&](int when) { return offered[when] > 0 ? used[when] / offered[when] : 0; };
      report_.busy_share[i] = {share(0), share(1)};
    }
  }

  void add_warnings() {
    for (const api::FieldErrors& list : {plan_.errors, plan_.warnings, plan_.notes}) {
      for (const api::FieldError& error : list) report_.warnings.push_back(plain_text(error.to_string()));
    }
    for (const planner::StrategyResult& result : plan_.strategies) {
      if (!result.problem.empty()) report_.warnings.push_back(plain_text(result.strategy + ": " + result.problem));
    }
    for (const std::string& warning : input_.warnings) {
      if (!warning.empty()) report_.warnings.push_back(plain_text(warning));
    }
  }

  struct Busy {
    std::int64_t before = 0;
    std::int64_t after = 0;
  };

  const ReportInput& input_;
  const planner::Plan& plan_;
  const ClusterSnapshot& cluster_;
  std::vector<std::size_t> row_of_;  ///< indexed by pod: its row in the report, or kNoRow
  std::vector<Busy> busy_;           ///< indexed by node: number of pods that do not go with the node
  Report report_;
};

}  // namespace

std::string_view to_string(Resource resource) { return kResourceNames[static_cast<std::size_t>(resource)]; }

std::string_view to_string(NodeFate fate) { return kFateNames[static_cast<std::size_t>(fate)]; }

std::int32_t Report::freed() const {
  return static_cast<std::int32_t>(std::ranges::count(nodes, NodeFate::kFreed, &ReportNode::fate));
}

std::vector<std::int32_t> Report::waves() const {
  std::set<std::int32_t> found;
  for (const ReportMove& move : moves) found.insert(move.wave);
  return {found.begin(), found.end()};
}

Report make_report(const ReportInput& input) { return ReportBuilder(input).build(); }

}  // namespace report
