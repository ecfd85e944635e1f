#pragma once

/// What else decides about a container's resources, and so contradicts a change of them. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json/json.hpp"

namespace advising {

/// A JVM's heap by the command line or the environment of a container; the last one of each kind counts, as for the
/// JVM.
struct HeapFlags {
  std::optional<double> max_heap_bytes;   ///< -Xmx, -XX:MaxHeapSize
  std::optional<double> max_ram_percent;  ///< -XX:MaxRAMPercentage, of the memory limit
  friend bool operator==(const HeapFlags&, const HeapFlags&) = default;
};
/// Of a container as in a pod's spec: command, args and the values of env.
HeapFlags heap_flags_of(const api::Json& container);
/// Of one text; what is no number counts for nothing.
void read_heap_flags(std::string_view text, HeapFlags& flags);

/// A HorizontalPodAutoscaler or VerticalPodAutoscaler, as far as it concerns requests.
struct Autoscaler {
  std::string kind;  ///< "HorizontalPodAutoscaler", "VerticalPodAutoscaler"
  std::string ns;
  std::string name;
  std::string target_kind;
  std::string target_name;
  bool by_cpu = false;  ///< HPA: scales by the percentage of the request; VPA: writes it
  bool by_memory = false;
  std::string mode;  ///< VPA: updateMode
};
/// nullopt: it is none of these, names no target, or leaves requests alone (a VPA in mode Off).
std::optional<Autoscaler> autoscaler_of(const api::Json& object);

/// Why a change of that resource wants more than a patch.
struct Conflict {
  std::string resource;  ///< "cpu", "memory"
  std::string with;      ///< "HPA web", "VPA web", "-Xmx", "MaxRAMPercentage"
  std::string text;      ///< for people
  friend bool operator==(const Conflict&, const Conflict&) = default;
};

}  // namespace advising
