#pragma once

/// Autoscalers and JVM heap flags that depend on a container's resources and so conflict with a change of them. Pure.

#include <optional>
#include <string>
#include <string_view>

#include "api/json/json.hpp"

namespace advisor {

/// JVM heap size set by the command line or environment of a container. For repeated flags the last one wins, as in the
/// JVM.
struct HeapFlags {
  std::optional<double> max_heap_bytes;   ///< -Xmx, -XX:MaxHeapSize
  std::optional<double> max_ram_percent;  ///< -XX:MaxRAMPercentage, percentage of the memory limit
  friend bool operator==(const HeapFlags&, const HeapFlags&) = default;
};
/// Reads the flags of a container in a pod spec: command, args and values of env.
HeapFlags heap_flags_of(const api::Json& container);
/// Updates `flags` from one text. Ignores malformed values.
void read_heap_flags(std::string_view text, HeapFlags& flags);

/// Part of a HorizontalPodAutoscaler or VerticalPodAutoscaler that depends on or writes requests.
struct Autoscaler {
  std::string kind;  ///< "HorizontalPodAutoscaler" or "VerticalPodAutoscaler"
  std::string ns;
  std::string name;
  std::string target_kind;
  std::string target_name;
  bool by_cpu = false;  ///< HPA: scales by utilization of the request; VPA: writes the request
  bool by_memory = false;
  std::string mode;  ///< updateMode of a VPA
};
/// Returns nullopt if `object` is not an HPA or VPA, has no target, or leaves requests alone (a VPA in mode Off).
std::optional<Autoscaler> autoscaler_of(const api::Json& object);

/// Why a change of a resource needs more than a patch.
struct Conflict {
  std::string resource;  ///< "cpu" or "memory"
  std::string with;      ///< "HPA web", "VPA web", "-Xmx", "MaxRAMPercentage"
  std::string text;      ///< human-readable
};

}  // namespace advisor
