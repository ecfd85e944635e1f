/// Checks that the schemas of crds/*.yaml agree with the C++ types.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "api/json/schema.hpp"
#include "api/json/yaml.hpp"
#include "api/meta/names.hpp"
#include "api/wire_names.hpp"
#include "test/unit/api/crds/crd_files.hpp"
#include "test/unit/api/populated.hpp"

namespace crd_test {

using api::FieldPath;
using api::Json;
using test_api::kAllEvictors;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Functions and values of one kind for the tests.
struct Kind {
  std::string file;
  std::function<Json()> populated;  ///< Object in which every member is set
  std::vector<Json> variants;       ///< Specs with the members that exclude those of `populated`
  Json minimal_spec;
  std::function<Json(const Json& object)> recode;  ///< Decodes the object, then encodes its spec
  std::function<api::FieldErrors(const Json& object)> check;
  bool has_fields_of_the_future = true;  ///< Whether the CRD declares fields of the future and refuses them
};

Json whole(Json spec, Json status) { return {{"spec", std::move(spec)}, {"status", std::move(status)}}; }

Kind evacuation_kind() {
  return {"evacuator.dev_evacuations.yaml",
          [] {
            return whole(api::encode_spec(test_api::populated_evacuation_spec()),
                         api::encode_status(test_api::populated_evacuation_status()));
          },
          {},
          {{"podRef", {{"name", "web"}}}},
          [](const Json& object) { return api::encode_spec(api::decode_evacuation(object)->spec); },
          [](const Json& object) { return api::check_evacuation(object, kAllEvictors); },
          false};
}

Kind policy_kind() {
  api::DeschedulerPolicySpec variant;
  variant.evictability.namespaces.include = {"a"};
  variant.limits.rate = api::RateLimit{{}, 30, 1};
  variant.evictability.priority_threshold = api::PriorityThreshold{std::nullopt, "high"};
  const api::Hook job = test_api::populated_job_hook();
  variant.evacuation.evictors = {{"stateful-handoff", {}}};
  variant.evacuation.hooks = {job, job, job, job};
  variant.usage_sources = test_api::other_usage_sources();
  variant.gates = test_api::other_gates();
  return {"evacuator.dev_deschedulerpolicies.yaml",
          [] {
            return whole(api::encode_spec(test_api::populated_policy_spec()),
                         api::encode_status(test_api::populated_policy_status()));
          },
          {api::encode_spec(variant)},
          Json::object(),
          [](const Json& object) { return api::encode_spec(api::decode_descheduler_policy(object)->spec); },
          [](const Json& object) { return api::check_descheduler_policy(object, kAllEvictors); },
          false};
}

/// The parameter is a function, because ctest starts a process for each test, and each process would construct and copy
/// all kinds.
class CrdTest : public testing::TestWithParam<Kind (*)()> {
 protected:
  void SetUp() override {
    const auto documents = api::parse_yaml(file_text(kRoot / "crds" / kind_.file));
    ASSERT_TRUE(documents) << documents.error().message;
    crd_ = documents->at(0);
    schema_ = crd_.at("spec").at("versions").at(0).at("schema").at("openAPIV3Schema");
  }

  Json with_spec(Json spec) { return {{"spec", std::move(spec)}}; }

