/// Checks that names, columns, enums and samples of crds/*.yaml, the C++ types and the generated files agree.

#include <gmock/gmock.h>

#include "api/json/schema.hpp"
#include "api/vocabulary/blockers.hpp"
#include "api/wire_names.hpp"
#include "test/unit/api/crds/crd_files.hpp"
#include "test/unit/api/populated.hpp"

namespace crd_test {

using test_api::kAllEvictors;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(GeneratedReferenceTest, IsCurrent) {
  std::vector<Json> crds;
  for (const std::string& name : api_reference::kCrdFiles) {
    crds.push_back(api::parse_yaml(file_text(kRoot / "crds" / name))->at(0));
  }
  EXPECT_EQ(file_text(kRoot / "docs/reference/api.md"), api_reference::reference_page(crds)) << "run make generate";
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

TEST(CrdDescriptionsTest, NameEveryBlockerKind) {
  const Json::json_pointer kind(
      "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/blockedBy/items/"
      "properties/kind/description");
  const auto text = crd_at(0).at(kind).get<std::string>();
  for (const auto& term : api::blocker_kinds()) EXPECT_THAT(text, HasSubstr(std::string(term.name)));
}

TEST(SamplesTest, AreValid) {
  const auto samples = kRoot / "config/samples";
  ASSERT_TRUE(std::filesystem::exists(samples));
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
