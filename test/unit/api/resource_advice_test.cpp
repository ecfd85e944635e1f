/// Checks that crds/evacuator.dev_resourceadvices.yaml agrees with api/advice/resource_advice.hpp. The kind has no
/// spec, so the table of crds/fields_test.cpp does not apply.

#include "api/advice/resource_advice.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "api/json/schema.hpp"
#include "api/json/yaml.hpp"
#include "api_reference.hpp"

namespace resource_advice_test {

using api::Json;
using testing::IsEmpty;

constexpr const char* kFile = "evacuator.dev_resourceadvices.yaml";

std::string file_text(const std::string& path) {
  std::ifstream in(std::string(EVACUATOR_SOURCE_DIR "/crds/") + path);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}
Json crd() { return api::parse_yaml(file_text(kFile))->at(0); }
Json schema() { return crd().at("spec").at("versions").at(0).at("schema").at("openAPIV3Schema"); }

/// Status in which every member is set.
api::ResourceAdviceStatus populated() {
  const base::TimePoint noon = *base::parse_time("2026-11-21T12:00:00Z");
  api::ContainerAdvice app;
  app.name = "app";
  app.current = {"500m", "1000m", "128Mi", "256Mi"};
  app.recommended = api::AdvisedResources{"250m", "500m", "64Mi", "64Mi"};
  app.no_advice_reason = "not yet";
  app.confidence = "Low";
  app.risk = "Medium";
  app.notes = {"a", "b"};
  app.samples = 4320;
  app.days = 3;
  app.first_sample = noon - std::chrono::hours(72);
  app.last_sample = noon;
  app.sketch = "AQ==";
  api::ResourceAdviceStatus status;
  status.workload = {"apps/v1", "Deployment", "web"};
  status.profile = "Standard";
  status.replicas = 2;
  status.container_count = 1;
  status.workload_text = "Deployment/web";
  status.cpu_text = "500m → 250m";
  status.memory_text = "128Mi → 64Mi";
  status.confidence = "Low";
  status.containers = {app};
  status.conditions = {{"Ready", api::ConditionStatus::kTrue, "Advised", "1 container", 1, noon}};
  return status;
}
Json object_of(const api::ResourceAdviceStatus& status) {
  return {{"apiVersion", "evacuator.dev/v1alpha1"},
          {"kind", "ResourceAdvice"},
          {"metadata", {{"name", "deployment-web"}, {"namespace", "shop"}}},
          {"status", api::encode_status(status)}};
}

TEST(ResourceAdvice, RoundTrips) {
  const auto read = api::decode_resource_advice(object_of(populated()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->status, populated());
  EXPECT_EQ(read->meta.key(), (api::ObjectKey{"shop", "deployment-web"}));
}

TEST(ResourceAdvice, HasTheSameFieldsAsItsSchemaAndIsAccepted) {
  std::set<std::string> in_schema, in_type;
  const std::function<void(const Json&, const std::string&)> walk = [&](const Json& part, const std::string& path) {
    in_schema.insert(path);
    EXPECT_TRUE(part.contains("type")) << path;
    if (!path.ends_with("[]")) {
      EXPECT_FALSE(part.value("description", "").empty()) << path;
    }
    if (part.contains("items")) walk(part.at("items"), path + "[]");
    if (!part.contains("properties")) return;
    for (const auto& [name, member] : part.at("properties").items()) walk(member, path + "." + name);
  };
  walk(schema().at("properties").at("status"), "status");
  const std::function<void(const Json&, const std::string&)> collect = [&](const Json& value, const std::string& path) {
    in_type.insert(path);
    if (value.is_array()) {
      for (const Json& item : value) collect(item, path + "[]");
    }
    if (!value.is_object()) return;
    for (const auto& [name, member] : value.items()) collect(member, path + "." + name);
  };
  collect(api::encode_status(populated()), "status");
  EXPECT_EQ(in_schema, in_type);
  EXPECT_THAT(api::validate_schema(schema(), object_of(populated())), IsEmpty());
  Json status_alone = {{"status", api::encode_status(populated())}};
  EXPECT_THAT(api::prune(schema(), status_alone), IsEmpty());
  EXPECT_THAT(api::validate_schema(schema(), object_of({})), IsEmpty());
}

TEST(ResourceAdvice, HasNoSpecAndAStatusSubresource) {
  EXPECT_FALSE(schema().at("properties").contains("spec"));
  EXPECT_TRUE(crd().at("spec").at("versions").at(0).at("subresources").contains("status"));
  EXPECT_EQ(crd().at("spec").at("scope"), "Namespaced");
  EXPECT_EQ(schema().at("properties").at("status").at("properties").at("containers").at("maxItems"),
            api::kMaxAdvisedContainers);
  EXPECT_EQ(file_text(std::string("legacy/") + kFile), api_reference::legacy_file(crd(), kFile)) << "run make generate";
}

TEST(ResourceAdvice, TreatsHostileTypesAsAbsentAndLimitsSizes) {
  const auto read = [](Json status) {
    return api::decode_resource_advice({{"metadata", {{"name", "x"}}}, {"status", std::move(status)}})->status;
  };
  EXPECT_EQ(read(7), api::ResourceAdviceStatus{});
  EXPECT_EQ(read({{"workload", "x"}, {"containers", {{"name", 1}}}, {"replicas", "many"}, {"conditions", 3}}),
            api::ResourceAdviceStatus{});
  Json many = Json::array();
  for (int i = 0; i < 1000; ++i)
    many.push_back({{"name", 5}, {"samples", 1e300}, {"notes", Json(100, "x")}, {"current", Json::array()}});
  const auto bounded = read({{"containers", many}});
  EXPECT_EQ(bounded.containers.size(), api::kMaxAdvisedContainers);
  EXPECT_EQ(bounded.containers[0].notes.size(), api::kMaxAdviceNotes);
  EXPECT_FALSE(api::decode_resource_advice(Json::array()));
  EXPECT_FALSE(api::decode_resource_advice({{"metadata", 3}}));
}

}  // namespace resource_advice_test
