#include "evictors/handoff/hook_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "api/meta/well_known.hpp"
#include "base/text.hpp"
#include "evictors/document.hpp"
#include "kube/request.hpp"

namespace evictors::handoff {
namespace {

using api::Json;

constexpr const char* kUidLabel = "evacuator.dev/evacuation-uid";
constexpr const char* kHookLabel = "evacuator.dev/hook";
constexpr std::size_t kMaxJobMessage = 300;

std::string job_document(HookPoint point) { return fmt::format("job-{}", to_string(point)); }

/// Returns the member, replaced by an empty object if it is not an object.
Json& object_member(Json& parent, const char* name) {
  Json& member = parent[name];
  if (!member.is_object()) member = Json::object();
  return member;
}

Json hook_environment(const EvictorContext& context, HookPoint point) {
  const api::Evacuation& of = context.evacuation;
  Json variables = Json::array();
  const auto add = [&](const char* name, const std::string& value) {
    variables.push_back({{"name", name}, {"value", value}});
  };
  add("EVACUATOR_HOOK", std::string(to_string(point)));
  add("EVACUATOR_NAMESPACE", of.meta.ns);
  add("EVACUATOR_EVACUATION", of.meta.name);
  add("EVACUATOR_TOKEN", of.status.token);
  add("EVACUATOR_POD", of.spec.pod_ref.name);
  add("EVACUATOR_POD_UID", of.spec.pod_ref.uid.value);
  add("EVACUATOR_NODE", of.spec.node_name.value);
  return variables;
}

void add_environment(Json& pod_spec, const Json& variables) {
  for (const char* list : {"initContainers", "containers"}) {
    if (!pod_spec.contains(list) || !pod_spec[list].is_array()) continue;
    for (Json& container : pod_spec[list]) {
      if (!container.is_object()) continue;
      Json& env = container["env"];
      if (!env.is_array()) env = Json::array();
      for (const Json& each : variables) env.push_back(each);
    }
  }
}

Json pod_template(const EvictorContext& context, const api::Hook& hook, HookPoint point, const Json& labels) {
  auto parsed = api::parse_json(hook.job_template_json);
  Json wanted = parsed && parsed->is_object() ? *std::move(parsed) : Json::object();
  Json& metadata = object_member(wanted, "metadata");
  for (const auto& [key, value] : labels.items()) object_member(metadata, "labels")[key] = value;
  Json& spec = object_member(wanted, "spec");
  if (!spec.contains("restartPolicy")) spec["restartPolicy"] = "Never";
  add_environment(spec, hook_environment(context, point));
  return wanted;
}

bool has_condition(const Json& job, const char* type, std::string* message = nullptr) {
  for (const Json& each : api::items_at(job, {"status", "conditions"})) {
    if (api::text_at(each, {"type"}) != type || api::text_at(each, {"status"}) != "True") continue;
    if (message) *message = fmt::format("{}: {}", api::text_at(each, {"reason"}), api::text_at(each, {"message"}));
    return true;
  }
  return false;
}

// --- ownership of Jobs

/// Fields that an API server adds to a Job. Any other additional field makes the Job foreign.
struct ServerDefault {
  std::string_view name;
  const char* value;  ///< JSON; nullptr accepts any value, because the field can only make the Job fail
};
constexpr std::array kServerDefaults = {ServerDefault{"apiVersion", R"("v1")"},
                                        ServerDefault{"completionMode", R"("NonIndexed")"},
                                        ServerDefault{"completions", "1"},
                                        ServerDefault{"defaultMode", nullptr},
                                        ServerDefault{"dnsPolicy", R"("ClusterFirst")"},
                                        ServerDefault{"failureThreshold", nullptr},
                                        ServerDefault{"imagePullPolicy", nullptr},
                                        ServerDefault{"manualSelector", "false"},
                                        ServerDefault{"parallelism", "1"},
                                        ServerDefault{"periodSeconds", nullptr},
                                        ServerDefault{"podReplacementPolicy", nullptr},
                                        ServerDefault{"protocol", nullptr},
                                        ServerDefault{"resources", nullptr},
                                        ServerDefault{"schedulerName", nullptr},
                                        ServerDefault{"scheme", nullptr},
                                        ServerDefault{"securityContext", "{}"},
                                        ServerDefault{"selector", nullptr},
                                        ServerDefault{"serviceAccount", nullptr},
                                        ServerDefault{"successThreshold", nullptr},
                                        ServerDefault{"suspend", "false"},
                                        ServerDefault{"terminationGracePeriodSeconds", nullptr},
                                        ServerDefault{"terminationMessagePath", nullptr},
                                        ServerDefault{"terminationMessagePolicy", nullptr},
                                        ServerDefault{"timeoutSeconds", nullptr},
                                        ServerDefault{"type", nullptr}};

bool is_server_default(std::string_view name, const Json& value) {
  const auto known = std::ranges::find(kServerDefaults, name, &ServerDefault::name);
  if (known == kServerDefaults.end()) return false;
  return known->value == nullptr || value == Json::parse(known->value);
}

/// Returns the path at which `seen` differs from `wanted`, empty if they are equal.
std::string difference(const Json& seen, const Json& wanted, const std::string& at) {
  if (at.ends_with(".resources")) return {};  // servers normalise quantities
  if (wanted.is_array() && seen.is_array() && wanted.size() == seen.size()) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (auto found = difference(seen[i], wanted[i], fmt::format("{}[{}]", at, i)); !found.empty()) return found;
    }
    return {};
  }
  if (!wanted.is_object() || !seen.is_object()) return seen == wanted ? std::string() : at;
  for (const auto& [name, value] : wanted.items()) {
    const auto given = seen.find(name);
    if (given == seen.end()) return fmt::format("{}.{}", at, name);
    if (auto found = difference(*given, value, fmt::format("{}.{}", at, name)); !found.empty()) return found;
  }
  const bool may_have_more = at.ends_with(".metadata") || at.ends_with(".labels") || at.ends_with(".annotations");
  for (const auto& [name, value] : seen.items()) {
    if (!may_have_more && !wanted.contains(name) && !is_server_default(name, value))
      return fmt::format("{}.{}", at, name);
  }
  return {};
}

