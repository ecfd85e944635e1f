/// Maximum size of an Evacuation by its schema and by the types.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "test/unit/api/crds/crd_files.hpp"
#include "test/unit/api/populated.hpp"

namespace crd_test {

using test_api::kAllEvictors;
using testing::IsEmpty;

/// Maximum JSON size of a character: \u0001.
constexpr std::size_t kBytesOfACharacter = 6;
constexpr std::size_t kBytesOfANumber = 20;
/// Quotes, colon and comma of a member.
constexpr std::size_t kBytesAround = 6;

std::size_t worst_string(const Json& schema, const std::string& path) {
  if (schema.contains("enum")) return 32;
  EXPECT_TRUE(schema.contains("maxLength")) << path << " has no bound";
  return schema.value("maxLength", std::size_t{0}) * kBytesOfACharacter;
}

/// Returns the size of the largest JSON text that the schema accepts. A value without a limit is a failure. Parameters
/// are excluded.
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

/// Returns the limit in the last rule about parameters.
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

/// Objects accepted by an older CRD have a status. The server validates them completely whenever the status is written.
TEST(EvacuationSizes, NewLimitsApplyOnlyToNewObjects) {
  const Json schema = crd_at(0).at("spec").at("versions").at(0).at("schema").at("openAPIV3Schema");
  for (const Json& each : schema.at("x-kubernetes-validations"))
    EXPECT_TRUE(each.at("rule").get<std::string>().starts_with("has(self.status) || ")) << each;
}

TEST(EvacuationSizes, ParametersAreLimitedInTotalLikeInTheSchema) {
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

}  // namespace crd_test
