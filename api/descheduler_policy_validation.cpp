#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/descheduler_policy.hpp"
#include "api/evacuation_parts.hpp"
#include "api/meta/names.hpp"

namespace api {
namespace {

void check_selector(const std::optional<LabelSelector>& selector, const FieldPath& at, FieldErrors& errors) {
  if (!selector) return;
  check_count(errors, at, selector->requirements.size(), bounds::kMaxRequirements);
  for (const SelectorRequirement& requirement : selector->requirements) {
    check_count(errors, at.key(requirement.key), requirement.values.size(), bounds::kMaxRequirements);
  }
}

void check_threshold(const std::optional<PriorityThreshold>& threshold, const FieldPath& at, FieldErrors& errors) {
  if (!threshold) return;
  if (threshold->value.has_value() == !threshold->name.empty()) {
    errors.push_back({at.text(), "must have either value or name, and not both"});
  }
  if (threshold->value) {
    check_range(errors, at.field("value"), *threshold->value, INT32_MIN, bounds::kMaxThreshold);
  }
  if (!threshold->name.empty()) check_subdomain(errors, at.field("name"), threshold->name);
}

void check_namespaces(const NamespaceFilter& filter, const FieldPath& at, FieldErrors& errors) {
  if (!filter.include.empty() && !filter.exclude.empty()) {
    errors.push_back({at.text(), "must have either include or exclude, not both"});
  }
  const auto check_list = [&](const char* name, const std::vector<std::string>& names) {
    check_count(errors, at.field(name), names.size(), bounds::kMaxNamespaces);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (is_dns_label(names[i])) continue;
      errors.push_back({at.field(name).index(i).text(),
                        fmt::format("\"{}\" is not a namespace name", names[i].substr(0, bounds::kMaxName))});
    }
  };
  check_list("include", filter.include);
  check_list("exclude", filter.exclude);
}

bool is_on_by_default(PodProtection protection) { return protection < PodProtection::kPodsWithPVC; }

/// Each list has its own set of names, without duplicates.
void check_protection_list(const std::vector<PodProtection>& list, bool wants_default, const FieldPath& at,
                           FieldErrors& errors) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (is_on_by_default(list[i]) != wants_default) {
      errors.push_back({at.index(i).text(),
                        fmt::format("{} is {} by default, it belongs into {}", to_string(list[i]),
                                    wants_default ? "off" : "on", wants_default ? "extraEnabled" : "defaultDisabled")});
    }
    if (std::find(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i), list[i]) !=
        list.begin() + static_cast<std::ptrdiff_t>(i)) {
      errors.push_back({at.index(i).text(), fmt::format("{} is listed twice", to_string(list[i]))});
    }
  }
}

void check_protections(const PodProtections& protections, const FieldPath& at, FieldErrors& errors) {
  check_protection_list(protections.default_disabled, true, at.field("defaultDisabled"), errors);
  check_protection_list(protections.extra_enabled, false, at.field("extraEnabled"), errors);
  const FieldPath volumes = at.field("config").field("PodsWithLocalStorage").field("ignoredVolumes");
  check_count(errors, volumes, protections.ignored_volumes.size(), bounds::kMaxIgnoredVolumes);
  for (std::size_t i = 0; i < protections.ignored_volumes.size(); ++i) {
    if (!is_dns_label(protections.ignored_volumes[i]))
      errors.push_back({volumes.index(i).text(), "must be a DNS label, as names of volumes are"});
  }
  const FieldPath classes = at.field("config").field("PodsWithPVC").field("protectedStorageClasses");
  check_count(errors, classes, protections.protected_storage_classes.size(), bounds::kMaxStorageClasses);
  for (std::size_t i = 0; i < protections.protected_storage_classes.size(); ++i) {
    const std::string& name = protections.protected_storage_classes[i];
    if (name.empty()) {
      errors.push_back({classes.index(i).field("name").text(), "is required"});
    } else {
      check_subdomain(errors, classes.index(i).field("name"), name);
    }
  }
}

