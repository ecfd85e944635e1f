#include "advisor/nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "advisor/patches.hpp"
#include "advisor/requests.hpp"
#include "api/json/json_access.hpp"
#include "api/json/yaml.hpp"

namespace advisor {
namespace {

constexpr double kMebibyte = 1024.0 * 1024;
constexpr double kMinEviction = 100 * kMebibyte;  ///< default of the kubelet
constexpr double kMaxEvictionShare = 0.1;
constexpr double kRoundBytes = 64 * kMebibyte;
constexpr double kRoundCores = 0.01;
constexpr double kHundred = 100;

double amount(const api::Json& node, const char* list, const char* resource) {
  return amount_of_text(api::text_at(node, {"status", list, resource})).value_or(0);
}

double up(double value, double step) { return std::ceil(value / step - 1e-9) * step; }

/// Returns the difference, at least 0, or kUnknown if one operand is unknown.
double minus(double whole, double part) { return std::isnan(part) ? kUnknown : std::max(whole - part, 0.0); }

/// Returns true for unknown or plausible values. Rates are extrapolated, so they may slightly exceed the maximum.
/// `most` is 0 if the maximum is unknown.
bool is_possible(double value, double most) {
  constexpr double kTolerance = 1.1;
  return std::isnan(value) || (value >= 0 && std::isfinite(value) && (most <= 0 || value <= most * kTolerance));
}

bool is_possible(const NodeDay& day, const NodeSpec& node) {
  const auto all = [&](std::initializer_list<NodeMetric> metrics, double most) {
    return std::ranges::all_of(metrics, [&](NodeMetric metric) { return is_possible(day.at(metric), most); });
  };
  return all({NodeMetric::kRootCpu, NodeMetric::kPodsCpu, NodeMetric::kAgentsCpu}, node.cpu_capacity) &&
         all({NodeMetric::kRootMemory, NodeMetric::kPodsMemory, NodeMetric::kAgentsMemory}, node.memory_capacity) &&
         all({NodeMetric::kPressureCpu, NodeMetric::kPressureMemory, NodeMetric::kPressureIo}, 1) &&
         all({NodeMetric::kSamples, NodeMetric::kMemoryGrowth}, 0);
}

/// Returns the days without implausible figures.
std::map<Day, NodeDay> possible_days(const std::map<Day, NodeDay>& days, const NodeSpec& node) {
  std::map<Day, NodeDay> possible;
  std::ranges::copy_if(days, std::inserter(possible, possible.end()),
                       [&](const auto& each) { return is_possible(each.second, node); });
  return possible;
}

/// Returns the days of a node that have enough samples.
std::vector<const NodeDay*> sound_days(const std::map<Day, NodeDay>& days, double samples_a_day) {
  std::vector<const NodeDay*> sound;
  for (const auto& [day, values] : days) {
    if (values.at(NodeMetric::kSamples) >= kNodeDayShare * samples_a_day) sound.push_back(&values);
  }
  return sound;
}

/// Mean and maximum of one figure per day, kUnknown without days.
struct Figure {
  double sum = 0, most = kUnknown;
  int count = 0;
  void add(double value) {
    if (std::isnan(value)) return;
    sum += value;
    ++count;
    if (!(most >= value)) most = value;
  }
  double mean() const { return count > 0 ? sum / count : kUnknown; }
};

/// Daily usage of a node outside its pods.
struct NodeNeed {
  Figure other_cpu, other_memory;  ///< everything outside the cgroup of pods
  Figure agents_cpu, agents_memory, growth;
};

NodeNeed need_of(const std::vector<const NodeDay*>& days) {
  NodeNeed need;
  for (const NodeDay* day : days) {
    // The two peaks need not coincide: the difference of peaks is an estimate (docs/advise/nodes.md).
    need.other_cpu.add(minus(day->at(NodeMetric::kRootCpu), day->at(NodeMetric::kPodsCpu)));
    need.other_memory.add(minus(day->at(NodeMetric::kRootMemory), day->at(NodeMetric::kPodsMemory)));
    need.agents_cpu.add(day->at(NodeMetric::kAgentsCpu));
    need.agents_memory.add(day->at(NodeMetric::kAgentsMemory));
    need.growth.add(day->at(NodeMetric::kMemoryGrowth));
  }
  return need;
}

void at_least(double& target, double value) {
  if (!std::isnan(value)) target = std::max(target, value);
}

struct Group {
  Reservation result;
  double other_cpu = 0, other_memory = 0, agents_cpu = 0, agents_memory = 0, growth = 0;
  double capacity = 0;  ///< memory of the smallest node
  int short_nodes = 0;
  bool has_other = false, has_agents = false;

