#pragma once

/// Workload that the evictor `surge` extends by one pod, and the mark on it. Pure; documents are untrusted input.
/// Internal to surge*.cpp.

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "api/core/kinds.hpp"
#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "kube/resource.hpp"

namespace evictors::surge {

inline constexpr std::string_view kMark = "surge.evacuator.dev/in-progress";            ///< on the workload
inline constexpr std::string_view kRestartedFor = "surge.evacuator.dev/restarted-for";  ///< on the pod template

enum class Mode { kExtraReplica, kRollingRestart };
std::string_view to_string(Mode mode);
std::optional<Mode> parse_mode(std::string_view text);

/// Annotation kMark: owner of the surge, and the data to revert it.
struct Mark {
  std::string token;
  std::string evacuation;  ///< name of the Evacuation, in the workload's namespace
  Mode mode = Mode::kExtraReplica;
  std::int32_t from = 0;         ///< spec.replicas before the surge
  std::int32_t to = 0;           ///< spec.replicas during the surge
  std::string previous;          ///< kRollingRestart: kRestartedFor before the surge, empty if absent
  std::set<std::string> before;  ///< pods that existed before: first 8 characters of their UIDs
  friend bool operator==(const Mark&, const Mark&) = default;
};
std::string encode(const Mark& mark);
std::optional<Mark> decode_mark(std::string_view text);
bool is_new(const Mark& mark, const api::Pod& pod);

/// Deployment, or ReplicaSet that no Deployment owns.
struct Workload {
  kube::ResourceType type;
  api::ObjectMeta meta;
  std::int32_t replicas = 1;
  bool paused = false;
  bool recreate = false;
  std::int64_t max_surge = 0;  ///< resolved against `replicas`
  std::int64_t max_unavailable = 0;
  std::int32_t min_ready_seconds = 0;
  base::seconds progress_deadline{600};
  std::int64_t observed_generation = 0;
  std::int32_t status_replicas = 0;
  std::int32_t updated_replicas = 0;
  std::int32_t available_replicas = 0;
  std::string selector;       ///< in the form of a labelSelector
  api::Json pod_template;     ///< without kRestartedFor
  std::string restarted_for;  ///< annotation kRestartedFor of the template
  std::optional<Mark> mark;
  bool marked = false;  ///< the annotation exists, even if invalid

  bool is_deployment() const { return type == kube::kDeployments; }
  std::string title() const { return fmt::format("{} {}", type.kind, meta.name); }  ///< "Deployment web"
  /// Returns true if the workload's controller is done: no rollout and no scaling is running.
  bool settled() const {
    if (observed_generation < meta.generation || status_replicas != replicas) return false;
    return !is_deployment() || updated_replicas == replicas;
  }
};
/// Returns nullopt if the text is not an object of that kind.
std::optional<Workload> read_workload(const std::string& text, const kube::ResourceType& type);

/// Returns a pod template without the fields that a Deployment adds to its ReplicaSets and without kRestartedFor.
api::Json comparable(api::Json pod_template);

}  // namespace evictors::surge
