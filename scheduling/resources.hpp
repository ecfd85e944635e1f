#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
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
  std::vector<std::string> names_;
};

/// Amounts in thousandths, sorted by resource. A zero that was written down is kept: "requests: {x: 0}".
using RequestSet = std::vector<std::pair<ResourceIndex, std::int64_t>>;

std::int64_t amount_of(const RequestSet& requests, ResourceIndex resource);
void add_amount(RequestSet& requests, ResourceIndex resource, std::int64_t milli);

/// What the scheduler reserves for a pod (upstream-semantics.md#pod-requests): containers and sidecars, or the largest
/// step of initialisation if that is more; pod-level requests replace cpu, memory and hugepages; overhead on top. `out`
/// is overwritten.
void effective_requests(const api::Pod& pod, ResourceNames& names, RequestSet& out);

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

}  // namespace scheduling
