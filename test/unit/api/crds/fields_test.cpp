/// Holds crds/*.yaml, the C++ types and the generated files together.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "api/json/schema.hpp"
#include "api/json/yaml.hpp"
#include "api/meta/names.hpp"
#include "api/vocabulary/blockers.hpp"
#include "api/wire_names.hpp"
#include "api_reference.hpp"
#include "populated.hpp"

namespace crd_test {

using api::FieldPath;
using api::Json;
using test_api::kAllEvictors;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::filesystem::path kRoot = EVACUATOR_SOURCE_DIR;

std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

/// One kind with everything the tests ask of it.
struct Kind {
  std::string file;
  std::function<Json()> populated;  ///< whole object, every member set
  std::vector<Json> variants;       ///< specs with the members that exclude those of `populated`
  Json minimal_spec;
  std::function<Json(const Json& object)> recode;  ///< decode, then encode spec
  std::function<api::FieldErrors(const Json& object)> check;
  bool has_fields_of_the_future = true;  ///< that the CRD names and refuses
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

/// By the function that makes a kind: the kinds themselves would be made and copied at the start of each process, and
/// ctest starts one for each test of the program.
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

bool is_refused(const Json& schema) {
  const auto rules = schema.find("x-kubernetes-validations");
  return rules != schema.end() && rules->at(0).at("rule") == "false";
}

/// Calls visit(schema, path) for every property below `schema`; path has [] for list items, and does not enter maps.
void walk_schema(const Json& schema, const std::string& path,
                 const std::function<void(const Json& schema, const std::string& path)>& visit) {
  visit(schema, path);
  if (schema.contains("items")) walk_schema(schema.at("items"), path + "[]", visit);
  if (!schema.contains("properties")) return;
  for (const auto& [name, member] : schema.at("properties").items())
    walk_schema(member, fmt::format("{}.{}", path, name), visit);
}

/// Paths of the members of a value, spelt as walk_schema does; `maps` are not entered.
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

TEST_P(CrdTest, AcceptsWhatTheTypesWrite) {
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
  // Every default of the type stands in the schema, too: encoding adds nothing that the schema would not.
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

/// Is there what holds the member at `path`? Of blocks that exclude each other `object` has one.
bool has_parent(const Json& object, const std::string& path) {
  std::string pointer = "/" + with_first_items(path.substr(0, path.rfind('.')));
  for (const auto& [from, to] : {std::pair{".", "/"}, std::pair{"[", "/"}, std::pair{"]", ""}}) {
    for (std::size_t at = pointer.find(from); at != std::string::npos; at = pointer.find(from, at + std::strlen(to)))
      pointer.replace(at, 1, to);
  }
  return object.contains(Json::json_pointer(pointer));
}

/// Puts `value` at a path such as "spec.evictors[].name", into the first item of each list.
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
      if (path.ends_with("backoffMaxSeconds") || path.ends_with("backoffSeconds")) continue;  // depend on each other
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
    if (path.find("evictors") != std::string::npos) return;  // names are the registry's
    if (schema.contains("pattern")) return;                  // more than its length counts
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

TEST_P(CrdTest, RefusesFieldsOfTheFutureInBothWays) {
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
                         [](const auto& info) { return info.index == 0 ? "Evacuation" : "DeschedulerPolicy"; });

TEST(GeneratedReferenceTest, IsCurrent) {
  std::vector<Json> crds;
  for (const std::string& name : api_reference::kCrdFiles) {
    crds.push_back(api::parse_yaml(file_text(kRoot / "crds" / name))->at(0));
  }
  EXPECT_EQ(file_text(kRoot / "docs/reference/api.md"), api_reference::reference_page(crds)) << "run make generate";
}

Json crd_at(std::size_t index) {
  return api::parse_yaml(file_text(kRoot / "crds" / api_reference::kCrdFiles[index]))->at(0);
}

std::vector<std::string> columns_of(const Json& crd) {
  std::vector<std::string> names;
  for (const Json& column : crd.at("spec").at("versions").at(0).at("additionalPrinterColumns")) {
    names.push_back(column.at("name").get<std::string>() + (column.value("priority", 0) > 0 ? "+" : ""));
  }
  return names;
}

TEST(PrinterColumnsTest, AreThoseOfTheDesign) {
  EXPECT_THAT(columns_of(crd_at(0)), ElementsAre("Pod", "Node", "Evictor", "Phase", "Progress", "Target", "Age",
                                                 "Reason+", "Blocked-By+", "Deadline+", "Attempt+", "Requester+"));
  EXPECT_THAT(columns_of(crd_at(1)),
              ElementsAre("Mode", "Ready", "Nodes", "Nominated", "Active", "Evicted", "Last Cycle", "Next", "Age"));
}

TEST(ShortNamesTest, AreThoseOfTheDesign) {
  EXPECT_THAT(crd_at(0).at("spec").at("names").at("shortNames"), ElementsAre("evac"));
  EXPECT_THAT(crd_at(1).at("spec").at("names").at("shortNames"), ElementsAre("dsp"));
}

template <typename Names>
std::vector<std::string> names_in(const Names& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.emplace_back(entry.name);
  return names;
}

TEST(CrdEnumsTest, AreThoseOfTheTypes) {
  using Pointer = Json::json_pointer;
  const std::string schema = "/spec/versions/0/schema/openAPIV3Schema/properties/";
  const auto enum_at = [&](std::size_t crd, const std::string& path) {
    return crd_at(crd).at(Pointer(schema + path + "/enum")).get<std::vector<std::string>>();
  };
  EXPECT_EQ(enum_at(0, "status/properties/phase"), names_in(api::kPhaseNames));
  EXPECT_EQ(enum_at(0, "spec/properties/onTimeout"), names_in(api::kOnTimeoutNames));
  EXPECT_EQ(enum_at(0, "spec/properties/holdSlotUntil"), names_in(api::kHoldSlotNames));
  EXPECT_EQ(enum_at(0, "status/properties/outcome/properties/kind"), names_in(api::kOutcomeNames));
  EXPECT_EQ(enum_at(0, "status/properties/conditions/items/properties/status"), names_in(api::kConditionStatusNames));
  EXPECT_EQ(enum_at(1, "spec/properties/mode"), names_in(api::kModeNames));
  EXPECT_EQ(enum_at(1, "spec/properties/compatibility"), names_in(api::kCompatibilityNames));
  EXPECT_EQ(enum_at(1, "spec/properties/scheduler/properties/scoringStrategy/properties/type"),
            names_in(api::kScoringNames));
  EXPECT_EQ(enum_at(1, "spec/properties/evacuation/properties/onTimeout"), names_in(api::kOnTimeoutNames));
  const std::string evictability = "spec/properties/evictability/properties/";
  EXPECT_EQ(enum_at(1, evictability + "noEvictionPolicy"), names_in(api::kNoEvictionNames));
  EXPECT_EQ(enum_at(1, evictability + "autoscalerAnnotations"), names_in(api::kAutoscalerAnnotationsNames));
  EXPECT_EQ(enum_at(1, evictability + "labelSelector/properties/matchExpressions/items/properties/operator"),
            names_in(api::kLabelOperatorNames));
  for (const std::string& selector : {std::string("spec/properties/nodeSelector"), evictability + "nodeSelector"}) {
    EXPECT_EQ(enum_at(1, selector + "/properties/matchExpressions/items/properties/operator"),
              names_in(api::kNodeOperatorNames));
  }
  auto protections = enum_at(1, evictability + "podProtections/properties/defaultDisabled/items");
  for (const std::string& name : enum_at(1, evictability + "podProtections/properties/extraEnabled/items")) {
    protections.push_back(name);
  }
  EXPECT_EQ(protections, names_in(api::kProtectionNames));
}

// ---------------------------------------------------------------- sizes

/// A character of JSON text at its worst: \u0001.
constexpr std::size_t kBytesOfACharacter = 6;
constexpr std::size_t kBytesOfANumber = 20;
/// Quotes, colon and comma around a member.
constexpr std::size_t kBytesAround = 6;

std::size_t worst_string(const Json& schema, const std::string& path) {
  if (schema.contains("enum")) return 32;
  EXPECT_TRUE(schema.contains("maxLength")) << path << " has no bound";
  return schema.value("maxLength", std::size_t{0}) * kBytesOfACharacter;
}

/// The largest JSON text that the schema lets through; what it does not bound is a failure. Parameters are left out.
std::size_t worst_size(const Json& schema, const std::string& path) {
  if (is_refused(schema) || path.ends_with(".parameters")) return 0;
  const std::string type = schema.value("type", "");
  if (type == "string") return worst_string(schema, path);
  if (type == "array") {
    EXPECT_TRUE(schema.contains("maxItems")) << path << " has no bound";
    return schema.value("maxItems", std::size_t{0}) * (worst_size(schema.at("items"), path + "[]") + kBytesAround);
  }
  if (type != "object") return kBytesOfANumber;
  EXPECT_TRUE(schema.contains("properties")) << path << " has no bound";
  std::size_t sum = 0;
  if (!schema.contains("properties")) return 0;
  for (const auto& [name, member] : schema.at("properties").items())
    sum += name.size() + kBytesAround + worst_size(member, fmt::format("{}.{}", path, name));
  return sum;
}

/// The bound in the last of the rules about parameters.
std::size_t parameter_characters(const Json& schema) {
  const auto rule = schema.at("x-kubernetes-validations").back().at("rule").get<std::string>();
  return std::stoul(rule.substr(rule.rfind("<= ") + 3));
}

TEST(EvacuationSizes, ATenantCannotFillTheOperatorsMemoryWithSpecs) {
  const Json schema = crd_at(0).at("spec").at("versions").at(0).at("schema").at("openAPIV3Schema");
  const Json& spec = schema.at("properties").at("spec");
  const Json& evictors = spec.at("properties").at("evictors");
  const Json& parameters = evictors.at("items").at("properties").at("parameters");
  const auto count = evictors.at("maxItems").get<std::size_t>() * parameters.at("maxProperties").get<std::size_t>();
  const std::size_t worst =
      worst_size(spec, "spec") + parameter_characters(schema) * kBytesOfACharacter + count * kBytesAround;
  EXPECT_LT(worst, std::size_t{64} * 1024);
  EXPECT_GT(worst, std::size_t{16} * 1024) << "is everything counted?";
}

/// An object that an older CRD let in has a status, which the server validates with the rest at each write of it.
TEST(EvacuationSizes, NewBoundsAreAskedOfNewObjectsOnly) {
  const Json schema = crd_at(0).at("spec").at("versions").at(0).at("schema").at("openAPIV3Schema");
  for (const Json& each : schema.at("x-kubernetes-validations"))
    EXPECT_TRUE(each.at("rule").get<std::string>().starts_with("has(self.status) || ")) << each;
}

TEST(EvacuationSizes, ParametersAreBoundedInAllAsTheSchemaSays) {
  const Json schema = crd_at(0).at("spec").at("versions").at(0).at("schema").at("openAPIV3Schema");
  const std::size_t most = parameter_characters(schema);
  api::EvacuationSpec spec;
  spec.pod_ref.name = "web";
  spec.evictors = {{"annotation", {}}, {"eviction-api", {}}};
  std::size_t left = most;
  for (std::size_t i = 0; left > 0; ++i) {
    const std::string key = "k" + std::to_string(i);
    const std::size_t size = std::min<std::size_t>(left - key.size(), 1000);
    spec.evictors[i % 2].parameters.emplace_back(key, std::string(size, 'v'));
    left -= key.size() + size;
  }
  EXPECT_THAT(api::validate(spec, kAllEvictors), IsEmpty());
  spec.evictors[1].parameters.front().second += "\u00e9";
  const auto errors = api::validate(spec, kAllEvictors);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].to_string(),
            "spec.evictors: the parameters have 4097 characters in all, at most 4096 are allowed");
}

/// The samples that people apply first.
TEST(CrdDescriptionsTest, NameEveryKindOfBlocker) {
  const Json::json_pointer kind(
      "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/blockedBy/items/"
      "properties/kind/description");
  const auto text = crd_at(0).at(kind).get<std::string>();
  for (const auto& term : api::blocker_kinds()) EXPECT_THAT(text, HasSubstr(std::string(term.name)));
}

TEST(SamplesTest, AreValid) {
  const auto samples = kRoot / "config/samples";
  if (!std::filesystem::exists(samples)) GTEST_SKIP() << "no samples yet";
  const Json evacuations = crd_at(0).at("spec").at("versions").at(0).at("schema").at("openAPIV3Schema");
  const Json policies = crd_at(1).at("spec").at("versions").at(0).at("schema").at("openAPIV3Schema");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(samples)) {
    if (entry.path().extension() != ".yaml") continue;
    const auto documents = api::parse_yaml(file_text(entry.path()));
    ASSERT_TRUE(documents) << entry.path() << ": " << documents.error().message;
    for (const Json& object : *documents) {
      const bool is_policy = object.value("kind", "") == "DeschedulerPolicy";
      if (!is_policy && object.value("kind", "") != "Evacuation") continue;
      const auto errors =
          is_policy ? api::check_descheduler_policy(object, kAllEvictors) : api::check_evacuation(object, kAllEvictors);
      EXPECT_TRUE(errors.empty()) << entry.path() << ": " << errors.at(0).to_string();
      const auto schema_errors = api::validate_schema(is_policy ? policies : evacuations, object);
      EXPECT_TRUE(schema_errors.empty()) << entry.path() << ": " << schema_errors.at(0).to_string();
    }
  }
}

}  // namespace crd_test