  const Kind kind_ = GetParam()();
  Json crd_;
  Json schema_;
};

/// Calls visit(schema, path) for every property below `schema`. `path` has [] for list items. Maps are not entered.
void walk_schema(const Json& schema, const std::string& path,
                 const std::function<void(const Json& schema, const std::string& path)>& visit) {
  visit(schema, path);
  if (schema.contains("items")) walk_schema(schema.at("items"), path + "[]", visit);
  if (!schema.contains("properties")) return;
  for (const auto& [name, member] : schema.at("properties").items())
    walk_schema(member, fmt::format("{}.{}", path, name), visit);
}

/// Collects paths of the members of a value, spelled like those of walk_schema. Does not enter paths in `maps`.
void collect_paths(const Json& value, const std::string& path, const std::set<std::string>& maps,
                   std::set<std::string>& to) {
  to.insert(path);
  if (maps.contains(path)) return;
  if (value.is_array()) {
    for (const Json& item : value) collect_paths(item, path + "[]", maps, to);
  }
  if (!value.is_object()) return;
  for (const auto& [name, member] : value.items()) collect_paths(member, fmt::format("{}.{}", path, name), maps, to);
}

TEST_P(CrdTest, HasTheSameFieldsAsTheTypes) {
  std::set<std::string> in_schema;
  std::set<std::string> maps;
  for (const char* part : {"spec", "status"}) {
    std::vector<std::string> refused;
    walk_schema(schema_.at("properties").at(part), part, [&](const Json& schema, const std::string& path) {
      for (const std::string& above : refused) {
        if (path.starts_with(above)) return;
      }
      if (is_refused(schema)) return refused.push_back(path);
      in_schema.insert(path);
      if (schema.contains("additionalProperties") || schema.contains("x-kubernetes-preserve-unknown-fields"))
        maps.insert(path);
    });
  }
  std::set<std::string> in_types;
  const Json object = kind_.populated();
  for (const char* part : {"spec", "status"}) collect_paths(object.at(part), part, maps, in_types);
  for (const Json& spec : kind_.variants) collect_paths(spec, "spec", maps, in_types);
  EXPECT_EQ(in_schema, in_types);
}

TEST_P(CrdTest, AcceptsEncodedObjects) {
  const Json object = kind_.populated();
  EXPECT_THAT(api::validate_schema(schema_, object), IsEmpty());
  for (const Json& spec : kind_.variants) EXPECT_THAT(api::validate_schema(schema_, with_spec(spec)), IsEmpty());
  Json pruned = object;
  EXPECT_THAT(api::prune(schema_, pruned), IsEmpty());
  EXPECT_THAT(kind_.check(object), IsEmpty());
}

TEST_P(CrdTest, HasTheDefaultsOfTheTypes) {
  Json defaulted = with_spec(kind_.minimal_spec);
  api::apply_defaults(schema_, defaulted);
  EXPECT_EQ(kind_.recode(defaulted), kind_.recode(with_spec(kind_.minimal_spec)));
  // Every default of the type must be in the schema too, so encoding adds only members that the schema adds.
  Json encoded = with_spec(kind_.recode(with_spec(kind_.minimal_spec)));
  std::set<std::string> from_type;
  std::set<std::string> from_schema;
  collect_paths(encoded, "", {}, from_type);
  collect_paths(defaulted, "", {}, from_schema);
  for (const std::string& path : from_type) EXPECT_TRUE(from_schema.contains(path)) << path;
}

std::string with_first_items(std::string path) {
  for (std::size_t at = path.find("[]"); at != std::string::npos; at = path.find("[]", at)) path.replace(at, 2, "[0]");
  return path;
}

/// Returns whether the parent of the member at `path` exists. Of blocks that exclude each other `object` has one.
bool has_parent(const Json& object, const std::string& path) {
  std::string pointer = "/" + with_first_items(path.substr(0, path.rfind('.')));
  for (const auto& [from, to] : {std::pair{".", "/"}, std::pair{"[", "/"}, std::pair{"]", ""}}) {
    for (std::size_t at = pointer.find(from); at != std::string::npos; at = pointer.find(from, at + std::strlen(to)))
      pointer.replace(at, 1, to);
  }
  return object.contains(Json::json_pointer(pointer));
}

/// Sets `value` at a path such as "spec.evictors[].name", in the first item of each list.
bool put(Json& object, const std::string& path, const Json& value) {
  Json* here = &object;
  std::string rest = path;
  while (!rest.empty()) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    std::string name = rest.substr(0, dot);
    rest = dot == rest.size() ? "" : rest.substr(dot + 1);
    bool in_list = name.ends_with("[]");
    if (in_list) name.resize(name.size() - 2);
    here = &(*here)[name];
    if (in_list && (!here->is_array() || here->empty())) return false;
    if (in_list) here = &(*here)[0];
  }
  *here = value;
  return true;
}

bool complains_at(const api::FieldErrors& errors, const std::string& path) {
  return std::ranges::any_of(errors, [&](const api::FieldError& error) { return error.path.starts_with(path); });
}

TEST_P(CrdTest, HasTheNumericBoundsOfTheTypes) {
  int checked = 0;
  walk_schema(schema_.at("properties").at("spec"), "spec", [&](const Json& schema, const std::string& path) {
    for (const auto& [bound, beyond] : {std::pair{"minimum", -1}, std::pair{"maximum", 1}}) {
      if (!schema.contains(bound)) continue;
      const std::string place = with_first_items(path);
      const bool is_whole = schema.value("type", "integer") == "integer";
      const auto edge = schema.at(bound).get<double>();
      const auto number = [&](double value) { return is_whole ? Json(std::llround(value)) : Json(value); };
      Json object = kind_.populated();
      ASSERT_TRUE(put(object, path, number(edge + beyond))) << path;
      EXPECT_TRUE(complains_at(kind_.check(object), place)) << place << " " << edge + beyond;
      EXPECT_TRUE(complains_at(api::validate_schema(schema_, object), place)) << place;
      ASSERT_TRUE(put(object, path, number(edge)));
      if (path.ends_with("backoffMaxSeconds") || path.ends_with("backoffSeconds")) continue;  // limit each other
      EXPECT_FALSE(complains_at(kind_.check(object), place)) << place << " " << edge;
      ++checked;
    }
  });
  EXPECT_GT(checked, 20);
}

