#include <fmt/format.h>

#include "api/json/json_access.hpp"
#include "simulator/api/core.hpp"

/// Serves /version, /api, /apis and the resource lists in the unaggregated form, which every client supports.

namespace simulator {
namespace {

using api::Json;

Json version_info(const std::string& version) {
  const auto first = version.find('.');
  const auto second = version.find('.', first + 1);
  return {{"major", version.substr(1, first - 1)},
          {"minor", version.substr(first + 1, second - first - 1)},
          {"gitVersion", version},
          {"gitCommit", "simulator"},
          {"gitTreeState", "clean"},
          {"buildDate", "1970-01-01T00:00:00Z"},
          {"goVersion", "none"},
          {"compiler", "none"},
          {"platform", "linux/amd64"}};
}

Json group_object(const std::string& group, const std::vector<std::string>& versions) {
  Json list = Json::array();
  for (const std::string& version : versions)
    list.push_back({{"groupVersion", fmt::format("{}/{}", group, version)}, {"version", version}});
  Json preferred = list[0];
  return {{"name", group}, {"versions", std::move(list)}, {"preferredVersion", std::move(preferred)}};
}

Json subresource_entry(const ServedResource& resource, const std::string& name, Json verbs) {
  return {{"name", resource.plural + "/" + name},
          {"singularName", ""},
          {"namespaced", resource.namespaced},
          {"kind", resource.kind},
          {"verbs", std::move(verbs)}};
}

void add_resource(Json& list, const ServedResource& resource, PolicyVersion policy) {
  Json entry = {{"name", resource.plural},
                {"singularName", resource.singular},
                {"namespaced", resource.namespaced},
                {"kind", resource.kind},
                {"verbs", {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}}};
  if (!resource.short_names.empty()) entry["shortNames"] = resource.short_names;
  if (!resource.categories.empty()) entry["categories"] = resource.categories;
  list.push_back(std::move(entry));
  if (resource.has_status) list.push_back(subresource_entry(resource, "status", {"get", "patch", "update"}));
  if (resource.has_scale && !resource.custom) {
    Json scale = subresource_entry(resource, "scale", {"get", "patch", "update"});
    scale.update({{"group", "autoscaling"}, {"version", "v1"}, {"kind", "Scale"}});
    list.push_back(std::move(scale));
  }
  if (!resource.group.empty() || resource.plural != "pods") return;
  Json eviction = subresource_entry(resource, "eviction", Json::array({"create"}));
  eviction.update(
      {{"group", "policy"}, {"version", policy == PolicyVersion::kV1 ? "v1" : "v1beta1"}, {"kind", "Eviction"}});
  list.push_back(std::move(eviction));
  Json binding = subresource_entry(resource, "binding", Json::array({"create"}));
  binding["kind"] = "Binding";
  list.push_back(std::move(binding));
}

Json resource_list(const ApiCore& core, const std::string& group, const std::string& version) {
  Json list = Json::array();
  for (const ServedPtr& resource : core.registry.all()) {
    if (resource->group == group && resource->version == version) add_resource(list, *resource, core.options.policy);
  }
  if (group == "authorization.k8s.io" && version == "v1") {
    list.push_back({{"name", "selfsubjectaccessreviews"},
                    {"singularName", "selfsubjectaccessreview"},
                    {"namespaced", false},
                    {"kind", "SelfSubjectAccessReview"},
                    {"verbs", Json::array({"create"})}});
  }
  if (list.empty()) return nullptr;
  return {{"kind", "APIResourceList"},
          {"apiVersion", "v1"},
          {"groupVersion", group.empty() ? version : fmt::format("{}/{}", group, version)},
          {"resources", std::move(list)}};
}

Json group_list(const ApiCore& core) {
  Json groups = Json::array();
  for (const auto& [group, versions] : core.registry.groups()) groups.push_back(group_object(group, versions));
  groups.push_back(group_object("authorization.k8s.io", {"v1"}));
  return {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}};
}

kube::Response one_group(const ApiCore& core, const std::string& name) {
  for (const auto& [group, versions] : core.registry.groups()) {
    if (group != name) continue;
    Json body = group_object(group, versions);
    body.update({{"kind", "APIGroup"}, {"apiVersion", "v1"}});
    return json_response(200, body);
  }
  return to_response(no_such_path());
}

kube::Response resources_of(const ApiCore& core, const std::string& group, const std::string& version) {
  const Json list = resource_list(core, group, version);
  return list.is_null() ? to_response(no_such_path()) : json_response(200, list);
}

}  // namespace

std::optional<kube::Response> serve_discovery(ApiCore& core, const Call& call) {
  if (call.request.method != "GET" && call.request.method != "HEAD") return std::nullopt;
  const std::vector<std::string>& path = call.info.segments;
  if (path.empty())
    return json_response(
        200,
        {{"paths",
          {"/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"}}});
  if (path.size() == 1 && path[0] == "version") return json_response(200, version_info(core.options.version));
  if (path[0] == "api" && path.size() == 1) {
    return json_response(
        200,
        {{"kind", "APIVersions"}, {"versions", Json::array({"v1"})}, {"serverAddressByClientCIDRs", Json::array()}});
  }
  if (path[0] == "api" && path.size() == 2) return resources_of(core, "", path[1]);
  if (path[0] != "apis") return std::nullopt;
  if (path.size() == 1) return json_response(200, group_list(core));
  if (path.size() == 2) return one_group(core, path[1]);
  if (path.size() == 3) return resources_of(core, path[1], path[2]);
  return std::nullopt;
}

}  // namespace simulator
