#include "controllers/admission_queue.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/condition.hpp"

namespace controllers {
namespace {

using api::EvacuationPhase;

/// Does this phase hold node, namespace and total slots? Only what was admitted holds any: a pod that left by itself
/// while its Evacuation waited for the next attempt took none.
bool admitted(const api::Evacuation& evacuation) {
  const auto* slot = api::find_condition(evacuation.status.conditions, "SlotAcquired");
  return !slot || slot->status == api::ConditionStatus::kTrue;
}

bool phase_holds_slot(const api::Evacuation& evacuation) {
  switch (evacuation.status.phase) {
    case EvacuationPhase::kPreparing:
    case EvacuationPhase::kRequesting:
    case EvacuationPhase::kInProgress:
    case EvacuationPhase::kEvicting:
    case EvacuationPhase::kAborting: return admitted(evacuation);
    case EvacuationPhase::kVerifying:
      return admitted(evacuation) && evacuation.spec.hold_slot_until == api::HoldSlotUntil::kReplacementReady;
    case EvacuationPhase::kPending:
    case EvacuationPhase::kBackoff:
    case EvacuationPhase::kSucceeded:
    case EvacuationPhase::kFailed:
    case EvacuationPhase::kCancelled: return false;
  }
  return false;
}

bool phase_holds_workload(const api::Evacuation& evacuation) {
  return phase_holds_slot(evacuation) ||
         (evacuation.status.phase == EvacuationPhase::kVerifying && admitted(evacuation));
}

std::optional<std::int64_t> resolved(const std::optional<api::IntOrPercent>& limit, std::int64_t base) {
  if (!limit) return std::nullopt;
  if (!limit->percent) return std::max<std::int64_t>(limit->value, 0);
  // A percentage never rounds down to "nobody ever".
  return std::max<std::int64_t>(limit->value * std::max<std::int64_t>(base, 0) / 100, 1);
}

}  // namespace

AdmissionRequest admission_request(const api::Evacuation& evacuation, const api::Pod* pod,
                                   std::optional<std::int32_t> workload_size) {
  AdmissionRequest request;
  request.key = evacuation.meta.key();
  request.pod_uid = evacuation.spec.pod_ref.uid.value;
  request.node = evacuation.spec.node_name.value;
  if (request.node.empty() && pod) request.node = pod->node_name.value;
  request.workload = evacuation.spec.concurrency_group;
  if (request.workload.empty()) request.workload = evacuation.status.workload_group;
  const api::OwnerReference* owner = pod ? pod->meta.controller() : nullptr;
  if (request.workload.empty() && owner) request.workload = owner->uid;
  request.policy = evacuation.spec.source.policy;
  request.priority = evacuation.spec.priority;
  request.created = evacuation.meta.creation_timestamp;
  request.attempt = evacuation.status.attempt + 1;
  request.workload_size = workload_size;
  return request;
}

AdmissionQueue::AdmissionQueue(api::InFlightLimits cluster, Wake wake) : wake_(std::move(wake)), cluster_(cluster) {}

void AdmissionQueue::wake(const std::vector<api::ObjectKey>& admitted, const api::ObjectKey* except) const {
  for (const api::ObjectKey& key : admitted) {
    if (wake_ && (!except || key != *except)) wake_(key);
  }
}

void AdmissionQueue::set_cluster_limits(api::InFlightLimits limits) {
  std::vector<api::ObjectKey> admitted;
  {
    const std::scoped_lock lock(mutex_);
    cluster_ = limits;
    reopen_all();
    pump(admitted);
  }
  wake(admitted);
}

void AdmissionQueue::set_policy_limits(const std::string& policy, std::optional<api::InFlightLimits> limits) {
  std::vector<api::ObjectKey> admitted;
  {
    const std::scoped_lock lock(mutex_);
    const auto known = policies_.find(policy);
    if (limits && known != policies_.end() && known->second == *limits) return;
    if (!limits && known == policies_.end()) return;
    if (limits) {
      policies_[policy] = *limits;
    } else {
      policies_.erase(policy);
    }
    reopen_all();
    pump(admitted);
  }
  wake(admitted);
}

void AdmissionQueue::set_node_count(std::size_t nodes) {
  std::vector<api::ObjectKey> admitted;
  {
    const std::scoped_lock lock(mutex_);
    if (nodes_ == nodes) return;
    nodes_ = nodes;
    reopen_all();
    pump(admitted);
  }
  wake(admitted);
}

AdmissionQueue::Entry& AdmissionQueue::entry_for(const api::ObjectKey& key, const std::string& uid,
                                                 const std::string& pod_uid, base::TimePoint created) {
  auto at = entries_.find(key);
  if (at != entries_.end() && !uid.empty() && !at->second.uid.empty() && at->second.uid != uid) {
    erase(key);  // deleted and made again under the same name
    at = entries_.end();
  }
  Entry& entry = at == entries_.end() ? entries_[key] : at->second;
  if (!uid.empty()) entry.uid = uid;
  entry.created = created;
  if (entry.pod_uid != pod_uid) {
    if (!entry.pod_uid.empty()) by_pod_[entry.pod_uid].erase(key);
    entry.pod_uid = pod_uid;
    if (!pod_uid.empty()) by_pod_[pod_uid].insert(key);
  }
  return entry;
}

std::vector<std::string> AdmissionQueue::add_scopes(const AdmissionRequest& request) {
  std::vector<std::string> ids;
  const auto add = [&](ScopeKind kind, const std::string& policy, const std::string& name, const std::string& id) {
    Scope& scope = scopes_[id];
    scope.kind = kind;
    scope.policy = policy;
    scope.name = name;
    if (kind == ScopeKind::kWorkload && request.workload_size) scope.size = request.workload_size;
    ids.push_back(id);
  };
  const auto add_level = [&](const std::string& policy, const std::string& prefix) {
    if (!request.node.empty()) add(ScopeKind::kNode, policy, request.node, prefix + "node/" + request.node);
    add(ScopeKind::kNamespace, policy, request.key.ns, prefix + "namespace/" + request.key.ns);
    if (request.workload.empty()) return;
    add(ScopeKind::kWorkload, policy, request.workload,
        fmt::format("{}workload/{}/{}", prefix, request.key.ns, request.workload));
  };
  add_level("", "");
  if (request.policy.empty()) return ids;
  add(ScopeKind::kTotal, request.policy, "", "policy/" + request.policy + "/total");
  add_level(request.policy, "policy/" + request.policy + "/");
  return ids;
}

void AdmissionQueue::drop_scopes(Entry& entry) {
  for (const std::string& id : entry.scopes) {
    if (--scope(id).users > 0) continue;
    opened_.erase(id);
    scopes_.erase(id);
  }
  entry.scopes.clear();
}

void AdmissionQueue::set_scopes(Entry& entry, const AdmissionRequest& request) {
  std::vector<std::string> ids = add_scopes(request);
  if (ids == entry.scopes) return;
  leave_line(entry);
  if (entry.counted_slot) count(entry, false, -1);
  if (entry.counted_workload) count(entry, true, -1);
  entry.counted_slot = entry.counted_workload = false;
  reopen(entry);
  for (const std::string& id : ids) ++scope(id).users;  // before the drop: most stay the same
  drop_scopes(entry);
  entry.scopes = std::move(ids);
}

std::optional<std::int64_t> AdmissionQueue::limit_of(const Scope& scope) const {
  const api::InFlightLimits* limits = &cluster_;
  if (!scope.policy.empty()) {
    const auto found = policies_.find(scope.policy);
    if (found == policies_.end()) return std::nullopt;
    limits = &found->second;
  }
  switch (scope.kind) {
    case ScopeKind::kTotal: return resolved(limits->total, static_cast<std::int64_t>(nodes_));
    case ScopeKind::kNode: return resolved(limits->per_node, 0);
    case ScopeKind::kNamespace: return resolved(limits->per_namespace, 0);
    case ScopeKind::kWorkload: return resolved(limits->per_workload, scope.size.value_or(0));
  }
  return std::nullopt;
}

bool AdmissionQueue::has_room(const Scope& scope) const {
  const auto limit = limit_of(scope);
  return !limit || scope.used < *limit;
}

void AdmissionQueue::count(const Entry& entry, bool workload_part, int by) {
  if (!workload_part) total_used_ += by;
  for (const std::string& id : entry.scopes) {
    Scope& each = scope(id);
    if ((each.kind == ScopeKind::kWorkload) == workload_part) each.used += by;
  }
}

void AdmissionQueue::recount(Entry& entry) {
  const bool slot = entry.holds_slot || entry.reserved > 0;
  const bool workload = slot || entry.holds_workload;
  const bool frees = (entry.counted_slot && !slot) || (entry.counted_workload && !workload);
  if (slot != entry.counted_slot) count(entry, false, slot ? 1 : -1);
  if (workload != entry.counted_workload) count(entry, true, workload ? 1 : -1);
  entry.counted_slot = slot;
  entry.counted_workload = workload;
  if (frees) reopen(entry);
}

void AdmissionQueue::reopen(const Entry& entry) {
  for (const std::string& id : entry.scopes) {
    if (!scope(id).parked.empty()) opened_.insert(id);
  }
}

void AdmissionQueue::reopen_all() {
  for (const auto& [id, scope] : scopes_) {
    if (!scope.parked.empty()) opened_.insert(id);
  }
}

void AdmissionQueue::leave_line(Entry& entry) {
  if (!entry.waiting) return;
  if (entry.parked_at.empty()) {
    ready_.erase(*entry.waiting);
  } else {
    scope(entry.parked_at).parked.erase(*entry.waiting);
  }
  entry.waiting.reset();
  entry.parked_at.clear();
}

void AdmissionQueue::line_up(Entry& entry, const Order& order) {
  if (entry.waiting && *entry.waiting == order) return;
  leave_line(entry);
  entry.waiting = order;
  ready_.insert(order);
}

void AdmissionQueue::park(Entry& entry, const std::string& scope_id) {
  ready_.erase(*entry.waiting);
  scope(scope_id).parked.insert(*entry.waiting);
  entry.parked_at = scope_id;
}

const std::string* AdmissionQueue::full_scope(const Entry& entry) const {
  for (const std::string& id : entry.scopes) {
    if (!has_room(scopes_.at(id))) return &id;
  }
  return nullptr;
}

/// One of each scope that has room steps forward; the others of that scope follow when it has left the line.
void AdmissionQueue::pull_from_opened() {
  while (!opened_.empty()) {
    const std::string id = opened_.extract(opened_.begin()).value();
    const auto at = scopes_.find(id);
    if (at == scopes_.end() || at->second.parked.empty() || !has_room(at->second)) continue;
    const Order first = *at->second.parked.begin();
    at->second.parked.erase(at->second.parked.begin());
    entries_.at(std::get<2>(first)).parked_at.clear();
    ready_.insert(first);
  }
}

void AdmissionQueue::pump(std::vector<api::ObjectKey>& admitted) {
  const auto total = resolved(cluster_.total, static_cast<std::int64_t>(nodes_));
  for (;;) {
    pull_from_opened();
    if (ready_.empty() || (total && total_used_ >= *total)) return;
    const api::ObjectKey key = std::get<2>(*ready_.begin());
    Entry& entry = entries_.at(key);
    if (!claimant(key, entry).empty()) {
      leave_line(entry);  // another one got hold of its pod meanwhile: let it find out
      admitted.push_back(key);
    } else if (const std::string* full = full_scope(entry)) {
      park(entry, *full);
    } else {
      leave_line(entry);
      entry.reserved = entry.wanted;
      recount(entry);
      admitted.push_back(key);
    }
    reopen(entry);  // its scopes may have room for the next in line
  }
}

void AdmissionQueue::erase(const api::ObjectKey& key) {
  const auto at = entries_.find(key);
  if (at == entries_.end()) return;
  Entry& entry = at->second;
  leave_line(entry);
  entry.holds_slot = entry.holds_workload = false;
  entry.reserved = 0;
  recount(entry);
  if (const auto pod = by_pod_.find(entry.pod_uid); pod != by_pod_.end()) {
    pod->second.erase(key);
    if (pod->second.empty()) by_pod_.erase(pod);
  }
  drop_scopes(entry);
  entries_.erase(at);
}

void AdmissionQueue::observe(const api::Evacuation* before, const api::Evacuation* after) {
  std::vector<api::ObjectKey> admitted;
  {
    const std::scoped_lock lock(mutex_);
    const api::ObjectKey key = after ? after->meta.key() : before->meta.key();
    if (!after || api::is_terminal(after->status.phase)) {
      erase(key);
    } else {
      Entry& entry = entry_for(key, after->meta.uid, after->spec.pod_ref.uid.value, after->meta.creation_timestamp);
      entry.holds_slot = phase_holds_slot(*after);
      entry.holds_workload = phase_holds_workload(*after);
      entry.began = after->status.phase != EvacuationPhase::kPending;
      if (entry.began && after->status.attempt >= entry.reserved) entry.reserved = 0;
      // While it waits or is reserved its scopes are those it asked with: the store may not know the workload yet.
      const bool asked = entry.reserved > 0 || entry.waiting;
      if (!asked || entry.scopes.empty()) set_scopes(entry, admission_request(*after, nullptr, std::nullopt));
      recount(entry);
    }
    pump(admitted);
  }
  wake(admitted);
}

Admission AdmissionQueue::request(const AdmissionRequest& request) {
  Admission result;
  std::vector<api::ObjectKey> admitted;
  {
    const std::scoped_lock lock(mutex_);
    Entry& entry = entry_for(request.key, "", request.pod_uid, request.created);
    entry.wanted = std::max(request.attempt, 1);
    result.duplicate_of = claimant(request.key, entry);
    if (!result.duplicate_of.empty()) {
      leave_line(entry);
      return result;
    }
    if (entry.reserved > 0 || entry.holds_slot) {  // granted before, or its slot goes on into the next attempt
      entry.reserved = entry.wanted;
      recount(entry);
      result.slot.state = Slot::State::kGranted;
      return result;
    }
    set_scopes(entry, request);
    recount(entry);
    line_up(entry, {-static_cast<std::int64_t>(request.priority), request.created, request.key});
    if (!entry.parked_at.empty()) opened_.insert(entry.parked_at);
    pump(admitted);
    result.duplicate_of = claimant(request.key, entry);
    result.slot.state = entry.reserved > 0 ? Slot::State::kGranted : Slot::State::kWaiting;
    if (entry.reserved == 0) result.slot.limit = blocker_for(entry);
  }
  wake(admitted, &request.key);
  return result;
}

void AdmissionQueue::withdraw(const api::ObjectKey& key) {
  std::vector<api::ObjectKey> admitted;
  {
    const std::scoped_lock lock(mutex_);
    const auto at = entries_.find(key);
    if (at == entries_.end() || (!at->second.waiting && at->second.reserved == 0)) return;
    leave_line(at->second);
    reopen(at->second);
    at->second.reserved = 0;
    recount(at->second);
    pump(admitted);
  }
  wake(admitted);
}

std::string AdmissionQueue::claimant(const api::ObjectKey& key, const Entry& entry) const {
  const auto rivals = by_pod_.find(entry.pod_uid);
  if (entry.pod_uid.empty() || rivals == by_pod_.end()) return {};
  // Who has begun (or may begin any moment) comes first, then the older one, then by name.
  const auto rank = [](const api::ObjectKey& of, const Entry& each) {
    return std::tuple(!each.began, each.reserved == 0, each.created, of.name);
  };
  for (const api::ObjectKey& rival : rivals->second) {
    if (rival == key || rival.ns != key.ns) continue;
    if (rank(rival, entries_.at(rival)) < rank(key, entry)) return rival.name;
  }
  return {};
}

std::string AdmissionQueue::duplicate_of(const api::Evacuation& evacuation) const {
  const std::scoped_lock lock(mutex_);
  const api::ObjectKey key = evacuation.meta.key();
  const auto known = entries_.find(key);
  if (known != entries_.end()) return claimant(key, known->second);
  Entry entry;
  entry.pod_uid = evacuation.spec.pod_ref.uid.value;
  entry.created = evacuation.meta.creation_timestamp;
  return claimant(key, entry);
}

api::Blocker AdmissionQueue::blocker_for(const Entry& entry) const {
  static constexpr const char* kNames[] = {"total", "node", "namespace", "workload"};
  api::Blocker blocker;
  blocker.kind = "Limit";
  if (entry.parked_at.empty()) {
    const auto total = resolved(cluster_.total, static_cast<std::int64_t>(nodes_));
    blocker.name = "total";
    blocker.message = fmt::format("at most {} evacuations in flight in the cluster", total.value_or(0));
    return blocker;
  }
  const Scope& scope = scopes_.at(entry.parked_at);
  const char* kind = kNames[static_cast<int>(scope.kind)];
  const std::string where = scope.name.empty() ? std::string() : fmt::format(" on {} {}", kind, scope.name);
  blocker.name = scope.policy.empty() ? kind : fmt::format("policy {} {}", scope.policy, kind);
  blocker.message = fmt::format("at most {} in flight{}{}", limit_of(scope).value_or(0), where,
                                scope.policy.empty() ? "" : " under policy " + scope.policy);
  return blocker;
}

AdmissionQueue::Usage AdmissionQueue::usage() const {
  const std::scoped_lock lock(mutex_);
  Usage usage;
  usage.in_flight = total_used_;
  for (const auto& [id, scope] : scopes_) usage.waiting += static_cast<std::int64_t>(scope.parked.size());
  usage.waiting += static_cast<std::int64_t>(ready_.size());
  usage.limit = resolved(cluster_.total, static_cast<std::int64_t>(nodes_));
  return usage;
}

}  // namespace controllers
