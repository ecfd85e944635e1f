#include "test/e2e/harness/manifests.hpp"

namespace e2e::manifest {
namespace {

Json pod_template(const Workload& workload) {
  Json annotations = Json::object();
  for (const auto& [key, value] : workload.annotations) annotations[key] = value;
  return {{"metadata", {{"labels", {{"app", workload.name}}}, {"annotations", annotations}}},
          {"spec",
           {{"terminationGracePeriodSeconds", 1},
            {"containers", Json::array({{{"name", "main"},
                                         {"image", "registry.k8s.io/pause:3.9"},
                                         {"resources", {{"requests", {{"cpu", "10m"}, {"memory", "16Mi"}}}}}}})}}}};
}

Json workload_of(const char* kind, const Workload& workload) {
  return {{"apiVersion", "apps/v1"},
          {"kind", kind},
          {"metadata", {{"namespace", workload.ns}, {"name", workload.name}}},
          {"spec",
           {{"replicas", workload.replicas},
            {"selector", {{"matchLabels", {{"app", workload.name}}}}},
            {"template", pod_template(workload)}}}};
}

Json merged(Json base, const Json& over) {
  if (!over.is_null()) base.merge_patch(over);
  return base;
}

}  // namespace

Json deployment(const Workload& workload) { return workload_of("Deployment", workload); }

Json stateful_set(const Workload& workload) {
  Json object = workload_of("StatefulSet", workload);
  object["spec"]["serviceName"] = workload.name;
  object["spec"]["podManagementPolicy"] = "Parallel";
  return object;
}

Json pod_disruption_budget(std::string_view version, std::string_view ns, std::string_view app, int min_available) {
  return {{"apiVersion", version},
          {"kind", "PodDisruptionBudget"},
          {"metadata", {{"namespace", ns}, {"name", std::string(app) + "-budget"}}},
          {"spec", {{"minAvailable", min_available}, {"selector", {{"matchLabels", {{"app", app}}}}}}}};
}

Json evacuation(std::string_view ns, std::string_view name, std::string_view pod, std::string_view uid,
                const Json& spec) {
  Json base = {{"podRef", {{"name", pod}}}, {"reason", "end-to-end test"}};
  if (!uid.empty()) base["podRef"]["uid"] = uid;
  return {{"apiVersion", "evacuator.dev/v1alpha1"},
          {"kind", "Evacuation"},
          {"metadata", {{"namespace", ns}, {"name", name}}},
          {"spec", merged(base, spec)}};
}

Json pod_life_time_policy(std::string_view name, std::string_view ns, int max_age_seconds, const Json& spec) {
  const Json strategy = {{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", max_age_seconds}}}};
  const Json base = {{"mode", "DryRun"},
                     {"schedule", {{"interval", "5s"}}},
                     {"evictability", {{"namespaces", {{"include", Json::array({ns})}}}}},
                     {"strategies", Json::array({strategy})}};
  return {{"apiVersion", "evacuator.dev/v1alpha1"},
          {"kind", "DeschedulerPolicy"},
          {"metadata", {{"name", name}}},
          {"spec", merged(base, spec)}};
}

}  // namespace e2e::manifest