void check_opt_outs(const std::vector<OptOut>& opt_outs, const FieldPath& at, FieldErrors& errors) {
  check_count(errors, at, opt_outs.size(), bounds::kMaxOptOuts);
  for (std::size_t i = 0; i < opt_outs.size(); ++i) {
    const OptOut& each = opt_outs[i];
    const FieldPath annotation = at.index(i).field("annotation");
    if (each.annotation.empty()) {
      errors.push_back({annotation.text(), "is required"});
    } else if (!is_qualified_name(each.annotation)) {
      errors.push_back(
          {annotation.text(), fmt::format("\"{}\" is not a name of an annotation", each.annotation.substr(0, 80))});
    }
    if (each.max_duration <= base::Duration::zero() ||
        each.max_duration > std::chrono::hours(bounds::kMaxPodAgeHours)) {
      errors.push_back({at.index(i).field("maxDuration").text(),
                        fmt::format("{} is not between 1us and {}h", base::format_duration(each.max_duration),
                                    bounds::kMaxPodAgeHours)});
    }
  }
}

void check_evictability(const Evictability& evictability, const FieldPath& at, FieldErrors& errors) {
  check_selector(evictability.node_selector, at.field("nodeSelector"), errors);
  check_selector(evictability.label_selector, at.field("labelSelector"), errors);
  check_selector(evictability.namespace_label_selector, at.field("namespaceLabelSelector"), errors);
  check_range(errors, at.field("minReplicas"), evictability.min_replicas, 0, bounds::kMaxReplicas);
  if (evictability.min_pod_age) {
    const base::Duration age = *evictability.min_pod_age;
    if (age <= base::Duration::zero() || age > std::chrono::hours(bounds::kMaxPodAgeHours)) {
      errors.push_back(
          {at.field("minPodAge").text(),
           fmt::format("{} is not between 1us and {}h", base::format_duration(age), bounds::kMaxPodAgeHours)});
    }
  }
  check_threshold(evictability.priority_threshold, at.field("priorityThreshold"), errors);
  check_namespaces(evictability.namespaces, at.field("namespaces"), errors);
  check_protections(evictability.pod_protections, at.field("podProtections"), errors);
  check_opt_outs(evictability.opt_outs, at.field("optOuts"), errors);
}

void check_strategies(const std::vector<StrategyChoice>& strategies, const FieldPath& at, FieldErrors& errors) {
  check_count(errors, at, strategies.size(), bounds::kMaxStrategies);
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    const FieldPath here = at.index(i);
    if (strategies[i].name.empty()) errors.push_back({here.field("name").text(), "is required"});
    check_length(errors, here.field("name"), strategies[i].name, bounds::kMaxName);
    if (strategies[i].args_json.size() > bounds::kMaxArgsBytes) {
      errors.push_back({here.field("args").text(), fmt::format("is larger than {} bytes", bounds::kMaxArgsBytes)});
    }
  }
}

/// Hooks are run by stateful-handoff. Without that evictor they would be ignored silently.
void check_hooks_have_evictor(const EvacuationTemplate& wanted, const FieldPath& at, FieldErrors& errors) {
  if (wanted.hooks.empty()) return;
  if (std::ranges::find(wanted.evictors, "stateful-handoff", &EvictorChoice::name) != wanted.evictors.end()) return;
  errors.push_back({at.field("hooks").text(), "needs the evictor stateful-handoff in " + at.field("evictors").text()});
}

}  // namespace

FieldErrors validate(const DeschedulerPolicySpec& spec, const std::vector<std::string_view>& known_evictors) {
  FieldErrors errors;
  const FieldPath at("spec");
  validate_schedule(spec.schedule, at.field("schedule"), errors);
  check_selector(spec.node_selector, at.field("nodeSelector"), errors);
  check_evictability(spec.evictability, at.field("evictability"), errors);
  check_strategies(spec.strategies, at.field("strategies"), errors);
  validate_limits(spec.limits, at.field("limits"), errors);
  check_shared_parts(spec.evacuation, at.field("evacuation"), known_evictors, errors);
  check_range(errors, at.field("circuitBreaker").field("failures"), spec.circuit_breaker.failures, 0, 1000);
  check_range(errors, at.field("explain").field("cycles"), spec.explain.cycles, 0, kMaxPastCycles);
  check_hooks(spec.evacuation.hooks, at.field("evacuation").field("hooks"), errors);
  check_hooks_have_evictor(spec.evacuation, at.field("evacuation"), errors);
  validate_usage_sources(spec.usage_sources, at.field("usageSources"), errors);
  validate_gates(spec.gates, spec.usage_sources, at.field("gates"), errors);
  validate_convergence(spec.convergence, at.field("convergence"), errors);
  return errors;
}

FieldErrors check_descheduler_policy(const Json& object, const std::vector<std::string_view>& known_evictors) {
  return check_own_kind(object, "a DeschedulerPolicy", read_policy_spec, known_evictors);
}

}  // namespace api
