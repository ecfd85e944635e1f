#include "evictors/eviction_api.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "evictors/eviction_call.hpp"
#include "evictors/registry.hpp"
#include "evictors/timeouts.hpp"
#include "objects.hpp"
#include "test/builders/origin.hpp"

namespace eviction_api_test {

using namespace evictors_test;
using evictors::EvictionApi;
using evictors::NextMove;
using evictors::Support;

TEST(EvictionApi, PostsWithUidTokenAndReason) {
  auto of = evacuation();
  of.spec.reason = "node is\ntoo full";
  of.spec.source = {"balance", "LowNodeUtilization", ""};
  of.status.conditions = {builders::origin_verified()};
  of.spec.grace_period_seconds = 5;
  const auto target = pod();
  const auto plan = EvictionApi().plan(context(of, target));
  ASSERT_EQ(plan.next, NextMove::kAct);
  EXPECT_EQ(plan.action->name, "PostEviction");
  EXPECT_EQ(plan.action->request.method, "POST");
  EXPECT_EQ(plan.action->request.path, "/api/v1/namespaces/shop/pods/web-1/eviction");
  EXPECT_EQ(plan.action->request.query, "");
  EXPECT_EQ(plan.action->request.timeout, base::seconds(34));
  EXPECT_EQ(plan.action->request.flow, kube::Flow::kEviction);
  const auto body = nlohmann::json::parse(plan.action->request.body);
  EXPECT_EQ(body, nlohmann::json::parse(R"({"apiVersion":"policy/v1","kind":"Eviction",
    "metadata":{"name":"web-1","namespace":"shop","annotations":{
      "requested-by":"sigs.k8s.io/descheduler",
      "reason":"triggered by balance/LowNodeUtilization: node is too full",
      "evacuator.dev/evacuation-token":"e5b3.1"}},
    "deleteOptions":{"gracePeriodSeconds":5,"preconditions":{"uid":"7c1a8c1e-0000-4000-8000-000000000001"}}})"));
}

TEST(EvictionApi, OmitsAPolicyThatDidNotCreateTheEvacuation) {
  auto of = evacuation();
  of.spec.reason = "because";
  of.spec.source = {"balance", "LowNodeUtilization", ""};
  const auto target = pod();
  const auto body = nlohmann::json::parse(EvictionApi().plan(context(of, target)).action->request.body);
  EXPECT_EQ(body["metadata"]["annotations"]["reason"], "because");
}

TEST(EvictionApi, UsesV1beta1IfOnlyThatIsServed) {
  const auto of = evacuation();
  const auto target = pod();
  auto seen = context(of, target);
  seen.eviction_version = "v1beta1";
  const auto body = nlohmann::json::parse(EvictionApi().plan(seen).action->request.body);
  EXPECT_EQ(body["apiVersion"], "policy/v1beta1");
}

TEST(EvictionApi, SendsADryRunInTheQuery) {
  auto of = evacuation();
  of.spec.dry_run = true;
  const auto target = pod();
  EXPECT_EQ(EvictionApi().plan(context(of, target)).action->request.query, "dryRun=All");
}

TEST(EvictionApi, HasNothingToPrepareOrUndo) {
  const auto of = evacuation(api::EvacuationPhase::kPreparing);
  const auto target = pod();
  const auto seen = context(of, target);
  EXPECT_EQ(EvictionApi().plan(seen).next, NextMove::kProceed);
  EXPECT_TRUE(EvictionApi().undo(seen).empty());
  EXPECT_TRUE(EvictionApi().cleanup(seen).empty());
  EXPECT_EQ(EvictionApi().undone(seen), evictors::Rollback::kNothingToDo);
}

TEST(EvictionApi, RefusesPodsThatNeedAnotherEvictor) {
  const auto of = evacuation();
  const auto support = [&](const api::Pod& target) { return EvictionApi().probe(context(of, target)).support; };
  EXPECT_EQ(support(pod()), Support::kSupported);
  EXPECT_EQ(support(pod({handoff("mode", "optional")})), Support::kSupported);
  EXPECT_EQ(support(pod({handoff("mode", "required")})), Support::kUnsupported);
  EXPECT_EQ(support(pod({handoff("mode", "what?")})), Support::kUnsupported);
  EXPECT_EQ(support(pod({{"descheduler.alpha.kubernetes.io/request-evict-only", ""}})), Support::kUnsupported);
}

TEST(Registry, ListsTheBuiltinEvictorsMostSpecificFirst) {
  const auto registry = evictors::EvictorRegistry::builtin();
  EXPECT_EQ(registry.names(), (std::vector<std::string_view>{"kubevirt", "annotation", "stateful-handoff",
                                                             "eviction-request", "eviction-api", "surge", "webhook"}));
  EXPECT_NE(registry.find("eviction-api"), nullptr);
  EXPECT_NE(registry.find("kubevirt"), nullptr);
  EXPECT_EQ(registry.chain({}).size(), 5u) << "surge and webhook must be named";
  EXPECT_EQ(registry.chain({{"eviction-api", {}}}).size(), 1u);
}

TEST(Registry, NamesThePathOfEveryMistake) {
  const auto registry = evictors::EvictorRegistry::builtin();
  const auto errors = registry.validate({{"eviction-api", {{"requestedBy", ""}}},
                                         {"teleport", {}},
                                         {"annotation", {{"strict", "maybe"}, {"colour", "red"}}},
                                         {"eviction-api", {}}},
                                        api::FieldPath("spec.evictors"));
  std::vector<std::string> paths;
  for (const auto& error : errors) paths.push_back(error.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"spec.evictors[0].parameters.requestedBy", "spec.evictors[1].name",
                                             "spec.evictors[2].parameters.colour", "spec.evictors[2].parameters.strict",
                                             "spec.evictors[3].name"}));
}

