#include "controllers/webhooks/ca_bundle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/json/json_access.hpp"
#include "base/base64.hpp"
#include "kube/config/url.hpp"

namespace controllers::webhooks {

using api::Json;

std::optional<Json> webhooks_patch(const Json& configuration, const std::string& field,
                                   const std::function<std::optional<Json>(const Json& webhook)>& wanted) {
  Json patch = Json::array({{{"op", "test"},
                             {"path", "/metadata/resourceVersion"},
                             {"value", api::text_at(configuration, {"metadata", "resourceVersion"})}}});
  const Json& webhooks = api::items_at(configuration, {"webhooks"});
  for (std::size_t i = 0; i < webhooks.size(); ++i) {
    if (auto value = wanted(webhooks[i]))
      patch.push_back(
          {{"op", "add"}, {"path", fmt::format("/webhooks/{}/{}", i, field)}, {"value", *std::move(value)}});
  }
  return patch.size() > 1 ? std::optional(std::move(patch)) : std::nullopt;
}

std::optional<Json> ca_patch(const Json& configuration, const std::string& trusted) {
  const std::string wanted = base::encode_base64(trusted);
  return webhooks_patch(configuration, "clientConfig/caBundle", [&](const Json& webhook) -> std::optional<Json> {
    const Json* config = api::find_at(webhook, {"clientConfig"});
    if (config == nullptr || !config->is_object() || api::text_at(*config, {"caBundle"}) == wanted) return std::nullopt;
    return wanted;
  });
}

bool trusts(const Json& configuration, const std::string& ca) {
  const Json& webhooks = api::items_at(configuration, {"webhooks"});
  return !webhooks.empty() && std::ranges::all_of(webhooks, [&](const Json& each) {
    const auto bundle = base::decode_base64(api::text_at(each, {"clientConfig", "caBundle"}));
    return bundle && !bundle->empty() && bundle->find(ca) != std::string::npos;
  });
}

std::vector<std::string> called_names(const Json& configuration) {
  std::set<std::string> names;
  for (const Json& each : api::items_at(configuration, {"webhooks"})) {
    const std::string service = api::text_at(each, {"clientConfig", "service", "name"});
    const std::string ns = api::text_at(each, {"clientConfig", "service", "namespace"});
    if (!service.empty()) names.insert(service + "." + ns + ".svc");
    const auto url = kube::parse_url(api::text_at(each, {"clientConfig", "url"}));
    if (url && !url->host.empty()) names.insert(url->host);
  }
  return {names.begin(), names.end()};
}

}  // namespace controllers::webhooks
