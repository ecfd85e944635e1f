#include "api/core/kinds.hpp"

#include <algorithm>

#include "api/core/terms/term_hash.hpp"
#include "api/meta/well_known.hpp"
#include "api/wire_names.hpp"
#include "base/text.hpp"

namespace api {
namespace {

auto find_resource(auto& resources, std::string_view name) {
  return std::ranges::lower_bound(resources, name, {}, [](const auto& entry) { return std::string_view(entry.first); });
}

/// Parses "-5", "0", "42": no plus sign, no leading zeros, within int64.
std::optional<std::int64_t> canonical_integer(const std::string& text) {
  const auto value = base::parse_number<std::int64_t>(text);
  return value && std::to_string(*value) == text ? value : std::nullopt;
}

}  // namespace

Quantity amount_of(const ResourceList& resources, std::string_view name) {
  const auto at = find_resource(resources, name);
  return at != resources.end() && at->first == name ? at->second : Quantity();
}

void add_amount(ResourceList& resources, std::string_view name, Quantity amount) {
  const auto at = find_resource(resources, name);
  if (at != resources.end() && at->first == name) {
    at->second += amount;
  } else {
    resources.emplace(at, std::string(name), amount);
  }
}

bool Toleration::tolerates(const Taint& taint) const {
  if (comparison == TolerationComparison::kNever || (effect && *effect != taint.effect)) return false;
  if (!key.empty() && key != taint.key) return false;
  if (exists) return true;
  if (comparison == TolerationComparison::kEqual) return value == taint.value;
  const auto theirs = canonical_integer(taint.value);
  const auto ours = canonical_integer(value);
  if (!theirs || !ours) return false;
  return comparison == TolerationComparison::kLessThan ? *theirs < *ours : *theirs > *ours;
}

std::string_view to_string(PodPhase phase) { return name_of(kPodPhaseNames, phase); }

bool Pod::is_ready() const {
  const auto ready = std::ranges::find_if(conditions, [](const PodCondition& each) { return each.type == "Ready"; });
  return ready != conditions.end() && ready->status == ConditionStatus::kTrue;
}

bool Pod::is_mirror() const { return meta.annotations.contains(well_known::kMirrorAnnotation); }

bool Pod::is_daemon_set() const {
  return std::ranges::any_of(meta.owner_references, [](const OwnerReference& o) { return o.kind == "DaemonSet"; });
}

namespace {

void add_to(Hasher& hasher, const std::string& text) { hasher.add(text); }

void add_to(Hasher& hasher, const SharedResources::value_type& resource) {
  hasher.add(resource.first).add(resource.second.milli());
}

// Hashes cover nearly all members, because values with equal hashes are compared one by one.

template <typename T>
std::int64_t number_of(const std::optional<T>& value) {
  return value ? static_cast<std::int64_t>(*value) : -1;
}

std::int64_t number_of(const std::optional<base::TimePoint>& time) {
  return time ? static_cast<std::int64_t>(time->time_since_epoch().count()) : -1;
}

void add_to(Hasher& hasher, const TopologySpreadConstraint& each) {
  hasher.add(static_cast<std::int64_t>(hash_of(each)));
}

void add_to(Hasher& hasher, const Container& each) {
  hasher.add(each.name).add(each.image);
  for (const auto& resource : each.requests) add_to(hasher, resource);
  for (const auto& resource : each.limits) add_to(hasher, resource);
  for (const HostPort& port : each.host_ports) hasher.add(port.ip).add(port.protocol).add(port.port);
}

void add_to(Hasher& hasher, const Volume& each) {
  hasher.add(static_cast<int>(each.kind)).add(each.source).add(each.storage_class);
}

void add_to(Hasher& hasher, const PodResponder& each) { hasher.add(each.name).add(each.priority); }

void add_to(Hasher& hasher, const ContainerStatus& each) {
  hasher.add(each.name).add(each.restart_count).add(each.ready ? 1 : 0);
  hasher.add(each.waiting_reason).add(each.terminated_reason).add(each.last_terminated_reason);
  hasher.add(number_of(each.exit_code)).add(number_of(each.finished_at));
  hasher.add(number_of(each.last_exit_code)).add(number_of(each.last_finished_at));
}

template <typename T>
void share(SharedList<T>& list) {
  Hasher hasher;
  for (const T& each : list.get()) add_to(hasher, each);
  list.share(hasher.value());
}

}  // namespace

void Pod::share_parts() {
  meta.share_owners();
  for (SharedText* text :
       {&scheduler_name, &priority_class_name, &restart_policy, &status_reason, &qos_class, &scheduling_group})
    text->share();
  for (PodCondition& each : conditions) {
    for (SharedText* text : {&each.type, &each.reason, &each.message}) text->share();
  }
  for (auto* containers_of : {&containers, &init_containers}) share(*containers_of);
  for (SharedResources* amounts : {&overhead, &pod_requests, &pod_limits}) share(*amounts);
  tolerations.share(hash_of(tolerations.get()));
  share(topology_spread);
  share(resource_claims);
  share(eviction_responders);
  share(container_statuses);
  // Equal volumes may have different claim templates, which operator== ignores.
  const auto has_template = [](const Volume& volume) { return volume.claim_template != nullptr; };
  if (std::ranges::none_of(volumes.get(), has_template)) share(volumes);
}

bool Node::is_ready() const { return is_true(conditions, "Ready"); }

const std::string& Node::zone() const {
  const std::string* zone = meta.labels.find(well_known::kZoneLabel);
  return zone ? *zone : meta.labels.value(well_known::kLegacyZoneLabel);
}

bool PodDisruptionBudget::covers(const Pod& pod) const {
  if (pod.meta.ns != meta.ns || !selector) return false;
  if (from_v1beta1 && selector->requirements.empty()) return false;
  return selector->matches(pod.meta.labels);
}

}  // namespace api
