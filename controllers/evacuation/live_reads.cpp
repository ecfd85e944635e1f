/// Live reads of one reconcile: the Evacuation, its pod, the pod's PodGroup and PersistentVolumeClaims, and documents.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/json/json_access.hpp"
#include "api/pod_group.hpp"
#include "controllers/evacuation/latest_state.hpp"
#include "controllers/evacuation/origin/origin.hpp"
#include "evictors/classify.hpp"
#include "kube/classify.hpp"
#include "kube/request.hpp"

namespace controllers::evacuation {
namespace {

/// Maximum depth of reads that depend on the answers of other reads.
constexpr int kMaxReadRounds = 6;
/// Number of unanswered optional reads after which an evictor's further ones are skipped, since each may take its full
/// timeout.
constexpr int kMaxUnanswered = 2;
/// Maximum number of live reads of PersistentVolumeClaims, above what a node attaches. A pod may list thousands; the
/// rest is judged by the cache.
constexpr int kMaxClaimReads = 64;

/// Whether the answer is not the API server's final word on the object.
bool is_transient(const kube::Response& answer, bool refusal_may_pass) {
  const bool is_refusal = answer.status >= 400 && answer.status < 500 && answer.status != 404;
  if (!is_refusal) return false;
  return (answer.status == 403 && refusal_may_pass) ||
         evictors::classify_call(answer).answer == evictors::ResponseClass::kUnknown;
}

evictors::Document document_of(const evictors::Read& read, evictors::CallResult answer, bool refusal_may_pass) {
  if (!answer) return {read.name, 0, answer.error().message};
  if (read.service.empty() && is_transient(*answer, refusal_may_pass))
    return {read.name, 0, kube::classify(*std::move(answer)).error().message};
  const auto doubt = read.service.empty() ? kube::doubtful_absence(read.request, *answer) : std::nullopt;
  if (doubt) return {read.name, 0, doubt->message, true};
  return {read.name, answer->status, std::move(answer->body)};
}

}  // namespace

base::Result<Continue> LatestState::refresh() {
  if (!stored && !take_cached()) {
    auto evacuation = refresh_evacuation();
    if (!evacuation || *evacuation == Continue::kNo) return evacuation;
  }
  const bool unnamed = seen.evacuation.spec.pod_ref.name.empty();
  if (unnamed) {
    freshness.pod_arrived();
    seen.pod = nullptr;
  } else if (auto pod = refresh_pod(); !pod) {
    return pod.error();
  }
  observe_surroundings();
  if (auto read = read_documents(); !read) return read.error();
  return Continue::kYes;
}

base::Result<Continue> LatestState::refresh_evacuation() {
  auto live = read_evacuation(deps_.client, key_);
  if (!live && base::is_not_found(live.error())) {
    freshness.mark_gone();
    return Continue::kNo;
  }
  if (!live) return live.error().during("reading the Evacuation");
  if (live->evacuation.meta.uid != seen.evacuation.meta.uid) {
    freshness.mark_gone();  // another object has its name now; its cache event wakes this key
    return Continue::kNo;
  }
  adopt(*std::move(live));
  return Continue::kYes;
}

base::Status LatestState::refresh_pod() {
  freshness.pod_may_differ();
  seen.pod_is_cached = false;
  auto body = deps_.client.get(kube::kPods, {key_.ns, seen.evacuation.spec.pod_ref.name});
  if (!body && !base::is_not_found(body.error())) return body.error().during("reading the pod");
  seen.pod = nullptr;
  if (body) {
    auto pod = api::decode_pod(*body);
    if (!pod || pod->meta.uid.empty()) return base::unavailable("the server's response is not a Pod");
    seen.pod = std::make_shared<const api::Pod>(*std::move(pod));
  }
  freshness.pod_arrived();
  return base::Done{};
}

/// Reads the votes live: one may have been withdrawn, or its Evacuation deleted, since the cache saw it.
base::Result<Continue> LatestState::refresh_pod_group() {
  for (PodGroupMember& member : seen.pod_group.members) {
    if (!member.evacuation) continue;
    auto live = read_evacuation(deps_.client, member.evacuation->meta.key());
    if (!live && !base::is_not_found(live.error())) return live.error().during("reading an Evacuation of the PodGroup");
    const bool same = live && live->evacuation.meta.uid == member.evacuation->meta.uid;
    if (same) update_origin_condition(live->evacuation, keys_.get(), deps_.origins);
    member.evacuation = same ? std::make_shared<const api::Evacuation>(std::move(live->evacuation)) : nullptr;
  }
  freshness.pod_group_arrived();
  return Continue::kYes;
}

bool LatestState::has_unknown_group() const {
  if (!seen.pod || seen.pod->scheduling_group.empty() || seen.pod->is_terminal()) return false;
  return deps_.pod_groups != nullptr && deps_.pod_group_kind &&
         !deps_.pod_groups->get({key_.ns, seen.pod->scheduling_group.get()});
}

/// Lists with a field selector, because the operator's role has no get. The pods of a missing PodGroup leave one by
/// one. A persistent 403 is treated like a PodGroup that leaves as a whole, since it may be one.
base::Status LatestState::refresh_scheduling_group() {
  const std::string& name = seen.pod->scheduling_group.get();
  auto answer =
      send({}, kube::list_request(*deps_.pod_group_kind, {.ns = key_.ns, .field_selector = "metadata.name=" + name}));
  if (!answer) return answer.error().during("reading PodGroup " + name);
  if (answer->status == 403 && !seen.refusal_may_pass) {
    seen.whole_group = api::scheduling_group_blocker(*seen.pod, nullptr);
    return base::Done{};
  }
  const auto listed = kube::classify(*std::move(answer));
  if (!listed) return listed.error().during("reading PodGroup " + name);
  const auto list = api::parse_json(listed->body);
  if (!list || !api::find_at(*list, {"items"}))
    return base::unavailable("the server's response is not a list of PodGroups");
  for (const api::Json& item : api::items_at(*list, {"items"})) {
    const auto group = api::decode_scheduling_pod_group(api::to_json_text(item));
    if (!group) return group.error().during("reading PodGroup " + name);
    if (group->meta.name == name) seen.whole_group = api::scheduling_group_blocker(*seen.pod, &*group);
  }
  return base::Done{};
}

/// Called right before a call that moves the pod. A deletion between this read and the call is not noticed.
base::Result<Continue> LatestState::refresh_pvcs() {
  if (has_unknown_group()) {
    if (auto group = refresh_scheduling_group(); !group) return group.error();
  }
  int reads = 0;
  for (const api::Volume& volume : seen.pod->volumes) {
    if (!api::uses_claim(volume) || volume.source.empty() || ++reads > kMaxClaimReads) continue;
    auto body = deps_.client.get(kube::kPersistentVolumeClaims, {key_.ns, volume.source});
    const bool is_missing = !body && base::is_not_found(body.error());
    if (is_missing && volume.kind == api::VolumeKind::kEphemeral) continue;  // the replacement gets a new one
    if (!body && !is_missing) return body.error().during("reading PersistentVolumeClaim " + volume.source);
    if (is_missing) {
      seen.pvc_risk =
          fmt::format("its PersistentVolumeClaim {} does not exist: only the pod keeps the volume", volume.source);
      break;
    }
    const auto claim = api::decode_pvc(*body);
    if (!claim || claim->meta.uid.empty())
      return base::unavailable("the server's response is not a PersistentVolumeClaim");
    seen.pvc_risk = explain_risk(*claim, *seen.pod);
    if (!seen.pvc_risk.empty()) break;
  }
  freshness.claims_arrived();
  return Continue::kYes;
}

base::Status LatestState::read_documents() {
  seen.documents.clear();
  seen.not_allowed.clear();
  for (int round = 0; round < kMaxReadRounds; ++round) {
    const auto wanted = wanted_reads(seen, deps_.evictors, deps_.clock.now());
    if (wanted.empty()) return base::Done{};
    freshness.documents_arrived();
    for (const auto& [evictor, reads] : wanted) {
      if (auto read = read_documents_of(evictor, reads); !read) return read;
    }
  }
  return base::Done{};
}

base::Status LatestState::read_documents_of(const std::string& evictor, const std::vector<evictors::Read>& reads) {
  int unanswered = 0;  // optional reads
  for (const evictors::Read& read : reads) {
    if (!read.pods.empty()) {
      seen.documents[evictor].push_back(evacuated_pods(read));
      continue;
    }
    if (read.optional && unanswered >= kMaxUnanswered) {
      seen.documents[evictor].push_back({.name = read.name, .body = "not sent", .was_skipped = true});
      continue;
    }
    auto answer = send({read.service, read.service_use, key_.ns}, read.request);
    if (!answer && answer.error().code == base::ErrorCode::kCancelled) return answer.error();
    unanswered += read.optional && !answer ? 1 : 0;
    seen.documents[evictor].push_back(document_of(read, std::move(answer), seen.refusal_may_pass));
  }
  return base::Done{};
}

/// Lists which of the pods of `read` another unfinished Evacuation moves, by the cache.
evictors::Document LatestState::evacuated_pods(const evictors::Read& read) const {
  api::Json names = api::Json::array();
  for (const std::string& pod : read.pods) {
    const auto all = deps_.evacuations.by_index(kEvacuationsByPod, key_.ns + "/" + pod);
    const bool moves = std::ranges::any_of(
        all, [&](const auto& each) { return !api::is_terminal(each->status.phase) && !(each->meta.key() == key_); });
    if (moves) names.push_back(pod);
  }
  return {read.name, 200, api::to_json_text(names)};
}

evictors::CallResult LatestState::send(const ServiceCall& call, const kube::Request& request,
                                       const kube::Client::Fence& fence) {
  seen.refusal_may_pass = false;
  if (!call.service.empty()) return send_to_service(call, request, fence);
  auto answer = deps_.client.send(request, fence);
  const bool is_refused = answer && answer->status == 403;
  if (is_refused) seen.refusal_may_pass = reconciler_.missing_rights_.refused(request, reconciler_.steady_now());
  if (answer && !is_refused) reconciler_.missing_rights_.answered(request);
  return answer;
}

evictors::CallResult LatestState::send_to_service(const ServiceCall& call, const kube::Request& request,
                                                  const kube::Client::Fence& fence) {
  if (!deps_.services)
    return base::invalid(fmt::format("service {} is not in the operator's configuration", call.service));
  if (std::string refusal = deps_.services->refusal(call); !refusal.empty()) {
    seen.not_allowed = std::move(refusal);
    return base::invalid(seen.not_allowed);
  }
  const auto left = fence ? fence() : base::Result<base::milliseconds>(request.timeout);
  if (!left) return left.error();
  kube::Request bounded = request;
  bounded.timeout = std::min(bounded.timeout, *left);
  return deps_.services->send(call, bounded);
}

/// Takes the current pod from the answer to a patch; otherwise the next decision would patch again.
void LatestState::take_pod_from(const evictors::Action& action, const evictors::CallResult& answer) {
  if (action.request.method != "PATCH" || !answer || answer->status != 200) return;
  auto pod = api::decode_pod(answer->body);
  if (pod && pod->meta.name == seen.evacuation.spec.pod_ref.name) {
    seen.pod = std::make_shared<const api::Pod>(*std::move(pod));
  }
}

}  // namespace controllers::evacuation
