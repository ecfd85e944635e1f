#include "cmd/drain/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <tuple>

#include "api/vocabulary/blockers.hpp"
#include "cmd/evacuation_view.hpp"
#include "cmd/table.hpp"

namespace cmd::plugin {
namespace {

bool is_suspended(const api::Evacuation& evacuation) {
  return evacuation.spec.suspend && api::is_between_attempts(evacuation.status.phase);
}

/// Returns a key that identifies the pod, even before the operator has set the UID.
std::string pod_identity(const api::Evacuation& evacuation) {
  const api::PodReference& ref = evacuation.spec.pod_ref;
  return evacuation.meta.ns + "/" + (ref.uid.empty() ? ref.name : ref.uid.value);
}

/// What the plugin shows of a state.
struct StateFacts {
  PodProgress state;
  std::string_view name;
  Tone tone;
  int position;  ///< in the order of display
  std::size_t Progress::*count;
};
constexpr std::array kStates = {
    StateFacts{PodProgress::kMoving, "moving", Tone::kStrong, 0, &Progress::moving},
    StateFacts{PodProgress::kFailed, "failed", Tone::kBad, 1, &Progress::failed},
    StateFacts{PodProgress::kCancelled, "cancelled", Tone::kDim, 2, &Progress::cancelled},
    StateFacts{PodProgress::kSuspended, "suspended", Tone::kWaiting, 3, &Progress::suspended},
    StateFacts{PodProgress::kWaiting, "waiting", Tone::kWaiting, 4, &Progress::waiting},
    StateFacts{PodProgress::kGone, "gone", Tone::kGood, 5, &Progress::gone},
};

const StateFacts& facts_of(PodProgress state) { return *std::ranges::find(kStates, state, &StateFacts::state); }

std::string blocker_words(const api::Evacuation& evacuation) {
  const auto& held = evacuation.status.blocked_by;
  if (!held.empty() && held.front().kind == api::BlockerKind::kLimit && !api::is_terminal(evacuation.status.phase))
    return fmt::format("queued ({} limit)", held.front().name);
  return blocked_by(evacuation);
}

void append_count(std::string& text, std::size_t count, std::string_view what) {
  if (count > 0) text += fmt::format(", {} {}", count, what);
}

}  // namespace

PodProgress progress_state_of(const api::Evacuation& evacuation) {
  using Phase = api::EvacuationPhase;
  switch (evacuation.status.phase) {
    case Phase::kSucceeded: return PodProgress::kGone;
    case Phase::kFailed: return PodProgress::kFailed;
    case Phase::kCancelled: return PodProgress::kCancelled;
    case Phase::kPending:
    case Phase::kBackoff: return is_suspended(evacuation) ? PodProgress::kSuspended : PodProgress::kWaiting;
    case Phase::kPreparing:
    case Phase::kRequesting:
    case Phase::kInProgress: return evacuation.status.blocked_by.empty() ? PodProgress::kMoving : PodProgress::kWaiting;
    case Phase::kEvicting:
    case Phase::kVerifying:
    case Phase::kAborting: return PodProgress::kMoving;
  }
  std::abort();
}

std::string_view to_string(PodProgress standing) { return facts_of(standing).name; }

Tone tone_of(PodProgress standing) { return facts_of(standing).tone; }

std::vector<api::Evacuation> newest_per_pod(std::vector<api::Evacuation> evacuations) {
  // An unfinished Evacuation takes precedence over finished ones, regardless of timestamps.
  const auto rank = [](const api::Evacuation& each) {
    return std::tuple(!api::is_terminal(each.status.phase), each.meta.creation_timestamp, each.meta.name.size(),
                      each.meta.name);
  };
  std::map<std::string, api::Evacuation> newest;
  for (api::Evacuation& each : evacuations) {
    auto [at, fresh] = newest.try_emplace(pod_identity(each), each);
    if (!fresh && rank(at->second) < rank(each)) at->second = std::move(each);
  }
  std::vector<api::Evacuation> kept;
  for (auto& [pod, each] : newest) kept.push_back(std::move(each));
  return kept;
}

Progress progress_of(const std::vector<api::Evacuation>& evacuations) {
  Progress progress;
  std::map<std::string, std::size_t> blockers;
  for (const api::Evacuation& each : evacuations) {
    ++progress.total;
    ++(progress.*facts_of(progress_state_of(each)).count);
    const std::string what = blocker_words(each);
    if (!what.empty()) ++blockers[what];
  }
  for (const auto& [what, pods] : blockers) progress.blockers.push_back({what, pods});
  std::ranges::stable_sort(progress.blockers, std::greater<>(), &SharedBlocker::pods);
  return progress;
}

std::string summary(const Progress& progress) {
  std::string text = fmt::format("{} of {} pods gone", progress.gone, progress.total);
  append_count(text, progress.moving, "moving");
  append_count(text, progress.waiting, "waiting");
  append_count(text, progress.suspended, "waiting for approval");
  append_count(text, progress.failed, "failed");
  append_count(text, progress.cancelled, "cancelled");
  return text;
}

void sort_for_display(std::vector<api::Evacuation>& evacuations) {
  const auto order = [](const api::Evacuation& each) {
    const PodProgress standing = progress_state_of(each);
    const int queue = standing == PodProgress::kWaiting ? -each.spec.priority : 0;
    return std::tuple(facts_of(standing).position, queue, each.meta.key());
  };
  std::ranges::sort(evacuations, [&](const auto& a, const auto& b) { return order(a) < order(b); });
}

std::string detail_of(const api::Evacuation& evacuation) {
  if (progress_state_of(evacuation) == PodProgress::kSuspended) return "waits for approval";
  if (auto blocker = blocker_words(evacuation); !blocker.empty()) return blocker;
  const PodProgress standing = progress_state_of(evacuation);
  if (standing == PodProgress::kFailed || standing == PodProgress::kCancelled) return evacuation.status.message;
  if (evacuation.spec.cancel.requested && standing != PodProgress::kGone) return "cancel requested";
  if (evacuation.status.observed_generation == 0 && evacuation.status.history.empty() &&
      evacuation.status.phase == api::EvacuationPhase::kPending) {
    return "not yet seen by the operator";
  }
  return {};
}

std::string evacuation_table(const std::vector<api::Evacuation>& evacuations, bool with_namespace, base::TimePoint now,
                             bool colour) {
  std::vector<std::string> headers = {"POD", "NODE", "EVICTOR", "PHASE", "PROGRESS", "TARGET", "AGE", "DETAIL"};
  if (with_namespace) headers.insert(headers.begin(), "NAMESPACE");
  Table table(headers);
  for (const api::Evacuation& each : evacuations) {
    std::vector<std::string> cells = evacuation_cells(each, now);  // columns from NAMESPACE to AGE
    const std::string detail = one_line(detail_of(each));
    cells[4] = paint(cells[4], tone_of(progress_state_of(each)), colour);
    std::vector<std::string> row(cells.begin() + (with_namespace ? 0 : 1), cells.begin() + 7);
    row.push_back(cells[8]);
    row.push_back(detail);
    table.add_row(std::move(row));
  }
  return table.render();
}

}  // namespace cmd::plugin
