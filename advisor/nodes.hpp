#pragma once

/// Recommends kubelet reservations from the usage history of nodes, and reports overloaded nodes. Pure.

#include <map>
#include <string>
#include <vector>

#include "advisor/history.hpp"
#include "api/json/json.hpp"

namespace advisor {

/// Daily figures of a node: peak of the day unless noted. Units: cores, bytes, share of time.
enum class NodeMetric {
  kSamples,
  kRootCpu,    ///< cgroup /
  kPodsCpu,    ///< cgroup of all pods
  kAgentsCpu,  ///< kubelet and container runtime
  kRootMemory,
  kPodsMemory,
  kAgentsMemory,
  kMemoryGrowth,  ///< maximum growth of used memory within a minute
  kPressureCpu,   ///< mean of the day, for all kPressure metrics
  kPressureMemory,
  kPressureIo,
};
inline constexpr std::size_t kNodeMetrics = 11;

struct NodeDay {
  double values[kNodeMetrics] = {kUnknown, kUnknown, kUnknown, kUnknown, kUnknown, kUnknown,
                                 kUnknown, kUnknown, kUnknown, kUnknown, kUnknown};
  double& at(NodeMetric metric) { return values[static_cast<std::size_t>(metric)]; }
  double at(NodeMetric metric) const { return values[static_cast<std::size_t>(metric)]; }
};

/// Capacity and allocatable resources of a node, in cores and bytes.
struct NodeSpec {
  std::string name;
  std::string group;  ///< nodes with the same kubelet configuration: instance type, or capacity if the label is missing
  double cpu_capacity = 0, cpu_allocatable = 0;
  double memory_capacity = 0, memory_allocatable = 0;
};
NodeSpec node_spec_of(const api::Json& node);

using NodeDays = std::map<std::string, std::map<Day, NodeDay>>;

/// Minimum share of the kubelet's samples of a day; days with fewer samples are ignored.
inline constexpr double kNodeDayShare = 0.5;
/// Share of time in which some task stalls, above which a node is a hot spot. CPU and I/O.
inline constexpr double kHotPressure = 0.10;
inline constexpr double kHotMemoryPressure = 0.05;

/// Recommended reservation of a group of nodes.
struct Reservation {
  std::string group;
  int nodes = 0;
  int days = 0;  ///< smallest number of usable days of any node
  std::uint64_t samples = 0;
  std::string no_advice_reason;  ///< why there is no advice, empty if there is
  /// True if kubelet and runtime were measured separately; otherwise system-reserved includes them.
  bool is_split = false;
  double kube_cpu = 0, kube_memory = 0;
  double system_cpu = 0, system_memory = 0;
  double eviction_memory = 0;
  double reserved_cpu = 0, reserved_memory = 0;  ///< current reservation: capacity − allocatable, maximum of the group
};

struct NodeFinding {
  std::string node;
  std::string reason;  ///< "PodsAboveAllocatableCPU", "NodeAboveAllocatableMemory", "MemoryPressure"…
  double value = 0;    ///< highest daily value
  double limit = 0;
  std::string text;
};

struct NodeAdvice {
  std::vector<Reservation> reservations;  ///< by group
  std::vector<NodeFinding> findings;      ///< sorted by node, then reason
  int odd_days = 0;                       ///< days of single nodes that were discarded because of an implausible figure
};

/// Computes reservations and findings. CPU: mean of the daily peaks of non-pod usage, of the node with the highest mean
/// in the group. Memory: highest peak + 15 %. eviction-hard: maximum memory growth within a minute, between 100 MiB and
/// a tenth of the node's memory. Groups with fewer than three days get no advice. `samples_a_day` is the number of
/// samples of a complete day.
NodeAdvice advise_nodes(const std::vector<NodeSpec>& nodes, const NodeDays& days, double samples_a_day);

/// Returns a KubeletConfiguration with only these settings.
std::string kubelet_configuration(const Reservation& reservation);

}  // namespace advisor
