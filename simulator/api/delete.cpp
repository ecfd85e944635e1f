#include <algorithm>

#include <fmt/format.h>

#include "api/json/json_access.hpp"
#include "simulator/api/core.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator {
namespace {

using api::Json;

constexpr const char* kDefinitionFinalizer = "customresourcecleanup.apiextensions.k8s.io";

bool is_namespace_resource(const ServedResource& resource) {
  return resource.group.empty() && resource.plural == "namespaces";
}

/// Returns the delete options from the body, or from the query if the body is empty.
Outcome<DeleteOptions> delete_options_of(const Call& call) {
  DeleteOptions options;
  if (!call.request.body.empty()) {
    auto body = read_body(call);
    if (!body) return std::move(body.failure());
    auto read = read_delete_options(*body);
    if (!read) return std::move(read.failure());
    options = *std::move(read);
  }
  const Query& query = call.info.query;
  if (!options.grace_seconds) options.grace_seconds = query.number("gracePeriodSeconds");
  if (options.propagation.empty()) options.propagation = query.value("propagationPolicy");
  options.dry_run = options.dry_run || call.dry_run;
  return options;
}

CheckResult add_finalizer(ApiCore& core, const ServedResource& resource, const api::ObjectKey& key,
                          const char* finalizer) {
  auto done = core.store.mutate(resource.storage, key, Part::kAll, [finalizer](Json& object) -> base::Status {
    Json& list = array_in(object["metadata"], "finalizers");
    if (std::ranges::find(list, Json(finalizer)) == list.end()) list.push_back(finalizer);
    return base::Done{};
  });
  if (!done) return from_store(done.error(), resource.group, resource.plural, resource.kind, key.name);
  return base::Done{};
}

/// Adds the finalizer that the garbage collector acts on.
CheckResult record_propagation(ApiCore& core, const ServedResource& resource, const api::ObjectKey& key,
                               const std::string& propagation) {
  if (propagation == "Foreground") return add_finalizer(core, resource, key, "foregroundDeletion");
  if (propagation == "Orphan") return add_finalizer(core, resource, key, "orphan");
  return base::Done{};
}

Outcome<Object> remove_one(ApiCore& core, const ServedResource& resource, const api::ObjectKey& key,
                           const DeleteOptions& options) {
  if (CheckResult recorded = record_propagation(core, resource, key, options.propagation); !recorded)
    return std::move(recorded.failure());
  if (is_definition(resource)) {
    if (CheckResult held = add_finalizer(core, resource, key, kDefinitionFinalizer); !held)
      return std::move(held.failure());
  }
  auto removed = core.store.remove(resource.storage, key, options.preconditions, options.grace_seconds);
  if (!removed) return from_store(removed.error(), resource.group, resource.plural, resource.kind, key.name);
  if (is_namespace_resource(resource)) {
    const Object marked = core.store.edit(resource.storage, key, Part::kStatus, "",
                                          [](Json& object) { object_in(object, "status")["phase"] = "Terminating"; });
    if (marked) removed = marked;
  }
  if (is_namespace_resource(resource) || is_definition(resource)) core.something_terminates = true;
  return *std::move(removed);
}

/// Responds with the object if it is a pod or still exists, otherwise with a Status.
kube::Response deleted_answer(const Call& call, const Object& object, bool still_there) {
  const ServedResource& resource = *call.resource;
  if (still_there || (resource.group.empty() && resource.plural == "pods")) {
    return {200, encode_object(resource, *object, call.output), {}, "application/json"};
  }
  Json status = success_status();
  status["details"] = {{"name", call.info.name}, {"kind", resource.plural}, {"uid", uid_of(*object)}};
  if (!resource.group.empty()) status["details"]["group"] = resource.group;
  return json_response(200, status);
}

/// Removes all objects of `type` in the namespace. Returns true if none is left.
bool delete_contents(ApiCore& core, const kube::ResourceType& type, const std::string& ns) {
  for (const Object& object : core.store.list(type, ns)) {
    if (!is_terminating(*object)) (void)core.store.remove(type, key_of(*object));
  }
  return core.store.list(type, ns).empty();
}

bool empty_namespace(ApiCore& core, const std::string& ns) {
  bool empty = true;
  for (const ServedPtr& resource : core.registry.all()) {
    if (resource->namespaced) empty = delete_contents(core, resource->storage, ns) && empty;
  }
  return empty;
}

void finish_definition(ApiCore& core, const kube::ResourceType& definitions, const std::string& name) {
  core.store.edit(definitions, {"", name}, Part::kAll, "", [](Json& object) {
    Json& list = object["metadata"]["finalizers"];
    if (list.is_array())
      std::erase_if(list.get_ref<Json::array_t&>(), [](const Json& item) { return item == kDefinitionFinalizer; });
  });
  core.registry.stop_serving(name);
}

bool empty_definition(ApiCore& core, const std::string& name) {
  bool empty = true;
  for (const ServedPtr& resource : core.registry.all()) {
    if (resource->custom && resource->custom->definition == name)
      empty = delete_contents(core, resource->storage, "") && empty;
  }
  return empty;
}

/// Returns true if an object is still terminating afterwards.
bool sweep(ApiCore& core, const kube::ResourceType& type, const std::function<bool(const std::string&)>& empty,
           const std::function<void(const std::string&)>& finish) {
  bool left = false;
  for (const Object& object : core.store.list(type)) {
    if (!is_terminating(*object)) continue;
    const std::string name = key_of(*object).name;
    if (empty(name)) {
      finish(name);
    } else {
      left = true;
    }
  }
  return left;
}

}  // namespace

