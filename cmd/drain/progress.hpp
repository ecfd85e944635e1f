#pragma once

/// Progress of a set of Evacuations, in the terms that the plugin prints. Pure.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "cmd/session/io.hpp"

namespace cmd::plugin {

/// Human-readable state of one Evacuation.
enum class PodProgress { kGone, kMoving, kWaiting, kSuspended, kFailed, kCancelled };
PodProgress progress_state_of(const api::Evacuation& evacuation);
std::string_view to_string(PodProgress standing);
Tone tone_of(PodProgress standing);

struct SharedBlocker {
  std::string what;  ///< "PDB api (needs 3, has 3)"
  std::size_t pods = 0;
  friend bool operator==(const SharedBlocker&, const SharedBlocker&) = default;
};

struct Progress {
  std::size_t total = 0;
  std::size_t gone = 0;
  std::size_t moving = 0;
  std::size_t waiting = 0;    ///< waiting for a limit, a budget or the next attempt
  std::size_t suspended = 0;  ///< waiting for manual approval
  std::size_t failed = 0;
  std::size_t cancelled = 0;
  std::vector<SharedBlocker> blockers;  ///< largest number of pods first, then by name

  bool settled() const { return gone + failed + cancelled == total; }
  bool all_gone() const { return gone == total; }
  friend bool operator==(const Progress&, const Progress&) = default;
};

std::vector<api::Evacuation> newest_per_pod(std::vector<api::Evacuation> evacuations);
/// REQUIRES: at most one Evacuation per pod.
Progress progress_of(const std::vector<api::Evacuation>& evacuations);

/// Returns a text such as "12 of 30 pods gone, 2 moving, 15 waiting, 1 failed".
std::string summary(const Progress& progress);

/// Sorts for display: moving, failed, waiting, gone; then by namespace and name.
void sort_for_display(std::vector<api::Evacuation>& evacuations);

/// Returns the reason for the current state: the first blocker, the reason of the failure, or the message of the phase.
std::string detail_of(const api::Evacuation& evacuation);

/// Renders Evacuations as rows of POD, NODE, EVICTOR, PHASE, PROGRESS, TARGET, AGE, DETAIL, with NAMESPACE first if
/// `with_namespace` is set.
std::string evacuation_table(const std::vector<api::Evacuation>& evacuations, bool with_namespace, base::TimePoint now,
                             bool colour);

}  // namespace cmd::plugin
