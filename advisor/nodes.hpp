#pragma once

/// From nodes' past to kubelet reservations, and which nodes are in trouble. Pure.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "advisor/history.hpp"
#include "api/json/json.hpp"

namespace advising {

/// What is measured of a node each day: the day's peak, if nothing else is said. Cores, bytes, shares of the time.
enum class NodeMetric {
  kSamples,
  kRootCpu,    ///< the cgroup /
  kPodsCpu,    ///< the cgroup of all pods
  kAgentsCpu,  ///< kubelet and container runtime
  kRootMemory,
  kPodsMemory,
  kAgentsMemory,
  kMemoryGrowth,  ///< most that memory in use grew within a minute
  kPressureCpu,   ///< mean of the day
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

/// A node as the cluster tells it: cores and bytes.
struct NodeSpec {
  std::string name;
  std::string group;  ///< nodes that share a kubelet configuration: instance type, else its capacity
  double cpu_capacity = 0, cpu_allocatable = 0;
  double memory_capacity = 0, memory_allocatable = 0;
};
NodeSpec node_spec_of(const api::Json& node);

/// By node.
using NodeDays = std::map<std::string, std::map<Day, NodeDay>>;

/// Less than all the kubelet's samples of half a day: no day.
inline constexpr double kNodeDayShare = 0.5;
/// Of the time that something waits; above: a hot spot.
inline constexpr double kHotPressure = 0.10;
inline constexpr double kHotMemoryPressure = 0.05;

/// What a group of nodes should keep for itself.
struct Reservation {
  std::string group;
  int nodes = 0;
  int days = 0;  ///< fewest of its nodes that count
  std::uint64_t samples = 0;
  std::string why_not;    ///< no advice; "": there is
  bool is_split = false;  ///< kubelet and runtime were measured on their own; else all is in system-reserved
  double kube_cpu = 0, kube_memory = 0;
  double system_cpu = 0, system_memory = 0;
  double eviction_memory = 0;
  double reserved_cpu = 0, reserved_memory = 0;  ///< now: capacity − allocatable, the most of its nodes
};

/// What is wrong with a node.
struct NodeFinding {
  std::string node;
  std::string reason;  ///< "PodsAboveAllocatableCPU", "NodeAboveAllocatableMemory", "MemoryPressure"…
  double value = 0;    ///< highest day
  double limit = 0;
  std::string text;
};

struct NodeAdvice {
  std::vector<Reservation> reservations;  ///< by group
  std::vector<NodeFinding> findings;      ///< by node, then reason
  int odd_days = 0;                       ///< of single nodes, with a figure that cannot be true: they are not used
};

/// CPU: the mean of the daily peaks of what is not pods', of the node of the group that needs most. Memory: the highest
/// peak + 15 %. eviction-hard: what memory grew by in a minute at most, between 100 MiB and a tenth of the node's.
/// Fewer than three days: no advice. `samples_a_day`: how many a day has when none is missing.
NodeAdvice advise_nodes(const std::vector<NodeSpec>& nodes, const NodeDays& days, double samples_a_day);

/// A KubeletConfiguration with nothing but these settings.
std::string kubelet_configuration(const Reservation& reservation);

}  // namespace advising