TEST(Timeouts, UseTheDefaultsIfTheSpecHasNone) {
  api::EvacuationSpec spec;
  EXPECT_EQ(evictors::effective_timeouts(spec).blocked, base::seconds(900));
  spec.timeouts.blocked = base::seconds(0);
  EXPECT_EQ(evictors::effective_timeouts(spec).blocked, base::seconds(0));
}

TEST(Timeouts, AddTheGracePeriodToTermination) {
  api::EvacuationSpec spec;
  auto target = pod();
  EXPECT_EQ(evictors::termination_timeout(spec, &target), base::seconds(150));
  target.termination_grace_period_seconds = 600;
  EXPECT_EQ(evictors::termination_timeout(spec, &target), base::seconds(720));
  spec.grace_period_seconds = 10;
  EXPECT_EQ(evictors::termination_timeout(spec, &target), base::seconds(130));
  spec.timeouts.termination = base::seconds(7);
  EXPECT_EQ(evictors::termination_timeout(spec, nullptr), base::seconds(7));
}

/// The actual grace period may be longer than that of the spec, because another client deleted the pod.
TEST(TerminationDeadline, IsTwoMinutesAfterTheEndOfTheGracePeriodThatItReallyHas) {
  const base::TimePoint now = *base::parse_time("2026-11-21T12:00:00Z");
  api::EvacuationSpec spec;
  api::Pod target;
  target.termination_grace_period_seconds = 30;
  const auto deadline = [&] { return evictors::termination_deadline(spec, &target, now) - now; };
  EXPECT_EQ(deadline(), base::Duration(base::seconds(150))) << "it does not terminate yet";
  target.meta.deletion_timestamp = now + base::seconds(3600);
  target.meta.deletion_grace_period_seconds = 3600;
  EXPECT_EQ(deadline(), base::Duration(base::seconds(3720)));
  EXPECT_EQ(evictors::grace_period(spec, &target), base::seconds(3600));
  target.meta.deletion_timestamp = now - base::seconds(600);
  EXPECT_EQ(deadline(), base::Duration(base::seconds(120))) << "over already";
  target.meta.deletion_timestamp = now + std::chrono::hours(24 * 365);
  EXPECT_EQ(deadline(), base::Duration(evictors::kMaxGracePeriod + base::seconds(120)));
  spec.timeouts.termination = base::seconds(7);
  EXPECT_EQ(deadline(), base::Duration(base::seconds(7))) << "whoever asks for it gets it";
}

}  // namespace eviction_api_test
