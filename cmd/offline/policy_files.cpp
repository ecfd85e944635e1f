#include "cmd/offline/policy_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json/field_path.hpp"
#include "api/json/json_access.hpp"
#include "api/json/yaml.hpp"
#include "api/meta/well_known.hpp"
#include "cmd/input/documents.hpp"
#include "cmd/input/files.hpp"
#include "cmd/table.hpp"
#include "evictors/registry.hpp"
#include "planner/strategies/catalog.hpp"

namespace cmd {
namespace {

constexpr std::string_view kKind = "DeschedulerPolicy";

struct PolicyObject {
  const api::Json* object;
  std::string place;    ///< path in the file, empty for the only document
  std::string version;  ///< apiVersion of the policy, or that of the typed list around it
};

bool is_of_kind(const api::Json& object, std::string_view kind) { return api::text_at(object, {"kind"}) == kind; }

void collect_policies(const api::Json& document, const api::FieldPath& place, std::vector<PolicyObject>& into) {
  const std::string version = api::text_at(document, {"apiVersion"});
  if (is_of_kind(document, kKind)) return into.push_back({&document, place.text(), version});
  const bool typed = is_of_kind(document, "DeschedulerPolicyList");
  if (!typed && !is_of_kind(document, "List")) return;
  if (!document.contains("items") || !document["items"].is_array()) return;
  const api::Json& items = document["items"];
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool is_uninformative = items[i].is_object() && !items[i].contains("kind");
    if (!is_of_kind(items[i], kKind) && !(typed && is_uninformative)) continue;
    const std::string its_own = api::text_at(items[i], {"apiVersion"});
    into.push_back({&items[i], place.field("items").index(i).text(), typed && its_own.empty() ? version : its_own});
  }
}

/// Rejects policies of other API groups, which would be read as a policy without strategies.
base::Status check_type(const PolicyObject& found, const std::string& path) {
  if (found.version == api::well_known::kApiVersion) return base::Done{};
  if (found.version.starts_with("descheduler/"))
    return base::invalid(
        fmt::format("{} is a policy of kubernetes-sigs/descheduler; {}", found.version, advice_to_convert(path)));
  return base::invalid(
      fmt::format("apiVersion: must be {}, not \"{}\"{}", api::well_known::kApiVersion, found.version,
                  found.version.empty() ? "; " + advice_to_convert(path, "a descheduler policy") : ""));
}

base::Result<api::DeschedulerPolicy> valid_policy(const PolicyObject& found, const std::string& path) {
  if (auto of_ours = check_type(found, path); !of_ours) return of_ours.error();
  auto policy = api::decode_descheduler_policy(*found.object);
  if (!policy) return policy.error();
  if (policy->meta.name.empty()) return base::invalid("metadata.name: must not be empty");
  api::FieldErrors errors = api::validate(policy->spec, evictors::EvictorRegistry::builtin().names());
  const auto of_args = strategies::validate(policy->spec.strategies);
  errors.insert(errors.end(), of_args.begin(), of_args.end());
  if (policy->spec.strategies.empty())
    errors.push_back({"spec.strategies", "must name at least one strategy, otherwise no pod is ever moved"});
  if (!errors.empty()) return api::to_error(errors).during("policy " + policy->meta.name);
  return policy;
}

std::string names_of(const std::vector<api::DeschedulerPolicy>& policies) {
  constexpr std::size_t kMax = 10;
  std::vector<std::string> names;
  for (const api::DeschedulerPolicy& each : policies) names.push_back(each.meta.name);
  return first_names(std::move(names), kMax);
}

}  // namespace

std::string advice_to_convert(const std::string& path, std::string_view what) {
  return fmt::format("convert {} first: evacuator convert {} > ours.yaml", what, path);
}

base::Result<std::vector<api::DeschedulerPolicy>> load_policies(const std::string& path) {
  const auto documents = read_documents(path, kMaxPolicyBytes);
  if (!documents) return documents.error();
  if (documents->empty()) return base::invalid(fmt::format("{}: {}", path, api::kEmptyInput));
  std::vector<PolicyObject> found;
  for (std::size_t i = 0; i < documents->size(); ++i) {
    const bool only = documents->size() == 1;
    collect_policies((*documents)[i], only ? api::FieldPath() : api::FieldPath("documents").index(i), found);
  }
  if (found.empty())
    return base::invalid(fmt::format("{}: contains no {} of {}; {}", path, kKind, api::well_known::kApiVersion,
                                     advice_to_convert(path, "a descheduler policy or values of its chart")));
  std::vector<api::DeschedulerPolicy> policies;
  for (const PolicyObject& each : found) {
    auto policy = valid_policy(each, path);
    if (!policy) return (each.place.empty() ? policy.error() : policy.error().during(each.place)).during(path);
    policies.push_back(*std::move(policy));
  }
  return policies;
}

base::Result<api::DeschedulerPolicy> choose_policy(const std::vector<api::DeschedulerPolicy>& policies,
                                                   const std::string& name, const std::string& path) {
  if (name.empty() && policies.size() == 1) return policies.front();
  const auto named = std::ranges::find(policies, name, [](const auto& policy) { return policy.meta.name; });
  if (!name.empty() && named != policies.end()) return *named;
  const std::string names = names_of(policies);
  if (!name.empty()) return base::invalid(fmt::format("{}: contains no policy \"{}\", but {}", path, name, names));
  return base::invalid(
      fmt::format("{}: contains {} policies ({}); select one with --policy-name", path, policies.size(), names));
}

}  // namespace cmd