  void add(const NodeSpec& node, const std::map<Day, NodeDay>& days, double samples_a_day) {
    const auto sound = sound_days(days, samples_a_day);
    for (const auto& [day, values] : days)
      result.samples += static_cast<std::uint64_t>(std::max(0.0, std::floor(values.at(NodeMetric::kSamples))));
    const int count = static_cast<int>(sound.size());
    result.days = result.nodes == 0 ? count : std::min(result.days, count);
    capacity = result.nodes == 0 ? node.memory_capacity : std::min(capacity, node.memory_capacity);
    ++result.nodes;
    at_least(result.reserved_cpu, node.cpu_capacity - node.cpu_allocatable);
    at_least(result.reserved_memory, node.memory_capacity - node.memory_allocatable);
    if (count < kMinDays) {
      ++short_nodes;
      return;
    }
    take(need_of(sound));
  }

  void take(const NodeNeed& need) {
    has_other = has_other || need.other_memory.count > 0;
    has_agents = has_agents || need.agents_memory.count > 0;
    at_least(other_cpu, need.other_cpu.mean());
    at_least(other_memory, need.other_memory.most);
    at_least(agents_cpu, need.agents_cpu.mean());
    at_least(agents_memory, need.agents_memory.most);
    at_least(growth, need.growth.most);
  }

  Reservation finish() && {
    if (short_nodes == result.nodes) {
      result.no_advice_reason =
          fmt::format("{} days of history, {} are needed ({} samples)", result.days, kMinDays, result.samples);
    } else if (!has_other) {
      result.no_advice_reason =
          fmt::format("no samples of the root cgroup and of the pods' cgroup ({} samples)", result.samples);
    }
    if (!result.no_advice_reason.empty()) return std::move(result);
    result.is_split = has_agents;
    const double margin = 1 + kMemoryMargin;
    result.kube_cpu = up(agents_cpu, kRoundCores);
    result.kube_memory = up(agents_memory * margin, kRoundBytes);
    result.system_cpu = up(std::max(other_cpu - agents_cpu, 0.0), kRoundCores);
    result.system_memory = up(std::max(other_memory - agents_memory, 0.0) * margin, kRoundBytes);
    const double most = std::max(kMinEviction, capacity * kMaxEvictionShare);
    result.eviction_memory = up(std::clamp(growth, kMinEviction, most), kMebibyte);
    return std::move(result);
  }
};

class Findings {
 public:
  explicit Findings(const std::string& node) : node_(node) {}
  void above(const char* reason, double value, double limit, std::string text) {
    if (limit > 0 && value > limit) found_.push_back({node_, reason, value, limit, std::move(text)});
  }
  std::vector<NodeFinding> take() && { return std::move(found_); }

