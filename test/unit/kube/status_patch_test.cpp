#include "kube/status_patch.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace status_patch_test {

using api::Json;

struct PatchCase {
  const char* name;
  Json before;
  Json after;
  Json want;  ///< Expected patch of "status"
};

class StatusPatch : public testing::TestWithParam<PatchCase> {};

TEST_P(StatusPatch, ContainsOnlyChanges) {
  const PatchCase& c = GetParam();
  api::ObjectMeta meta;
  meta.uid = "u-1";
  meta.resource_version = "41";
  const Json got = kube::guarded_status_patch(meta, c.before, c.after);
  EXPECT_EQ(got["metadata"], (Json{{"uid", "u-1"}, {"resourceVersion", "41"}}));
  EXPECT_EQ(got["status"], c.want);
  Json applied = c.before;
  applied.merge_patch(got["status"]);
  EXPECT_EQ(applied, c.after);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, StatusPatch,
    testing::Values(PatchCase{"NothingWhenNothingChanged", {{"a", 1}}, {{"a", 1}}, Json::object()},
                    PatchCase{"ANewField", Json::object(), {{"a", 1}}, {{"a", 1}}},
                    PatchCase{"AFieldThatWent", {{"a", 1}, {"b", 2}}, {{"b", 2}}, {{"a", nullptr}}},
                    PatchCase{"OnlyWhatDiffersInAnObject",
                              {{"o", {{"a", 1}, {"b", 2}, {"c", 3}}}},
                              {{"o", {{"a", 1}, {"b", 4}}}},
                              {{"o", {{"b", 4}, {"c", nullptr}}}}},
                    PatchCase{"AWholeList",
                              {{"l", Json::array({1, 2})}},
                              {{"l", Json::array({1, 3})}},
                              {{"l", Json::array({1, 3})}}},
                    PatchCase{"AnotherType", {{"a", {{"b", 1}}}}, {{"a", "text"}}, {{"a", "text"}}}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace status_patch_test