bool only_we_own(const Json& job, const std::string& evacuation_uid) {
  const Json& owners = api::items_at(job, {"metadata", "ownerReferences"});
  return owners.size() == 1 && api::text_at(owners[0], {"kind"}) == "Evacuation" &&
         api::text_at(owners[0], {"uid"}) == evacuation_uid;
}

/// Returns why the Job is not Evacuator's, empty if it is.
std::string why_foreign(const EvictorContext& context, HookPoint point, const api::Hook* hook, const Json& job) {
  const api::Evacuation& of = context.evacuation;
  const std::string_view made = context.ref(hook_job_uid_ref(point));
  if (!made.empty()) {
    return api::text_at(job, {"metadata", "uid"}) == made ? std::string()
                                                          : "it replaced the Job that the operator created";
  }
  if (api::text_at(job, {"metadata", "labels", kUidLabel}) != of.meta.uid || !only_we_own(job, of.meta.uid))
    return "it is not owned by the Evacuation";
  if (hook == nullptr) return {};
  if (hook->job_template_json.empty()) return "its expected content is unknown";
  const Json wanted = hook_job(context, *hook, point);
  const std::string at = difference(job.value("spec", Json()), wanted["spec"], "spec");
  return at.empty() ? at : fmt::format("its {} does not match the policy's hook", at);
}

bool stop_requested(const Json& job) {
  const auto deadline = api::number_at(job, {"spec", "activeDeadlineSeconds"});
  return deadline && *deadline <= 1;
}

}  // namespace

std::string hook_job_name(const EvictorContext& context, HookPoint point) {
  return fmt::format("evac-{}-{}-{}", context.evacuation.meta.uid, context.evacuation.status.attempt, to_string(point));
}

std::string hook_job_logs(const EvictorContext& context, HookPoint point) {
  return fmt::format("kubectl logs job/{} -n {}", hook_job_name(context, point), context.ns());
}

Json hook_job(const EvictorContext& context, const api::Hook& hook, HookPoint point) {
  const api::Evacuation& of = context.evacuation;
  const Json labels = {
      {"app.kubernetes.io/managed-by", "evacuator"}, {kUidLabel, of.meta.uid}, {kHookLabel, to_string(point)}};
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata",
           {{"name", hook_job_name(context, point)},
            {"namespace", of.meta.ns},
            {"labels", labels},
            {"annotations", {{api::well_known::kTokenAnnotation, of.status.token}}},
            {"ownerReferences", Json::array({{{"apiVersion", api::well_known::kApiVersion},
                                              {"kind", "Evacuation"},
                                              {"name", of.meta.name},
                                              {"uid", of.meta.uid}}})}}},
          {"spec",
           {{"backoffLimit", hook.retries},
            {"activeDeadlineSeconds", hook.timeout.count()},
            {"ttlSecondsAfterFinished", hook.job_ttl.count()},
            {"template", pod_template(context, hook, point, labels)}}}};
}

Read hook_job_read(const EvictorContext& context, HookPoint point) {
  return read_of(job_document(point), kube::get_request(kube::kJobs, {context.ns(), hook_job_name(context, point)}));
}

std::string hook_action_name(std::string_view prefix, HookPoint point) {
  std::string name(to_string(point));
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return std::string(prefix) + name;
}

std::string hook_job_uid_ref(HookPoint point) { return fmt::format("{}HookJob", to_string(point)); }

HookJob read_hook_job(const EvictorContext& context, HookPoint point, const api::Hook* hook) {
  const Document* document = context.document(job_document(point));
  if (!document) return {};
  if (document->status == 404) return {HookJob::State::kAbsent, {}, {}, false};
  const auto job = object_of(document);
  if (!job) return {};
  HookJob seen;
  seen.uid = api::text_at(*job, {"metadata", "uid"});
  seen.stop_requested = stop_requested(*job);
  std::string why = why_foreign(context, point, hook, *job);
  if (!why.empty()) {
    seen.state = HookJob::State::kForeign;
    seen.message = std::move(why);
  } else if (has_condition(*job, "Complete")) {
    seen.state = HookJob::State::kSucceeded;
  } else if (has_condition(*job, "Failed", &why)) {
    seen.state = HookJob::State::kFailed;
    seen.message = base::truncate_utf8(why, kMaxJobMessage);
  } else {
    seen.state = HookJob::State::kRunning;
  }
  return seen;
}

bool hook_job_runs(const EvictorContext& context, HookPoint point) {
  return read_hook_job(context, point, nullptr).state == HookJob::State::kRunning;
}

std::optional<Action> stop_hook_job(const EvictorContext& context, HookPoint point) {
  const HookJob job = read_hook_job(context, point, nullptr);
  if (job.state != HookJob::State::kRunning || job.stop_requested) return std::nullopt;
  return make_action(
      ActionRole::kUndo, hook_action_name(kStopJobPrefix, point),
      kube::patch_request(kube::kJobs, {context.ns(), hook_job_name(context, point)}, kube::PatchType::kMerge,
                          {{"metadata", {{"uid", job.uid}}}, {"spec", {{"activeDeadlineSeconds", 1}}}}));
}

}  // namespace evictors::handoff
