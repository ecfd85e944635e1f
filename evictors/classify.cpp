#include "evictors/classify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "api/vocabulary/blockers.hpp"
#include "base/backoff.hpp"
#include "base/text.hpp"
#include "evictors/document.hpp"
#include "kube/classify.hpp"
#include "kube/refusal.hpp"

namespace evictors {
namespace {

using base::seconds;
using Class = ResponseClass;
using Kind = api::BlockerKind;

constexpr std::size_t kMaxMessage = 512;
constexpr std::size_t kMaxName = 253;  // limit of object names
constexpr std::string_view kWebhookPrefix = "admission webhook \"";
constexpr std::string_view kDenied = " denied the request";

/// Fields of metav1.Status that the classification uses.
struct StatusView {
  bool is_status = false;  ///< false for plain text, an empty body or a page of a proxy
  std::string message;
  std::optional<std::string> budget_cause;  ///< message of the cause DisruptionBudget
  bool namespace_terminating = false;
  std::optional<seconds> retry_after;
};

StatusView read_status(const kube::Response& response) {
  kube::StatusBody status = kube::parse_status(response.body);
  StatusView view;
  view.is_status = status.is_status;
  view.message = status.is_status ? std::move(status.message) : response.body.substr(0, kMaxMessage);
  view.retry_after = response.retry_after ? response.retry_after : status.retry_after;
  for (kube::StatusCause& cause : status.causes) {
    if (cause.reason == "DisruptionBudget") view.budget_cause = std::move(cause.message);
    if (cause.reason == "NamespaceTerminating") view.namespace_terminating = true;
  }
  return view;
}

std::string shortened(std::string_view text) { return base::truncate_utf8(text, kMaxMessage); }

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Returns `name` from: … <before>"name" …
std::string quoted_after(std::string_view text, std::string_view before) {
  const auto at = text.find(before);
  if (at == std::string_view::npos) return {};
  const auto begin = text.find('"', at + before.size() - 1);
  if (begin == std::string_view::npos) return {};
  const auto end = text.find('"', begin + 1);
  return end == std::string_view::npos ? std::string() : std::string(text.substr(begin + 1, end - begin - 1));
}

bool is_denial(std::string_view message) { return message.starts_with(kWebhookPrefix) && has(message, kDenied); }

api::Blocker blocker(api::BlockerKind kind, std::string_view name, std::string_view message) {
  return api::make_blocker(kind, base::truncate_utf8(name, kMaxName), shortened(message));
}

std::optional<std::int32_t> number_after(std::string_view text, std::string_view before) {
  const auto at = text.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  const char* begin = text.data() + at + before.size();
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  return error == std::errc() && end != begin ? std::optional(value) : std::nullopt;
}

/// Parses "The disruption budget <pdb> needs <n> healthy pods and has <m> currently" and its variants.
api::Blocker budget_blocker(const std::string& cause) {
  constexpr std::string_view kStart = "The disruption budget ";
  std::string name;
  if (cause.starts_with(kStart)) name = cause.substr(kStart.size(), cause.find(' ', kStart.size()) - kStart.size());
  api::Blocker result = blocker(Kind::kPodDisruptionBudget, name, cause);
  result.desired_healthy = number_after(cause, " needs ");
  result.current_healthy = number_after(cause, " has ");
  return result;
}

Classification classified(Class answer, const StatusView& view) {
  return {answer, shortened(view.message), view.retry_after, {}};
}

Classification blocked(Class answer, const StatusView& view, api::Blocker by) {
  Classification result = classified(answer, view);
  result.blocker = std::move(by);
  return result;
}

/// Webhook messages with a meaning that does not depend on the owner of the pod.
constexpr std::array kWebhookTexts = {
    KnownText{429, "Eviction request for target Pod", Class::kRetryLater, seconds(10)},  // until the pod's role is set
    KnownText{429, "is not live-migratable", Class::kNotEvictable, {}},
    KnownText{429, "cannot evict hotplug pod", Class::kNotEvictable, {}},
    KnownText{429, "failed getting owner for hotplug pod", Class::kRetryLater, seconds(10)},
};

const KnownText* find_known(std::span<const KnownText> table, int code, std::string_view message) {
  for (const KnownText& known : table) {
    if ((known.code == 0 || known.code == code) && has(message, known.text)) return &known;
  }
  return nullptr;
}

Classification from_known(const KnownText& known, const StatusView& view) {
  Classification result = classified(known.answer, view);
  if (known.retry_after > seconds(0)) result.retry_after = known.retry_after;
  if (!is_blocked(known.answer)) return result;
  result.blocker = blocker(Kind::kWebhook, quoted_after(view.message, "admission webhook \""), view.message);
  return result;
}

/// Classifies a denial by a webhook. Webhooks choose the HTTP code freely.
Classification classify_denial(int code, const StatusView& view) {
  if (const KnownText* known = find_known(kWebhookTexts, code, view.message)) return from_known(*known, view);
  if (code == 404) return classified(Class::kGoneMaybe, view);  // some webhooks deny existing pods with 404
  Classification refused =
      blocked(Class::kRefusedByWebhook, view,
              blocker(Kind::kWebhook, quoted_after(view.message, "admission webhook \""), view.message));
  refused.passes = code == 429;
  return refused;
}

Classification classify_too_many(const StatusView& view) {
  const bool budget = view.budget_cause || has(view.message, "violate the pod's disruption budget");
  if (!budget) return blocked(Class::kThrottled, view, blocker(Kind::kThrottled, "api-server", view.message));
  const std::string cause = view.budget_cause.value_or(view.message);
  Classification result = blocked(Class::kPdbBlocked, view, budget_blocker(cause));
  if (!cause.empty()) result.message = shortened(cause);
  if (!result.retry_after && has(cause, "still being processed")) result.retry_after = seconds(10);
  return result;
}

Classification classify_forbidden(const StatusView& view) {
  if (view.namespace_terminating || has(view.message, "because it is being terminated")) {
    return blocked(Class::kNamespaceTerminating, view, blocker(Kind::kNamespace, "", view.message));
  }
  if (view.budget_cause || has(view.message, "disruptions allowed is negative") || has(view.message, "DisruptedPods")) {
    return blocked(Class::kPdbBroken, view, budget_blocker(view.budget_cause.value_or(view.message)));
  }
  return classified(Class::kForbidden, view);
}

Classification webhook_down(const StatusView& view) {
  return blocked(Class::kWebhookDown, view,
                 blocker(Kind::kWebhook, quoted_after(view.message, "webhook \""), view.message));
}

Classification classify_server_error(const StatusView& view) {
  if (has(view.message, "more than one PodDisruptionBudget")) {
    return blocked(Class::kMultiPdb, view, blocker(Kind::kPodDisruptionBudget, "", view.message));
  }
  if (has(view.message, "failed calling webhook")) return webhook_down(view);
  return classified(Class::kUnknown, view);
}

Classification classify_transport(const base::Error& error) {
  Classification result{Class::kUnknown, shortened(error.message), error.retry_after, {}};
  if (error.code == base::ErrorCode::kUnauthorized) result.answer = Class::kAuth;
  return result;
}

/// Returns true if the answer says nothing about the request. With 408 and 425, the request was not processed. A 4xx
/// without a Status usually comes from a proxy. Exceptions are 429, which API servers also send as text, and 401 and
/// 404, which are checked again later.
bool is_uninformative(int code, const StatusView& view) {
  if (code == 408 || code == 425) return true;
  return code >= 400 && code < 500 && !view.is_status && code != 401 && code != 404 && code != 429;
}

Classification classify_code(int code, const StatusView& view) {
  if (is_uninformative(code, view)) return classified(Class::kUnknown, view);
  switch (code) {
    case 401: return classified(Class::kAuth, view);
    case 403: return classify_forbidden(view);
    case 404: return classified(Class::kGoneMaybe, view);
    case 409: return classified(Class::kConflict, view);
    case 429: return classify_too_many(view);
    default: break;
  }
  if (code >= 500) return classify_server_error(view);
  if (code >= 400) return classified(Class::kPermanent, view);
  return classified(Class::kUnknown, view);  // The API server sends no 1xx or 3xx, so a proxy answered.
}

/// Classifies an answer outside 2xx. `texts` take precedence.
Classification classify_refusal(int code, const StatusView& view, std::span<const KnownText> texts) {
  if (const KnownText* known = find_known(texts, code, view.message)) return from_known(*known, view);
  return is_denial(view.message) ? classify_denial(code, view) : classify_code(code, view);
}

bool is_success(int code) { return code >= 200 && code < 300; }

/// Requires a Kubernetes object in the body, because login pages of proxies also have status 200.
Classification classify_success(const kube::Response& response, Class meaning) {
  const auto first = response.body.find_first_not_of(" \r\n\t");
  const bool object = first != std::string::npos && response.body[first] == '{';
  if (object && has(response.body, "\"kind\"")) return {meaning, "", {}, {}};
  return {
      Class::kUnknown, "the response is not a Kubernetes object: " + base::truncate_utf8(response.body, 200), {}, {}};
}

/// Properties of a ResponseClass, see to_string(), is_blocked() and blocked_delay().
struct ClassFacts {
  std::string_view name;
  base::Backoff delay{};  ///< constant if both members are equal; zero for classes that do not block
};
/// In the order of ResponseClass.
constexpr std::array<ClassFacts, 18> kClasses = {{
    {"Granted"},
    {"Applied"},
    {"AcceptedInBackground"},
    {"PDBBlocked", {seconds(5), seconds(60)}},
    {"MultiPDB", {seconds(60), seconds(60)}},
    {"PDBBroken", {seconds(60), seconds(60)}},
    {"Throttled", {seconds(1), seconds(1)}},
    {"WebhookDown", {seconds(10), seconds(120)}},
    {"RefusedByWebhook", {seconds(30), seconds(300)}},
    {"RetryLater", {seconds(10), seconds(10)}},
    {"NamespaceTerminating", {seconds(10), seconds(10)}},
    {"Unauthorized", {seconds(5), seconds(60)}},
    {"Conflict", {seconds(1), seconds(60)}},
    {"GoneMaybe", {seconds(1), seconds(60)}},
    {"Unknown", {seconds(1), seconds(60)}},
    {"NotEvictable"},
    {"Forbidden"},
    {"Permanent"},
}};
static_assert(kClasses.size() == static_cast<std::size_t>(Class::kPermanent) + 1);

const ClassFacts& facts_of(Class answer) { return kClasses.at(static_cast<std::size_t>(answer)); }

}  // namespace

std::string_view to_string(ResponseClass answer) { return facts_of(answer).name; }

bool is_blocked(ResponseClass answer) { return facts_of(answer).delay.first > base::Duration::zero(); }

Classification classify_eviction(const CallResult& answer, std::span<const KnownText> accepted_texts) {
  if (!answer) return classify_transport(answer.error());
  if (is_success(answer->status)) return classify_success(*answer, Class::kGranted);
  return classify_refusal(answer->status, read_status(*answer), accepted_texts);
}

Classification classify_patch(const CallResult& answer) {
  if (!answer) return classify_transport(answer.error());
  if (is_success(answer->status)) return classify_success(*answer, Class::kApplied);
  const StatusView view = read_status(*answer);
  // metadata.uid in the patch guards against a new pod with the same name. Servers may report the mismatch as 422.
  const bool is_other_uid = answer->status == 422 && view.is_status && !is_denial(view.message) &&
                            (has(view.message, "uid") || has(view.message, "UID"));
  return is_other_uid ? classified(Class::kConflict, view) : classify_refusal(answer->status, view, {});
}

Classification classify_call(const CallResult& answer, std::span<const KnownText> texts) {
  if (!answer) return classify_transport(answer.error());
  if (is_success(answer->status))
    return answer->body.empty() ? Classification{Class::kApplied, "", {}, {}, {}}
                                : classify_success(*answer, Class::kApplied);
  return classify_refusal(answer->status, read_status(*answer), texts);
}

std::string service_setting(std::string_view service, int status) {
  if (!kube::names_a_setting(status)) return {};
  return fmt::format("; services[{}] of the operator's configuration: {}", service,
                     kube::explain_refusal(status, {"its url", "its tokenFile or certFile"}));
}

std::string service_refusal(std::string_view service, const kube::Response& answer) {
  const std::string said = one_line(answer.body, 120);
  return fmt::format("service {} answered {}{}{}{}", service, answer.status, said.empty() ? "" : ": ", said,
                     service_setting(service, answer.status));
}

base::Duration blocked_delay(const Classification& meaning, int consecutive, std::uint64_t seed) {
  constexpr base::Backoff kPasses{seconds(10), seconds(60)};
  const base::Duration by_class =
      base::backoff_delay(meaning.passes ? kPasses : facts_of(meaning.answer).delay, consecutive);
  return base::jitter_up_by_fifth(std::max(by_class, meaning.retry_after.value_or(base::Duration::zero())), seed);
}

}  // namespace evictors
