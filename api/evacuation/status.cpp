#include "api/evacuation/status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/evacuation/refs.hpp"
#include "api/vocabulary/blockers.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"

namespace api {
namespace {

/// Returns one blocker for a table cell: "pdb/web (0 allowed, 3/3 healthy)", "limit/node", "suspended".
std::string short_blocker(const Blocker& blocker) {
  const std::string kind = column_text(blocker.kind);
  std::string text = blocker.name.empty() ? kind : kind + "/" + blocker.name;
  if (blocker.disruptions_allowed && blocker.current_healthy && blocker.desired_healthy) {
    text += fmt::format(" ({} allowed, {}/{} healthy)", *blocker.disruptions_allowed, *blocker.current_healthy,
                        *blocker.desired_healthy);
  }
  return text;
}

/// Returns true if targetNode is only the node with reserved capacity, because the owner of the pod has not chosen a
/// node.
bool is_only_reserved(const EvacuationStatus& status) {
  const Condition* slot = find_condition(status.conditions, ConditionType::kSlotAcquired);
  if (!slot || slot->reason != Reason::kCapacityReserved) return false;
  return std::ranges::none_of(status.refs, [](const auto& ref) { return ref.first == kChosenTargetRef; });
}

/// Returns the node that the pod goes to or went to, empty if unknown.
const std::string& target_of(const EvacuationStatus& status) {
  static const std::string kNone;
  const bool replaced = status.outcome && status.outcome->replacement;
  if (replaced) return status.outcome->replacement->node.value;
  return is_only_reserved(status) ? kNone : status.target_node.value;
}

std::string summary_of(const std::vector<Blocker>& blockers) {
  std::string summary;
  for (const Blocker& blocker : blockers) summary += (summary.empty() ? "" : "; ") + short_blocker(blocker);
  return summary;
}

/// Encodes the status without members that equal those of `other`; nullptr leaves out nothing. Adds derived texts for
/// printer columns, because servers down to 1.20 support simple paths only.
Json encode_news(const EvacuationStatus& status, const EvacuationStatus* other, bool lists_as_null = false) {
  const auto is_news = [&](auto member) { return other == nullptr || status.*member != other->*member; };
  Json json = encode_fields(status, other, lists_as_null);
  if (status.deadline && is_news(&EvacuationStatus::deadline))
    json["deadlineText"] = base::format_time(*status.deadline);
  if (status.progress && is_news(&EvacuationStatus::progress))
    json["progressText"] = fmt::format("{}%", *status.progress);
  if (other == nullptr || target_of(status) != target_of(*other)) put_text(json, "target", target_of(status));
  if (is_news(&EvacuationStatus::blocked_by)) put_text(json, "blockedBySummary", summary_of(status.blocked_by));
  return json;
}

}  // namespace

EvacuationStatus evacuation_status_of(const Json& json) {
  EvacuationStatus status;
  lenient::read(json, status);
  // The CRD allows only integers. Anything else is signed, too.
  if (json.contains("signedPriority") && !status.signed_priority) status.signed_priority = 0;
  return status;
}

Json encode_status(const EvacuationStatus& status) { return encode_news(status, nullptr); }

std::pair<Json, Json> encode_change(const EvacuationStatus& before, const EvacuationStatus& after) {
  return {encode_news(before, &after, true), encode_news(after, &before)};
}

}  // namespace api
