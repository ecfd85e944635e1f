#include "simulator/webhooks/configured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "base/base64.hpp"
#include "simulator/registry/patch.hpp"
#include "simulator/registry/selection.hpp"

namespace simulator {
namespace {

using api::Json;

constexpr kube::ResourceType kMutating{"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
                                       "MutatingWebhookConfiguration", false};
constexpr kube::ResourceType kValidating{"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
                                         "ValidatingWebhookConfiguration", false};
constexpr std::int64_t kDefaultTimeout = 10;

bool names(const Json& list, std::string_view wanted) {
  return std::ranges::any_of(list, [&](const Json& each) {
    return each.is_string() &&
           (each.get_ref<const std::string&>() == "*" || each.get_ref<const std::string&>() == wanted);
  });
}

bool scope_fits(const Json& rule, const kube::ResourceType& type) {
  const std::string scope = api::text_at(rule, {"scope"});
  return scope.empty() || scope == "*" || (scope == "Namespaced") == type.namespaced;
}

std::string operation_of(const WriteRequest& write) { return write.old_object == nullptr ? "CREATE" : "UPDATE"; }

bool rule_fits(const Json& rule, const WriteRequest& write) {
  const kube::ResourceType& type = write.type;
  const std::string resource = std::string(type.plural) + (write.subresource.empty() ? "" : "/" + write.subresource);
  return names(api::items_at(rule, {"operations"}), operation_of(write)) &&
         names(api::items_at(rule, {"apiGroups"}), type.group) &&
         names(api::items_at(rule, {"apiVersions"}), type.version) &&
         names(api::items_at(rule, {"resources"}), resource) && scope_fits(rule, type);
}

/// Returns true if the selector matches. An absent or empty selector matches everything.
bool selects(const Json* selector, const Json* labels) {
  return selector == nullptr || !selector->is_object() || label_selector_matches(*selector, labels);
}

Json review_of(const std::string& uid, const WriteRequest& write, const Json& object) {
  const kube::ResourceType& type = write.type;
  const Json kind = {{"group", type.group}, {"version", type.version}, {"kind", type.kind}};
  const Json resource = {{"group", type.group}, {"version", type.version}, {"resource", type.plural}};
  const char* options = write.old_object == nullptr ? "CreateOptions" : "UpdateOptions";
  Json request = {{"uid", uid},
                  {"kind", kind},
                  {"resource", resource},
                  {"requestKind", kind},
                  {"requestResource", resource},
                  {"operation", operation_of(write)},
                  {"userInfo", {{"username", write.user}, {"groups", write.groups}}},
                  {"object", object},
                  {"oldObject", write.old_object == nullptr ? Json() : *write.old_object},
                  {"dryRun", write.dry_run},
                  {"options", {{"kind", options}, {"apiVersion", "meta.k8s.io/v1"}}}};
  if (!write.key.ns.empty()) request["namespace"] = write.key.ns;
  if (!write.key.name.empty()) request["name"] = write.key.name;
  if (!write.subresource.empty()) request["subResource"] = write.subresource;
  return {{"kind", "AdmissionReview"}, {"apiVersion", "admission.k8s.io/v1"}, {"request", std::move(request)}};
}

WebhookCall call_of(const Json& webhook, const std::string& body) {
  const std::int64_t seconds = api::number_at(webhook, {"timeoutSeconds"}).value_or(kDefaultTimeout);
  WebhookCall call;
  call.timeout = base::seconds(seconds);
  call.body = body;
  call.ca_pem = base::decode_base64(api::text_at(webhook, {"clientConfig", "caBundle"})).value_or("");
  std::string url = api::text_at(webhook, {"clientConfig", "url"});
  if (const Json* service = api::find_at(webhook, {"clientConfig", "service"}); url.empty() && service) {
    url = fmt::format("https://{}.{}.svc:{}{}", api::text_at(*service, {"name"}), api::text_at(*service, {"namespace"}),
                      api::number_at(*service, {"port"}).value_or(443), api::text_at(*service, {"path"}));
  }
  constexpr std::string_view kScheme = "https://";
  if (url.starts_with(kScheme)) url = url.substr(kScheme.size());
  const std::size_t slash = std::min(url.find('/'), url.size());
  call.host = url.substr(0, slash);
  call.path = fmt::format("{}?timeout={}s", slash < url.size() ? url.substr(slash) : "/", seconds);
  return call;
}

/// Returns the `response` of a webhook's body, or an error if it is invalid.
base::Result<Json> response_in(const std::string& answer, const std::string& uid) {
  auto review = api::parse_json(answer);
  if (!review) return review.error();
  const Json* response = api::find_at(*review, {"response"});
  if (response == nullptr || !response->is_object()) return base::invalid("webhook response was absent");
  if (api::text_at(*response, {"uid"}) != uid)
    return base::invalid(
        fmt::format("expected response.uid=\"{}\", got \"{}\"", uid, api::text_at(*response, {"uid"})));
  return *response;
}

base::Result<Json> patch_in(const Json& response) {
  const std::string text = api::text_at(response, {"patch"});
  if (text.empty()) return Json::array();
  if (api::text_at(response, {"patchType"}) != "JSONPatch")
    return base::invalid("webhook returned response.patch but not response.patchType");
  const auto bytes = base::decode_base64(text);
  if (!bytes) return base::invalid("response.patch is not valid Base64");
  return api::parse_json(*bytes);
}

}  // namespace

bool ConfiguredWebhooks::concerns(const Json& webhook, const WriteRequest& write, const Json& object) const {
  const Json& rules = api::items_at(webhook, {"rules"});
  if (std::ranges::none_of(rules, [&](const Json& rule) { return rule_fits(rule, write); })) return false;
  if (!selects(api::find_at(webhook, {"objectSelector"}), api::find_at(object, {"metadata", "labels"}))) return false;
  if (!write.type.namespaced) return true;
  const Object ns = store_.get(kube::kNamespaces, {"", write.key.ns});
  return selects(api::find_at(webhook, {"namespaceSelector"}),
                 ns ? api::find_at(*ns, {"metadata", "labels"}) : nullptr);
}

bool ConfiguredWebhooks::mutates_nothing() const { return store_.list(kMutating).empty(); }

Outcome<Json> ConfiguredWebhooks::mutate(const WriteRequest& write, Json object) const {
  if (write.type.group == kMutating.group)
    return object;  // exempt, so that a webhook cannot block changes of its own configuration
  for (const Object& configuration : store_.list(kMutating)) {
    for (const Json& webhook : api::items_at(*configuration, {"webhooks"})) {
      if (!concerns(webhook, write, object)) continue;
      auto changed = call(webhook, write, std::move(object));
      if (!changed) return changed;
      object = *std::move(changed);
    }
  }
  return object;
}

CheckResult ConfiguredWebhooks::validate(const WriteRequest& write, const Json& object) const {
  if (write.type.group == kValidating.group) return base::Done{};
  for (const Object& configuration : store_.list(kValidating)) {
    for (const Json& webhook : api::items_at(*configuration, {"webhooks"})) {
      if (!concerns(webhook, write, object)) continue;
      if (auto said = call(webhook, write, object); !said) return std::move(said.failure());
    }
  }
  return base::Done{};
}

Outcome<Json> ConfiguredWebhooks::call(const Json& webhook, const WriteRequest& write, Json object) const {
  const std::string name = api::text_at(webhook, {"name"});
  const std::string effects = api::text_at(webhook, {"sideEffects"});
  if (write.dry_run && effects != "None" && effects != "NoneOnDryRun")
    return bad_request(fmt::format("admission webhook \"{}\" does not support dry run", name));
  const bool must_answer = api::text_at(webhook, {"failurePolicy"}) != "Ignore";
  const auto failed = [&](const std::string& why) -> Outcome<Json> {
    if (must_answer) return internal_error(fmt::format("failed calling webhook \"{}\": {}", name, why));
    return std::move(object);
  };
  const std::string uid = fmt::format("{:016x}-{}", std::hash<std::string>{}(object.dump()), store_.revision());
  const auto answer = caller_(call_of(webhook, api::to_json_text(review_of(uid, write, object))));
  if (!answer) return failed(answer.error().message);
  const auto response = response_in(*answer, uid);
  if (!response) return failed(response.error().message);
  if (!api::flag_at(*response, {"allowed"})) {
    return denied_by_webhook(name, api::number_at(*response, {"status", "code"}).value_or(403),
                             api::text_at(*response, {"status", "reason"}),
                             api::text_at(*response, {"status", "message"}));
  }
  const auto patch = patch_in(*response);
  if (!patch) return failed(patch.error().message);
  auto patched = apply_json_patch(object, *patch);
  if (!patched) return internal_error(patched.failure().message);
  return patched;
}

}  // namespace simulator
