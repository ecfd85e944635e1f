#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "advisor/patches.hpp"
#include "advisor/waste.hpp"
#include "api/json/yaml.hpp"
#include "test/unit/advisor/known_truth.hpp"

/// Reports of waste, and patches.
namespace advising_output_test {

using namespace advisor;
using advising_test::kGiB;
using testing::ElementsAre;
using testing::HasSubstr;

Advice advice_of(const WorkloadKey& workload, const std::string& container) {
  Advice advice;
  advice.key = {workload, container};
  advice.replicas = 2;
  advice.can_be_patched = true;
  advice.current = {1, 1, 2 * kGiB, 2 * kGiB};
  advice.recommended = {0.25, 0.5, kGiB, kGiB};
  advice.cpu_used = 0.1;
  advice.memory_used = kGiB / 2;
  return advice;
}

TEST(Waste, AddsUpByNamespaceAndInMoney) {
  Advice no_request = advice_of({"b", "Deployment", "y"}, "app");
  no_request.current = {};
  Advice none = advice_of({"b", "Deployment", "z"}, "app");
  none.no_advice_reason = "no history (0 samples)";
  Advice gone = advice_of({"c", "Deployment", "z"}, "app");
  gone.replicas = 0;
  const auto waste = waste_of({advice_of({"a", "Deployment", "x"}, "app"), no_request, none, gone});
  ASSERT_EQ(waste.size(), 3U);
  EXPECT_EQ(waste[0].ns, "a");
  EXPECT_EQ(waste[0].cpu_requested, 2);
  EXPECT_EQ(waste[0].cpu_saving(), 1.5);
  EXPECT_EQ(waste[0].memory_saving(), 2 * kGiB);
  EXPECT_NEAR(waste[0].wasted_money({10, 1}), 18 + 3, 1e-9);
  EXPECT_NEAR(waste[0].saved_money({10, 1}), 15 + 2, 1e-9);
  EXPECT_EQ(waste[1].without_advice, 1);
  EXPECT_EQ(waste[1].without_request, 1);
  EXPECT_EQ(waste[1].cpu_saving(), -0.5) << "what asks for nothing needs something";
  EXPECT_EQ(waste[1].wasted_money({10, 1}), 0);
  EXPECT_EQ(waste[2].ns, "");
  EXPECT_EQ(waste[2].containers, 3);
}

TEST(Waste, UnmeasuredRequestsAreNotWaste) {
  Advice unmeasured = advice_of({"a", "Deployment", "x"}, "app");
  unmeasured.memory_used = kUnknown;
  const auto waste = waste_of({unmeasured});
  EXPECT_EQ(waste[0].wasted_money({0, 1}), 0);
  EXPECT_NEAR(waste[0].wasted_money({10, 1}), 18, 1e-9);
  EXPECT_EQ(waste[0].memory_unmeasured, waste[0].memory_requested);
  EXPECT_EQ(waste[0].cpu_saving(), 1.5);
}

class PatchesTest : public testing::Test {
 protected:
  const WorkloadKey& workload(const std::string& kind, const std::string& name, const std::string& ns = "shop") {
    const WorkloadKey key{ns, kind, name};
    Workload& made = inventory_.workloads[key];
    made.key = key;
    made.api_version = kind == "CronJob" ? "batch/v1" : "apps/v1";
    return made.key;
  }
  Inventory inventory_;
};

TEST_F(PatchesTest, AreStrategicMergePatchesAndAComponent) {
  Advice sidecar = advice_of(workload("Deployment", "web"), "proxy");
  sidecar.is_sidecar = true;
  const auto patches = patches_of(
      inventory_,
      {advice_of(workload("CronJob", "report"), "job"), advice_of(workload("Deployment", "web"), "app"), sidecar},
      false);
  ASSERT_EQ(patches.files.size(), 3U);
  EXPECT_EQ(patches.files[0].path, "kustomization.yaml");
  EXPECT_EQ(patches.files[0].text,
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n"
            "- path: shop/cronjob-report.yaml\n- path: shop/deployment-web.yaml\n");
  const auto cron = (*api::parse_yaml(patches.files[1].text))[0];
  EXPECT_EQ(cron["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["name"], "job");
  const auto web = (*api::parse_yaml(patches.files[2].text))[0];
  EXPECT_EQ(web["metadata"]["namespace"], "shop");
  const auto& spec = web["spec"]["template"]["spec"];
  EXPECT_EQ(spec["containers"].dump(), R"([{"name":"app","resources":{"limits":{"cpu":"500m","memory":"1024Mi"},)"
                                       R"("requests":{"cpu":"250m","memory":"1024Mi"}}}])");
  EXPECT_EQ(spec["initContainers"][0]["name"], "proxy");
}

TEST_F(PatchesTest, OmitFieldsThatTheyMustNotChange) {
  Advice conflict = advice_of(workload("Deployment", "web"), "app");
  conflict.conflicts = {{"cpu", "HPA web", "HPA web scales"}};
  Advice injected = advice_of(workload("Deployment", "web"), "mesh");
  injected.can_be_patched = false;
  Advice none = advice_of(workload("Deployment", "web"), "none");
  none.no_advice_reason = "no history";
  const Advice unseen = advice_of({"shop", "Rollout", "x"}, "app");
  const Advice job = advice_of(workload("Job", "once"), "app");
  const auto patches = patches_of(inventory_, {conflict, injected, none, unseen, job}, false);
  ASSERT_EQ(patches.files.size(), 2U);
  EXPECT_THAT(patches.files[1].text, Not(HasSubstr("cpu")));
  EXPECT_THAT(patches.files[1].text, Not(HasSubstr("mesh")));
  EXPECT_THAT(patches.left_out,
              ElementsAre("shop/Deployment/web app: cpu: HPA web scales", HasSubstr("web mesh: its container is not"),
                          HasSubstr("shop/Rollout/x app: the input does not contain the object with its template"),
                          HasSubstr("the template of a Job")));
  EXPECT_THAT(patches_of(inventory_, {conflict}, true).files[1].text, HasSubstr("cpu: 250m"));
}

TEST_F(PatchesTest, WriteNothingOutsideTheirFolder) {
  std::vector<Advice> hostile;
  for (const char* name : {"../../etc", "a/b", "..", "", "a\nb", "A"}) {
    hostile.push_back(advice_of(workload("Deployment", name), "app"));
    hostile.push_back(advice_of(workload("Deployment", "x", name), "app"));
  }
  EXPECT_TRUE(patches_of(inventory_, hostile, false).files.empty());
}

}  // namespace advising_output_test
