#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/core/kinds.hpp"

namespace scheduling {

using NodeIndex = std::uint32_t;
using ResourceIndex = std::uint32_t;

/// Resources that every cluster has keep fixed places; the others follow in the order they are met.
inline constexpr ResourceIndex kCpuIndex = 0;
inline constexpr ResourceIndex kMemoryIndex = 1;
inline constexpr ResourceIndex kPodsIndex = 2;
inline constexpr ResourceIndex kDenseResources = 3;

/// a + b, held at the ends of int64: hostile quantities must not overflow.
constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}
constexpr std::int64_t saturating_subtract(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b < 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

/// The number in which a resource is compared: cpu in thousandths, everything else in whole units, rounded up.
constexpr std::int64_t comparable(ResourceIndex resource, std::int64_t milli) {
  return resource == kCpuIndex ? milli : api::Quantity::from_milli(milli).units();
}

/// Resource names as small numbers.
class ResourceNames {
 public:
  ResourceNames();
  ResourceIndex intern(std::string_view name);
  std::optional<ResourceIndex> find(std::string_view name) const;
  std::string_view name(ResourceIndex resource) const { return names_[resource]; }
  std::size_t size() const { return names_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  std::vector<std::string> names_;
  std::unordered_map<std::string, ResourceIndex, Hash, std::equal_to<>> index_;
};

/// Amounts in thousandths, sorted by resource. A zero that was written down is kept: "requests: {x: 0}".
using RequestSet = std::vector<std::pair<ResourceIndex, std::int64_t>>;

std::int64_t amount_of(const RequestSet& requests, ResourceIndex resource);
/// What one pod with these requests takes of a node, in thousandths: of kPodsIndex itself.
inline std::int64_t taken_of(const RequestSet& requests, ResourceIndex resource) {
  return resource == kPodsIndex ? 1000 : amount_of(requests, resource);
}
void add_amount(RequestSet& requests, ResourceIndex resource, std::int64_t milli);

/// What NodeResourcesFit scores of a pod, in thousandths: its cpu and memory, where each container that does not say
/// how much it wants counts as 100m and 200Mi, so that such pods do not all meet. A pod with requests of its own gets
/// that only for what is missing in the sum.
struct ScoredRequests {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  /// REQUIRES: cpu or memory.
  std::int64_t of(ResourceIndex resource) const { return resource == kCpuIndex ? cpu : memory; }
  friend bool operator==(const ScoredRequests&, const ScoredRequests&) = default;
};

/// All that is counted for a pod.
struct PodRequests {
  RequestSet amounts;
  ScoredRequests scored;
  friend bool operator==(const PodRequests&, const PodRequests&) = default;
};

/// For a new pod, or for one that runs: its containers hold what they were given until a smaller request is carried
/// out, and get no more where that is infeasible.
enum class RequestsOf { kNewPod, kRunningPod };

/// What the scheduler reserves for a pod (upstream-semantics.md#pod-requests): containers and sidecars, or the largest
/// step of initialisation if that is more; pod-level requests replace cpu, memory and hugepages; overhead on top. `out`
/// is overwritten.
void effective_requests(const api::Pod& pod, ResourceNames& names, RequestSet& out,
                        RequestsOf of = RequestsOf::kNewPod);
/// The same, and what is scored.
void pod_requests(const api::Pod& pod, ResourceNames& names, PodRequests& out, RequestsOf of = RequestsOf::kNewPod);
/// Some container or the pod itself holds another amount than it asks for.
bool is_being_resized(const api::Pod& pod);

/// Amounts per node in thousandths. cpu, memory and pods in flat arrays, because every scan reads them; the rest
/// sparse.
class NodeResources {
 public:
  explicit NodeResources(std::size_t nodes = 0);

  std::int64_t get(NodeIndex node, ResourceIndex resource) const;
  /// nullopt: the node does not list it. cpu, memory and pods always answer.
  std::optional<std::int64_t> find(NodeIndex node, ResourceIndex resource) const;
  void add(NodeIndex node, ResourceIndex resource, std::int64_t milli);
  void add(NodeIndex node, const RequestSet& requests);
  void subtract(NodeIndex node, const RequestSet& requests);
  void clear(NodeIndex node);

  /// One number per node. REQUIRES: resource < kDenseResources.
  const std::vector<std::int64_t>& column(ResourceIndex resource) const { return dense_[resource]; }

 private:
  std::array<std::vector<std::int64_t>, kDenseResources> dense_;
  std::vector<RequestSet> sparse_;
};

/// Sums of what is scored, by node.
class ScoredSums {
 public:
  explicit ScoredSums(std::size_t nodes = 0) : cpu_(nodes), memory_(nodes) {}
  /// REQUIRES: cpu or memory.
  const std::vector<std::int64_t>& of(ResourceIndex resource) const { return resource == kCpuIndex ? cpu_ : memory_; }
  void add(NodeIndex node, const ScoredRequests& requests);
  void subtract(NodeIndex node, const ScoredRequests& requests);
  void clear(NodeIndex node) { cpu_[node] = memory_[node] = 0; }

 private:
  std::vector<std::int64_t> cpu_;
  std::vector<std::int64_t> memory_;
};

}  // namespace scheduling
