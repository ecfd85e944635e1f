#include "controllers/webhooks/ca_bundle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "base/base64.hpp"

namespace controllers::webhooks {

using api::Json;

std::optional<Json> ca_patch(const Json& configuration, const std::string& trusted) {
  const std::string wanted = base::encode_base64(trusted);
  Json patch = Json::array({{{"op", "test"},
                             {"path", "/metadata/resourceVersion"},
                             {"value", api::text_at(configuration, {"metadata", "resourceVersion"})}}});
  const Json& webhooks = api::items_at(configuration, {"webhooks"});
  for (std::size_t i = 0; i < webhooks.size(); ++i) {
    const Json* config = api::find_at(webhooks[i], {"clientConfig"});
    if (config == nullptr || !config->is_object() || api::text_at(*config, {"caBundle"}) == wanted) continue;
    patch.push_back({{"op", "add"}, {"path", fmt::format("/webhooks/{}/clientConfig/caBundle", i)}, {"value", wanted}});
  }
  return patch.size() > 1 ? std::optional(std::move(patch)) : std::nullopt;
}

bool has_ca_bundles(const Json& configuration) {
  const Json& webhooks = api::items_at(configuration, {"webhooks"});
  return !webhooks.empty() && std::ranges::all_of(webhooks, [](const Json& each) {
    return !api::text_at(each, {"clientConfig", "caBundle"}).empty();
  });
}

}  // namespace controllers::webhooks
