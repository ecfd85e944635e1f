#include "planner/snapshot/input_problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <limits>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "api/core/terms/pod_bounds.hpp"

namespace scheduling {
namespace {

/// Owner of a quantity, which decides the safe correction.
enum class Side { kPod, kNode };

constexpr std::int64_t kEndOfInt64 = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kShownText = 80;

bool is_strange(api::Quantity quantity) { return quantity.milli() < 0 || quantity.milli() == kEndOfInt64; }

/// Corrects an unsound quantity so that it cannot become free capacity. Rounds requests of pods up and capacity of
/// nodes down.
api::Quantity sound(api::Quantity quantity, Side side) {
  if (!is_strange(quantity)) return quantity;
  const bool is_boundless_request = side == Side::kPod && quantity.milli() > 0;
  return api::Quantity::from_milli(is_boundless_request ? kBoundlessMilli : 0);
}

std::string describe(api::Quantity quantity, Side side, Quantities quantities) {
  std::string what = quantity.milli() < 0 ? fmt::format("{} is negative", quantity.to_string(true))
                                          : std::string("exceeds the maximum value");
  if (quantities == Quantities::kAsWritten) return what + ", used as it is (compatibility: Upstream)";
  const api::Quantity taken = sound(quantity, side);
  return what + (taken.milli() == 0 ? ", treated as 0" : ", treated as larger than any node");
}

const api::ResourceList& resources_in(const api::SharedResources& shared) { return shared.get(); }
api::ResourceList& resources_in(api::SharedResources& shared) { return shared.edit(); }

/// Calls `each(path, list)` for every resource list of the pod, where `path` is a function that returns its field path.
template <typename Pod, typename F>
requires std::same_as<std::remove_const_t<Pod>, api::Pod>
void for_each_list(Pod& pod, F&& each) {
  const auto of_containers = [&](auto& containers, std::string_view field) {
    for (std::size_t i = 0; i < containers.size(); ++i) {
      each([=] { return fmt::format("spec.{}[{}].resources.requests", field, i); }, containers[i].requests);
      each([=] { return fmt::format("spec.{}[{}].resources.limits", field, i); }, containers[i].limits);
    }
  };
  of_containers(pod.containers, "containers");
  of_containers(pod.init_containers, "initContainers");
  each([] { return std::string("spec.overhead"); }, resources_in(pod.overhead));
  each([] { return std::string("spec.resources.requests"); }, resources_in(pod.pod_requests));
  each([] { return std::string("spec.resources.limits"); }, resources_in(pod.pod_limits));
}

template <typename Node, typename F>
requires std::same_as<std::remove_const_t<Node>, api::Node>
void for_each_list(Node& node, F&& each) {
  each([] { return std::string("status.allocatable"); }, node.allocatable);
  each([] { return std::string("status.capacity"); }, node.capacity);
}

bool has_strange(const api::ResourceList& list) {
  return std::ranges::any_of(list, [](const auto& entry) { return is_strange(entry.second); });
}

void report_strange(const std::string& object, const std::string& path, const api::ResourceList& list, Side side,
                    Quantities quantities, InputProblems& problems) {
  for (const auto& [name, quantity] : list) {
    if (is_strange(quantity))
      problems.add({object, fmt::format("{}.{}", path, name), describe(quantity, side, quantities)});
  }
}

void report_unread(const std::string& object, const api::UnreadFields& unread, InputProblems& problems) {
  if (!unread) return;
  for (const api::UnreadField& field : *unread) {
    problems.add(
        {object, field.path, fmt::format("\"{}\" is not a quantity, ignored", field.text.substr(0, kShownText))});
  }
}

/// Returns the object with its quantities corrected. Copies it only if `changes` or if a quantity is strange.
template <typename Object>
std::shared_ptr<const Object> corrected(std::shared_ptr<const Object> object, const std::string& name, Side side,
                                        bool changes, Quantities quantities, InputProblems& problems) {
  report_unread(name, object->unread, problems);
  for_each_list(*object, [&](const auto& path, const api::ResourceList& list) {
    if (!has_strange(list)) return;
    changes = true;
    report_strange(name, path(), list, side, quantities, problems);
  });
  if (!changes || quantities == Quantities::kAsWritten) return object;
  Object fixed = *object;
  for_each_list(fixed, [&](const auto&, api::ResourceList& list) {
    for (auto& [resource, quantity] : list) quantity = sound(quantity, side);
  });
  return std::make_shared<const Object>(std::move(fixed));
}

void report_node(const api::Node& node, InputProblems& problems) {
  const std::string object = "Node " + node.meta.name;
  if (node.allocatable.empty()) {
    problems.add({object, "status.allocatable", "is missing: no pod fits on the node"});
  }
  if (node.taints.size() > kManyTaints) {
    problems.add({object, "spec.taints", fmt::format("has {} entries, all are applied", node.taints.size())});
  }
}

}  // namespace

Quantities quantities_of(api::Compatibility compatibility) {
  return compatibility == api::Compatibility::kUpstream ? Quantities::kAsWritten : Quantities::kSound;
}

void InputProblems::add(InputProblem problem) {
  ++total_;
  if (rows_.size() < kMax) rows_.push_back(std::move(problem));
}

bool has_unsound_quantities(const api::Pod& pod) {
  bool found = pod.unread != nullptr;
  for_each_list(pod, [&](const auto&, const api::ResourceList& list) { found = found || has_strange(list); });
  return found;
}

std::shared_ptr<const api::Pod> with_sound_quantities(std::shared_ptr<const api::Pod> pod, Quantities quantities,
                                                      InputProblems& problems) {
  if (!has_unsound_quantities(*pod)) return pod;
  return corrected(pod, "Pod " + pod->meta.key().to_string(), Side::kPod, true, quantities, problems);
}

void report_oversized(const api::Pod& pod, InputProblems& problems) {
  if (pod.oversized.empty()) return;
  const bool is_of_all = pod.oversized == api::kTermsOfNamespace;
  const std::string what = is_of_all
                               ? "the pods of the namespace have more terms than the namespace's share of the maximum"
                               : fmt::format("has more than {} entries, or more than {} parts in them",
                                             api::kMaxPodTerms, api::kMaxPodTermParts);
  problems.add({"Pod " + pod.meta.key().to_string(), std::string(is_of_all ? "spec.affinity" : pod.oversized),
                what + ": the pod is not moved, and its affinity, tolerations and spread constraints are ignored"});
}

std::shared_ptr<const api::Node> with_sound_quantities(std::shared_ptr<const api::Node> node, Quantities quantities,
                                                       InputProblems& problems) {
  report_node(*node, problems);
  return corrected(node, "Node " + node->meta.name, Side::kNode, false, quantities, problems);
}

void find_owner_cycles(const std::vector<std::shared_ptr<const api::Workload>>& workloads, InputProblems& problems) {
  std::unordered_map<std::string_view, const api::Workload*> by_uid;
  for (const auto& workload : workloads) by_uid.emplace(workload->meta.uid, workload.get());
  const auto owner_of = [&](const api::Workload& workload) -> const api::Workload* {
    const api::OwnerReference* owner = workload.meta.controller();
    const auto at = owner == nullptr ? by_uid.end() : by_uid.find(owner->uid);
    return at == by_uid.end() ? nullptr : at->second;
  };
  for (const auto& workload : workloads) {
    // Bounds the walk to keep it linear in the number of workloads. Real chains have two steps.
    constexpr int kMaxChain = 16;
    const api::Workload* at = owner_of(*workload);
    for (int steps = 0; at != nullptr && at != workload.get() && steps < kMaxChain; ++steps) at = owner_of(*at);
    if (at != workload.get()) continue;
    problems.add(
        {fmt::format("{} {}", workload->kind.empty() ? "Job" : workload->kind, workload->meta.key().to_string()),
         "metadata.ownerReferences", "lead back to the object itself, only the first step is followed"});
  }
}

}  // namespace scheduling
