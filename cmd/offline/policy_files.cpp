#include "cmd/offline/policy_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json/yaml.hpp"
#include "cmd/offline/dump.hpp"
#include "evictors/registry.hpp"
#include "strategies/catalog.hpp"

namespace cmd {
namespace {

bool is_of_kind(const api::Json& object, std::string_view kind) {
  const auto found = object.is_object() ? object.find("kind") : object.end();
  return object.is_object() && found != object.end() && found->is_string() && *found == kind;
}

void collect_policies(const api::Json& document, std::vector<const api::Json*>& into) {
  if (is_of_kind(document, "DeschedulerPolicy")) return into.push_back(&document);
  const bool is_list = is_of_kind(document, "List") || is_of_kind(document, "DeschedulerPolicyList");
  if (!is_list || !document.contains("items") || !document["items"].is_array()) return;
  for (const api::Json& item : document["items"]) {
    if (item.is_object() && (!item.contains("kind") || is_of_kind(item, "DeschedulerPolicy"))) into.push_back(&item);
  }
}

base::Result<api::DeschedulerPolicy> valid_policy(const api::Json& object) {
  auto policy = api::decode_descheduler_policy(object);
  if (!policy) return policy.error();
  api::FieldErrors errors = api::validate(policy->spec, evictors::EvictorRegistry::builtin().names());
  const auto of_args = strategies::validate(policy->spec.strategies);
  errors.insert(errors.end(), of_args.begin(), of_args.end());
  if (!errors.empty()) return api::to_error(errors).during("policy " + policy->meta.name);
  return policy;
}

}  // namespace

base::Result<std::vector<api::DeschedulerPolicy>> load_policies(const std::string& path) {
  const auto text = read_file(path, std::size_t{16} << 20);
  if (!text) return text.error();
  const auto documents = api::parse_yaml(*text);
  if (!documents) return documents.error().during(path);
  std::vector<const api::Json*> found;
  for (const api::Json& document : *documents) collect_policies(document, found);
  if (found.empty()) return base::invalid(path + ": holds no DeschedulerPolicy");
  std::vector<api::DeschedulerPolicy> policies;
  for (const api::Json* object : found) {
    auto policy = valid_policy(*object);
    if (!policy) return policy.error().during(path);
    policies.push_back(*std::move(policy));
  }
  return policies;
}

base::Result<api::DeschedulerPolicy> choose_policy(const std::vector<api::DeschedulerPolicy>& policies,
                                                   const std::string& name, const std::string& path) {
  if (name.empty() && policies.size() == 1) return policies.front();
  std::string names;
  for (const api::DeschedulerPolicy& policy : policies) {
    if (!name.empty() && policy.meta.name == name) return policy;
    names += (names.empty() ? "" : ", ") + policy.meta.name;
  }
  if (!name.empty()) return base::invalid(fmt::format("{}: holds no policy \"{}\", but {}", path, name, names));
  return base::invalid(
      fmt::format("{}: holds {} policies ({}); choose one with --policy-name", path, policies.size(), names));
}

}  // namespace cmd
