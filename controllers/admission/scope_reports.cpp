/// What AdmissionScopes reports: usage, waiting Evacuations and blockers.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/vocabulary/blockers.hpp"
#include "controllers/admission/scopes.hpp"

namespace controllers {
namespace {

/// Texts of one kind of scope.
struct KindTexts {
  api::LimitScope limit;
  std::string_view name;   ///< in fullness()
  std::string_view where;  ///< precedes the name of the scope
};
/// In the order of AdmissionScopes::Kind.
constexpr std::array<KindTexts, 9> kKinds = {
    {{api::LimitScope::kTotal, "total", ""},
     {api::LimitScope::kNode, "node", " from node "},
     {api::LimitScope::kTargetNode, "target-node", " towards node "},
     {api::LimitScope::kNamespace, "namespace", " in namespace "},
     {api::LimitScope::kWorkload, "workload", " of workload "},
     {api::LimitScope::kZone, "zone", " from zone "},
     {api::LimitScope::kRate, "rate", ""},
     {api::LimitScope::kTotal, "total", " of manual Evacuations; the rest of the total is reserved for policies"},
     {api::LimitScope::kWorkload, "workload", " in all concurrency groups of owner "}}};

std::string text_of(const api::RateLimit& rate) {
  return fmt::format("at most {} admissions per {}, {} at once", rate.per_second.value_or(rate.per_minute.value_or(0)),
                     rate.per_second ? "second" : "minute", rate.burst);
}

}  // namespace

std::map<std::string_view, AdmissionScopes::Fullness> AdmissionScopes::fullness() const {
  static_assert(kKinds.size() == static_cast<std::size_t>(Kind::kOwner) + 1);
  std::map<std::string_view, Fullness> all;
  for (const KindTexts& each : kKinds) all[each.name] = {};
  for (const auto& [id, scope] : scopes_) {
    Fullness& of = all[kKinds.at(static_cast<std::size_t>(scope.kind)).name];
    of.waiting += static_cast<std::int64_t>(scope.parked.size());
    const auto limit = limit_of(scope);
    if (limit && *limit > 0 && scope.kind != Kind::kManual)
      of.fullest = std::max(of.fullest, static_cast<double>(scope.used) / static_cast<double>(*limit));
  }
  return all;
}

std::int64_t AdmissionScopes::parked() const {
  std::int64_t count = 0;
  for (const auto& [id, scope] : scopes_) count += static_cast<std::int64_t>(scope.parked.size());
  return count;
}

bool AdmissionScopes::is_waited_for(const Ids& ids, bool with_workload) const {
  return std::any_of(ids.begin(), ids.end(), [&](const std::string& id) {
    const auto scope = scopes_.find(id);
    if (scope == scopes_.end() || is_held_by_policy(scope->second)) return false;
    if (!with_workload && part_of(scope->second.kind) == Part::kWorkload) return false;
    const auto first = scope->second.parked.first(turn_);
    const auto limit = first ? limit_of(scope->second) : std::nullopt;
    return limit && first->need <= *limit && scope->second.used + first->need > *limit;
  });
}

api::Blocker AdmissionScopes::blocker(const std::string& id) const {
  const auto limit = [](std::string name, std::string message) {
    return api::make_blocker(api::BlockerKind::kLimit, std::move(name), std::move(message));
  };
  if (id.empty() && total_has_capacity() && cluster_.rate)
    return limit(api::limit_name(api::LimitScope::kRate), text_of(cluster_.rate->limit()));
  if (id.empty())
    return limit(api::limit_name(api::LimitScope::kTotal),
                 fmt::format("at most {} Evacuations in flight in the cluster", total_limit().value_or(0)));
  const auto known = scopes_.find(id);
  // No entry is attached to it any more; the next request reports the current blocker.
  if (known == scopes_.end()) return limit({}, {});
  const Scope& scope = known->second;
  const KindTexts& texts = kKinds.at(static_cast<std::size_t>(scope.kind));
  std::string name = api::limit_name(texts.limit, scope.policy);
  const std::string under = scope.policy.empty() ? "" : " under policy " + scope.policy;
  if (const AdmissionRate* rate = rate_of(scope)) return limit(std::move(name), text_of(rate->limit()) + under);
  if (is_held_by_policy(scope)) return limit(std::move(name), policies_.at(scope.policy).hold_reason);
  return limit(std::move(name),
               fmt::format("at most {} in flight{}{}{}", limit_of(scope).value_or(0), texts.where, scope.name, under));
}

}  // namespace controllers
