#pragma once

/// The workloads of a cluster as advice sees them: their containers, what these ask for, and whose a pod is. Pure.

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "advisor/conflicts.hpp"
#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"

namespace advising {

/// "shop", "Deployment", "web". Pods of nobody are workloads of kind Pod.
struct WorkloadKey {
  std::string ns;
  std::string kind;
  std::string name;
  friend auto operator<=>(const WorkloadKey&, const WorkloadKey&) = default;
};

/// Cores and bytes; absent: not set.
struct Resources {
  std::optional<double> cpu_request, cpu_limit, memory_request, memory_limit;
  friend bool operator==(const Resources&, const Resources&) = default;
};

struct ContainerSpec {
  std::string name;
  Resources resources;
  HeapFlags heap;
  bool is_sidecar = false;      ///< an init container that stays (restartPolicy Always)
  bool is_in_template = false;  ///< false: something adds it to the pods, so a patch cannot reach it
  std::uint32_t oom_kills = 0;  ///< pods whose last end of it was OOMKilled
};

struct Workload {
  WorkloadKey key;
  std::string api_version;  ///< of the object; "": only pods of it were seen
  std::vector<ContainerSpec> containers;
  int replicas = 0;  ///< pods that run now
  /// Nullptr: none of that name.
  const ContainerSpec* container(std::string_view name) const;
};

/// By which a ReplicaSet and its pods tell what revision of a Deployment they are.
inline constexpr std::string_view kTemplateHashLabel = "pod-template-hash";

/// The managing owner of an object; kind "": nobody's.
struct ControllerName {
  std::string kind;
  std::string name;
};
/// A pod, as far as it tells whose it is.
struct PodOrigin {
  std::string_view ns;
  std::string_view name;
  ControllerName controller;
  std::string_view template_hash;  ///< label pod-template-hash
};
/// The managing owner of a workload that is there; nullopt: it is not known.
using FindController = std::function<std::optional<ControllerName>(const WorkloadKey& workload)>;
/// Whose pod it is, by its owner references: of a ReplicaSet or Job that somebody manages, that one's. Where the
/// ReplicaSet is not known, the names tell.
WorkloadKey workload_of(const PodOrigin& pod, const FindController& find);

/// Whose a pod is.
struct Owner {
  const WorkloadKey* workload = nullptr;  ///< nullptr: nobody's that is known
  bool is_ambiguous = false;              ///< its name fits several
  int replicas = 0;
};

/// Finds a pod's workload: by its owner references where the pod is there, else, for pods of the past, by the way in
/// which controllers name pods. A name that fits two workloads fits none. Remembers answers: 100 bytes a pod.
class Owners {
 public:
  void add_workload(const WorkloadKey& key, int replicas);
  void add_pod(std::string_view ns, std::string_view pod, const WorkloadKey& key,
               std::optional<base::TimePoint> started);

  Owner of(std::string_view ns, std::string_view pod) const;
  /// When the pod started; nullopt: it is not there.
  std::optional<base::TimePoint> started(std::string_view ns, std::string_view pod) const;

 private:
  Owner guess(std::string_view ns, std::string_view pod) const;

  std::map<WorkloadKey, int, std::less<>> workloads_;
  std::unordered_map<std::string, base::TimePoint> started_;
  mutable std::unordered_map<std::string, Owner> known_;
};

/// What is there. `owners` points into `workloads`' keys, which do not move.
struct Inventory {
  std::map<WorkloadKey, Workload> workloads;
  std::vector<Autoscaler> autoscalers;
  Owners owners;
  std::vector<std::string> problems;
};

/// Collects Kubernetes objects: Pods, Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs,
/// HorizontalPodAutoscalers and VerticalPodAutoscalers; others are passed over. Reads leniently.
class InventoryBuilder {
 public:
  InventoryBuilder();
  ~InventoryBuilder();
  void add(const api::Json& object);
  /// Only this namespace counts; "": all.
  Inventory finish(std::string_view ns) &&;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Cores or bytes of a resource.Quantity, which may be negative; nullopt: it is none.
std::optional<double> number_of_text(std::string_view text);
/// The same; nullopt also if it is negative.
std::optional<double> amount_of_text(std::string_view text);

}  // namespace advising
