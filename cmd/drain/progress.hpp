#pragma once

/// How far a set of Evacuations has come, in the words that the plugin shows. Pure.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "cmd/session/io.hpp"

namespace cmd::plugin {

/// Where one Evacuation stands, for people.
enum class PodProgress { kGone, kMoving, kWaiting, kSuspended, kFailed, kCancelled };
PodProgress standing_of(const api::Evacuation& evacuation);
std::string_view to_string(PodProgress standing);
Tone tone_of(PodProgress standing);

/// What several Evacuations wait for, with how many.
struct SharedBlocker {
  std::string what;  ///< "PDB api (needs 3, has 3)"
  std::size_t pods = 0;
  friend bool operator==(const SharedBlocker&, const SharedBlocker&) = default;
};

struct Progress {
  std::size_t total = 0;
  std::size_t gone = 0;
  std::size_t moving = 0;
  std::size_t waiting = 0;    ///< for a limit, a budget or the next attempt
  std::size_t suspended = 0;  ///< for a person's approval
  std::size_t failed = 0;
  std::size_t cancelled = 0;
  std::vector<SharedBlocker> blockers;  ///< most pods first, then by name

  bool settled() const { return gone + failed + cancelled == total; }
  bool all_gone() const { return gone == total; }
  friend bool operator==(const Progress&, const Progress&) = default;
};

/// Of several Evacuations of one pod only the newest counts.
std::vector<api::Evacuation> newest_per_pod(std::vector<api::Evacuation> evacuations);
/// REQUIRES: one per pod.
Progress progress_of(const std::vector<api::Evacuation>& evacuations);

/// "12 of 30 pods gone, 2 moving, 15 waiting, 1 failed".
std::string summary(const Progress& progress);

/// Those that people look at first come first: moving, failed, waiting, gone; inside by namespace and name.
void sort_for_people(std::vector<api::Evacuation>& evacuations);

/// Why it stands where it stands: the first blocker, the reason of a bad end, the message of the phase.
std::string detail_of(const api::Evacuation& evacuation);

/// Evacuations as rows of POD, NODE, EVICTOR, PHASE, PROGRESS, TARGET, AGE, DETAIL; with the namespace in front when
/// `with_namespace`.
std::string evacuation_table(const std::vector<api::Evacuation>& evacuations, bool with_namespace, base::TimePoint now,
                             bool colour);

}  // namespace cmd::plugin
