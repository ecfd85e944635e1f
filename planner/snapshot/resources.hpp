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

/// cpu, memory and pods have fixed indexes. Other resources are numbered in the order in which they are first seen.
inline constexpr ResourceIndex kCpuIndex = 0;
inline constexpr ResourceIndex kMemoryIndex = 1;
inline constexpr ResourceIndex kPodsIndex = 2;
inline constexpr ResourceIndex kDenseResources = 3;

/// Returns a + b, clamped to the range of int64, because malicious quantities must not overflow.
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

/// Unit in which a resource is compared: thousandths for cpu, whole units rounded up for everything else.
constexpr std::int64_t comparable(ResourceIndex resource, std::int64_t milli) {
  return resource == kCpuIndex ? milli : api::Quantity::from_milli(milli).units();
}

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
/// Map by text that is searched without allocation.
template <typename Value>
using ByString = std::unordered_map<std::string, Value, StringHash, std::equal_to<>>;
template <typename Number>
std::optional<Number> number_in(const ByString<Number>& numbers, std::string_view name) {
  const auto at = numbers.find(name);
  return at == numbers.end() ? std::nullopt : std::optional(at->second);
}

/// Maps resource names to small integers.
class ResourceNames {
 public:
  ResourceNames();
  ResourceIndex intern(std::string_view name);
  std::optional<ResourceIndex> find(std::string_view name) const { return number_in(index_, name); }
  std::string_view name(ResourceIndex resource) const { return names_[resource]; }
  std::size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
  ByString<ResourceIndex> index_;
};

/// Amounts in thousandths, sorted by resource. Explicit zeros ("requests: {x: 0}") are kept.
using RequestSet = std::vector<std::pair<ResourceIndex, std::int64_t>>;

std::int64_t amount_of(const RequestSet& requests, ResourceIndex resource);
/// Amount, in thousandths, that one pod with these requests takes from a node. For kPodsIndex this is one pod.
inline std::int64_t taken_of(const RequestSet& requests, ResourceIndex resource) {
  return resource == kPodsIndex ? 1000 : amount_of(requests, resource);
}
void add_amount(RequestSet& requests, ResourceIndex resource, std::int64_t milli);

/// Cpu and memory of a pod, in thousandths, as counted by the scores of NodeResourcesFit. Each container without a
/// request counts as 100m cpu and 200Mi memory, so that such pods do not all gather on one node. A pod with pod-level
/// requests gets these defaults only for a resource that has no request at all.
struct ScoredRequests {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  /// REQUIRES: `resource` is cpu or memory.
  std::int64_t of(ResourceIndex resource) const { return resource == kCpuIndex ? cpu : memory; }
  friend bool operator==(const ScoredRequests&, const ScoredRequests&) = default;
};

struct PodRequests {
  RequestSet amounts;
  ScoredRequests scored;
  friend bool operator==(const PodRequests&, const PodRequests&) = default;
};

/// Whether requests are computed for a new pod or a running one. Containers of a running pod hold their allocated
/// resources until a smaller request is actuated, and do not get more while a resize is infeasible.
enum class RequestsOf { kNewPod, kRunningPod };

/// Writes the resources that the scheduler reserves for a pod to `out`, overwriting it
/// (upstream-semantics.md#pod-requests): the sum of containers and sidecars, or the largest init step if that is more.
/// Pod-level requests replace cpu, memory and hugepages. Overhead is added on top.
void effective_requests(const api::Pod& pod, ResourceNames& names, RequestSet& out,
                        RequestsOf of = RequestsOf::kNewPod);
/// Writes effective_requests() and the scored requests to `out`, overwriting it.
void pod_requests(const api::Pod& pod, ResourceNames& names, PodRequests& out, RequestsOf of = RequestsOf::kNewPod);
/// Returns true if a container or the pod itself holds an amount that differs from its request.
bool is_being_resized(const api::Pod& pod);

/// Amounts per node, in thousandths. cpu, memory and pods are stored in flat arrays because every scan reads them;
/// other resources are sparse.
class NodeResources {
 public:
  explicit NodeResources(std::size_t nodes = 0);

  std::int64_t get(NodeIndex node, ResourceIndex resource) const;
  /// Returns nullopt if the node does not list the resource. Always returns a value for cpu, memory and pods.
  std::optional<std::int64_t> find(NodeIndex node, ResourceIndex resource) const;
  void add(NodeIndex node, ResourceIndex resource, std::int64_t milli);
  void add(NodeIndex node, const RequestSet& requests);
  void subtract(NodeIndex node, const RequestSet& requests);
  void clear(NodeIndex node);

  /// Amounts indexed by node. REQUIRES: resource < kDenseResources.
  const std::vector<std::int64_t>& column(ResourceIndex resource) const { return dense_[resource]; }

 private:
  std::array<std::vector<std::int64_t>, kDenseResources> dense_;
  std::vector<RequestSet> sparse_;
};

/// Sums of ScoredRequests per node.
class ScoredSums {
 public:
  explicit ScoredSums(std::size_t nodes = 0) : cpu_(nodes), memory_(nodes) {}
  /// REQUIRES: `resource` is cpu or memory.
  const std::vector<std::int64_t>& of(ResourceIndex resource) const { return resource == kCpuIndex ? cpu_ : memory_; }
  void add(NodeIndex node, const ScoredRequests& requests);
  void subtract(NodeIndex node, const ScoredRequests& requests);
  void clear(NodeIndex node) { cpu_[node] = memory_[node] = 0; }

 private:
  std::vector<std::int64_t> cpu_;
  std::vector<std::int64_t> memory_;
};

}  // namespace scheduling
