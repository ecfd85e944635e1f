#include "api/hooks.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "api/evacuation_parts.hpp"
#include "api/json/strict_object.hpp"
#include "api/meta/names.hpp"

namespace api {
namespace {

constexpr std::array kHookFailureNames = {WireName{HookFailurePolicy::kAbort, "Abort"},
                                          WireName{HookFailurePolicy::kIgnore, "Ignore"}};

void read_job(StrictObject& job, Hook& hook) {
  job.read("ttlSecondsAfterFinished", hook.job_ttl);
  const Json* wanted = job.find("template");
  if (wanted == nullptr || !wanted->is_object()) {
    job.complain("template", wanted == nullptr ? std::string("is required")
                                               : fmt::format("must be an object, not {}", kind_of(*wanted)));
    return;
  }
  hook.job_template_json = to_json_text(*wanted);
}

void read_hook(StrictObject& object, Hook& hook) {
  object.with("webhook", [&](StrictObject& webhook) { webhook.read("service", hook.service); });
  object.with("job", [&](StrictObject& job) { read_job(job, hook); });
  object.read("timeoutSeconds", hook.timeout);
  object.read("retries", hook.retries);
  object.read("failurePolicy", kHookFailureNames, hook.on_failure);
}

void check_template(const Hook& hook, const FieldPath& at, FieldErrors& errors) {
  if (hook.job_template_json.size() > bounds::kMaxHookTemplateBytes) {
    errors.push_back({at.text(), fmt::format("is larger than {} bytes", bounds::kMaxHookTemplateBytes)});
    return;
  }
  const auto wanted = parse_json(hook.job_template_json);
  const auto spec = wanted && wanted->is_object() ? wanted->find("spec") : Json::const_iterator();
  const bool has_spec = wanted && wanted->is_object() && spec != wanted->end() && spec->is_object();
  const auto containers = has_spec ? spec->find("containers") : Json::const_iterator();
  if (!has_spec || containers == spec->end() || !containers->is_array() || containers->empty()) {
    errors.push_back({at.field("spec").field("containers").text(), "must have at least one container"});
    return;
  }
  const auto restart = spec->find("restartPolicy");
  if (restart != spec->end() && *restart != "Never" && *restart != "OnFailure") {
    errors.push_back({at.field("spec").field("restartPolicy").text(), "must be Never or OnFailure, as in every Job"});
  }
}

void check_hook(const Hook& hook, const FieldPath& at, FieldErrors& errors) {
  if (hook.service.empty() == hook.job_template_json.empty()) {
    errors.push_back({at.text(), "must have either webhook or job, and not both"});
  } else if (hook.is_job()) {
    check_template(hook, at.field("job").field("template"), errors);
  } else if (!is_dns_label(hook.service)) {
    errors.push_back({at.field("webhook").field("service").text(),
                      fmt::format("\"{}\" is not a name of a service in the operator's configuration",
                                  hook.service.substr(0, bounds::kMaxParameterName))});
  }
  check_range(errors, at.field("timeoutSeconds"), hook.timeout.count(), 1, bounds::kMaxHookSeconds);
  check_range(errors, at.field("retries"), hook.retries, 0, bounds::kMaxHookRetries);
  check_range(errors, at.field("job").field("ttlSecondsAfterFinished"), hook.job_ttl.count(), 60, bounds::kWeekSeconds);
}

}  // namespace

std::string_view to_string(HookFailurePolicy policy) { return name_of(kHookFailureNames, policy); }

Json encode_value(const Hook& hook) {
  Json json = {{"timeoutSeconds", hook.timeout.count()},
               {"retries", hook.retries},
               {"failurePolicy", to_string(hook.on_failure)}};
  if (!hook.service.empty()) json["webhook"] = {{"service", hook.service}};
  if (hook.job_template_json.empty()) return json;
  auto wanted = parse_json(hook.job_template_json);
  json["job"] = {{"template", wanted && wanted->is_object() ? *std::move(wanted) : Json::object()},
                 {"ttlSecondsAfterFinished", hook.job_ttl.count()}};
  return json;
}

void read_member(StrictObject& object, std::string_view name, std::optional<Hook>& to) {
  object.with(name, [&](StrictObject& hook) { read_hook(hook, to.emplace()); });
}

void check_hooks(const EvacuationHooks& hooks, const FieldPath& at, FieldErrors& errors) {
  for_each_field<EvacuationHooks>([&](const auto& field) {
    if (const auto& hook = hooks.*field.member) check_hook(*hook, at.field(field.name), errors);
  });
  if (hooks.migrate && !hooks.migrate->is_job()) {
    errors.push_back({at.field("migrate").field("webhook").text(),
                      "migrate must be a job; to drive a move from outside use the evictor webhook"});
  }
}

}  // namespace api
