// Checks the output of kustomize for config/.

#include "test/e2e/config/manifests.hpp"

#include <map>

namespace e2e::config_test {

class Rendered : public ::testing::Test {
 protected:
  void SetUp() override {
    const Finished probe = run({"kubectl", "kustomize", below_config("rbac")});
    if (probe.exit_code == 127 || !probe.ok()) GTEST_SKIP() << "no kubectl with a kustomize: " << probe.err;
  }

  static std::map<std::string, Json> render(const std::string& what_if) {
    const Finished done = run({"kubectl", "kustomize", below_config(what_if)});
    EXPECT_TRUE(done.ok()) << done.err;
    std::map<std::string, Json> objects;
    for (Json& object : documents(done.out)) {
      const std::string key =
          object.at("kind").get<std::string>() + "/" + object.at("metadata").at("name").get<std::string>();
      objects[key] = std::move(object);
    }
    return objects;
  }
};

TEST_F(Rendered, DefaultHoldsEverything) {
  const auto objects = render("default");
  for (const char* key : {"Namespace/evacuator-system", "CustomResourceDefinition/evacuations.evacuator.dev",
                          "CustomResourceDefinition/deschedulerpolicies.evacuator.dev",
                          "CustomResourceDefinition/resourceadvices.evacuator.dev", "ServiceAccount/evacuator",
                          "ClusterRole/evacuator-operator", "Role/evacuator-leader-election", "Role/evacuator-signing",
                          "Deployment/evacuator"}) {
    EXPECT_TRUE(objects.contains(key)) << key;
  }
  EXPECT_EQ(objects.at("PodDisruptionBudget/evacuator").at("apiVersion"), "policy/v1");
  EXPECT_EQ(objects.at("Deployment/evacuator").at("spec").at("template").at("spec").at("containers").at(0).at("image"),
            "evacuator:0.1.0");
}

TEST_F(Rendered, LegacyIsForServersWithoutPolicyV1AndCel) {
  const auto objects = render("legacy");
  ASSERT_TRUE(objects.contains("PodDisruptionBudget/evacuator"));
  EXPECT_EQ(objects.at("PodDisruptionBudget/evacuator").at("apiVersion"), "policy/v1beta1");
  for (const auto& [key, object] : objects)
    EXPECT_EQ(object.dump().find("x-kubernetes-validations"), std::string::npos) << key;
  EXPECT_EQ(objects.size(), render("default").size());
}

}  // namespace e2e::config_test