 private:
  const std::string& node_;
  std::vector<NodeFinding> found_;
};

std::vector<NodeFinding> findings_of(const NodeSpec& node, const std::vector<const NodeDay*>& days) {
  const auto most = [&](NodeMetric metric) {
    Figure figure;
    for (const NodeDay* day : days) figure.add(day->at(metric));
    return figure.most;
  };
  const double pods_cpu = most(NodeMetric::kPodsCpu);
  const double pods_memory = most(NodeMetric::kPodsMemory);
  const double root_cpu = most(NodeMetric::kRootCpu);
  const double root_memory = most(NodeMetric::kRootMemory);
  Findings findings(node.name);
  findings.above("PodsAboveAllocatableCPU", pods_cpu, node.cpu_allocatable,
                 fmt::format("its pods used {:.2f} cores, allocatable are {:.2f}", pods_cpu, node.cpu_allocatable));
  findings.above("PodsAboveAllocatableMemory", pods_memory, node.memory_allocatable,
                 fmt::format("its pods used {}, allocatable is {}", memory_quantity(pods_memory),
                             memory_quantity(node.memory_allocatable)));
  findings.above("NodeAboveAllocatableCPU", root_cpu, node.cpu_allocatable,
                 fmt::format("the node used {:.2f} cores, allocatable are {:.2f}", root_cpu, node.cpu_allocatable));
  findings.above("NodeAboveAllocatableMemory", root_memory, node.memory_allocatable,
                 fmt::format("the node used {}, allocatable is {}", memory_quantity(root_memory),
                             memory_quantity(node.memory_allocatable)));
  const auto pressure = [&](const char* reason, NodeMetric metric, double limit, const char* what) {
    const double value = most(metric);
    findings.above(reason, value, limit, fmt::format("tasks waited for {} {:.0f}% of a day", what, value * kHundred));
  };
  pressure("CPUPressure", NodeMetric::kPressureCpu, kHotPressure, "CPU");
  pressure("MemoryPressure", NodeMetric::kPressureMemory, kHotMemoryPressure, "memory");
  pressure("IOPressure", NodeMetric::kPressureIo, kHotPressure, "I/O");
  return std::move(findings).take();
}

}  // namespace

NodeSpec node_spec_of(const api::Json& node) {
  NodeSpec spec;
  spec.name = api::text_at(node, {"metadata", "name"});
  spec.cpu_capacity = amount(node, "capacity", "cpu");
  spec.cpu_allocatable = amount(node, "allocatable", "cpu");
  spec.memory_capacity = amount(node, "capacity", "memory");
  spec.memory_allocatable = amount(node, "allocatable", "memory");
  spec.group = api::text_at(node, {"metadata", "labels", "node.kubernetes.io/instance-type"});
  if (spec.group.empty())
    spec.group = fmt::format("{:g} cores, {:.0f}Gi", spec.cpu_capacity, spec.memory_capacity / kMebibyte / 1024);
  return spec;
}

NodeAdvice advise_nodes(const std::vector<NodeSpec>& nodes, const NodeDays& days, double samples_a_day) {
  NodeAdvice advice;
  std::map<std::string, Group> groups;
  std::map<std::string, const NodeSpec*> by_name;
  for (const NodeSpec& node : nodes) by_name.emplace(node.name, &node);
  for (const auto& [name, node] : by_name) {
    const auto at = days.find(name);
    const auto past = at == days.end() ? std::map<Day, NodeDay>() : possible_days(at->second, *node);
    if (at != days.end()) advice.odd_days += static_cast<int>(at->second.size() - past.size());
    groups[node->group].add(*node, past, samples_a_day);
    for (NodeFinding& finding : findings_of(*node, sound_days(past, samples_a_day)))
      advice.findings.push_back(std::move(finding));
  }
  for (auto& [name, group] : groups) {
    group.result.group = name;
    advice.reservations.push_back(std::move(group).finish());
  }
  return advice;
}

std::string kubelet_configuration(const Reservation& reservation) {
  api::Json object = {{"apiVersion", "kubelet.config.k8s.io/v1beta1"}, {"kind", "KubeletConfiguration"}};
  const auto amounts = [](double cpu, double memory) {
    return api::Json{{"cpu", cpu_quantity(cpu)}, {"memory", memory_quantity(memory)}};
  };
  if (reservation.is_split) object["kubeReserved"] = amounts(reservation.kube_cpu, reservation.kube_memory);
  object["systemReserved"] = amounts(reservation.system_cpu, reservation.system_memory);
  // Setting one threshold disables all defaults, so set all of them.
  object["evictionHard"] = {{"memory.available", memory_quantity(reservation.eviction_memory)},
                            {"nodefs.available", "10%"},
                            {"nodefs.inodesFree", "5%"},
                            {"imagefs.available", "15%"}};
  return api::to_yaml(object);
}

}  // namespace advisor
