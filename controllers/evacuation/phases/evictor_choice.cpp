#include <fmt/format.h>

#include <algorithm>

#include "controllers/evacuation/phases/status_builder.hpp"
#include "evictors/eviction_api.hpp"
#include "evictors/handoff/annotation.hpp"

/// Chooses the evictor of the chain that moves the pod (T4, T22).
namespace controllers::evacuation {
namespace {

Step not_evictable(StatusBuilder& builder, const std::string& why) {
  builder.set_false_condition(ConditionType::kEvictionGranted, Reason::kNotEvictable, why);
  return leave_attempt(builder, EvacuationPhase::kFailed, Reason::kNotEvictable, why);
}

std::string no_such_evictor(const std::string& name) {
  return fmt::format("this version of Evacuator does not support evictor {}", name);
}

/// A terminal pod runs nothing, so it needs no owner's consent and no handoff, and the server checks no PDB.
bool choose_for_terminal_pod(StatusBuilder& builder) {
  if (!builder.removes_terminal_pod() || !builder.registry().find(evictors::EvictionApi::kName)) return false;
  builder.set_evictor(evictors::EvictionApi::kName, kTerminalPod);
  builder.set_false_condition(ConditionType::kHandoffAcknowledged, Reason::kNotApplicable);
  return true;
}

void take(StatusBuilder& builder, const ChosenEvictor& chosen) {
  builder.set_evictor(chosen.name, chosen.probe.adapter);
  builder.set_evictor_index(chosen.index);
  builder.extend_deadline(chosen.probe.prepare);
  const bool acknowledges = chosen.probe.acknowledges && !builder.spec().dry_run;
  builder.set_false_condition(ConditionType::kHandoffAcknowledged,
                              acknowledges ? Reason::kAwaitingAcknowledgement : Reason::kNotApplicable);
  if (!chosen.probe.reports_post || api::find_condition(builder.status().conditions, ConditionType::kPostCompleted))
    return;
  builder.set_condition(ConditionType::kPostCompleted, ConditionStatus::kUnknown, Reason::kWaiting,
                        "must be set to True by the workload's operator after it has finished its work after the move");
}

/// T22: returns the evictor before entry `end` of the chain through which the pod's owner must consent; empty if none.
std::string owners_evictor(const StatusBuilder& builder, const std::vector<api::EvictorChoice>& chain,
                           std::size_t end) {
  for (std::size_t i = 0; i < std::min(end, chain.size()); ++i) {
    const evictors::Evictor* evictor = builder.registry().find(chain[i].name);
    if (evictor && evictor->owner_decides(builder.context_for(chain[i].name))) return chain[i].name;
  }
  return {};
}

/// Whether the pod itself declares that only its owner may release it. Applies to every chain (I10).
bool declares_owner(const StatusBuilder& builder) {
  const evictors::Evictor* handoff = builder.registry().find(evictors::handoff::AnnotationEvictor::kName);
  return handoff && handoff->owner_decides(builder.context_for(evictors::handoff::AnnotationEvictor::kName));
}

/// Returns the evictor through which the owner must be asked instead, if this one must not move the pod; empty if it
/// may.
std::string who_decides_instead(const StatusBuilder& builder, const std::vector<api::EvictorChoice>& chain,
                                std::size_t at, const evictors::Evictor& evictor, const evictors::Probe& probe) {
  if (probe.support != evictors::Support::kSupported) return {};
  const bool asks_owner = evictor.owner_decides(builder.context_for(chain[at].name));
  if (!asks_owner && declares_owner(builder)) return std::string(evictors::handoff::AnnotationEvictor::kName);
  return probe.required ? std::string() : owners_evictor(builder, chain, at);
}

/// Result of trying one evictor: a choice, or the reason against it.
struct Tried {
  std::optional<ChosenEvictor> chosen{};
  std::string why_not{};
  std::optional<base::TimePoint> ask_again{};
  bool hold = false;  ///< wait for this evictor instead of trying the next
};

Tried try_evictor(const StatusBuilder& builder, const std::vector<api::EvictorChoice>& chain, std::size_t at) {
  const std::string& name = chain[at].name;
  const evictors::Evictor* evictor = builder.registry().find(name);
  if (!evictor) return {.why_not = name + ": no such evictor"};
  evictors::Probe probe = evictor->probe(builder.context_for(name));
  if (const std::string other = who_decides_instead(builder, chain, at, *evictor, probe); !other.empty()) {
    return {.why_not = fmt::format("{}: only the pod's owner releases it, which must be requested by {}", name, other)};
  }
  if (probe.support == evictors::Support::kSupported)
    return {.chosen = ChosenEvictor{name, static_cast<std::int32_t>(at), std::move(probe)}};
  Tried tried{.why_not = fmt::format("{}: {}", name, probe.reason)};
  if (probe.support != evictors::Support::kUnavailable) return tried;
  tried.ask_again = probe.until.value_or(builder.now() + kRefreshWaiting);
  tried.hold = probe.hold;
  return tried;
}

}  // namespace

EvictorSearch find_evictor(const StatusBuilder& builder, std::int32_t from) {
  const auto chain = builder.chain();
  NoEvictor none;
  for (auto at = static_cast<std::size_t>(std::max(from, 0)); at < chain.size(); ++at) {
    Tried tried = try_evictor(builder, chain, at);
    if (tried.chosen) return *std::move(tried.chosen);
    none.why += (none.why.empty() ? "" : "; ") + tried.why_not;
    if (!none.ask_again) none.ask_again = tried.ask_again;
    if (tried.hold) return none;
  }
  if (none.why.empty()) none.why = "no evictor of spec.evictors remains";
  return none;
}

const evictors::Evictor* likely_evictor(const StatusBuilder& builder) {
  const auto chain = builder.chain();
  for (auto i = static_cast<std::size_t>(std::max(builder.status().evictor_index, 0)); i < chain.size(); ++i) {
    const evictors::Evictor* evictor = builder.registry().find(chain[i].name);
    if (!evictor) continue;
    const evictors::Probe probe = evictor->probe(builder.context_for(chain[i].name));
    if (probe.support != evictors::Support::kUnsupported) return evictor;
  }
  return nullptr;
}

std::optional<Step> choose_evictor(StatusBuilder& builder) {
  if (!builder.status().evictor.empty()) {
    if (builder.evictor()) return std::nullopt;
    return not_evictable(builder, no_such_evictor(builder.status().evictor));
  }
  if (choose_for_terminal_pod(builder)) return std::nullopt;
  const EvictorSearch search = find_evictor(builder, builder.status().evictor_index);
  if (const auto* chosen = std::get_if<ChosenEvictor>(&search)) {
    take(builder, *chosen);
    return std::nullopt;
  }
  const auto& none = std::get<NoEvictor>(search);
  if (!none.ask_again) return not_evictable(builder, none.why);
  builder.wake_at(*none.ask_again);
  return builder.wait();
}

std::optional<Step> fail_without_evictor(StatusBuilder& builder) {
  if (builder.evictor()) return std::nullopt;
  return leave_attempt(builder, EvacuationPhase::kFailed, Reason::kNotEvictable,
                       no_such_evictor(builder.status().evictor));
}

}  // namespace controllers::evacuation