TEST_P(CrdTest, HasTheLengthsOfTheTypes) {
  int checked = 0;
  walk_schema(schema_.at("properties").at("spec"), "spec", [&](const Json& schema, const std::string& path) {
    const bool is_name =
        schema.contains("maxLength") && !schema.contains("enum") && schema.value("type", "") == "string";
    const bool is_duration = schema.value("pattern", "").find("ns|us") != std::string::npos;
    if (!is_name || is_duration || path.find("elector.") != std::string::npos) return;
    const auto most = schema.at("maxLength").get<std::size_t>();
    const std::string place = with_first_items(path);
    Json object = kind_.populated();
    if (!has_parent(object, path) || !put(object, path, std::string(most + 1, 'a'))) return;
    EXPECT_TRUE(complains_at(kind_.check(object), place)) << place;
    EXPECT_TRUE(complains_at(api::validate_schema(schema_, object), place)) << place;
    ASSERT_TRUE(put(object, path, std::string(most, 'a')));
    if (path.find("evictors") != std::string::npos) return;  // The registry determines valid names
    if (schema.contains("pattern")) return;                  // The pattern restricts the value further
    EXPECT_FALSE(complains_at(kind_.check(object), place)) << place;
    EXPECT_FALSE(complains_at(api::validate_schema(schema_, object), place)) << place;
    ++checked;
  });
  EXPECT_GT(checked, 2);
}

TEST_P(CrdTest, HasTheCountsOfTheTypes) {
  walk_schema(schema_.at("properties").at("spec"), "spec", [&](const Json& schema, const std::string& path) {
    if (!schema.contains("maxItems") || path.find("elector.") != std::string::npos) return;
    if (path.find("podProtections.defaultDisabled") != std::string::npos || path.ends_with("extraEnabled")) return;
    Json object = kind_.populated();
    const std::string place = with_first_items(path);
    const Json& items = schema.at("items");
    Json item = items.contains("enum") ? items.at("enum").at(0) : Json("a");
    if (items.at("type") == "object") item = {{"name", "a"}};
    ASSERT_TRUE(put(object, path, Json(schema.at("maxItems").get<std::size_t>() + 1, item)));
    EXPECT_TRUE(complains_at(kind_.check(object), place)) << path;
    EXPECT_TRUE(complains_at(api::validate_schema(schema_, object), place)) << path;
  });
}

TEST_P(CrdTest, RefusesFieldsOfTheFutureInSchemaAndTypes) {
  int checked = 0;
  walk_schema(schema_.at("properties").at("spec"), "spec", [&](const Json& schema, const std::string& path) {
    if (!is_refused(schema)) return;
    const std::string type = schema.value("type", "");
    const Json sample = type == "object"    ? Json{{"a", 1}}
                        : type == "array"   ? Json::array()
                        : type == "boolean" ? Json(true)
                        : type == "string"  ? Json("x")
                                            : Json(1);
    Json object = with_spec(kind_.minimal_spec);
    ASSERT_TRUE(put(object, path, sample));
    const auto errors = kind_.check(object);
    ASSERT_EQ(errors.size(), 1U) << path;
    EXPECT_EQ(errors[0].to_string(), path + ": not supported yet");
    const auto schema_errors = api::validate_schema(schema_, object);
    ASSERT_EQ(schema_errors.size(), 1U) << path;
    EXPECT_EQ(schema_errors[0].path, path);
    EXPECT_THAT(schema_errors[0].message, HasSubstr("not supported yet"));
    const Json legacy = api_reference::without_cel(schema_);
    EXPECT_EQ(api::validate_schema(legacy, object).size(), 1U) << path;
    Json pruned = object;
    EXPECT_THAT(api::prune(schema_, pruned), IsEmpty()) << "pruning would silently ignore it";
    ++checked;
  });
  EXPECT_EQ(checked > 0, kind_.has_fields_of_the_future);
}

TEST_P(CrdTest, IsStructuralAndDescribed) {
  walk_schema(schema_, "", [&](const Json& schema, const std::string& path) {
    const bool typed = schema.contains("type") || schema.contains("x-kubernetes-int-or-string") ||
                       schema.value("x-kubernetes-preserve-unknown-fields", false);
    EXPECT_TRUE(typed) << path;
    if (!path.ends_with("[]") && path != ".metadata") {
      EXPECT_FALSE(schema.value("description", "").empty()) << path;
    }
    if (schema.value("type", "") == "array") {
      EXPECT_TRUE(schema.contains("items")) << path;
    }
  });
  EXPECT_EQ(crd_.at("apiVersion"), "apiextensions.k8s.io/v1");
  EXPECT_TRUE(crd_.at("spec").at("versions").at(0).at("subresources").contains("status"));
  EXPECT_THAT(crd_.at("spec").at("names").at("categories"), ElementsAre("evacuator"));
}

TEST_P(CrdTest, HasRulesForTheRegistersOfOldServers) {
  const Json legacy = api_reference::without_cel(crd_);
  EXPECT_THAT(legacy.dump(), testing::Not(HasSubstr("x-kubernetes-validations")));
  EXPECT_EQ(file_text(kRoot / "crds/legacy" / kind_.file), api_reference::legacy_file(crd_, kind_.file))
      << "run make generate";
}

INSTANTIATE_TEST_SUITE_P(Api, CrdTest, testing::Values(evacuation_kind, policy_kind),
                         [](const auto& test) { return test.index == 0 ? "Evacuation" : "DeschedulerPolicy"; });

}  // namespace crd_test
