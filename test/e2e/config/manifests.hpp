#pragma once

/// The manifests of config/ as the tests read them.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "api/json/yaml.hpp"
#include "controllers/operator/operator_config.hpp"
#include "test/e2e/harness/process.hpp"

namespace e2e::config_test {

using Json = nlohmann::json;
using Verbs = std::set<std::string>;

inline std::string below_config(const std::string& name) {
  return std::string(EVACUATOR_SOURCE_DIR) + "/config/" + name;
}

/// Parses YAML. Invalid text fails the test.
inline std::vector<Json> documents(const std::string& text) {
  auto parsed = api::parse_yaml(text);
  if (!parsed) ADD_FAILURE() << parsed.error().message;
  return parsed ? *std::move(parsed) : std::vector<Json>();
}

/// Returns the documents of this file in config/.
inline std::vector<Json> manifests(const std::string& name) { return documents(read_file(below_config(name))); }

/// Returns the operator's configuration as shipped.
inline auto shipped_configuration() {
  return controllers::parse_operator_config(read_file(below_config("manager/config.yaml")));
}

/// Returns the verbs that the rules grant on a resource.
inline Verbs verbs_on(const Json& role, const std::string& group, const std::string& resource) {
  Verbs verbs;
  for (const Json& rule : role.at("rules")) {
    const auto groups = rule.at("apiGroups").get<std::set<std::string>>();
    const auto resources = rule.at("resources").get<std::set<std::string>>();
    if (groups.contains(group) && resources.contains(resource))
      verbs.merge(rule.at("verbs").get<std::set<std::string>>());
  }
  return verbs;
}

}  // namespace e2e::config_test
