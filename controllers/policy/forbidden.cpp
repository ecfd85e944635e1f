#include "controllers/policy/forbidden.hpp"
#include "api/vocabulary/reasons.hpp"

#include <fmt/format.h>

#include <map>

namespace controllers {
namespace {

bool is_forbidden(const api::EvacuationStatus& status) {
  return status.phase == api::EvacuationPhase::kFailed && status.reason == api::Reason::kForbidden;
}

/// Whether the verdict is evidence of the operator's rights in the namespace.
bool is_evidence(const api::EvacuationStatus& status) {
  return status.finished_at && (is_forbidden(status) || status.phase == api::EvacuationPhase::kSucceeded);
}

std::string problem_of(const api::Evacuation& evacuation) {
  return fmt::format(
      "namespace {}: the API server does not allow the operator to move its pods (Evacuation {}: {}); none is "
      "nominated there until {}; grant the operator's ServiceAccount the rules of config/rbac/operator_role.yaml, and "
      "of config/optional for this evictor",
      evacuation.meta.ns, evacuation.meta.name, evacuation.status.message,
      base::format_time(*evacuation.status.finished_at + kForbiddenFor));
}

}  // namespace

std::vector<ForbiddenNamespace> forbidden_namespaces(
    const std::vector<std::shared_ptr<const api::Evacuation>>& evacuations, base::TimePoint now) {
  std::map<std::string, const api::Evacuation*> newest;
  for (const auto& each : evacuations) {
    if (!is_evidence(each->status) || *each->status.finished_at + kForbiddenFor <= now) continue;
    const api::Evacuation*& known = newest[each->meta.ns];
    const auto rank = [](const api::Evacuation& of) { return std::tie(*of.status.finished_at, of.meta.name); };
    if (!known || rank(*known) < rank(*each)) known = each.get();
  }
  std::vector<ForbiddenNamespace> forbidden;
  for (const auto& [ns, evacuation] : newest) {
    if (is_forbidden(evacuation->status)) forbidden.push_back({ns, problem_of(*evacuation)});
  }
  return forbidden;
}

}  // namespace controllers
