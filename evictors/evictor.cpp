#include "evictors/evictor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/meta/well_known.hpp"
#include "api/origin.hpp"
#include "evictors/document.hpp"
#include "evictors/eviction_call.hpp"
#include "kube/request.hpp"

namespace evictors {
namespace {

/// Annotation values reach webhooks and the audit log, so the text is one line of at most this number of bytes.
constexpr std::size_t kMaxReason = 512;

/// Names the policy only for Evacuations that the operator created.
std::string reason_of(const api::Evacuation& evacuation) {
  const api::EvacuationSpec& spec = evacuation.spec;
  const std::string& policy = api::policy_of(evacuation);
  if (policy.empty()) return one_line(spec.reason, kMaxReason);
  return one_line(fmt::format("triggered by {}/{}: {}", policy, spec.source.strategy, spec.reason), kMaxReason);
}

}  // namespace

Action make_action(ActionRole role, std::string_view name, kube::Request request, std::string pre_state) {
  return {role, std::string(name), std::move(request), std::move(pre_state), {}};
}

Read read_of(std::string_view name, kube::Request request) { return {std::string(name), std::move(request), {}}; }

Probe unsupported(std::string_view adapter, std::string reason) {
  return {Support::kUnsupported, std::string(adapter), std::move(reason), {}, false, {}};
}

Probe unavailable(std::string reason, std::optional<base::TimePoint> until, bool hold) {
  return {Support::kUnavailable, {}, std::move(reason), until, hold, {}};
}

api::FieldErrors Evictor::validate(const Parameters& parameters, const api::FieldPath& path) const {
  return check_parameters(parameters, path, {kRequestedBy});
}

bool Evictor::owner_decides(const EvictorContext& context) const {
  const Probe found = probe(context);
  return found.support == Support::kSupported && found.required;
}

Timeouts effective_timeouts(const api::EvacuationSpec& spec) {
  const Timeouts defaults;
  const api::EvacuationTimeouts& given = spec.timeouts;
  return {given.decision_ttl.value_or(defaults.decision_ttl),
          given.prepare.value_or(defaults.prepare),
          given.acknowledge.value_or(defaults.acknowledge),
          given.heartbeat.value_or(defaults.heartbeat),
          given.total.value_or(defaults.total),
          given.queue.value_or(defaults.queue),
          given.blocked.value_or(defaults.blocked),
          given.verify.value_or(defaults.verify),
          given.abort.value_or(defaults.abort)};
}

base::seconds grace_period(const api::EvacuationSpec& spec, const api::Pod* pod) {
  constexpr std::int64_t kDefaultGrace = 30;
  const auto of_deletion = pod ? pod->meta.deletion_grace_period_seconds : std::nullopt;
  const auto of_pod = pod ? pod->termination_grace_period_seconds : std::nullopt;
  const std::int64_t asked = spec.grace_period_seconds.value_or(of_pod.value_or(kDefaultGrace));
  return std::clamp(base::seconds(of_deletion.value_or(asked)), base::seconds(0), kMaxGracePeriod);
}

base::seconds termination_timeout(const api::EvacuationSpec& spec, const api::Pod* pod) {
  return spec.timeouts.termination.value_or(grace_period(spec, pod) + kTerminationSlack);
}

base::TimePoint termination_deadline(const api::EvacuationSpec& spec, const api::Pod* pod, base::TimePoint now) {
  const auto deletion = pod ? pod->meta.deletion_timestamp : std::nullopt;
  if (spec.timeouts.termination || !deletion) return now + termination_timeout(spec, pod);
  return std::clamp<base::TimePoint>(*deletion, now, now + kMaxGracePeriod) + kTerminationSlack;
}

Action post_eviction(const EvictorContext& context, std::string resource_version) {
  const api::EvacuationSpec& spec = context.evacuation.spec;
  kube::EvictionOptions options;
  options.uid = spec.pod_ref.uid.value;
  options.resource_version = std::move(resource_version);
  options.grace_period_seconds = spec.grace_period_seconds;
  options.dry_run = spec.dry_run;
  options.annotations = api::StringMap{
      {"requested-by", std::string(context.parameter(kRequestedBy, api::well_known::kRequestedByDescheduler))},
      {"reason", reason_of(context.evacuation)},
      {std::string(api::well_known::kTokenAnnotation), context.token()}};
  const api::ObjectKey key{context.ns(), spec.pod_ref.name};
  kube::Request request = kube::eviction_request(key, options, context.eviction_version);
  request.timeout = kCallTimeout;
  return make_action(ActionRole::kRequest, kPostEviction, std::move(request),
                     "podResourceVersion=" + context.pod->meta.resource_version);
}

api::FieldErrors check_parameters(const Parameters& parameters, const api::FieldPath& path,
                                  const std::vector<std::string_view>& known) {
  api::FieldErrors errors;
  for (const auto& [name, value] : parameters) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      errors.push_back(
          {path.field(name).text(), fmt::format("unknown parameter; known are: {}", fmt::join(known, ", "))});
    } else if (name == kRequestedBy && (value.empty() || value.size() > 253)) {
      errors.push_back({path.field(name).text(), "must have 1 to 253 characters"});
    }
  }
  return errors;
}

void check_value(const Parameters::value_type& parameter, std::string_view of,
                 const std::vector<std::string_view>& allowed, const api::FieldPath& path, api::FieldErrors& errors) {
  const auto& [name, value] = parameter;
  if (name != of || std::ranges::find(allowed, value) != allowed.end()) return;
  const std::string others = fmt::format("{}", fmt::join(allowed.begin(), allowed.end() - 1, ", "));
  errors.push_back({path.field(name).text(), fmt::format("must be {} or {}, not {}", others, allowed.back(), value)});
}

bool wants_handoff(const api::Pod& pod) { return pod.meta.annotations.contains(api::well_known::kHandoffMode); }

bool wants_background(const api::Pod& pod) { return pod.meta.annotations.contains(api::well_known::kRequestEvictOnly); }

}  // namespace evictors
