#include "planner/snapshot/autoscaler_marks.hpp"

#include <algorithm>

namespace scheduling {

NodeRemoval removal_of(const api::Node& node) {
  if (node.meta.is_terminating()) return NodeRemoval::kUnderWay;
  NodeRemoval removal = NodeRemoval::kNone;
  for (const api::Taint& taint : node.taints) {
    if (taint.key == kToBeDeletedTaint || taint.key == kDisruptedTaint || taint.key == kOldDisruptionTaint)
      return NodeRemoval::kUnderWay;
    if (taint.key == kDeletionCandidateTaint) removal = NodeRemoval::kCandidate;
  }
  return removal;
}

std::optional<std::string_view> keeping_annotation(const api::Node& node) {
  for (const std::string_view key : {kScaleDownDisabledAnnotation, kDoNotDisruptAnnotation}) {
    if (node.meta.annotations.value(key) == "true") return key;
  }
  return std::nullopt;
}

bool is_marked_unsafe(const api::Pod& pod) { return pod.meta.annotations.value(kSafeToEvictAnnotation) == "false"; }

bool is_marked_to_complete(const api::Pod& pod) {
  return !pod.is_terminal() && pod.meta.annotations.value(kSafeToEvictAnnotation) == "on-completion";
}

bool is_marked_safe_volume(const api::Pod& pod, std::string_view volume) {
  std::string_view listed = pod.meta.annotations.value(kSafeVolumesAnnotation);
  while (!listed.empty()) {
    const std::string_view entry = listed.substr(0, listed.find(','));
    if (!volume.empty() && entry.substr(std::min(entry.find_first_not_of(' '), entry.size())) == volume) return true;
    listed.remove_prefix(std::min(entry.size() + 1, listed.size()));
  }
  return false;
}

bool is_marked_undisruptable(const api::Pod& pod, base::TimePoint now) {
  const std::string& value = pod.meta.annotations.value(kDoNotDisruptAnnotation);
  if (value.empty()) return false;
  if (value == "true") return true;
  const auto duration = base::parse_duration(value);
  if (!duration || *duration <= base::Duration::zero()) return false;
  return !pod.start_time || now - *pod.start_time < *duration;
}

}  // namespace scheduling
