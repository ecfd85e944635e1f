#include "evictors/eviction_request/request_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "api/meta/well_known.hpp"
#include "kube/request.hpp"

namespace evictors::eviction_request {
namespace {

using Api = RequestState::Api;
using Presence = RequestState::Presence;

bool lists_both_kinds(const std::string& body) {
  const auto json = api::parse_json(body);
  if (!json) return false;
  const auto lists = [&](std::string_view plural) {
    return std::ranges::any_of(api::items_at(*json, {"resources"}),
                               [&](const api::Json& each) { return api::text_at(each, {"name"}) == plural; });
  };
  return lists(kube::kEvictionRequests.plural) && lists(kube::kNativeEvictions.plural);
}

/// The API counts as not served only if discovery and the current answer agree.
Api read_api(const Document* document, bool is_listed) {
  if (!document) return Api::kUnread;
  const Api absent = is_listed ? Api::kHidden : Api::kNotServed;
  if (document->ok()) return lists_both_kinds(document->body) ? Api::kServed : absent;
  if (document->status == 404) return absent;
  if (document->is_kind_unserved) return Api::kHidden;
  if (document->status == 401 || document->status == 403) return Api::kForbidden;
  return Api::kServed;
}

void read_request(const EvictorContext& context, const Document* document, RequestState& view) {
  if (!document) return;
  if (document->status == 404) view.presence = Presence::kAbsent;
  if (!document->ok()) return;
  auto request = api::decode_eviction_request(document->body);
  if (!request) return;
  view.request = *std::move(request);
  const bool ours = view.request.requester == api::well_known::kNativeRequester &&
                    view.request.pod_uid == context.evacuation.spec.pod_ref.uid;
  view.presence = ours ? Presence::kOurs : Presence::kForeign;
}

/// Returns true if the list was read.
bool read_evictions(const EvictorContext& context, const Document* document, RequestState& view) {
  if (!document || !document->ok()) return false;
  auto all = api::decode_native_evictions(document->body);
  if (!all) return false;
  for (api::NativeEviction& each : *all) {
    if (each.pod_uid == context.evacuation.spec.pod_ref.uid) view.evictions.push_back(std::move(each));
  }
  std::ranges::stable_sort(view.evictions, {}, [](const auto& each) { return each.meta.creation_timestamp; });
  return true;
}

bool is_denied(const Document& review) {
  if (review.status != 200 && review.status != 201) return false;
  const auto json = api::parse_json(review.body);
  const api::Json* allowed = json ? api::find_at(*json, {"status", "allowed"}) : nullptr;
  return allowed && allowed->is_boolean() && !allowed->get<bool>();
}

std::string first_denied(const EvictorContext& context) {
  for (const Access& each : kAccess) {
    const Document* review = context.document(access_name(each));
    if (review && is_denied(*review)) return fmt::format("{} {}", each.verb, each.resource);
  }
  return {};
}

RemoteFailure failure_from(const std::vector<api::Condition>& conditions) {
  const api::Condition& failed = *api::find_condition(conditions, "Failed");
  RemoteFailure failure{failed.reason.empty() ? "Failed" : failed.reason, failed.message};
  // The API would refuse an invalid request again. The next evictor may succeed.
  failure.try_next = failure.reason == "EvictionInvalid";
  failure.retryable = !failure.try_next;
  failure.complete_reason = api::Reason::kNativeFailed;
  if (failure.message.empty() && failure.reason == "NoFurtherResponder")
    failure.message = "every responder has finished, and the pod still exists";
  if (failure.message.empty() && failure.reason == "CanceledDueToNoRequesters")
    failure.message = "another requester withdrew the request";
  return failure;
}

}  // namespace

bool RequestState::others_remain() const {
  const api::NativeEviction* eviction = current();
  if (!eviction || eviction->is_final()) return false;
  return std::ranges::any_of(eviction->requesters, [](const auto& each) {
    return !each.withdrawn && each.name != api::well_known::kNativeRequester;
  });
}

std::string access_name(const Access& access) { return fmt::format("may {} {}", access.verb, access.resource); }

Read access_read(const Access& access, const std::string& ns) {
  const api::Json review = {{"apiVersion", "authorization.k8s.io/v1"},
                            {"kind", "SelfSubjectAccessReview"},
                            {"spec",
                             {{"resourceAttributes",
                               {{"namespace", ns},
                                {"verb", access.verb},
                                {"group", kube::kEvictionRequests.group},
                                {"resource", access.resource}}}}}};
  return read_of(
      access_name(access),
      kube::json_request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review, kube::Flow::kRead));
}

RequestState read_state(const EvictorContext& context) {
  RequestState view;
  view.denied = first_denied(context);
  view.api = read_api(context.document(kApiDocument), context.serves_native_evictions);
  read_request(context, context.document(kRequestDocument), view);
  view.evictions_known = read_evictions(context, context.document(kEvictionsDocument), view);
  if (view.has_open()) return view;
  RequestState all;
  view.all_evictions_known = read_evictions(context, context.document(kAllEvictionsDocument), all);
  if (view.all_evictions_known) view.evictions = std::move(all.evictions);
  return view;
}

std::string ref_of(const api::ObjectMeta& meta) { return meta.name + "/" + meta.uid; }

std::string_view uid_of_ref(std::string_view ref) {
  const auto slash = ref.find('/');
  return slash == std::string_view::npos ? std::string_view() : ref.substr(slash + 1);
}

std::optional<RemoteFailure> failure_of(const RequestState& view, std::string_view followed_uid) {
  if (view.presence != Presence::kOurs) return std::nullopt;
  if (api::is_true(view.request.conditions, "Failed")) return failure_from(view.request.conditions);
  // While the request is in effect, the controller answers a failure with a new Eviction immediately and resets the
  // request's conditions. Only the Evictions keep the failure.
  for (const api::NativeEviction& each : view.evictions) {
    const bool of_this_attempt =
        each.meta.uid == followed_uid || each.meta.creation_timestamp >= view.request.meta.creation_timestamp;
    if (of_this_attempt && api::is_true(each.conditions, "Failed")) return failure_from(each.conditions);
  }
  return std::nullopt;
}

}  // namespace evictors::eviction_request
