#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "api/json/field_path.hpp"
#include "api/json/json_access.hpp"
#include "api/json/strict_object.hpp"
#include "api/meta/names.hpp"
#include "cmd/commands.hpp"
#include "cmd/input/documents.hpp"
#include "cmd/input/files.hpp"
#include "cmd/offline/policy_files.hpp"
#include "cmd/output.hpp"
#include "controllers/evacuation/spec_problems.hpp"
#include "controllers/policy/spec_problems.hpp"
#include "evictors/registry.hpp"
#include "planner/report/plain_text.hpp"
#include "planner/report/summary.hpp"

namespace cmd {
namespace {

constexpr std::array<std::string_view, 5> kMembers = {"apiVersion", "kind", "metadata", "spec", "status"};
constexpr std::array<std::string_view, 16> kMembersOfMetadata = {"annotations",
                                                                 "clusterName",
                                                                 "creationTimestamp",
                                                                 "deletionGracePeriodSeconds",
                                                                 "deletionTimestamp",
                                                                 "finalizers",
                                                                 "generateName",
                                                                 "generation",
                                                                 "labels",
                                                                 "managedFields",
                                                                 "name",
                                                                 "namespace",
                                                                 "ownerReferences",
                                                                 "resourceVersion",
                                                                 "selfLink",
                                                                 "uid"};

/// Finds problems outside of spec and status for which the API server rejects one of our objects or silently drops
/// fields, such as "mode: unknown field". Checks the top-level members, the members of metadata, the name, labels and
/// annotations.
class AroundSpec {
 public:
  std::vector<std::string> check(const api::Json& object) {
    check_members(object, api::FieldPath(), kMembers, ", or does it belong under spec, with indentation?");
    const api::Json* metadata = api::find_at(object, {"metadata"});
    if (metadata == nullptr || !metadata->is_object()) return std::move(problems_);
    const api::FieldPath at("metadata");
    check_members(*metadata, at, kMembersOfMetadata, "");
    check_name(api::text_at(object, {"metadata", "name"}), at.field("name"));
    for (const char* map : {"labels", "annotations"}) check_texts(*metadata, map, at.field(map));
    return std::move(problems_);
  }

 private:
  void complain(const api::FieldPath& at, std::string_view what) {
    problems_.push_back(fmt::format("{}: {}", at.text(), what));
  }

  void check_members(const api::Json& object, const api::FieldPath& at, std::span<const std::string_view> known,
                     std::string_view otherwise) {
    for (const auto& [name, value] : object.items()) {
      if (std::ranges::find(known, name) != known.end()) continue;
      const std::string meant = api::did_you_mean(name, known);
      complain(at.field(name), fmt::format("unknown field{}", meant.empty() ? otherwise : meant));
    }
  }

  void check_name(const std::string& name, const api::FieldPath& at) {
    if (name.empty() || api::is_dns_subdomain(name)) return;
    complain(at, fmt::format("\"{}\" is not a DNS subdomain: lower-case letters, digits, '-' and '.', at most 253",
                             name.substr(0, 253)));
  }

  void check_texts(const api::Json& metadata, const char* map, const api::FieldPath& at) {
    const auto found = metadata.find(map);
    if (found == metadata.end() || !found->is_object()) return;
    for (const auto& [key, value] : found->items()) {
      if (!value.is_string()) complain(at.key(key), fmt::format("must be a string, not {}", api::kind_of(value)));
    }
  }

