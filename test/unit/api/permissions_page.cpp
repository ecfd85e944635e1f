#include "permissions_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "api/json/json_access.hpp"
#include "api/json/yaml.hpp"

namespace api_reference {
namespace {

namespace fs = std::filesystem;
using api::Json;

constexpr std::string_view kOperator = "ServiceAccount/evacuator";

struct RoleFile {
  std::string path;  ///< Relative to the repository
  std::string comment;
  std::vector<Json> roles;
  std::vector<Json> bindings;
};

/// Converts an item "name      description" of a list in a comment to Markdown.
std::string list_item(std::string_view words) {
  const auto gap = words.find("  ");
  if (gap == std::string_view::npos) return std::string(words);
  return fmt::format("`{}`: {}", words.substr(0, gap), words.substr(words.find_first_not_of(' ', gap)));
}

/// Returns the comment at the top of the file as one paragraph with its list.
std::string leading_comment(const std::string& text) {
  constexpr std::size_t kListIndent = 3;
  constexpr std::size_t kContinued = 10;
  std::istringstream lines(text);
  std::string comment;
  for (std::string line; std::getline(lines, line) && line.starts_with('#');) {
    const std::size_t indent = std::min(line.find_first_not_of(' ', 1), line.size()) - 1;
    const std::string_view words = std::string_view(line).substr(indent + 1);
    const bool is_item = indent >= kListIndent && indent < kContinued;
    if (is_item)
      comment += "\n* " + list_item(words);
    else
      comment += (comment.empty() ? "" : " ") + std::string(words);
  }
  return comment;
}

RoleFile read_role_file(const fs::path& repository, const fs::path& path) {
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  auto documents = api::parse_yaml(text);
  if (!documents) throw std::runtime_error(path.string() + ": " + documents.error().message);
  RoleFile file{fs::relative(path, repository).string(), leading_comment(text), {}, {}};
  for (Json& document : *documents) {
    const std::string kind = api::text_at(document, {"kind"});
    if (kind == "Role" || kind == "ClusterRole")
      file.roles.push_back(std::move(document));
    else if (kind == "RoleBinding" || kind == "ClusterRoleBinding")
      file.bindings.push_back(std::move(document));
  }
  return file;
}

/// Returns the default roles first, then the optional ones, each sorted by path.
std::vector<RoleFile> role_files(const fs::path& repository) {
  std::vector<RoleFile> files;
  for (const auto& entry : fs::recursive_directory_iterator(repository / "config")) {
    const std::string path = entry.path().string();
    if (entry.path().extension() != ".yaml" || path.find("/chart/") != std::string::npos) continue;
    RoleFile file = read_role_file(repository, entry.path());
    if (!file.roles.empty() || !file.bindings.empty()) files.push_back(std::move(file));
  }
  std::ranges::sort(files, {},
                    [](const RoleFile& file) { return std::pair(!file.path.starts_with("config/rbac/"), file.path); });
  return files;
}

std::string listed(const Json& rule, const char* field) {
  std::vector<std::string> values;
  for (const Json& value : rule.value(field, Json::array())) {
    const auto text = value.get<std::string>();
    values.push_back(text.empty() ? "core" : text);
  }
  return fmt::format("{}", fmt::join(values, ", "));
}

std::string rows_of(const Json& role) {
  const std::string ns = api::text_at(role, {"metadata", "namespace"});
  std::string rows;
  for (const Json& rule : role.value("rules", Json::array())) {
    const bool is_url = rule.contains("nonResourceURLs");
    const std::string names = listed(rule, "resourceNames");
    rows += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", api::text_at(role, {"metadata", "name"}),
                        ns.empty() ? "cluster" : "namespace " + ns, is_url ? "–" : listed(rule, "apiGroups"),
                        listed(rule, is_url ? "nonResourceURLs" : "resources"), names.empty() ? "any" : names,
                        listed(rule, "verbs"));
  }
  return rows;
}

/// Returns the subjects of all bindings of the role, found by its kind and name.
std::string holders(const std::vector<RoleFile>& files, const Json& role) {
  const std::string name = api::text_at(role, {"metadata", "name"});
  std::vector<std::string> found;
  for (const RoleFile& file : files) {
    for (const Json& binding : file.bindings) {
      const bool is_of_role = api::text_at(binding, {"roleRef", "kind"}) == api::text_at(role, {"kind"}) &&
                              api::text_at(binding, {"roleRef", "name"}) == name;
      for (const Json& subject : binding.value("subjects", Json::array())) {
        if (is_of_role) found.push_back(subject.value("kind", "") + "/" + subject.value("name", ""));
      }
    }
  }
  for (const char* to : {"view", "edit", "admin"}) {
    const std::string label = std::string("rbac.authorization.k8s.io/aggregate-to-") + to;
    if (api::text_at(role, {"metadata", "labels", label}) == "true")
      found.push_back(fmt::format("users with `{}`", to));
  }
  if (found.empty()) return "none until you bind it";
  std::ranges::replace(found, std::string(kOperator), std::string("the operator"));
  return fmt::format("{}", fmt::join(found, ", "));
}

std::string section(const std::vector<RoleFile>& files, const RoleFile& file) {
  std::string text = fmt::format("\n## {}\n\n{}\n\n", file.path, file.comment);
  text += "| role | held by |\n|---|---|\n";
  for (const Json& role : file.roles)
    text += fmt::format("| `{}` | {} |\n", api::text_at(role, {"metadata", "name"}), holders(files, role));
  text += "\n| role | where | API group | resources | names | verbs |\n|---|---|---|---|---|---|\n";
  for (const Json& role : file.roles) text += rows_of(role);
  return text;
}

}  // namespace

std::string permissions_page(const fs::path& repository) {
  const std::vector<RoleFile> files = role_files(repository);
  std::string page =
      "# Permissions\n\n"
      "For administrators and auditors: every permission, role by role. [Operations](../operations.md#permissions)\n"
      "has the risks of each role, [for auditors](../auditors.md) checks on a cluster.\n\n"
      "Generated from the files below `config/` by `make generate`. The Helm chart has the same permissions.\n\n"
      "Every installation has the roles of `config/rbac`. All other files are optional: their roles are bound only if\n"
      "you apply them.\n";
  for (const RoleFile& file : files) {
    if (!file.roles.empty()) page += section(files, file);
  }
  return page;
}

}  // namespace api_reference
