#include "evictors/evictor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/meta/well_known.hpp"
#include "api/origin.hpp"
#include "base/text.hpp"
#include "evictors/eviction_call.hpp"
#include "evictors/timeouts.hpp"
#include "kube/request.hpp"

namespace evictors {
namespace {

constexpr std::size_t kMaxReason = 512;

/// Annotation values reach webhooks and the audit log, so the text is limited to one line and kMaxReason bytes.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return base::truncate_utf8(text, kMaxReason);
}

/// Names the policy only for Evacuations that the operator created.
std::string reason_of(const api::Evacuation& evacuation) {
  const api::EvacuationSpec& spec = evacuation.spec;
  const std::string& policy = api::policy_of(evacuation);
  if (policy.empty()) return one_line(spec.reason);
  return one_line(fmt::format("triggered by {}/{}: {}", policy, spec.source.strategy, spec.reason));
}

}  // namespace

std::string_view EvictorContext::parameter(std::string_view name, std::string_view otherwise) const {
  for (const auto& [key, value] : parameters) {
    if (key == name) return value;
  }
  return otherwise;
}

const Document* EvictorContext::document(std::string_view name) const {
  for (const Document& each : documents) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

std::string_view EvictorContext::ref(std::string_view name) const {
  for (const auto& [key, value] : evacuation.status.refs) {
    if (key == name) return value;
  }
  return {};
}

api::FieldErrors Evictor::validate(const std::vector<std::pair<std::string, std::string>>& parameters,
                                   const api::FieldPath& path) const {
  return check_parameters(parameters, path, {kRequestedBy});
}

namespace {

/// Returns the evictor's optional interface, or one with the default answers.
template <typename Interface>
const Interface& part_of(const Evictor& evictor) {
  static const Interface kDefaults;
  const auto* part = dynamic_cast<const Interface*>(&evictor);
  return part ? *part : kDefaults;
}

}  // namespace

std::vector<Read> Evictor::reads(const EvictorContext& context) const {
  return part_of<DocumentReader>(*this).reads(context);
}
base::seconds Evictor::poll_interval(const EvictorContext& context) const {
  return part_of<DocumentReader>(*this).poll_interval(context);
}
std::vector<Action> Evictor::undo(const EvictorContext& context) const { return part_of<Undoer>(*this).undo(context); }
Rollback Evictor::undone(const EvictorContext& context) const { return part_of<Undoer>(*this).undone(context); }
std::string Evictor::remains(const EvictorContext& context) const { return part_of<Undoer>(*this).remains(context); }
std::vector<Action> Evictor::cleanup(const EvictorContext& context) const {
  return part_of<Undoer>(*this).cleanup(context);
}
std::vector<Action> Evictor::leftovers(const EvictorContext& context) const {
  return part_of<Undoer>(*this).leftovers(context);
}
bool Evictor::awaits_cleanup(const EvictorContext& context) const {
  return part_of<Undoer>(*this).awaits_cleanup(context);
}
Verification Evictor::verify(const EvictorContext& context) const {
  return part_of<DepartureFollower>(*this).verify(context);
}
std::optional<Action> Evictor::departing(const EvictorContext& context) const {
  return part_of<DepartureFollower>(*this).departing(context);
}
bool Evictor::is_in_service(const EvictorContext& context, const api::Pod& replacement) const {
  return part_of<DepartureFollower>(*this).is_in_service(context, replacement);
}
bool Evictor::needs_capacity(const EvictorContext& context) const {
  return part_of<TermsProvider>(*this).needs_capacity(context);
}
std::string Evictor::advice(const EvictorContext& context) const {
  return part_of<TermsProvider>(*this).advice(context);
}
base::seconds Evictor::call_timeout(const EvictorContext& context) const {
  return part_of<TermsProvider>(*this).call_timeout(context);
}

bool probe_requires_owner(const Evictor& evictor, const EvictorContext& context) {
  const Probe found = evictor.probe(context);
  return found.support == Support::kSupported && found.required;
}

bool TermsProvider::owner_decides(const EvictorContext& context) const {
  const auto* evictor = dynamic_cast<const Evictor*>(this);
  return evictor != nullptr && probe_requires_owner(*evictor, context);
}

bool Evictor::owner_decides(const EvictorContext& context) const {
  const auto* optional = dynamic_cast<const TermsProvider*>(this);
  return optional ? optional->owner_decides(context) : probe_requires_owner(*this, context);
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
      {std::string(api::well_known::kTokenAnnotation), context.evacuation.status.token}};
  const api::ObjectKey key{context.evacuation.meta.ns, spec.pod_ref.name};
  Action action;
  action.role = ActionRole::kRequest;
  action.name = kPostEviction;
  action.request = kube::eviction_request(key, options, context.eviction_version);
  action.request.timeout = kCallTimeout;
  action.pre_state = "podResourceVersion=" + context.pod->meta.resource_version;
  return action;
}

api::FieldErrors check_parameters(const std::vector<std::pair<std::string, std::string>>& parameters,
                                  const api::FieldPath& path, const std::vector<std::string_view>& known) {
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

bool wants_handoff(const api::Pod& pod) { return pod.meta.annotations.contains(api::well_known::kHandoffMode); }

bool wants_background(const api::Pod& pod) { return pod.meta.annotations.contains(api::well_known::kRequestEvictOnly); }

}  // namespace evictors
