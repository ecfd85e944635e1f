#include "test/integration/rbac/grants.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "api/json/yaml.hpp"
#include "simulator/api/request_info.hpp"

namespace integration::rbac {
namespace {

using api::Json;

const std::filesystem::path kConfig = EVACUATOR_SOURCE_DIR "/config";
constexpr const char* kAccount = "evacuator";

std::vector<Json> documents_of(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(kConfig / file).rdbuf();
  auto parsed = api::parse_yaml(text.str());
  EXPECT_TRUE(parsed) << file << ": " << parsed.error().message;
  return parsed ? *std::move(parsed) : std::vector<Json>();
}

std::vector<std::string> yaml_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kConfig / folder)) {
    const auto name = entry.path().filename().string();
    if (entry.path().extension() == ".yaml" && name != "kustomization.yaml")
      files.push_back(fmt::format("{}/{}", folder, name));
  }
  return files;
}

/// A rule on nonResourceURLs has no resources.
void add_rule(const Json& rule, std::set<Access>& grants) {
  if (!rule.contains("resources")) return;
  for (const Json& group : rule.at("apiGroups")) {
    for (const Json& resource : rule.at("resources")) {
      for (const Json& verb : rule.at("verbs")) grants.insert({group, resource, verb});
    }
  }
}

bool binds_the_operator(const Json& binding) {
  const Json subjects = binding.value("subjects", Json::array());
  return std::ranges::any_of(subjects, [](const Json& each) {
    return each.value("kind", "") == "ServiceAccount" && each.value("name", "") == kAccount;
  });
}

/// Returns the roles in the folder that a binding in the folder grants to the operator.
std::vector<Role> roles_in(const std::string& folder) {
  std::vector<Role> roles;
  std::set<std::string> bound;
  for (const std::string& file : yaml_files(folder)) {
    for (const Json& each : documents_of(file)) {
      const std::string kind = each.value("kind", "");
      if (kind.ends_with("RoleBinding") && binds_the_operator(each)) bound.insert(each["roleRef"]["name"]);
      if (kind != "ClusterRole" && kind != "Role") continue;
      Role role{file, each["metadata"]["name"], {}};
      for (const Json& rule : each.at("rules")) add_rule(rule, role.grants);
      roles.push_back(std::move(role));
    }
  }
  std::erase_if(roles, [&](const Role& role) { return !bound.contains(role.name); });
  return roles;
}

/// Returns true if every authenticated user may make the request (system:discovery, system:basic-user).
bool is_for_everybody(const simulator::RequestInfo& info) {
  return !info.is_resource || info.plural.empty() || info.plural == "selfsubjectaccessreviews";
}

}  // namespace

std::string to_string(const Access& access) {
  return fmt::format("{} {}{}{}", access.verb, access.resource, access.group.empty() ? "" : ".", access.group);
}

std::vector<Role> default_roles() { return roles_in("rbac"); }

std::vector<Role> optional_roles() {
  std::vector<Role> roles = roles_in("optional");
  for (const char* folder : {"surge", "placement-webhook", "admission-webhook"}) {
    for (Role& each : roles_in(folder)) roles.push_back(std::move(each));
  }
  return roles;
}

std::set<Access> all_grants(const std::vector<Role>& roles) {
  std::set<Access> grants;
  for (const Role& each : roles) grants.insert(each.grants.begin(), each.grants.end());
  return grants;
}

std::vector<Access> accesses_of(const kube::Request& request) {
  const simulator::RequestInfo info = simulator::read_request(request);
  if (is_for_everybody(info)) return {};
  if (info.subresource.empty()) return {{info.group, info.plural, info.verb}};
  std::vector<Access> asked{{info.group, info.plural + "/" + info.subresource, info.verb}};
  const auto slash = info.subresource.find('/');
  if (slash != std::string::npos)
    asked.push_back({info.group, info.plural + "/" + info.subresource.substr(0, slash), info.verb});
  return asked;
}

std::set<std::string> annotations_allowed_on_pods() {
  std::set<std::string> keys;
  for (const Json& document : documents_of("optional/pod-write-limits.yaml")) {
    for (const Json& variable : document["spec"].value("variables", Json::array())) {
      if (variable["name"] != "allowed") continue;
      const std::string list = variable["expression"];
      const std::regex quoted("'([^']+)'");
      for (std::sregex_iterator at(list.begin(), list.end(), quoted), end; at != end; ++at) keys.insert((*at)[1]);
    }
  }
  return keys;
}

}  // namespace integration::rbac
