#include "advisor/nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
  std::map<Day, NodeDay> possible = days;
  std::erase_if(possible, [&](const auto& each) { return !is_possible(each.second, node); });
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

Tally tally_of(const std::vector<const NodeDay*>& days, NodeMetric metric) {
  Tally tally;
  for (const NodeDay* day : days) tally.add(day->at(metric));
  return tally;
}

/// Usage outside the cgroup of pods. The two peaks of a day need not coincide: their difference is an estimate
/// (docs/advise/nodes.md).
Tally outside_pods(const std::vector<const NodeDay*>& days, NodeMetric root, NodeMetric pods) {
  Tally tally;
  for (const NodeDay* day : days) tally.add(std::max(day->at(root) - day->at(pods), 0.0));
  return tally;
}

double known(const Tally& tally) { return std::max(0.0, tally.peak); }

struct Group {
  Reservation result;
  Tally other_cpu, other_memory, agents_cpu, agents_memory, growth;  ///< one figure per node with enough days
  double capacity = 0;                                               ///< memory of the smallest node
  bool has_days = false;                                             ///< some node has enough days

  void add(const NodeSpec& node, const std::map<Day, NodeDay>& days, double samples_a_day) {
    const auto sound = sound_days(days, samples_a_day);
    for (const auto& [day, values] : days)
      result.samples += static_cast<std::uint64_t>(std::max(0.0, std::floor(values.at(NodeMetric::kSamples))));
    const int count = static_cast<int>(sound.size());
    result.days = result.nodes == 0 ? count : std::min(result.days, count);
    capacity = result.nodes == 0 ? node.memory_capacity : std::min(capacity, node.memory_capacity);
    ++result.nodes;
    result.reserved_cpu = std::max(result.reserved_cpu, node.cpu_capacity - node.cpu_allocatable);
    result.reserved_memory = std::max(result.reserved_memory, node.memory_capacity - node.memory_allocatable);
    if (count < kMinDays) return;
    has_days = true;
    other_cpu.add(outside_pods(sound, NodeMetric::kRootCpu, NodeMetric::kPodsCpu).mean());
    other_memory.add(outside_pods(sound, NodeMetric::kRootMemory, NodeMetric::kPodsMemory).peak);
    agents_cpu.add(tally_of(sound, NodeMetric::kAgentsCpu).mean());
    agents_memory.add(tally_of(sound, NodeMetric::kAgentsMemory).peak);
    growth.add(tally_of(sound, NodeMetric::kMemoryGrowth).peak);
  }

  Reservation finish() && {
    if (!has_days) {
      result.no_advice_reason =
          fmt::format("{} days of history, {} are needed ({} samples)", result.days, kMinDays, result.samples);
    } else if (other_memory.count == 0) {
      result.no_advice_reason =
          fmt::format("no samples of the root cgroup and of the pods' cgroup ({} samples)", result.samples);
    }
    if (!result.no_advice_reason.empty()) return std::move(result);
    result.is_split = agents_memory.count > 0;
    const double margin = 1 + kMemoryMargin;
    result.kube_cpu = up(known(agents_cpu), kRoundCores);
    result.kube_memory = up(known(agents_memory) * margin, kRoundBytes);
    result.system_cpu = up(std::max(known(other_cpu) - known(agents_cpu), 0.0), kRoundCores);
    result.system_memory = up(std::max(known(other_memory) - known(agents_memory), 0.0) * margin, kRoundBytes);
    const double most = std::max(kMinEviction, capacity * kMaxEvictionShare);
    result.eviction_memory = up(std::clamp(known(growth), kMinEviction, most), kMebibyte);
    return std::move(result);
  }
};

std::vector<NodeFinding> findings_of(const NodeSpec& node, const std::vector<const NodeDay*>& days) {
  std::vector<NodeFinding> found;
  const auto check = [&](const std::string& reason, double value, double limit, std::string text) {
    if (limit > 0 && value > limit) found.push_back({node.name, reason, value, limit, std::move(text)});
  };
  const auto check_allocatable = [&](const std::string& reason, const char* who, NodeMetric cpu, NodeMetric memory) {
    const double cores = tally_of(days, cpu).peak;
    const double bytes = tally_of(days, memory).peak;
    check(reason + "CPU", cores, node.cpu_allocatable,
          fmt::format("{} used {:.2f} cores, allocatable are {:.2f}", who, cores, node.cpu_allocatable));
    check(reason + "Memory", bytes, node.memory_allocatable,
          fmt::format("{} used {}, allocatable is {}", who, memory_quantity(bytes),
                      memory_quantity(node.memory_allocatable)));
  };
  const auto check_pressure = [&](const char* reason, NodeMetric metric, double limit, const char* what) {
    const double value = tally_of(days, metric).peak;
    check(reason, value, limit, fmt::format("tasks waited for {} {:.0f}% of a day", what, value * kHundred));
  };
  check_allocatable("PodsAboveAllocatable", "its pods", NodeMetric::kPodsCpu, NodeMetric::kPodsMemory);
  check_allocatable("NodeAboveAllocatable", "the node", NodeMetric::kRootCpu, NodeMetric::kRootMemory);
  check_pressure("CPUPressure", NodeMetric::kPressureCpu, kHotPressure, "CPU");
  check_pressure("MemoryPressure", NodeMetric::kPressureMemory, kHotMemoryPressure, "memory");
  check_pressure("IOPressure", NodeMetric::kPressureIo, kHotPressure, "I/O");
  return found;
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
