#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "kube/client.hpp"

namespace kube {
namespace {

/// Returns the entry of an APIResourceList for the resource, nullptr if none exists or `list` is invalid.
const api::Json* find_resource(const api::Json& list, std::string_view name) {
  for (const api::Json& each : api::items_at(list, {"resources"})) {
    if (api::text_at(each, {"name"}) == name) return &each;
  }
  return nullptr;
}

/// Returns a discovery document, null if the server does not have it (404).
base::Result<api::Json> fetch_document(Client& client, std::string path) {
  Request request;
  request.path = std::move(path);
  const auto body = client.call(request);
  if (!body && base::is_not_found(body.error())) return api::Json(nullptr);
  if (!body) return body.error();
  api::Json parsed = api::Json::parse(*body, nullptr, false);
  if (parsed.is_object()) return parsed;
  return base::unavailable(request.path + ": the response is not a JSON object; is this a Kubernetes API server?");
}

/// Servers list "pods/eviction" with the group version of the accepted body (1.20: v1beta1; since 1.22: v1).
std::string eviction_version_of(const api::Json& core, bool has_policy_v1) {
  const api::Json* eviction = find_resource(core, "pods/eviction");
  const std::string listed = eviction == nullptr ? std::string() : api::text_at(*eviction, {"version"});
  if (listed == "v1" || listed == "v1beta1") return listed;
  return has_policy_v1 ? "v1" : "v1beta1";
}

/// Returns the first of `versions` that the server has. `versions` must be sorted from newest to oldest.
base::Result<std::optional<ResourceType>> find_newest(Client& client, std::initializer_list<ResourceType> versions) {
  for (const ResourceType& type : versions) {
    const auto served = fetch_document(client, "/apis/" + type.api_version());
    if (!served) return served.error().during(std::string("reading ") += type.plural);
    if (find_resource(*served, type.plural) != nullptr) return std::optional(type);
  }
  return std::optional<ResourceType>();
}

}  // namespace

base::Result<Discovery> discover(Client& client) {
  const auto version = fetch_document(client, "/version");
  if (!version) return version.error().during("reading the server's version");
  const auto core = fetch_document(client, "/api/v1");
  if (!core) return core.error().during("reading the kinds that the server has");
  const auto policy = fetch_document(client, "/apis/policy/v1");
  if (!policy) return policy.error().during("reading policy/v1");
  const auto ours = fetch_document(client, "/apis/" + kEvacuations.api_version());
  if (!ours) return ours.error().during("reading evacuator.dev");
  const auto native = fetch_document(client, "/apis/" + kNativeEvictions.api_version());
  if (!native) return native.error().during("reading the EvictionRequest API");

  const auto claims = find_newest(client, {kResourceClaims, kResourceClaimsV1beta2, kResourceClaimsV1beta1});
  if (!claims) return claims.error();
  const auto pod_groups = find_newest(client, {kPodGroups, kPodGroupsV1alpha2});
  if (!pod_groups) return pod_groups.error();

  const bool has_v1_pdbs = find_resource(*policy, kPdbs.plural) != nullptr;
  Discovery found;
  found.server_version = api::text_at(*version, {"gitVersion"});
  found.eviction_version = eviction_version_of(*core, has_v1_pdbs);
  found.pdbs = has_v1_pdbs ? kPdbs : kPdbsV1beta1;
  found.has_evacuations = find_resource(*ours, kEvacuations.plural) != nullptr;
  found.has_policies = find_resource(*ours, kPolicies.plural) != nullptr;
  found.has_native_evictions = find_resource(*native, kEvictionRequests.plural) != nullptr &&
                               find_resource(*native, kNativeEvictions.plural) != nullptr;
  found.resource_claims = *claims;
  found.pod_groups = *pod_groups;
  return found;
}

}  // namespace kube
