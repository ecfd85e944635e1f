#include "controllers/admission/scopes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/meta/well_known.hpp"

namespace controllers {
namespace {

std::optional<std::int64_t> resolved(const std::optional<api::IntOrPercent>& limit, std::int64_t whole) {
  if (!limit) return std::nullopt;
  if (!limit->percent) return std::max<std::int64_t>(limit->value, 0);
  // A percentage never rounds down to 0, which would block the scope permanently.
  return std::max<std::int64_t>(limit->value * std::max<std::int64_t>(whole, 0) / 100, 1);
}

/// Scope of all manual Evacuations.
constexpr std::string_view kManualId = "manual";

}  // namespace

NodeFacts node_facts(const api::Node& node) {
  return {node.zone(), api::amount_of(node.allocatable, api::well_known::kPods).milli() / 1000};
}

void AdmissionScopes::change(Level& level, const api::AdmissionLimits& limits, base::TimePoint now) {
  level.limits = limits;
  if (!limits.rate) {
    level.rate.reset();
  } else if (!level.rate) {
    level.rate.emplace(*limits.rate);
  } else if (level.rate->limit() != *limits.rate) {
    level.rate->change(*limits.rate, now);
  }
}

void AdmissionScopes::set_policy_limits(const std::string& policy, const std::optional<api::AdmissionLimits>& limits,
                                        const std::string& hold_reason, base::TimePoint now) {
  const bool is_known = policies_.contains(policy);
  Level& level = policies_[policy];
  const api::AdmissionLimits wanted = limits.value_or(level.limits);
  const std::string why =
      limits ? hold_reason : fmt::format("policy {} was deleted: its Evacuations are no longer admitted", policy);
  if (is_known && level.limits == wanted && level.hold_reason == why) return;
  change(level, wanted, now);
  level.hold_reason = why;
  reopen_all();
}

void AdmissionScopes::drain_rates(base::TimePoint now) {
  if (cluster_.rate) cluster_.rate->drain(now);
  for (auto& [policy, level] : policies_) {
    if (level.rate) level.rate->drain(now);
  }
}

void AdmissionScopes::take_tokens(const std::string& policy, base::TimePoint now) {
  if (cluster_.rate) cluster_.rate->take(now);
  const auto level = policies_.find(policy);
  if (level != policies_.end() && level->second.rate) level->second.rate->take(now);
}

void AdmissionScopes::give_tokens_back(const std::string& policy) {
  if (cluster_.rate) cluster_.rate->give_back();
  const auto level = policies_.find(policy);
  if (level == policies_.end() || !level->second.rate) return;
  level->second.rate->give_back();
  reopen_if_waiting("policy/" + policy + "/rate");
}

std::vector<std::pair<api::ObjectKey, base::TimePoint>> AdmissionScopes::next_in_rates(base::TimePoint now) const {
  std::vector<std::pair<api::ObjectKey, base::TimePoint>> next;
  for (const auto& [policy, level] : policies_) {
    if (!level.rate) continue;
    const auto scope = scopes_.find("policy/" + policy + "/rate");
    if (scope == scopes_.end() || scope->second.parked.empty()) continue;
    const auto first = scope->second.parked.first(turn_);
    next.emplace_back(std::get<api::ObjectKey>(first->order), level.rate->next_token(now, first->need));
  }
  return next;
}

bool AdmissionScopes::set_node(const std::string& node, std::optional<NodeFacts> facts) {
  const auto known = nodes_.find(node);
  const bool had = known != nodes_.end();
  if (had ? facts == known->second : !facts) return false;
  const std::string before = had ? known->second.zone : std::string();
  const std::string after = facts ? facts->zone : std::string();
  if (had && --zone_sizes_[before] == 0) zone_sizes_.erase(before);
  if (facts) ++zone_sizes_[after];
  if (facts) {
    nodes_[node] = *std::move(facts);
  } else {
    nodes_.erase(known);
  }
  reopen_around(node, after);
  return before != after;
}

/// A change of nodes can add capacity to limits that are percentages.
void AdmissionScopes::reopen_around(const std::string& node, const std::string& zone) {
  const auto reopen_level = [&](const std::string& prefix) {
    reopen_if_waiting(fmt::format("{}total", prefix));
    reopen_if_waiting(fmt::format("{}node/{}", prefix, node));
    reopen_if_waiting(fmt::format("{}target/{}", prefix, node));
    reopen_if_waiting(fmt::format("{}zone/{}", prefix, zone));
  };
  reopen_level("");
  reopen_if_waiting(std::string(kManualId));
  for (const auto& [policy, limits] : policies_) reopen_level("policy/" + policy + "/");
}

void AdmissionScopes::attach_one(Kind kind, const std::string& policy, const std::string& name, std::string id,
                                 Ids& ids) {
  Scope& scope = scopes_[id];
  if (scope.users == 0 && kind == Kind::kNamespace) scope.turn = turn_count_;
  scope.kind = kind;
  scope.policy = policy;
  scope.name = name;
  ++scope.users;
  ids.push_back(std::move(id));
}

void AdmissionScopes::attach_level(const AdmissionRequest& request, const std::string& policy,
                                   const std::string& prefix, Ids& ids) {
  const std::string& ns = request.key.ns;
  if (!request.node.empty()) attach_one(Kind::kNode, policy, request.node, prefix + "node/" + request.node, ids);
  if (!request.target_node.empty()) {
    attach_one(Kind::kTargetNode, policy, request.target_node, prefix + "target/" + request.target_node, ids);
  }
  attach_one(Kind::kNamespace, policy, ns, prefix + "namespace/" + ns, ids);
  if (!request.workload.empty()) {
    attach_one(Kind::kWorkload, policy, request.workload, fmt::format("{}workload/{}/{}", prefix, ns, request.workload),
               ids);
    if (request.workload_size) scopes_.at(ids.back()).size = request.workload_size;
  }
  const auto node = nodes_.find(request.node);
  if (node == nodes_.end() || node->second.zone.empty()) return;
  attach_one(Kind::kZone, policy, node->second.zone, prefix + "zone/" + node->second.zone, ids);
}

/// The creator of a manual Evacuation chooses its concurrency group, so the workload limit does not bound all
/// Evacuations of an owner.
void AdmissionScopes::attach_manual(const AdmissionRequest& request, Ids& ids) {
  if (keeps_share_) attach_one(Kind::kManual, "", "", std::string(kManualId), ids);
  if (request.owner.empty() || request.owner == request.workload) return;
  attach_one(Kind::kOwner, "", request.owner, fmt::format("owner/{}/{}", request.key.ns, request.owner), ids);
}

AdmissionScopes::Ids AdmissionScopes::attach(const AdmissionRequest& request) {
  Ids ids;
  attach_level(request, "", "", ids);
  if (request.is_manual) attach_manual(request, ids);
  if (request.policy.empty()) return ids;
  attach_one(Kind::kTotal, request.policy, "", "policy/" + request.policy + "/total", ids);
  attach_level(request, request.policy, "policy/" + request.policy + "/", ids);
  attach_one(Kind::kRate, request.policy, "", "policy/" + request.policy + "/rate", ids);
  return ids;
}

void AdmissionScopes::detach(const Ids& ids) {
  for (const std::string& id : ids) {
    const auto scope = scopes_.find(id);
    if (scope == scopes_.end() || --scope->second.users > 0) continue;
    if (!scope->second.parked.empty()) opened_.insert(id);
    erase_if_unused(scope);
  }
}

std::optional<std::int64_t> AdmissionScopes::limit_of(const Scope& scope) const {
  const api::InFlightLimits* limits = &cluster_.limits.in_flight;
  if (!scope.policy.empty()) {
    const auto found = policies_.find(scope.policy);
    if (found == policies_.end()) return std::nullopt;
    limits = &found->second.limits.in_flight;
  }
  const auto max_pods = [&]() -> std::int64_t {
    const auto node = nodes_.find(scope.name);
    return node == nodes_.end() ? 0 : node->second.max_pods;
  };
  const auto zone_size = [&]() -> std::int64_t {
    const auto zone = zone_sizes_.find(scope.name);
    return zone == zone_sizes_.end() ? 0 : zone->second;
  };
  switch (scope.kind) {
    case Kind::kTotal: return resolved(limits->total, static_cast<std::int64_t>(nodes_.size()));
    case Kind::kNode: return resolved(limits->per_node, max_pods());
    case Kind::kTargetNode: return resolved(limits->per_target_node, max_pods());
    case Kind::kNamespace: return resolved(limits->per_namespace, 0);
    case Kind::kWorkload: return resolved(limits->per_workload, scope.size.value_or(0));
    case Kind::kZone: return resolved(limits->per_zone, zone_size());
    case Kind::kRate: return std::nullopt;
    case Kind::kManual: return manual_limit();
    case Kind::kOwner: return kMaxManualOfOwner;
  }
  return std::nullopt;
}

std::optional<std::int64_t> AdmissionScopes::manual_limit() const {
  const auto total = total_limit();
  if (!total) return std::nullopt;
  return *total <= 1 ? *total : *total - std::max<std::int64_t>(*total / 5, 1);
}

/// Returns the rate that the scope stands for, or nullptr.
const AdmissionRate* AdmissionScopes::rate_of(const Scope& scope) const {
  const auto level = policies_.find(scope.policy);
  const bool has_rate = scope.kind == Kind::kRate && level != policies_.end() && level->second.rate;
  return has_rate ? &*level->second.rate : nullptr;
}

bool AdmissionScopes::has_capacity(const Scope& scope, base::TimePoint now, std::int64_t need) const {
  if (is_held_by_policy(scope)) return false;
  if (const AdmissionRate* rate = rate_of(scope)) return rate->has_token(now, need);
  const auto limit = limit_of(scope);
  return !limit || scope.used + need <= *limit;
}

bool AdmissionScopes::can_never(const Scope& scope, std::int64_t need) const {
  if (need <= 1) return false;  // a limit of 0 is a pause, at which a single entry waits as usual
  if (const AdmissionRate* rate = rate_of(scope)) return rate->limit().burst < need;
  const auto limit = limit_of(scope);
  return limit && *limit < need;
}

AdmissionScopes::Needs AdmissionScopes::needs_of(const std::vector<const Ids*>& members,
                                                 const std::string& pod_group) const {
  Needs needs;
  for (const Ids* ids : members) {
    for (const std::string& id : *ids) {
      const Scope& scope = scopes_.at(id);
      if (scope.kind != Kind::kWorkload || pod_group.empty()) {
        ++needs[id];
      } else if (!scope.pod_groups.contains(pod_group)) {
        needs[id] = 1;
      }
    }
  }
  return needs;
}

std::optional<std::string> AdmissionScopes::too_small(const Needs& needs, std::int64_t count) const {
  const auto total = total_limit();
  if (count > 1 && total && *total < count) return std::string();
  if (count > 1 && cluster_.rate && cluster_.rate->limit().burst < count) return std::string();
  for (const auto& [id, need] : needs) {
    if (can_never(scopes_.at(id), need)) return id;
  }
  return std::nullopt;
}

bool AdmissionScopes::target_has_capacity(const AdmissionRequest& request) const {
  const auto has_capacity_in = [&](const std::string& policy, const std::string& prefix) {
    const auto at = scopes_.find(prefix + "target/" + request.target_node);
    if (at != scopes_.end()) return has_capacity(at->second, {});
    Scope nobody_yet;
    nobody_yet.kind = Kind::kTargetNode;
    nobody_yet.policy = policy;
    nobody_yet.name = request.target_node;
    return has_capacity(nobody_yet, {});
  };
  return has_capacity_in("", "") &&
         (request.policy.empty() || has_capacity_in(request.policy, "policy/" + request.policy + "/"));
}

std::optional<std::int64_t> AdmissionScopes::total_limit() const {
  return resolved(cluster_.limits.in_flight.total, static_cast<std::int64_t>(nodes_.size()));
}

std::optional<std::int64_t> AdmissionScopes::namespace_limit() const {
  return resolved(cluster_.limits.in_flight.per_namespace, 0);
}

void AdmissionScopes::count(const Ids& ids, Part part, int by, const std::string& pod_group) {
  if (part == Part::kDeparture) total_used_ += by;
  for (const std::string& id : ids) {
    Scope& scope = scopes_.at(id);
    if (part_of(scope.kind) != part) continue;
    if (scope.kind != Kind::kWorkload || pod_group.empty()) {
      scope.used += by;
      continue;
    }
    const bool before = scope.pod_groups.contains(pod_group);
    if ((scope.pod_groups[pod_group] += by) <= 0) scope.pod_groups.erase(pod_group);
    scope.used += static_cast<int>(scope.pod_groups.contains(pod_group)) - static_cast<int>(before);
  }
}

const std::string* AdmissionScopes::first_full(const Ids& ids, base::TimePoint now, const AdmissionOrder& order,
                                               bool has_workload) const {
  for (const std::string& id : ids) {
    const Scope& scope = scopes_.at(id);
    if (has_workload && part_of(scope.kind) == Part::kWorkload) continue;
    if (!has_capacity(scope, now) || kept_for_pod_group(scope, order)) return &id;
  }
  return nullptr;
}

const std::string* AdmissionScopes::first_full(const Needs& needs, base::TimePoint now,
                                               const AdmissionOrder& order) const {
  for (const auto& [id, need] : needs) {
    const Scope& scope = scopes_.at(id);
    if (!has_capacity(scope, now, need) || kept_for_pod_group(scope, order)) return &id;
  }
  return nullptr;
}

void AdmissionScopes::park(const std::string& id, const AdmissionOrder& order, std::int64_t need) {
  scopes_.at(id).parked.insert(order, need, turn_);
}

void AdmissionScopes::unpark(const std::string& id, const AdmissionOrder& order) {
  const auto scope = scopes_.find(id);
  if (scope == scopes_.end()) return;
  scope->second.parked.erase(order, turn_);
  erase_if_unused(scope);
}

void AdmissionScopes::reopen(const Ids& ids) {
  for (const std::string& id : ids) reopen_if_waiting(id);
}

std::optional<AdmissionOrder> AdmissionScopes::take_next(base::TimePoint now) {
  while (!opened_.empty()) {
    const std::string id = opened_.extract(opened_.begin()).value();
    const auto at = scopes_.find(id);
    if (at == scopes_.end()) continue;
    const auto first = at->second.parked.first(turn_);
    if (!first) continue;
    const bool holds_up = at->second.users > 0 && !can_never(at->second, first->need);
    if (holds_up && !has_capacity(at->second, now, first->need)) continue;
    if (at->second.users == 0 && at->second.parked.size() > 1) opened_.insert(id);
    unpark(id, first->order);
    return first->order;
  }
  return std::nullopt;
}

}  // namespace controllers
