#include "cmd/drain/requester.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/origin.hpp"

namespace cmd::plugin {
namespace {

std::string asked_by(const api::Evacuation& evacuation) {
  const api::EvacuationSource& source = evacuation.spec.source;
  const std::string& policy = api::policy_of(evacuation);
  if (!policy.empty()) return ", requested by policy " + policy;
  return source.requester.empty() ? "" : ", requested by " + source.requester;
}

}  // namespace

EvacuationCreator::EvacuationCreator(Session& session, EvacuationRequest request, std::string dry_run)
    : session_(session), request_(std::move(request)), dry_run_(std::move(dry_run)) {}

base::Result<std::vector<api::Evacuation>> EvacuationCreator::known_in(const std::string& ns) {
  if (const auto at = known_.find(ns); at != known_.end()) return at->second;
  const auto stored = session_.evacuations(listing(ns));
  if (!stored) return stored.error();
  return known_[ns] = values_of(*stored);
}

base::Result<RequestOutcome> EvacuationCreator::existing(const api::ObjectKey& key) {
  auto stored = session_.evacuation(key);
  if (!stored) return stored.error();
  return RequestOutcome{*std::move(stored), true, false};
}

base::Result<RequestOutcome> EvacuationCreator::make(const api::Pod& pod, const std::string& name,
                                                     std::int32_t priority) {
  const api::Json body = api::encode_evacuation(evacuation_for(pod, name, request_, priority));
  auto stored = parse_evacuation(dry_run_ == "client"
                                     ? api::to_json_text(body)
                                     : session_.create(kube::kEvacuations, pod.meta.ns, body, dry_run_ == "server"));
  if (!stored) return stored.error();
  return RequestOutcome{*std::move(stored), false, dry_run_ != "none"};
}

base::Result<RequestOutcome> EvacuationCreator::ask_for(const api::Pod& pod, std::int32_t priority) {
  const auto known = known_in(pod.meta.ns);
  if (!known) return known.error();
  const Claim claim = existing_evacuation(pod, *known);
  if (claim.unfinished) return existing(claim.unfinished->meta.key());
  auto made = make(pod, claim.free_name, priority);
  if (!made && made.error().code == base::ErrorCode::kAlreadyExists) return existing({pod.meta.ns, claim.free_name});
  return made;
}

std::string describe(const RequestOutcome& asked) {
  const api::Evacuation& evacuation = asked.stored.evacuation;
  if (asked.existed) {
    return fmt::format("pod/{} is already being evacuated: {} ({}{}{})", evacuation.spec.pod_ref.name,
                       resource_name(evacuation.meta.key()), to_string(evacuation.status.phase),
                       evacuation.spec.suspend ? ", waits for approval" : "", asked_by(evacuation));
  }
  return fmt::format("{} created{}", resource_name(evacuation.meta.key()), asked.dry_run ? " (dry run)" : "");
}

EvacuationRequest evacuation_request_of(Session& session, const RequestOptions& options) {
  EvacuationRequest request;
  request.requester = session.requester();
  request.reason = options.reason;
  request.evictors = options.evictors;
  request.grace_period_seconds = options.grace_period_seconds;
  return request;
}

api::Json cancel_patch(const std::string& reason) {
  api::Json cancel = {{"requested", true}};
  if (!reason.empty()) cancel["reason"] = reason;
  return {{"spec", {{"cancel", cancel}}}};
}

api::Json release_patch() { return {{"spec", {{"suspend", false}}}}; }

}  // namespace cmd::plugin
