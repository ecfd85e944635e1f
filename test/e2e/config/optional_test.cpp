// Checks the optional parts of config/ and the CRDs.

#include "test/e2e/config/manifests.hpp"

#include <filesystem>

namespace e2e::config_test {

/// Returns the files that `kubectl apply -f DIRECTORY` reads: .yaml, .yml and .json directly in the directory.
std::vector<std::filesystem::path> files_that_apply_reads(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(EVACUATOR_SOURCE_DIR) + "/" + folder)) {
    const std::string ending = entry.path().extension();
    if (ending == ".yaml" || ending == ".yml" || ending == ".json") files.push_back(entry.path());
  }
  return files;
}

class CrdFolder : public ::testing::TestWithParam<const char*> {};

TEST_P(CrdFolder, CanBeAppliedAsItIs) {
  const auto files = files_that_apply_reads(GetParam());
  EXPECT_EQ(files.size(), 3U);
  for (const auto& file : files) {
    for (const Json& document : documents(read_file(file)))
      EXPECT_EQ(document.at("kind"), "CustomResourceDefinition") << file;
  }
}

INSTANTIATE_TEST_SUITE_P(Both, CrdFolder, ::testing::Values("crds", "crds/legacy"),
                         [](const auto& test) { return std::string(test.param) == "crds" ? "Default" : "Legacy"; });

/// Only the operator may use its share of the API server, and its lists do not use that share.
TEST(PriorityAndFairness, AppliesToTheOperatorsLeasesAndEvictionsOnly) {
  const auto documents = manifests("optional/priority-and-fairness.yaml");
  ASSERT_EQ(documents.size(), 3U);
  EXPECT_EQ(documents[0].at("kind"), "PriorityLevelConfiguration");
  const Json account = manifests("rbac/service_account.yaml").at(0).at("metadata");
  std::set<std::string> resources;
  for (std::size_t i = 1; i < documents.size(); ++i) {
    EXPECT_EQ(documents[i].at("kind"), "FlowSchema");
    for (const Json& rule : documents[i].at("spec").at("rules")) {
      ASSERT_EQ(rule.at("subjects").size(), 1U);
      const Json& who = rule.at("subjects").at(0).at("serviceAccount");
      EXPECT_EQ(who.at("name"), account.at("name"));
      EXPECT_EQ(who.at("namespace"), account.at("namespace"));
      for (const Json& each : rule.at("resourceRules")) {
        for (const Json& verb : each.at("verbs")) EXPECT_TRUE(verb != "list" && verb != "watch" && verb != "*") << verb;
        for (const Json& resource : each.at("resources")) resources.insert(resource);
      }
    }
  }
  EXPECT_EQ(documents[1].at("spec").at("priorityLevelConfiguration").at("name"), "leader-election");
  EXPECT_EQ(documents[2].at("spec").at("priorityLevelConfiguration").at("name"),
            documents[0].at("metadata").at("name"));
  EXPECT_EQ(resources, (std::set<std::string>{"*", "leases", "pods", "pods/eviction"}));
}

/// A stolen operator token allows only those changes of pods that this policy permits.
TEST(PodWriteLimits, ConcernTheOperatorsAccountAndDenyAllButAnnotations) {
  const auto documents = manifests("optional/pod-write-limits.yaml");
  ASSERT_EQ(documents.size(), 2U);
  const Json& spec = documents[0].at("spec");
  EXPECT_EQ(documents[0].at("apiVersion"), "admissionregistration.k8s.io/v1");
  EXPECT_EQ(spec.at("failurePolicy"), "Fail");
  EXPECT_EQ(spec.at("matchConstraints").at("resourceRules").at(0).at("resources"), Json::array({"pods"}));
  EXPECT_EQ(spec.at("matchConstraints").at("resourceRules").at(0).at("operations"), Json::array({"UPDATE"}));
  const Json account = manifests("rbac/service_account.yaml").at(0).at("metadata");
  EXPECT_EQ(spec.at("matchConditions").at(0).at("expression"),
            "request.userInfo.username == 'system:serviceaccount:" + account.at("namespace").get<std::string>() + ":" +
                account.at("name").get<std::string>() + "'");
  std::string all;
  for (const Json& each : spec.at("validations")) all += each.at("expression").get<std::string>() + "\n";
  for (const char* part : {"object.spec == oldObject.spec", "object.metadata.labels", "object.metadata.finalizers",
                           "object.metadata.ownerReferences", "variables.changed.all(k, k in variables.allowed)"})
    EXPECT_NE(all.find(part), std::string::npos) << part;
  EXPECT_EQ(documents[1].at("spec").at("policyName"), documents[0].at("metadata").at("name"));
  EXPECT_EQ(documents[1].at("spec").at("validationActions"), Json::array({"Deny"}));
}

TEST(PolicyChecks, RefuseAndWarnWithoutAWebhook) {
  const auto documents = manifests("optional/policy-checks.yaml");
  ASSERT_EQ(documents.size(), 4U);
  for (std::size_t i = 0; i < documents.size(); i += 2) {
    EXPECT_EQ(documents[i].at("kind"), "ValidatingAdmissionPolicy");
    EXPECT_EQ(documents[i].at("spec").at("failurePolicy"), "Ignore");
    EXPECT_EQ(documents[i + 1].at("spec").at("policyName"), documents[i].at("metadata").at("name"));
  }
  EXPECT_EQ(documents[1].at("spec").at("validationActions"), Json::array({"Deny"}));
  EXPECT_EQ(documents[3].at("spec").at("validationActions"), Json::array({"Warn", "Audit"}));
}

}  // namespace e2e::config_test
