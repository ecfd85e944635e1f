#include "api/json/json_access.hpp"
#include "cmd/convert/wrappers.hpp"

namespace api::upstream {

std::string template_hint(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '<')
    return "the file is HTML or XML: did you download a web page instead of the file? (use the raw URL, and log in if "
           "necessary)";
  const auto holds = [&](std::string_view mark) { return text.find(mark) != std::string_view::npos; };
  if (holds("{{") || holds("{%"))
    return "the file contains {{ … }}: render the template first (`helm template`, or the tool that renders it)";
  if (holds("${"))
    return "the file contains ${ … }: substitute the variables first (`flux build kustomization`, `envsubst`)";
  return {};
}

std::string renderer_of(const Json& json) {
  const std::string version = text_at(json, {"apiVersion"});
  if (text_at(json, {"kind"}) == "Kustomization" && version.starts_with("kustomize.toolkit.fluxcd.io/"))
    return "flux build kustomization NAME --path DIR --kustomization-file FILE";
  const bool is_kustomization = version.empty() || version.starts_with("kustomize.config.k8s.io/");
  if (is_kustomization && json.contains("helmCharts")) return "kustomize build --enable-helm DIR";
  for (const char* member : {"resources", "configMapGenerator", "patches", "patchesStrategicMerge"}) {
    if (is_kustomization && json.contains(member) && !json.contains("deschedulerPolicy"))
      return "kubectl kustomize DIR";
  }
  const bool is_helmfile = version.empty() && json.contains("releases") && json["releases"].is_array();
  return is_helmfile ? "helmfile template" : "";
}

namespace {

constexpr int kMaxDepth = 32;

bool is_policy(const Json& json) {
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    return text.find("descheduler/v1alpha") != std::string::npos || text.find("deschedulerPolicy") != std::string::npos;
  }
  if (!json.is_object()) return false;
  const bool is_one = text_at(json, {"apiVersion"}).starts_with("descheduler/") || json.contains("deschedulerPolicy");
  return is_one || (text_at(json, {"kind"}) == "KubeDescheduler" && json.contains("spec"));
}

/// Returns true if the value of `deschedulerPolicy` is itself the policy. The chart's values, to which the chart's
/// defaults apply, are separate files; in an object of an unknown kind only the policy is meant.
bool is_bare_policy_holder(const Json& json) {
  const Json* policy = find_at(json, {"deschedulerPolicy"});
  return policy != nullptr && (policy->contains("strategies") || policy->contains("profiles"));
}

std::optional<FieldPath> search(const Json& json, const FieldPath& at, bool in_object, int depth) {
  if (is_policy(json)) return in_object && is_bare_policy_holder(json) ? at.field("deschedulerPolicy") : at;
  if (depth >= kMaxDepth || !json.is_structured()) return std::nullopt;
  std::size_t index = 0;
  for (const auto& [key, value] : json.items()) {
    const FieldPath below = json.is_array() ? at.index(index++) : at.key(key);
    if (auto found = search(value, below, in_object, depth + 1)) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<FieldPath> deeper_policy(const Json& json, const FieldPath& at) {
  return search(json, at, !text_at(json, {"apiVersion"}).empty(), 0);
}

}  // namespace api::upstream
