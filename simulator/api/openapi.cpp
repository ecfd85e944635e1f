#include <fmt/format.h>

#include "api/json/json_access.hpp"
#include "simulator/api/core.hpp"

/// OpenAPI documents as far as kubectl needs them: apply looks for the parameter fieldValidation in v3 (and otherwise
/// validates client-side), explain reads the schemas of our kinds. v2 is empty, so that clients skip their own
/// validation.

namespace simulator {
namespace {

using api::Json;

constexpr std::string_view kProtobufDocument{"\x0a\x03\x32\x2e\x30", 5};  // openapi.v2.Document{swagger: "2.0"}

Json parameter(const char* name) {
  return {{"name", name}, {"in", "query"}, {"schema", {{"type", "string"}, {"uniqueItems", true}}}};
}

Json kind_extension(const ServedResource& resource) {
  return {{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}};
}

Json operation(const ServedResource& resource, const char* action) {
  return {{"x-kubernetes-action", action},
          {"x-kubernetes-group-version-kind", kind_extension(resource)},
          {"parameters", {parameter("dryRun"), parameter("fieldManager"), parameter("fieldValidation")}},
          {"responses", {{"200", {{"description", "OK"}}}}}};
}

Json patch_operation(const ServedResource& resource) {
  Json patch = operation(resource, "patch");
  Json content = Json::object();
  for (const char* type :
       {"application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"})
    content[type] = Json::object();
  patch["requestBody"] = {{"content", std::move(content)}};
  return patch;
}

std::string collection_path(const ServedResource& resource) {
  const std::string root = resource.group.empty() ? "/api/" + resource.version
                                                  : fmt::format("/apis/{}/{}", resource.group, resource.version);
  return resource.namespaced ? fmt::format("{}/namespaces/{{namespace}}/{}", root, resource.plural)
                             : fmt::format("{}/{}", root, resource.plural);
}

std::string schema_name(const ServedResource& resource) {
  return fmt::format("{}.{}.{}", resource.group.empty() ? "core" : resource.group, resource.version, resource.kind);
}

Json schema_of(const ServedResource& resource) {
  Json schema =
      resource.custom && resource.custom->schema.is_object() ? resource.custom->schema : Json{{"type", "object"}};
  schema["x-kubernetes-group-version-kind"] = Json::array({kind_extension(resource)});
  return schema;
}

Json document(const ApiCore& core, const std::string& group, const std::string& version) {
  Json paths = Json::object();
  Json schemas = Json::object();
  for (const ServedPtr& resource : core.registry.all()) {
    if (resource->group != group || resource->version != version) continue;
    const std::string path = collection_path(*resource);
    paths[path] = {{"get", operation(*resource, "list")}, {"post", operation(*resource, "post")}};
    paths[path + "/{name}"] = {{"get", operation(*resource, "get")},
                               {"put", operation(*resource, "put")},
                               {"patch", patch_operation(*resource)},
                               {"delete", operation(*resource, "delete")}};
    schemas[schema_name(*resource)] = schema_of(*resource);
  }
  if (paths.empty()) return nullptr;
  return {{"openapi", "3.0.0"},
          {"info", {{"title", "Evacuator's simulated cluster"}, {"version", core.options.version}}},
          {"paths", std::move(paths)},
          {"components", {{"schemas", std::move(schemas)}}}};
}

/// Returns the index. Each URL contains the store revision as a hash, so that caching clients notice new CRDs.
Json index_of_documents(const ApiCore& core) {
  Json paths = Json::object();
  paths["api/v1"] = {{"serverRelativeURL", "/openapi/v3/api/v1?hash=0"}};
  for (const auto& [group, versions] : core.registry.groups()) {
    for (const std::string& version : versions) {
      const std::string name = fmt::format("apis/{}/{}", group, version);
      paths[name] = {{"serverRelativeURL", fmt::format("/openapi/v3/{}?hash={}", name, core.store.revision())}};
    }
  }
  return {{"paths", std::move(paths)}};
}

kube::Response serve_v2(const Call& call) {
  if (call.request.accept.find("protobuf") != std::string::npos) {
    return {200, std::string(kProtobufDocument), {}, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"};
  }
  return json_response(200, {{"swagger", "2.0"},
                             {"info", {{"title", "Evacuator's simulated cluster"}, {"version", "v1"}}},
                             {"paths", Json::object()},
                             {"definitions", Json::object()}});
}

}  // namespace

std::optional<kube::Response> serve_openapi(ApiCore& core, const Call& call) {
  const std::vector<std::string>& path = call.info.segments;
  if (path.size() < 2 || path[0] != "openapi") return std::nullopt;
  if (path[1] == "v2" && path.size() == 2) return serve_v2(call);
  if (path[1] != "v3" || core.options.policy == PolicyVersion::kV1beta1)
    return to_response(no_such_path());  // v3 exists since Kubernetes 1.24
  if (path.size() == 2) return json_response(200, index_of_documents(core));
  const bool core_group = path.size() == 4 && path[2] == "api";
  const bool named_group = path.size() == 5 && path[2] == "apis";
  if (!core_group && !named_group) return to_response(no_such_path());
  const Json found = document(core, named_group ? path[3] : "", path.back());
  return found.is_null() ? to_response(no_such_path()) : json_response(200, found);
}

}  // namespace simulator
