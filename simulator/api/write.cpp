#include <fmt/format.h>

#include "api/json/json_access.hpp"
#include "api/json/yaml.hpp"
#include "simulator/api/core.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/registry/kinds.hpp"
#include "simulator/registry/managed_fields.hpp"
#include "simulator/registry/patch.hpp"

namespace simulator {
namespace {

using api::Json;

constexpr std::size_t kMaxBody = 3 << 20;  // same limit as the API server
constexpr int kMaxDepth = 100;  // maximum nesting of a request body; Kubernetes objects reach about 30, CRDs about 60
constexpr int kWriteAttempts = 5;  // maximum attempts of a patch, or update without resourceVersion, as in Kubernetes

constexpr std::string_view kMergeType = "application/merge-patch+json";
constexpr std::string_view kStrategicType = "application/strategic-merge-patch+json";
constexpr std::string_view kJsonPatchType = "application/json-patch+json";
constexpr std::string_view kApplyType = "application/apply-patch+yaml";

std::string_view bare_type(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
  return type;
}

Outcome<Json> parse_body(const std::string& body, std::string_view content_type) {
  if (body.size() > kMaxBody) {
    return Failure{413, "RequestEntityTooLarge", fmt::format("Request entity too large: limit is {}", kMaxBody),
                   nullptr};
  }
  Json json = Json::parse(body, nullptr, false);
  if (json.is_discarded() && content_type.find("yaml") != std::string_view::npos) {
    auto documents = api::parse_yaml(body);
    if (!documents) return bad_request("the request body is not valid YAML: " + documents.error().message);
    if (documents->size() == 1) json = std::move(documents->front());
  }
  if (json.is_discarded())
    return bad_request("the request body is not valid JSON (protobuf is not supported in requests)");
  if (api::is_nested_deeper(json, kMaxDepth)) return bad_request("the request body is nested too deeply");
  return json;
}

/// Checks that the body matches the kind, version and namespace of the URL, and its name if the URL has one.
CheckResult check_identity(const Call& call, Json& object) {
  const ServedResource& resource = *call.resource;
  const std::string kind = api::text_at(object, {"kind"});
  const std::string version = api::text_at(object, {"apiVersion"});
  if ((!kind.empty() && kind != resource.kind) || (!version.empty() && version != resource.api_version())) {
    return bad_request(fmt::format(
        "the object provided is unrecognized (must be of type {}): {} of apiVersion {} was expected, got {} of {}",
        resource.kind, resource.kind, resource.api_version(), kind, version));
  }
  if (!object.contains("metadata") || object["metadata"].is_null()) object["metadata"] = Json::object();
  Json& metadata = object["metadata"];
  if (!metadata.is_object()) return bad_request("metadata must be an object");
  const std::string ns = api::text_at(metadata, {"namespace"});
  if (!ns.empty() && ns != call.info.ns) {
    return bad_request(resource.namespaced
                           ? "the namespace of the provided object does not match the namespace sent on the request"
                           : "namespace may not be set on cluster-scoped resources");
  }
  if (resource.namespaced) metadata["namespace"] = call.info.ns;
  const std::string name = api::text_at(metadata, {"name"});
  if (!call.info.name.empty() && !name.empty() && name != call.info.name) {
    return bad_request(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})", name, call.info.name));
  }
  if (!call.info.name.empty()) metadata["name"] = call.info.name;
  return base::Done{};
}

/// Restores the fields that only the server may set, and the part that this request does not address.
CheckResult restore_server_fields(const Call& call, const Json& stored, Json& next, Part part) {
  const ServedResource& resource = *call.resource;
  if (!next.is_object() || !next.contains("metadata") || !next["metadata"].is_object())
    return bad_request("metadata must be an object");
  Json& metadata = next["metadata"];
  for (const char* field : {"name", "namespace", "uid"}) {
    const std::string given = api::text_at(metadata, {field});
    if (!given.empty() && given != api::text_at(stored, {"metadata", field})) {
      return invalid_object(
          resource.group, resource.kind, call.info.name,
          {{fmt::format("metadata.{}", field), fmt::format("Invalid value: \"{}\": field is immutable", given)}});
    }
  }
  const std::string version = api::text_at(metadata, {"resourceVersion"});
  if (!version.empty() && version != api::text_at(stored, {"metadata", "resourceVersion"})) {
    return conflict(resource.group, resource.plural, call.info.name,
                    "the object has been modified; please apply your changes to the latest version and try again");
  }
  restore_unwritable_fields(stored, next, part);
  return base::Done{};
}

Part part_of(const Call& call) {
  if (call.info.subresource == "status") return Part::kStatus;
  return call.resource->has_status ? Part::kMain : Part::kAll;
}

kube::Response written(ApiCore& core, const Call& call, int code, const Object& stored) {
  return {code, core.texts.encode(call.resource, stored, call.output), {}, "application/json"};
}

WriteRequest write_request(const Call& call, const Json* before, const Json& object) {
  const std::string name = before ? call.info.name : api::text_at(object, {"metadata", "name"});
  return {call.user.name,
          call.user.groups,
          call.resource->storage,
          {call.info.ns, name},
          call.dry_run,
          call.info.subresource,
          before};
}

/// Runs mutating webhooks and validates their result.
CheckResult mutate(ApiCore& core, const Call& call, const Json* before, Json& object) {
  if (core.configured.mutates_nothing()) return base::Done{};
  auto mutated = core.configured.mutate(write_request(call, before, object), object);
  if (!mutated) return std::move(mutated.failure());
  if (*mutated == object) return base::Done{};
  object = *std::move(mutated);
  return check_object(core, call, before, object);
}

/// Runs validation, webhooks and built-in rules. `before` is nullptr on create.
CheckResult review(ApiCore& core, const Call& call, const Json* before, Json& object) {
  if (CheckResult valid = check_object(core, call, before, object); !valid) return valid;
  if (CheckResult mutated = mutate(core, call, before, object); !mutated) return mutated;
  return core.configured.validate(write_request(call, before, object), object);
}

/// Prepares a new object for the store: identity, status, defaults, validation, webhooks.
Outcome<Json> prepare_new(ApiCore& core, Call& call, Json object) {
  const ServedResource& resource = *call.resource;
  if (CheckResult same = check_identity(call, object); !same) return std::move(same.failure());
  const std::string name = api::text_at(object, {"metadata", "name"});
  if (CheckResult ready = check_namespace(core, call, name); !ready) return std::move(ready.failure());
  if (name.empty() && api::text_at(object, {"metadata", "generateName"}).empty()) {
    return invalid_object(resource.group, resource.kind, "",
                          {{"metadata.name", "Required value: name or generateName is required"}});
  }
  if (!api::text_at(object, {"metadata", "resourceVersion"}).empty()) {
    return bad_request("resourceVersion should not be set on objects to be created");
  }
  object = stored_form(resource, std::move(object));
  object["kind"] = resource.kind;
  if (resource.has_status && !resource.status_on_create) {
    object.erase("status");
    set_initial_status(resource, object);
  }
  if (is_definition(resource)) {
    if (CheckResult complete = complete_definition(core, object); !complete) return std::move(complete.failure());
  }
  if (CheckResult valid = review(core, call, nullptr, object); !valid) return std::move(valid.failure());
  if (CheckResult allowed = admit(core, call, "create", &object, nullptr); !allowed)
    return std::move(allowed.failure());
  return object;
}

/// Returns the object that a create would have stored, for dry runs.
Object dry_run_object(ApiCore& core, const Call& call, Json object) {
  Json& metadata = object["metadata"];
  if (api::text_at(metadata, {"name"}).empty())
    metadata["name"] = api::text_at(metadata, {"generateName"}) + core.store.new_suffix();
  metadata["uid"] = core.store.new_uid();
  metadata["creationTimestamp"] = base::format_time(core.store.clock().now());
  object["apiVersion"] = call.resource->storage.api_version();
  return std::make_shared<const Json>(std::move(object));
}

Outcome<Object> store_new(ApiCore& core, Call& call, Json object) {
  const ServedResource& resource = *call.resource;
  const std::string name = api::text_at(object, {"metadata", "name"});
  if (call.dry_run) {
    if (!name.empty() && core.store.get(resource.storage, {call.info.ns, name}))
      return already_exists(resource.group, resource.plural, name);
    return dry_run_object(core, call, std::move(object));
  }
  auto created = core.store.create(resource.storage, std::move(object));
  if (!created) return from_store(created.error(), resource.group, resource.plural, resource.kind, name);
  call.uid = uid_of(**created);
  call.created_name = api::text_at(**created, {"metadata", "name"});
  if (is_definition(resource)) core.registry.serve(**created);
  return *std::move(created);
}

FieldWriter writer_of(const ApiCore& core, const Call& call) {
  return {field_manager_of(call), call.info.subresource, core.store.clock().now(), call.info.query.flag("force")};
}

/// Applies a patch of any type except server-side apply.
Outcome<Json> patched(const Call& call, std::string_view type, const Json& patch, Json served) {
  if (type == kMergeType) return apply_merge_patch(std::move(served), patch);
  if (type == kJsonPatchType) return apply_json_patch(served, patch);
  if (type == kStrategicType && !call.resource->custom) return apply_strategic_merge(served, patch);
  return unsupported_media_type(
      type, call.resource->custom
                ? "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
                : "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, "
                  "application/apply-patch+yaml");
}

/// Removes fields that this request must not apply: the status belongs to the subresource, other fields to the object.
void restrict_applied(const Call& call, Json& config) {
  if (call.info.subresource == "status") {
    Json narrow = {{"apiVersion", config["apiVersion"]}, {"kind", config["kind"]}, {"metadata", config["metadata"]}};
    api::copy_member(config, narrow, "status");
    config = std::move(narrow);
  } else if (call.resource->has_status) {
    config.erase("status");
  }
}

CheckResult check_apply(const Call& call, Json& config) {
  if (call.info.query.value("fieldManager").empty()) {
    return invalid_options("PatchOptions", "fieldManager", "Required value: is required for apply patch");
  }
  if (!config.is_object()) return bad_request("the applied configuration is not an object");
  if (api::text_at(config, {"kind"}).empty())
    return bad_request("Object 'Kind' is missing in the applied configuration");
  if (api::text_at(config, {"apiVersion"}).empty())
    return bad_request("Object 'apiVersion' is missing in the applied configuration");
  if (api::find_at(config, {"metadata", "managedFields"})) return bad_request("metadata.managedFields must be nil");
  return check_identity(call, config);
}

kube::Response apply_object(ApiCore& core, Call& call, Json config) {
  if (CheckResult sound = check_apply(call, config); !sound) return to_response(sound.failure());
  restrict_applied(call, config);
  const bool exists = core.store.get(call.resource->storage, call.key()) != nullptr;
  if (!exists && call.info.subresource.empty()) {
    auto applied = apply_fields(*call.resource, nullptr, config, writer_of(core, call));
    if (!applied) return to_response(applied.failure());
    auto ready = prepare_new(core, call, *std::move(applied));
    if (!ready) return to_response(ready.failure());
    auto created = store_new(core, call, *std::move(ready));
    return created ? written(core, call, 201, *created) : to_response(created.failure());
  }
  auto saved = write_object(core, call, part_of(call), [&](const Json& served) {
    return apply_fields(*call.resource, served, config, writer_of(core, call));
  });
  return saved ? written(core, call, 200, *saved) : to_response(saved.failure());
}

/// Checks the preconditions of a PUT: the UID, if the body has one, and a resourceVersion, which custom kinds require.
CheckResult check_update(const Call& call, const Json& stored, const Json& body) {
  const ServedResource& resource = *call.resource;
  const std::string uid = uid_of(body);
  const std::string uid_there = uid_of(stored);
  if (!uid.empty() && uid != uid_there) {
    return conflict(
        resource.group, resource.plural, call.info.name,
        fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", uid, uid_there));
  }
  if (resource.custom && api::text_at(body, {"metadata", "resourceVersion"}).empty()) {
    return invalid_object(resource.group, resource.kind, call.info.name,
                          {{"metadata.resourceVersion", "Invalid value: 0x0: must be specified for an update"}});
  }
  return base::Done{};
}

/// Performs one attempt of write_object(). The inner result is kConflict if a concurrent write came first. The next
/// attempt checks the client's resourceVersion again.
Outcome<base::Result<Object>> write_once(ApiCore& core, Call& call, Part part, const Transform& transform) {
  const ServedResource& resource = *call.resource;
  const Object stored = core.store.get(resource.storage, call.key());
  if (!stored) return not_found(resource.group, resource.plural, call.info.name);
  call.uid = uid_of(*stored);
  auto changed = transform(served_form(resource, *stored));
  if (!changed) return std::move(changed.failure());
  Json next = stored_form(resource, *std::move(changed));
  if (CheckResult kept = restore_server_fields(call, *stored, next, part); !kept) return std::move(kept.failure());
  if (is_definition(resource) && part != Part::kStatus) {
    if (CheckResult complete = complete_definition(core, next); !complete) return std::move(complete.failure());
  }
  if (CheckResult valid = review(core, call, stored.get(), next); !valid) return std::move(valid.failure());
  const bool applied = bare_type(call.request.content_type) == kApplyType;
  if (!applied && core.options.track_fields) track_update(resource, *stored, next, writer_of(core, call));
  if (CheckResult allowed = admit(core, call, "update", &next, stored.get()); !allowed)
    return std::move(allowed.failure());
  if (call.dry_run) return base::Result<Object>(std::make_shared<const Json>(std::move(next)));
  return core.store.update(resource.storage, call.key(),
                           part == Part::kStatus || !is_definition(resource) ? part : Part::kAll,
                           std::move(next));  // contains the resourceVersion read above, which the store compares
}

/// Returns true for a PUT of a Lease that does not exist, which creates it (AllowCreateOnUpdate).
bool is_made_by_update(const ApiCore& core, const Call& call, const Json& body) {
  const bool is_lease = call.resource->group == kube::kLeases.group && call.resource->plural == kube::kLeases.plural;
  return is_lease && call.info.subresource.empty() && !core.store.get(call.resource->storage, call.key()) &&
         api::text_at(body, {"metadata", "resourceVersion"}).empty();
}

}  // namespace

CheckResult check_namespace(ApiCore& core, const Call& call, const std::string& name) {
  if (!call.resource->namespaced) return base::Done{};
  const Object ns = core.store.get(kube::kNamespaces, {"", call.info.ns});
  if (!ns) return not_found("", "namespaces", call.info.ns);
  if (!is_terminating(*ns)) return base::Done{};
  Failure failure = forbidden(
      call.resource->group, call.resource->plural, name,
      fmt::format("unable to create new content in namespace {} because it is being terminated", call.info.ns));
  failure.details["causes"] = Json::array({{{"reason", "NamespaceTerminating"},
                                            {"message", fmt::format("namespace {} is being terminated", call.info.ns)},
                                            {"field", "metadata.namespace"}}});
  return failure;
}

std::string field_manager_of(const Call& call) {
  if (std::string manager = call.info.query.value("fieldManager"); !manager.empty()) return manager;
  const std::string agent = call.user.agent.substr(0, call.user.agent.find('/'));
  return agent.empty() ? "unknown" : agent;
}

Outcome<Json> read_body(const Call& call) {
  const std::string_view type = bare_type(call.request.content_type);
  if (!type.empty() && type != "application/json" && type != "application/yaml") {
    return unsupported_media_type(type, "application/json");
  }
  auto body = parse_body(call.request.body, call.request.content_type);
  if (body && !body->is_object()) return bad_request("the request body is not a JSON object");
  return body;
}

Outcome<Object> write_object(ApiCore& core, Call& call, Part part, const Transform& transform) {
  const ServedResource& resource = *call.resource;
  for (int attempt = 1;; ++attempt) {
    auto tried = write_once(core, call, part, transform);
    if (!tried) return std::move(tried.failure());
    base::Result<Object>& saved = *tried;
    if (saved) {
      if (is_definition(resource) && !call.dry_run) core.registry.serve(**saved);
      return *std::move(saved);
    }
    const bool again = saved.error().code == base::ErrorCode::kConflict && attempt < kWriteAttempts;
    if (!again) return from_store(saved.error(), resource.group, resource.plural, resource.kind, call.info.name);
  }
}

kube::Response create_object(ApiCore& core, Call& call) {
  auto body = read_body(call);
  if (!body) return to_response(body.failure());
  auto ready = prepare_new(core, call, *std::move(body));
  if (!ready) return to_response(ready.failure());
  if (core.options.track_fields) track_update(*call.resource, nullptr, *ready, writer_of(core, call));
  auto created = store_new(core, call, *std::move(ready));
  return created ? written(core, call, 201, *created) : to_response(created.failure());
}

kube::Response update_object(ApiCore& core, Call& call) {
  auto body = read_body(call);
  if (!body) return to_response(body.failure());
  if (CheckResult same = check_identity(call, *body); !same) return to_response(same.failure());
  if (is_made_by_update(core, call, *body)) return create_object(core, call);
  auto saved = write_object(core, call, part_of(call), [&](const Json& served) -> Outcome<Json> {
    if (CheckResult sound = check_update(call, served, *body); !sound) return std::move(sound.failure());
    return *body;
  });
  return saved ? written(core, call, 200, *saved) : to_response(saved.failure());
}

kube::Response patch_object(ApiCore& core, Call& call) {
  auto body = parse_body(call.request.body, call.request.content_type);
  if (!body) return to_response(body.failure());
  const std::string_view type = bare_type(call.request.content_type);
  if (type == kApplyType) return apply_object(core, call, *std::move(body));
  if (call.info.query.flag("force")) {
    return to_response(invalid_options("PatchOptions", "force", "Forbidden: may not be specified for non-apply patch"));
  }
  auto saved = write_object(core, call, part_of(call),
                            [&](Json served) { return patched(call, type, *body, std::move(served)); });
  return saved ? written(core, call, 200, *saved) : to_response(saved.failure());
}

}  // namespace simulator