Outcome<DeleteOptions> read_delete_options(const Json& body) {
  DeleteOptions options;
  const std::string kind = api::text_at(body, {"kind"});
  if (!kind.empty() && kind != "DeleteOptions")
    return bad_request("the request body must be DeleteOptions, got " + kind);
  options.grace_seconds = api::number_at(body, {"gracePeriodSeconds"});
  options.preconditions.uid = api::text_at(body, {"preconditions", "uid"});
  options.preconditions.resource_version = api::text_at(body, {"preconditions", "resourceVersion"});
  options.propagation = api::text_at(body, {"propagationPolicy"});
  if (api::flag_at(body, {"orphanDependents"})) options.propagation = "Orphan";
  if (api::flag_at(body, {"ignoreStoreReadErrorWithClusterBreakingPotential"})) {
    return invalid_options("DeleteOptions", "ignoreStoreReadErrorWithClusterBreakingPotential",
                           "Forbidden: this server does not support it");
  }
  if (const Json* dry = api::find_at(body, {"dryRun"}); dry && dry->is_array() && !dry->empty()) {
    if (*dry != Json::array({"All"})) return bad_request("dryRun: Unsupported value: supported values: \"All\"");
    options.dry_run = true;
  }
  const std::string& policy = options.propagation;
  if (!policy.empty() && policy != "Background" && policy != "Foreground" && policy != "Orphan") {
    return invalid_options("DeleteOptions", "propagationPolicy",
                           fmt::format("Invalid value: \"{}\": must be one of "
                                       "\"Background\",\"Foreground\",\"Orphan\" or nil",
                                       policy));
  }
  return options;
}

kube::Response delete_object(ApiCore& core, Call& call) {
  auto options = delete_options_of(call);
  if (!options) return to_response(options.failure());
  call.dry_run = options->dry_run;
  const ServedResource& resource = *call.resource;
  const Object found = core.store.get(resource.storage, call.key());
  if (!found) return to_response(not_found(resource.group, resource.plural, call.info.name));
  call.uid = uid_of(*found);
  if (CheckResult allowed = admit(core, call, "delete", nullptr, found.get()); !allowed)
    return to_response(allowed.failure());
  if (const auto unmet = unmet_precondition({options->preconditions.uid, ""}, *found))
    return to_response(conflict(resource.group, resource.kind, call.info.name, *unmet));
  if (options->dry_run) return deleted_answer(call, found, false);
  auto removed = remove_one(core, resource, call.key(), *options);
  if (!removed) return to_response(removed.failure());
  return deleted_answer(call, *removed, core.store.get(resource.storage, call.key()) != nullptr);
}

kube::Response delete_collection(ApiCore& core, Call& call) {
  auto options = delete_options_of(call);
  if (!options) return to_response(options.failure());
  call.dry_run = options->dry_run;
  auto selected = select_objects(core, call);
  if (!selected) return to_response(selected.failure());
  ListPage page;
  for (const Object& object : *selected) {
    if (CheckResult allowed = admit(core, call, "delete", nullptr, object.get()); !allowed)
      return to_response(allowed.failure());
    if (!options->dry_run) {
      if (auto removed = remove_one(core, *call.resource, key_of(*object), *options);
          !removed && removed.failure().code != 404) {
        return to_response(removed.failure());
      }
    }
    page.items.push_back(object);
  }
  page.revision = core.store.revision();
  return {200, encode_list(*call.resource, page, call.output), {}, "application/json"};
}

void finish_terminating(ApiCore& core) {
  if (!core.something_terminates) return;
  const std::unique_lock only_one(core.housekeeping, std::try_to_lock);
  if (!only_one) return;
  core.something_terminates = false;  // reset first, so that a concurrent deletion sets it again
  const ServedPtr definitions = core.registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  const bool namespaces_left = sweep(
      core, kube::kNamespaces, [&](const std::string& ns) { return empty_namespace(core, ns); },
      [&](const std::string& ns) {
        core.store.edit(kube::kNamespaces, {"", ns}, Part::kAll, "",
                        [](Json& object) { object["spec"]["finalizers"] = Json::array(); });
      });
  const bool definitions_left = sweep(
      core, definitions->storage, [&](const std::string& name) { return empty_definition(core, name); },
      [&](const std::string& name) { finish_definition(core, definitions->storage, name); });
  if (namespaces_left || definitions_left) core.something_terminates = true;
}

}  // namespace simulator