  std::vector<std::string> problems_;
};

struct Finding {
  std::string file;
  std::string object;  ///< "DeschedulerPolicy balance"
  std::vector<std::string> problems;
  bool foreign = false;  ///< an object of another kind, not checked
  api::Json content{};   ///< content of a checked object
};

std::vector<std::string> lines_of(const api::FieldErrors& errors) {
  std::vector<std::string> lines;
  for (const api::FieldError& error : errors) lines.push_back(error.to_string());
  return lines;
}

template <typename T>
std::vector<std::string> problems_in(const base::Result<T>& object) {
  if (!object) return {object.error().message};
  return lines_of(controllers::problems_of(object->spec, evictors::EvictorRegistry::builtin()));
}

Finding examine(const std::string& file, const api::Json& document) {
  const std::string kind = api::text_at(document, {"kind"});
  const std::string name = api::text_at(document, {"metadata", "name"});
  Finding finding{file, name.empty() ? kind : kind + " " + name, {}, false};
  const std::string version = api::text_at(document, {"apiVersion"});
  if (kind.empty()) {
    finding.object = "document without kind";
    finding.problems = {"kind: must be DeschedulerPolicy or Evacuation"};
  } else if (kind != "DeschedulerPolicy" && kind != "Evacuation") {
    finding.foreign = true;
  } else if (version != "evacuator.dev/v1alpha1") {
    finding.problems = {fmt::format("apiVersion: must be evacuator.dev/v1alpha1, not \"{}\"", version)};
    if (version.starts_with("descheduler/")) finding.problems[0] += "; " + advice_to_convert(file);
  } else if (name.empty()) {
    finding.problems = {"metadata.name: must not be empty"};
  } else {
    finding.problems = AroundSpec().check(document);
    const auto of_spec = kind == "Evacuation" ? problems_in(api::decode_evacuation(document))
                                              : problems_in(api::decode_descheduler_policy(document));
    finding.problems.insert(finding.problems.end(), of_spec.begin(), of_spec.end());
    finding.content = document;
  }
  return finding;
}

/// Returns an item of a typed list (DeschedulerPolicyList) as a separate object with kind and apiVersion.
api::Json item_of(const api::Json& list, api::Json item) {
  const std::string kind = api::text_at(list, {"kind"});
  if (kind == "List" || !item.is_object()) return item;
  if (!item.contains("kind")) item["kind"] = kind.substr(0, kind.size() - std::string_view("List").size());
  if (!item.contains("apiVersion")) item["apiVersion"] = api::text_at(list, {"apiVersion"});
  return item;
}

/// Checks a document, or each object of a list.
void examine_all(const std::string& file, const api::Json& document, std::vector<Finding>& findings) {
  const bool is_list = document.is_object() && api::text_at(document, {"kind"}).ends_with("List") &&
                       document.contains("items") && document["items"].is_array();
  if (!is_list) return findings.push_back(examine(file, document));
  for (const api::Json& item : document["items"]) findings.push_back(examine(file, item_of(document, item)));
}

/// Removes the file name from a message that is printed after the file name.
std::string without_file(std::string message, const std::string& file) {
  const std::string prefix = shown_path(file) + ": ";
  return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
}

std::vector<Finding> examine_file(const std::string& file) {
  const auto documents = read_documents(file, kMaxPolicyBytes);
  if (!documents) return {{file, "", {without_file(documents.error().message, file)}, false}};
  std::vector<Finding> findings;
  for (const api::Json& document : *documents) {
    if (!document.is_null()) examine_all(file, document, findings);
  }
  if (findings.empty()) findings.push_back({file, "", {"contains no object"}, false});
  return findings;
}

/// Detects different objects with the same kind, namespace and name, of which `kubectl apply` keeps only one.
class DuplicateNames {
 public:
  void look_at(Finding& finding) {
    if (finding.content.is_null()) return;
    const std::string ns = api::text_at(finding.content, {"metadata", "namespace"});
    const auto [first, is_new] = first_.try_emplace({ns, finding.object}, finding);
    if (is_new || first->second.content == finding.content) return;
    finding.problems.push_back(fmt::format("metadata.name: another {} is in {}: `kubectl apply` keeps one of them",
                                           finding.object, shown_path(first->second.file)));
  }

 private:
  std::map<std::pair<std::string, std::string>, Finding> first_;
};

void print_finding(const Finding& finding) {
  std::string where = shown_path(finding.file);
  if (!finding.object.empty()) where += ": " + report::plain_text(finding.object);
  if (finding.problems.empty()) {
    print_out("{}: {}\n", where, finding.foreign ? "not checked (not a kind of Evacuator)" : "valid");
    return;
  }
  for (const std::string& problem : finding.problems) print_out("{}: {}\n", where, report::plain_text(problem));
}

/// Prints the findings of one file. Names only the first unchecked objects, since a dump may have thousands.
void print_findings(const std::vector<Finding>& findings) {
  constexpr int kMaxForeign = 5;
  int foreign = 0;
  for (const Finding& finding : findings) {
    foreign += finding.foreign;
    if (!finding.foreign || foreign <= kMaxForeign) print_finding(finding);
  }
  if (foreign > kMaxForeign)
    print_out("{}: {} more: not checked (not kinds of Evacuator)\n", shown_path(findings.front().file),
              report::plural(foreign - kMaxForeign, "object"));
}

api::Json as_json(const Finding& finding) {
  return {{"file", finding.file},
          {"object", finding.object},
          {"valid", finding.problems.empty()},
          {"checked", !finding.foreign},
          {"problems", finding.problems}};
}

}  // namespace

int run_validate(const ValidateOptions& options) {
  bool valid = true;
  bool checked = false;
  DuplicateNames namesakes;
  api::Json report = api::Json::array();
  for (const std::string& file : options.files) {
    std::vector<Finding> findings = examine_file(file);
    for (Finding& finding : findings) {
      namesakes.look_at(finding);
      valid = valid && finding.problems.empty();
      checked = checked || !finding.foreign;
      if (options.output == "json") report.push_back(as_json(finding));
    }
    if (options.output != "json") print_findings(findings);
  }
  if (options.output == "json") print_out("{}\n", report.dump(2, ' ', false, api::Json::error_handler_t::replace));
  if (!checked) print_err("evacuator: no DeschedulerPolicy and no Evacuation was found: nothing was checked\n");
  return valid && checked ? 0 : 1;
}

}  // namespace cmd
