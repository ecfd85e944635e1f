#pragma once

/// Workloads of a cluster: their containers with resources, and the owners of pods. Pure.

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "advisor/conflicts.hpp"
#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"

namespace advisor {

/// "shop", "Deployment", "web". A pod without an owner is a workload of kind Pod.
struct WorkloadKey {
  std::string ns;
  std::string kind;
  std::string name;
  friend auto operator<=>(const WorkloadKey&, const WorkloadKey&) = default;
};

/// Cores and bytes, nullopt if not set.
struct Resources {
  std::optional<double> cpu_request, cpu_limit, memory_request, memory_limit;
  friend bool operator==(const Resources&, const Resources&) = default;
};

struct ContainerSpec {
  std::string name;
  Resources resources;
  HeapFlags heap;
  bool is_sidecar = false;  ///< init container with restartPolicy Always
  /// False if a webhook adds it to the pods, so that a patch of the template cannot change it.
  bool is_in_template = false;
  std::uint32_t oom_kills = 0;  ///< number of pods in which its last termination was OOMKilled
};

struct Workload {
  WorkloadKey key;
  std::string api_version;  ///< of the workload object, "" if only its pods were seen
  std::vector<ContainerSpec> containers;
  int replicas = 0;  ///< number of running pods
  /// Returns nullptr if no container has this name.
  const ContainerSpec* container(std::string_view name) const;
};

/// Label of ReplicaSets and pods that identifies the revision of a Deployment.
inline constexpr std::string_view kTemplateHashLabel = "pod-template-hash";

/// Controlling owner of an object. `kind` is "" if it has none.
struct ControllerName {
  std::string kind;
  std::string name;
};
/// Data of a pod that identifies its owner.
struct PodOrigin {
  std::string_view ns;
  std::string_view name;
  ControllerName controller;
  std::string_view template_hash;  ///< label pod-template-hash
};
/// Returns the controlling owner of a workload that exists, nullopt if the workload is unknown.
using FindController = std::function<std::optional<ControllerName>(const WorkloadKey& workload)>;
/// Returns the workload of a pod by owner references. Follows ReplicaSets and Jobs to their owners. For an unknown
/// ReplicaSet, derives the Deployment from the names.
WorkloadKey workload_of(const PodOrigin& pod, const FindController& find);

struct Owner {
  const WorkloadKey* workload = nullptr;  ///< nullptr if no known workload matches
  bool is_ambiguous = false;              ///< the pod's name matches several workloads
  int replicas = 0;
};

/// Finds the workload of a pod: by owner references if the pod exists, otherwise by the naming conventions of
/// controllers. A name that matches two workloads has no owner. Caches results, about 100 bytes per pod.
class Owners {
 public:
  void add_workload(const WorkloadKey& key, int replicas) { workloads_[key] = replicas; }
  void add_pod(std::string_view ns, std::string_view pod, const WorkloadKey& key,
               std::optional<base::TimePoint> started);

  Owner of(std::string_view ns, std::string_view pod) const;
  /// Returns the start time of the pod, nullopt if the pod does not exist.
  std::optional<base::TimePoint> started(std::string_view ns, std::string_view pod) const;

 private:
  Owner guess(std::string_view ns, std::string_view pod) const;

  std::map<WorkloadKey, int, std::less<>> workloads_;
  std::unordered_map<std::string, base::TimePoint> started_;
  mutable std::unordered_map<std::string, Owner> known_;
};

/// Result of InventoryBuilder. `owners` points to the keys of `workloads`, whose addresses are stable.
struct Inventory {
  std::map<WorkloadKey, Workload> workloads;
  std::vector<Autoscaler> autoscalers;
  Owners owners;
};

/// Collects Pods, Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs, HorizontalPodAutoscalers and
/// VerticalPodAutoscalers. Ignores other kinds. Parses leniently.
class InventoryBuilder {
 public:
  InventoryBuilder();
  ~InventoryBuilder();
  void add(const api::Json& object);
  /// Returns the inventory of one namespace, or of all if `ns` is "".
  Inventory finish(std::string_view ns) &&;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Parses a resource.Quantity as cores or bytes. May be negative. Returns nullopt if malformed.
std::optional<double> number_of_text(std::string_view text);
/// Parses a non-negative resource.Quantity as cores or bytes. Returns nullopt if malformed or negative.
std::optional<double> amount_of_text(std::string_view text);

}  // namespace advisor
