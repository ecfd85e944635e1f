#pragma once

/// Effects of a plan on a cluster, as one value from which all pictures are drawn. Pure functions.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/plan/planner.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace report {

using scheduling::kNoNode;
using scheduling::NodeIndex;

/// Resources shown in pictures. cpu is in thousandths of a core, memory in bytes.
enum class Resource { kCpu, kMemory, kPods };
inline constexpr std::array kResources = {Resource::kCpu, Resource::kMemory, Resource::kPods};
/// Returns "cpu", "memory" or "pods".
std::string_view to_string(Resource resource);

/// Requests on one node or the sum over several nodes.
struct Amount {
  std::int64_t allocatable = 0;
  std::int64_t before = 0;
  std::int64_t after = 0;
  friend bool operator==(const Amount&, const Amount&) = default;
};
using Amounts = std::array<Amount, kResources.size()>;

/// Effect of the plan on a node. A node is busy if it has pods that do not go with their node.
enum class NodeFate {
  kEmpty,  ///< not busy before or after
  kFreed,  ///< busy before, not after
  kHeld,   ///< busy after; a strategy that empties nodes reported what holds it
  kStays,  ///< busy after
};
/// Returns "empty", "freed", "held" or "stays".
std::string_view to_string(NodeFate fate);

enum class PodRole {
  kOrdinary,
  kGoesWithNode,  ///< DaemonSet pod or static pod
  kLeaving,       ///< being deleted, or has an unfinished Evacuation
};

struct ReportNode {
  std::string name;
  NodeFate fate = NodeFate::kEmpty;
  Amounts amounts{};
};

struct ReportPod {
  std::string ns;
  std::string name;
  std::string owner;  ///< "ReplicaSet/web"; empty if it has no owner
  NodeIndex node = kNoNode;
  PodRole role = PodRole::kOrdinary;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
};

struct ReportMove {
  std::size_t pod = 0;        ///< index in Report::pods
  NodeIndex to = kNoNode;     ///< prediction; kNoNode if it fits nowhere
  std::int32_t wave = 0;      ///< moves of one wave run together; 0 if the strategy plans no waves
  bool empties_node = false;  ///< true if its node is freed; false if it frees capacity or evens out load
  std::string strategy;
  std::string reason;
  std::optional<double> score{};  ///< benefit per disruption, 0 … 100, of a balance strategy's move
};

/// Result of one strategy that empties nodes.
struct ReportBound {
  std::string strategy;
  std::int32_t busy = 0;
  std::int32_t freed = 0;
  std::int32_t most = 0;  ///< upper bound of nodes that any plan can free
  std::string reason;     ///< what keeps the other nodes in use; empty if nothing does
  std::string note;       ///< why the plan does less than possible; empty if it does everything
};

/// A node that stays, and what holds it.
struct ReportHold {
  NodeIndex node = kNoNode;
  std::string pod;  ///< "namespace/name"; empty if there is no single pod
  std::string reason;
  std::string message;
  friend bool operator==(const ReportHold&, const ReportHold&) = default;
};

/// Number of nodes by utilization in steps of ten percent: [0, 10) … [90, 100], above 100. Excludes nodes without
/// allocatable.
inline constexpr std::size_t kHistogramBins = 11;
struct Histogram {
  std::array<std::int32_t, kHistogramBins> before{};
  std::array<std::int32_t, kHistogramBins> after{};
};

/// Requested share of the busy nodes' allocatable. `before` covers nodes that are busy before the plan, `after` those
/// that are busy after it. 0 if the nodes have no allocatable.
struct BusyShare {
  double before = 0;
  double after = 0;
};

struct Report {
  std::string policy;
  std::string now;                ///< RFC 3339
  std::vector<ReportNode> nodes;  ///< all nodes of the cluster, by name
  std::vector<ReportPod> pods;    ///< pods that hold resources of a node, grouped by node
  std::int32_t pending = 0;       ///< number of pods waiting for a node
  std::vector<ReportMove> moves;  ///< in the order of the plan
  std::vector<ReportBound> bounds;
  std::vector<ReportHold> held;  ///< in order of nodes; only nodes that strategies reported
  std::array<Histogram, kResources.size()> histograms{};
  std::int32_t busy_before = 0;
  std::int32_t busy_after = 0;
  std::array<BusyShare, kResources.size()> busy_share{};
  std::vector<api::ReasonCount> refused;
  std::vector<std::string> warnings;

  std::int32_t freed() const;
  /// Distinct values of ReportMove::wave in ascending order.
  std::vector<std::int32_t> waves() const;
};

struct ReportInput {
  std::string_view policy;
  base::TimePoint now;
  const planner::Plan& plan;
  const scheduling::ClusterSnapshot& cluster;
  std::span<const planner::PodIdentity> leaving{};  ///< same as PlanInput::leaving
  std::vector<std::string> warnings{};              ///< in addition to the plan's own warnings
};
/// Builds the report. All its texts are sanitized by plain_text().
Report make_report(const ReportInput& input);

}  // namespace report
