#include "controllers/webhooks/validation/risks.hpp"

#include <gmock/gmock.h>

namespace controllers::validation {
namespace risks_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Returns a valid, limited policy in mode Automatic.
api::DeschedulerPolicySpec automatic(const std::string& strategy = "RemoveFailedPods") {
  api::DeschedulerPolicySpec spec;
  spec.mode = api::PolicyMode::kAutomatic;
  spec.strategies = {{strategy, "{}"}};
  spec.limits.per_cycle.total = 5;
  return spec;
}

std::shared_ptr<const api::DeschedulerPolicy> policy(const std::string& name, api::DeschedulerPolicySpec spec) {
  auto made = std::make_shared<api::DeschedulerPolicy>();
  made->meta.name = name;
  made->spec = std::move(spec);
  return made;
}

TEST(Risks, AreEmptyForAnOrdinaryPolicy) { EXPECT_THAT(risks_of("p", automatic(), {}), IsEmpty()); }

TEST(Risks, OfOneWithoutLimits) {
  api::DeschedulerPolicySpec spec = automatic();
  spec.limits = {};
  EXPECT_THAT(risks_of("p", spec, {}), ElementsAre(HasSubstr("spec.limits: without perCycle.total")));
  spec.limits.rate.emplace();
  EXPECT_THAT(risks_of("p", spec, {}), IsEmpty());
}

TEST(Risks, OfOneWithoutAnyBudgetInSight) {
  EXPECT_THAT(risks_of("p", automatic(), {.has_budgets = false}),
              ElementsAre(HasSubstr("spec.mode: Automatic, and the cluster has no PodDisruptionBudget")));
}

TEST(Risks, OfAPolicyWithoutACircuitBreaker) {
  api::DeschedulerPolicySpec spec = automatic();
  spec.circuit_breaker.failures = 0;
  EXPECT_THAT(risks_of("p", spec, {}), ElementsAre(HasSubstr("spec.circuitBreaker.failures")));
}

TEST(Risks, OfAPolicyThatDeletesData) {
  api::DeschedulerPolicySpec spec = automatic();
  spec.evictability.pod_protections.default_disabled = {api::PodProtection::kPodsWithLocalStorage};
  EXPECT_THAT(risks_of("p", spec, {}), ElementsAre(HasSubstr("emptyDir")));
}

TEST(Risks, AreEmptyForAnInactivePolicy) {
  api::DeschedulerPolicySpec spec = automatic("HighNodeUtilization");
  spec.limits = {};
  spec.circuit_breaker.failures = 0;
  const ClusterContext around{.has_budgets = false, .policies = {policy("low", automatic("LowNodeUtilization"))}};
  spec.mode = api::PolicyMode::kDryRun;
  EXPECT_THAT(risks_of("p", spec, around), IsEmpty());
  spec.mode = api::PolicyMode::kAutomatic;
  spec.suspend = true;
  EXPECT_THAT(risks_of("p", spec, around), IsEmpty());
}

TEST(Risks, OfTwoPoliciesThatUndoEachOther) {
  const auto low = [](auto change) {
    api::DeschedulerPolicySpec spec = automatic("LowNodeUtilization");
    change(spec);
    return ClusterContext{.policies = {policy("low", std::move(spec))}};
  };
  const api::DeschedulerPolicySpec packs = automatic("HighNodeUtilization");
  EXPECT_THAT(risks_of("p", packs, low([](auto&) {})),
              ElementsAre("spec.strategies[0]: HighNodeUtilization undoes the moves of LowNodeUtilization of policy "
                          "low, unless the policies select different nodes (spec.nodeSelector)"));
  EXPECT_THAT(risks_of("low", packs, low([](auto&) {})), IsEmpty()) << "it is the one that is being written";
  EXPECT_THAT(risks_of("p", packs, low([](auto& spec) { spec.mode = api::PolicyMode::kDryRun; })), IsEmpty());
  EXPECT_THAT(risks_of("p", packs, low([](auto& spec) { spec.suspend = true; })), IsEmpty());
  EXPECT_THAT(risks_of("p", automatic("RemoveDuplicates"), low([](auto&) {})), IsEmpty());
}

TEST(Risks, AreBounded) {
  ClusterContext around;
  api::DeschedulerPolicySpec many = automatic("LowNodeUtilization");
  many.strategies.assign(30, {"HighNodeUtilization", "{}"});
  for (int i = 0; i < 40; ++i)
    around.policies.push_back(policy("p" + std::to_string(i), automatic("LowNodeUtilization")));
  EXPECT_THAT(risks_of("p", many, around), testing::SizeIs(kMaxRisks));
}

}  // namespace risks_test
}  // namespace controllers::validation
