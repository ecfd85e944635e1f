#include <fmt/format.h>

#include "api/json/json_access.hpp"
#include "api/json/schema.hpp"
#include "simulator/api/core.hpp"
#include "simulator/cel/rules.hpp"
#include "simulator/registry/kinds.hpp"

namespace simulator {
namespace {

using api::FieldErrors;
using api::Json;

void append(FieldErrors& errors, FieldErrors more) {
  errors.insert(errors.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

constexpr const char* kServerFields[] = {"apiVersion", "kind", "metadata"};

/// Calls `work` on the object without the fields of every kind, which the CRD's schema does not describe.
template <typename Work>
auto without_server_fields(Json& object, const Work& work) {
  Json kept = Json::object();
  for (const char* field : kServerFields) {
    if (auto found = object.find(field); found != object.end()) kept[field] = std::move(*found);
    object.erase(field);
  }
  auto result = work(object);
  for (auto& [field, value] : kept.items()) object[field] = std::move(value);
  return result;
}

/// Removes fields unknown to the schema and returns their paths.
std::vector<std::string> prune_custom(const ServedResource& resource, Json& object) {
  const Json& schema = resource.custom->schema;
  if (!schema.is_object()) return {};
  return without_server_fields(object, [&](Json& rest) { return api::prune(schema, rest); });
}

void default_custom(const ServedResource& resource, Json& object) {
  const Json& schema = resource.custom->schema;
  if (schema.is_object()) api::apply_defaults(schema, object);
}

/// Validates by the schema and, if that finds no error, by the CEL rules, like the API server.
FieldErrors validate_custom(const ServedResource& resource, const Json* before, const Json& object) {
  const Json& schema = resource.custom->schema;
  if (!schema.is_object()) return {};
  auto errors = api::validate_schema(schema, object);
  if (!errors.empty() || before == nullptr) return errors.empty() ? cel::check_rules(schema, object, nullptr) : errors;
  Json old = *before;
  api::apply_defaults(schema, old);  // stored objects get defaults when they are read
  return cel::check_rules(schema, object, &old);
}

/// Returns `Evacuation in version "v1alpha1" cannot be handled as a Evacuation: strict decoding error: unknown field
/// "spec.x"`.
Failure strict_decoding_error(const ServedResource& resource, const std::vector<std::string>& unknown) {
  std::string text;
  for (const std::string& field : unknown)
    text += fmt::format("{}unknown field \"{}\"", text.empty() ? "" : ", ", field);
  return bad_request(fmt::format("{} in version \"{}\" cannot be handled as a {}: strict decoding error: {}",
                                 resource.kind, resource.version, resource.kind, text));
}

CheckResult complete_custom(const Call& call, Json& after) {
  const std::vector<std::string> unknown = prune_custom(*call.resource, after);
  if (!unknown.empty() && call.info.query.value("fieldValidation") == "Strict")
    return strict_decoding_error(*call.resource, unknown);
  default_custom(*call.resource, after);
  return base::Done{};
}

/// Returns false for pod updates: pods created by the simulator's actors have fewer fields than in Kubernetes, so that
/// a defaulted spec would look like a forbidden change.
bool defaults_apply(const ServedResource& resource, const Json* before) { return !before || resource.plural != "pods"; }

FieldErrors run_validators(const ApiCore& core, const ServedResource& resource, const Json* before, const Json& after) {
  FieldErrors errors;
  for (const auto& [name, validator] : core.validators) {
    if (name.first == resource.group && name.second == resource.plural) append(errors, validator(before, after));
  }
  return errors;
}

Failure denied(const Webhook& webhook, const Denial& denial) {
  if (denial.call_failed) {
    return internal_error(fmt::format("failed calling webhook \"{}\": {}", webhook.name, denial.message));
  }
  return denied_by_webhook(webhook.name, denial.code, denial.reason, denial.message);
}

}  // namespace

CheckResult check_object(ApiCore& core, const Call& call, const Json* before, Json& after) {
  const ServedResource& resource = *call.resource;
  if (resource.custom) {
    if (CheckResult completed = complete_custom(call, after); !completed) return completed;
  } else if (defaults_apply(resource, before)) {
    set_defaults(resource, core.store, after);
  }
  FieldErrors errors = validate_metadata(resource, after);
  if (resource.custom) {
    append(errors, validate_custom(resource, before, after));
  } else {
    append(errors, validate_built_in(resource, after));
    if (before) append(errors, validate_built_in_update(resource, *before, after));
  }
  if (errors.empty()) errors = run_validators(core, resource, before, after);
  if (errors.empty()) return base::Done{};
  return invalid_object(resource.group, resource.kind, api::text_at(after, {"metadata", "name"}), errors);
}

CheckResult admit(ApiCore& core, const Call& call, std::string_view verb, const Json* object, const Json* old_object) {
  const AdmissionRequest request{call.user,  verb,   *call.resource, call.info.subresource,
                                 call.key(), object, old_object,     call.dry_run};
  for (const Webhook& webhook : core.webhooks) {
    if (call.dry_run && !webhook.supports_dry_run) {
      if (!webhook.concerns || webhook.concerns(request))
        return bad_request(fmt::format("admission webhook \"{}\" does not support dry run", webhook.name));
      continue;
    }
    if (const auto denial = webhook.review(request)) return denied(webhook, *denial);
  }
  return base::Done{};
}

}  // namespace simulator
