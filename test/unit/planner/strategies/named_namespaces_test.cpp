#include "planner/strategies/catalog.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace strategies {
namespace named_namespaces_test {

struct NamedCase {
  std::string name;
  std::string args;
  std::vector<std::string> want;  ///< "<path>=<namespace>", with a leading "!" for excluded namespaces
};

class NamedNamespaces : public testing::TestWithParam<NamedCase> {};

TEST_P(NamedNamespaces, AreFoundWithTheirPath) {
  std::vector<NamedNamespace> found;
  append_named_namespaces(api::Json::parse(GetParam().args), api::FieldPath("args"), found);
  std::vector<std::string> got;
  for (const NamedNamespace& each : found) got.push_back((each.excluded ? "!" : "") + each.path + "=" + each.name);
  EXPECT_EQ(got, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Args, NamedNamespaces,
    testing::Values(
        NamedCase{"None", R"({"labelSelector":{}})", {}},
        NamedCase{"Included",
                  R"({"namespaces":{"include":["a","b"]}})",
                  {"args.namespaces.include[0]=a", "args.namespaces.include[1]=b"}},
        NamedCase{
            "Excluded", R"({"evictableNamespaces":{"exclude":["a"]}})", {"!args.evictableNamespaces.exclude[0]=a"}},
        NamedCase{
            "DeepInside", R"({"x":[{"y":{"namespaces":{"include":["a"]}}}]})", {"args.x[0].y.namespaces.include[0]=a"}},
        NamedCase{"InTheOrderOfKeys",
                  R"({"namespaces":{"exclude":["a"]},"evictableNamespaces":{"exclude":["b"]}})",
                  {"!args.evictableNamespaces.exclude[0]=b", "!args.namespaces.exclude[0]=a"}},
        NamedCase{"NotInOtherTypes", R"({"namespaces":["a"],"x":{"namespaces":{"include":"a"}}})", {}},
        NamedCase{"NotWhatIsNoText", R"({"namespaces":{"include":[1,"a"]}})", {"args.namespaces.include[1]=a"}}),
    [](const auto& test) { return test.param.name; });

}  // namespace named_namespaces_test
}  // namespace strategies
