#include "kube/request.hpp"

#include <nlohmann/json.hpp>

#include "api/core/protobuf/envelope.hpp"
#include "api/meta/well_known.hpp"
#include "kube/escape.hpp"

namespace kube {
namespace {

constexpr std::string_view kJsonType = "application/json";

std::string accepted(const ListOptions& options, std::string_view parameter) {
  if (!options.protobuf) return std::string(kJsonType);
  return std::string(api::protobuf::kMediaType).append(parameter).append(",").append(kJsonType);
}

/// Leases have their own flow, whatever the verb.
Flow flow_for(const ResourceType& type, Flow otherwise) { return type == kLeases ? Flow::kLease : otherwise; }

std::string_view content_type_of(PatchType kind) {
  switch (kind) {
    case PatchType::kMerge: return "application/merge-patch+json";
    case PatchType::kJson: return "application/json-patch+json";
    case PatchType::kApply:
      return "application/apply-patch+yaml";  // JSON is valid YAML; the only type before Kubernetes 1.33
  }
  std::abort();
}

Request with_body(std::string method, std::string path, std::string_view content_type, const api::Json& body,
                  Flow flow) {
  Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.content_type = content_type;
  request.body = api::to_json_text(body);
  request.flow = flow;
  return request;
}

std::string selectors_of(const ListOptions& options) {
  std::string query;
  if (!options.label_selector.empty()) append_query(query, "labelSelector", options.label_selector);
  if (!options.field_selector.empty()) append_query(query, "fieldSelector", options.field_selector);
  return query;
}

api::Json eviction_metadata(const api::ObjectKey& pod, const EvictionOptions& options) {
  api::Json metadata = {{"name", pod.name}, {"namespace", pod.ns}};
  for (const auto& [key, value] : options.annotations) metadata["annotations"][key] = value;
  return metadata;
}

api::Json eviction_delete_options(const EvictionOptions& options) {
  api::Json result = api::Json::object();
  if (!options.uid.empty()) result["preconditions"]["uid"] = options.uid;
  if (!options.resource_version.empty()) result["preconditions"]["resourceVersion"] = options.resource_version;
  if (options.grace_period_seconds) result["gracePeriodSeconds"] = *options.grace_period_seconds;
  return result;
}

}  // namespace

Request get_request(const ResourceType& type, const api::ObjectKey& key) {
  Request request;
  request.path = path_of(type, key);
  request.flow = flow_for(type, Flow::kRead);
  return request;
}

Request list_request(const ResourceType& type, const ListOptions& options) {
  Request request;
  request.path = path_of(type, {options.ns, {}});
  request.query = selectors_of(options);
  if (options.limit > 0) append_query(request.query, "limit", std::to_string(options.limit));
  if (!options.continue_token.empty()) {
    append_query(request.query, "continue", options.continue_token);
  } else if (!options.resource_version.empty()) {  // invalid in combination with a continue token
    append_query(request.query, "resourceVersion", options.resource_version);
  }
  request.accept = accepted(options, "");
  request.flow = flow_for(type, Flow::kList);
  return request;
}

Request watch_request(const ResourceType& type, const ListOptions& options, base::seconds timeout) {
  Request request;
  request.path = path_of(type, {options.ns, {}});
  request.query = selectors_of(options);
  append_query(request.query, "watch", "true");
  append_query(request.query, "allowWatchBookmarks", "true");
  if (!options.resource_version.empty()) append_query(request.query, "resourceVersion", options.resource_version);
  if (options.send_initial_events) {
    append_query(request.query, "sendInitialEvents", "true");
    append_query(request.query, "resourceVersionMatch", "NotOlderThan");
  }
  if (timeout.count() > 0) append_query(request.query, "timeoutSeconds", std::to_string(timeout.count()));
  request.accept = accepted(options, ";stream=watch");
  request.flow = flow_for(type, options.send_initial_events ? Flow::kList : Flow::kRead);
  return request;
}

Request create_request(const ResourceType& type, const std::string& ns, const api::Json& body) {
  return with_body("POST", path_of(type, {ns, {}}), kJsonType, body, flow_for(type, Flow::kWrite));
}

Request json_request(std::string method, std::string path, const api::Json& body, Flow flow) {
  return with_body(std::move(method), std::move(path), kJsonType, body, flow);
}

Request update_request(const ResourceType& type, const api::ObjectKey& key, const api::Json& body,
                       std::string_view subresource) {
  return with_body("PUT", path_of(type, key, subresource), kJsonType, body, flow_for(type, Flow::kWrite));
}

Request patch_request(const ResourceType& type, const api::ObjectKey& key, PatchType kind, const api::Json& patch,
                      std::string_view subresource, bool force) {
  Request request =
      with_body("PATCH", path_of(type, key, subresource), content_type_of(kind), patch, flow_for(type, Flow::kWrite));
  if (kind != PatchType::kApply) return request;
  append_query(request.query, "fieldManager", api::well_known::kFieldManager);
  if (force) append_query(request.query, "force", "true");
  return request;
}

Request delete_request(const ResourceType& type, const api::ObjectKey& key, std::string_view uid) {
  Request request;
  request.method = "DELETE";
  request.path = path_of(type, key);
  request.flow = flow_for(type, Flow::kWrite);
  if (uid.empty()) return request;
  request.content_type = kJsonType;
  request.body =
      api::to_json_text({{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"preconditions", {{"uid", uid}}}});
  return request;
}

Request eviction_request(const api::ObjectKey& pod, const EvictionOptions& options, std::string_view policy_version) {
  const api::Json body = {{"apiVersion", "policy/" + std::string(policy_version)},
                          {"kind", "Eviction"},
                          {"metadata", eviction_metadata(pod, options)},
                          {"deleteOptions", eviction_delete_options(options)}};
  Request request = with_body("POST", path_of(kPods, pod, "eviction"), kJsonType, body, Flow::kEviction);
  // Admission webhooks do not recognise a dry run that is set only in the body: KubeVirt's would really move a VM.
  if (options.dry_run) append_query(request.query, "dryRun", "All");
  return request;
}

}  // namespace kube
