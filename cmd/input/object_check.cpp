#include "cmd/input/object_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "api/json/field_path.hpp"
#include "api/json/json_access.hpp"
#include "api/json/strict_object.hpp"
#include "api/meta/names.hpp"

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

}  // namespace

std::vector<std::string> problems_around_spec(const api::Json& object) {
  return object.is_object() ? AroundSpec().check(object) : std::vector<std::string>();
}

}  // namespace cmd
