/// One cycle of each policy, regardless of its schedule, followed to its end.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "controllers/operator/operator.hpp"
#include "kube/runtime/events.hpp"
#include "test/integration/rig/rig.hpp"

namespace once_test {

using api::Json;
using testing::HasSubstr;

class Once : public integration::Rig {
 protected:
  Once()
      : transport_(*server, {"system:serviceaccount:evacuator-system:evacuator", {}, "evacuator"}),
        client_(transport_, nullptr),
        events_(client_, clock, kube::EventOptions{.instance = "once"}, {}) {}

  void start() {
    auto discovery = kube::discover(client_);
    ASSERT_TRUE(discovery) << discovery.error().message;
    op_.emplace(controllers::Operator::Dependencies{.client = client_,
                                                    .clock = clock,
                                                    .discovery = *discovery,
                                                    .config = {},
                                                    .identity = "once",
                                                    .may_act = [] { return true; },
                                                    .events = events_,
                                                    .metrics = metrics_,
                                                    .log = {},
                                                    .once = true});
  }
  controllers::OnceReport after(base::Duration time) {
    drive(*op_, events_, time);
    return op_->once_report();
  }

  void policy(const std::string& name, const Json& spec = Json::object()) {
    Json whole = {{"mode", "Automatic"},
                  {"schedule", {{"interval", "1m"}}},
                  {"strategies", Json::array({{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 30}}}}})}};
    whole.merge_patch(spec);
    add({{"apiVersion", "evacuator.dev/v1alpha1"},
         {"kind", "DeschedulerPolicy"},
         {"metadata", {{"name", name}}},
         {"spec", whole}});
  }

  fakes::MortalTransport transport_;
  kube::Client client_;
  base::Metrics metrics_;
  kube::EventRecorder events_;
  std::optional<controllers::Operator> op_;
};

TEST_F(Once, EachPolicyHasOneCycleAndItsPodsLeave) {
  stage();
  run_for(base::minutes(2));
  policy("balance");
  start();
  const auto report = after(std::chrono::hours(1));  // sixty intervals; replacements become old enough repeatedly
  EXPECT_TRUE(report.is_done() && report.is_success()) << to_text(report);
  EXPECT_EQ(report.succeeded_count, 3) << to_text(report);
  EXPECT_EQ(granted(), 3U);
  EXPECT_THAT(to_text(report), HasSubstr("policy balance: 3 of 3 pods nominated, 3 Evacuations created\n"));
}

TEST_F(Once, TheNextRunStartsIndependentlyOfTheSchedule) {
  stage();
  run_for(base::minutes(2));
  policy("balance", {{"schedule", {{"interval", "24h"}}}});
  start();
  EXPECT_EQ(after(base::minutes(10)).succeeded_count, 3);
  op_.reset();
  start();
  EXPECT_EQ(after(base::minutes(10)).succeeded_count, 3);
  EXPECT_EQ(granted(), 6U);
}

TEST_F(Once, APolicyWithoutACycleReportsWhy) {
  stage();
  policy("asleep", {{"suspend", true}});
  policy("looks", {{"mode", "DryRun"}});
  policy("wrong",
         {{"strategies", Json::array({{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", -5}}}}})}});
  start();
  const auto report = after(base::minutes(5));
  EXPECT_TRUE(report.is_done());
  EXPECT_FALSE(report.is_success()) << "one is invalid";
  EXPECT_THAT(to_text(report), HasSubstr("policy asleep: no cycle: spec.suspend is true\n"));
  EXPECT_THAT(to_text(report), HasSubstr("; mode DryRun: no Evacuations are created\n"));
  EXPECT_THAT(to_text(report), HasSubstr("policy wrong: no cycle: the policy is invalid: "));
  EXPECT_EQ(granted(), 0U);
}

TEST_F(Once, UnfinishedEvacuationsAreNamedAndContinuedByTheNextRun) {
  stage();
  run_for(base::minutes(2));
  budget("all", "web", 3);
  policy("balance");
  start();
  const auto held = after(base::minutes(5));
  EXPECT_FALSE(held.is_done());
  EXPECT_EQ(held.unfinished_count, 3);
  EXPECT_THAT(to_text(held), HasSubstr("  shop/web-"));
  op_.reset();
  edit(kube::kPdbs, "all", [](Json& budget) { budget["spec"]["minAvailable"] = 1; });
  start();
  const auto report = after(base::minutes(10));
  EXPECT_TRUE(report.is_done() && report.is_success()) << to_text(report);
  EXPECT_GE(report.succeeded_count, 3);
}

TEST_F(Once, DoesNotWaitForApproval) {
  stage();
  run_for(base::minutes(2));
  policy("careful", {{"mode", "Manual"}});
  start();
  const auto report = after(base::minutes(5));
  EXPECT_TRUE(report.is_done() && report.is_success());
  EXPECT_EQ(report.suspended_count, 3);
  EXPECT_THAT(to_text(report), HasSubstr("3 wait for approval"));
}

}  // namespace once_test
