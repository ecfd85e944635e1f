#pragma once

/// What a plan would do to a cluster, as one value that every picture of it is drawn from. Pure.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/plan/planner.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace reporting {

using scheduling::kNoNode;
using scheduling::NodeIndex;

/// Resources that pictures are about. cpu is in thousandths of a core, memory in bytes.
enum class Resource { kCpu, kMemory, kPods };
inline constexpr std::array kResources = {Resource::kCpu, Resource::kMemory, Resource::kPods};
/// "cpu", "memory", "pods".
std::string_view to_string(Resource resource);

/// Requests on one node, or on several together.
struct Amount {
  std::int64_t allocatable = 0;
  std::int64_t before = 0;
  std::int64_t after = 0;
  friend bool operator==(const Amount&, const Amount&) = default;
};
/// One for each of kResources.
using Amounts = std::array<Amount, kResources.size()>;

/// What becomes of a node. Busy: with pods that do not go with their node.
enum class NodeFate {
  kEmpty,  ///< not busy before, nor after
  kFreed,  ///< busy before, not after
  kHeld,   ///< busy after; a strategy that empties nodes says what holds it
  kStays,  ///< busy after
};
/// "empty", "freed", "held", "stays".
std::string_view to_string(NodeFate fate);

enum class PodRole {
  kOrdinary,
  kGoesWithNode,  ///< of a DaemonSet, or static
  kLeaving,       ///< on its way already: it is being deleted, or has an unfinished Evacuation
};

struct ReportNode {
  std::string name;
  NodeFate fate = NodeFate::kEmpty;
  Amounts amounts{};
  friend bool operator==(const ReportNode&, const ReportNode&) = default;
};

struct ReportPod {
  std::string ns;
  std::string name;
  std::string owner;  ///< "ReplicaSet/web"; "": none
  NodeIndex node = kNoNode;
  PodRole role = PodRole::kOrdinary;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  friend bool operator==(const ReportPod&, const ReportPod&) = default;
};

struct ReportMove {
  std::size_t pod = 0;        ///< of Report::pods
  NodeIndex to = kNoNode;     ///< a prediction; kNoNode: nowhere fits
  std::int32_t wave = 0;      ///< moves of one wave run together; 0: the strategy plans no waves
  bool empties_node = false;  ///< its node is freed; false: it makes room, or evens out
  std::string strategy;
  std::string reason;
  std::optional<double> score{};  ///< benefit for disruption, 0 … 100, of a balance strategy's move
  friend bool operator==(const ReportMove&, const ReportMove&) = default;
};

/// How far a strategy that empties nodes came; one row for each such strategy.
struct ReportBound {
  std::string strategy;
  std::int32_t busy = 0;
  std::int32_t freed = 0;
  std::int32_t most = 0;  ///< no plan at all could free more
  std::string reason;     ///< what needs the others; "": nothing
  std::string note;       ///< why less was done than could be; "": that was all
  friend bool operator==(const ReportBound&, const ReportBound&) = default;
};

/// A node that stays, and what holds it.
struct ReportHold {
  NodeIndex node = kNoNode;
  std::string pod;  ///< "namespace/name"; "": no single pod does
  std::string reason;
  std::string message;
  friend bool operator==(const ReportHold&, const ReportHold&) = default;
};

/// Nodes by utilisation in steps of ten percent: [0, 10) … [90, 100], above 100. Nodes that offer nothing do not count.
inline constexpr std::size_t kHistogramBins = 11;
struct Histogram {
  std::array<std::int32_t, kHistogramBins> before{};
  std::array<std::int32_t, kHistogramBins> after{};
  friend bool operator==(const Histogram&, const Histogram&) = default;
};

/// Share of what the busy nodes offer that is requested, those that are busy before and those that are busy after; 0
/// when they offer nothing.
struct BusyShare {
  double before = 0;
  double after = 0;
  friend bool operator==(const BusyShare&, const BusyShare&) = default;
};

struct Report {
  std::string policy;
  std::string now;                ///< RFC 3339
  std::vector<ReportNode> nodes;  ///< all of the cluster, by name
  std::vector<ReportPod> pods;    ///< that hold something of a node, node by node
  std::int32_t pending = 0;       ///< pods that wait for a node
  std::vector<ReportMove> moves;  ///< in the order of the plan
  std::vector<ReportBound> bounds;
  std::vector<ReportHold> held;  ///< by node; those that the strategies named
  std::array<Histogram, kResources.size()> histograms{};
  std::int32_t busy_before = 0;
  std::int32_t busy_after = 0;
  std::array<BusyShare, kResources.size()> busy_share{};
  std::vector<api::ReasonCount> refused;
  std::vector<std::string> warnings;

  std::int32_t freed() const;
  /// Distinct values of ReportMove::wave, ascending.
  std::vector<std::int32_t> waves() const;
  friend bool operator==(const Report&, const Report&) = default;
};

struct ReportInput {
  std::string_view policy;
  base::TimePoint now;
  const planning::Plan& plan;
  const scheduling::ClusterSnapshot& cluster;
  std::span<const planning::PodIdentity> leaving{};  ///< as the plan was told
  std::vector<std::string> warnings{};               ///< beside the plan's own
};
/// Every text in it is plain_text().
Report make_report(const ReportInput& input);

}  // namespace reporting
