#include "api/core/kinds.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "api/meta/well_known.hpp"

namespace api {
namespace {

auto find_resource(auto& resources, std::string_view name) {
  return std::ranges::lower_bound(resources, name, {}, [](const auto& entry) { return std::string_view(entry.first); });
}

/// "-5", "0", "42": no sign but minus, no leading zeros, within int64.
std::optional<std::int64_t> canonical_integer(const std::string& text) {
  std::int64_t value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc{} || end != last || std::to_string(value) != text) return std::nullopt;
  return value;
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

std::string_view to_string(PodPhase phase) {
  switch (phase) {
    case PodPhase::kNone: return "";
    case PodPhase::kPending: return "Pending";
    case PodPhase::kRunning: return "Running";
    case PodPhase::kSucceeded: return "Succeeded";
    case PodPhase::kFailed: return "Failed";
    case PodPhase::kUnknown: return "Unknown";
  }
  std::abort();
}

bool Pod::is_ready() const { return is_true(conditions, "Ready"); }

bool Pod::is_mirror() const { return meta.annotations.contains(well_known::kMirrorAnnotation); }

bool Pod::is_daemon_set() const {
  return std::ranges::any_of(meta.owner_references, [](const OwnerReference& o) { return o.kind == "DaemonSet"; });
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
