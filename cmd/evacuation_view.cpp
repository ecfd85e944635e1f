#include "cmd/evacuation_view.hpp"
#include "api/vocabulary/blockers.hpp"

#include <fmt/format.h>

#include "cmd/table.hpp"

namespace cmd {
namespace {

std::string progress_of(const api::EvacuationStatus& status) {
  if (status.phase == api::EvacuationPhase::kSucceeded) return "100%";
  return status.progress ? fmt::format("{}%", *status.progress) : "";
}

std::string phase_of(const api::EvacuationStatus& status) {
  const bool bad = status.phase == api::EvacuationPhase::kFailed || status.phase == api::EvacuationPhase::kCancelled;
  const std::string phase(to_string(status.phase));
  return bad && !status.reason.empty() ? phase + "/" + status.reason : phase;
}

std::string target_of(const api::EvacuationStatus& status) {
  return status.outcome && status.outcome->replacement ? status.outcome->replacement->node.value : "";
}

}  // namespace

std::string blocked_by(const api::Evacuation& evacuation) {
  if (evacuation.status.blocked_by.empty() || api::is_terminal(evacuation.status.phase)) return {};
  const api::Blocker& first = evacuation.status.blocked_by.front();
  const std::string kind = first.kind == api::BlockerKind::kPodDisruptionBudget ? "PDB" : first.kind;
  std::string text = first.name.empty() ? kind : kind + " " + first.name;
  if (first.desired_healthy && first.current_healthy) {
    text += fmt::format(" (needs {}, has {})", *first.desired_healthy, *first.current_healthy);
  }
  return text;
}

std::vector<std::string> evacuation_headers() {
  return {"NAMESPACE", "POD", "NODE", "EVICTOR", "PHASE", "PROGRESS", "TARGET", "BLOCKED-BY", "AGE"};
}

std::vector<std::string> evacuation_cells(const api::Evacuation& evacuation, base::TimePoint now) {
  const api::EvacuationStatus& status = evacuation.status;
  std::vector<std::string> cells = {evacuation.meta.ns,
                                    evacuation.spec.pod_ref.name,
                                    evacuation.spec.node_name.value,
                                    status.evictor,
                                    phase_of(status),
                                    progress_of(status),
                                    target_of(status),
                                    blocked_by(evacuation),
                                    base::format_age(now - evacuation.meta.creation_timestamp)};
  for (std::string& cell : cells) cell = one_line(cell);
  return cells;
}

}  // namespace cmd
