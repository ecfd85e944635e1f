#include <nlohmann/json.hpp>

#include "controllers/operator/services_config.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/objects.hpp"
#include "test/integration/rig/rig.hpp"

/// The hooks of a policy around an eviction (evictor stateful-handoff), as real Jobs and as webhooks.
namespace stateful_hooks_test {

using api::Json;
using base::seconds;
using integration::Rig;
using Phase = api::EvacuationPhase;

/// Answers hooks with the scripted answers, then with {"done":true}.
class HookService final : public controllers::evacuation::ServiceCaller {
 public:
  std::string refusal(const controllers::evacuation::ServiceCall& call) const override {
    return controllers::refusal(config, call.use, call.ns);
  }
  evictors::CallResult send(const controllers::evacuation::ServiceCall& call, const kube::Request& request) override {
    calls.push_back(request.path);
    if (call.service != "backup") return base::invalid("there is no service " + call.service);
    if (script.empty()) return kube::Response{200, R"({"done":true})", {}, ""};
    kube::Response next = script.front();
    script.erase(script.begin());
    if (next.status == 0) return base::Error{base::ErrorCode::kOutcomeUnknown, "reset"};
    return next;
  }
  const std::vector<std::string>& names() const override { return names_; }

  std::vector<kube::Response> script;
  std::vector<std::string> calls;
  controllers::ServiceConfig config = {.name = "backup", .namespaces = {"shop"}, .uses = {"hook"}};

 private:
  const std::vector<std::string> names_ = {"backup"};
};

Json job_hook(const char* run_seconds, const char* exit_code = "0", int retries = 0) {
  return {{"job",
           {{"template",
             {{"metadata",
               {{"annotations",
                 {{std::string(simulator::behaviour::kRunSeconds), run_seconds},
                  {std::string(simulator::behaviour::kExitCode), exit_code}}}}},
              {"spec", {{"containers", Json::array({{{"name", "hook"}, {"image", "hook:1"}}})}}}}}}},
          {"timeoutSeconds", 600},
          {"retries", retries}};
}
Json webhook(const char* policy = "Abort") {
  return {{"webhook", {{"service", "backup"}}}, {"timeoutSeconds", 120}, {"retries", 1}, {"failurePolicy", policy}};
}

class Hooks : public Rig {
 public:
  void TestBody() override {}
  using Rig::find;
  using Rig::get;
  using Rig::granted;
  using Rig::phase;
  using Rig::replica;
  using Rig::run_to_end_over_deaths;

  /// Creates web pods, a policy `safe` with these hooks, and the operator. Returns an Evacuation of the policy.
  std::string begin(const Json& hooks, const std::function<void(Json& spec)>& edit = {}) {
    services = &service;
    stage(2);
    const Json policy = {
        {"apiVersion", "evacuator.dev/v1alpha1"},
        {"kind", "DeschedulerPolicy"},
        {"metadata", {{"name", "safe"}}},
        {"spec",
         {{"mode", "Automatic"},
          {"evacuation", {{"evictors", Json::array({{{"name", "stateful-handoff"}}})}, {"hooks", hooks}}}}}};
    const auto stored = server->handle(kube::create_request(kube::kPolicies, "", policy), {"admin", {}, "kubectl"});
    EXPECT_EQ(stored.status, 201) << stored.body;
    start_operator();
    pod = pods().front();
    const std::string node = (*cluster->store().get(kube::kPods, {"shop", pod}))["spec"]["nodeName"];
    this->edit(
        kube::kNodes, node, [](Json& cordoned) { cordoned["spec"]["unschedulable"] = true; }, "");
    return evacuate_as_operator(pod, [&](Json& spec) {
      spec["source"] = {{"policy", "safe"}};
      spec["evictors"] = Json::array({{{"name", "stateful-handoff"}}});
      spec["retry"] = {{"maxAttempts", 1}};
      if (edit) edit(spec);
    });
  }

  std::string ref(const std::string& name, const std::string& key) const {
    for (const auto& [known, value] : get(name).status.refs) {
      if (known == key) return value;
    }
    return "";
  }
  std::string job_name(const std::string& name, const std::string& point) const {
    return "evac-" + get(name).meta.uid + "-1-" + point;
  }
  Json job(const std::string& name, const std::string& point) const {
    const auto object = cluster->store().get(kube::kJobs, {"shop", job_name(name, point)});
    return object ? *object : Json();
  }
  void delete_policy() {
    const auto answer =
        server->handle(kube::delete_request(kube::kPolicies, {"", "safe"}, ""), {"admin", {}, "kubectl"});
    EXPECT_EQ(answer.status, 200) << answer.body;
  }
  /// Returns the number of Jobs that the operator created, from the server's journal.
  std::size_t jobs_made() const {
    std::size_t made = 0;
    for (const auto& entry : server->journal().entries()) {
      made += entry.resource == "jobs" && entry.verb == "create" && entry.code == 201;
    }
    return made;
  }
  void expect_end(const std::string& name, Phase phase, const std::string& why) {
    ASSERT_TRUE(run_to_end(name)) << api::to_string(this->phase(name)) << " " << get(name).status.message;
    EXPECT_EQ(this->phase(name), phase) << get(name).status.message;
    EXPECT_EQ(reason(name), why) << get(name).status.message;
  }

  HookService service;
  std::string pod;
};

class HookScenario : public Hooks {};

TEST_F(HookScenario, S28_JobsBeforeDuringAndAfterAnEviction) {
  const std::string name = begin({{"pre", job_hook("20")}, {"migrate", job_hook("30")}, {"post", job_hook("10")}});
  ASSERT_TRUE(run_until([&] { return ref(name, "preHook") == "Running"; }, seconds(30)));
  EXPECT_EQ(phase(name), Phase::kPreparing);
  EXPECT_EQ(ref(name, "preHookLogs"), "kubectl logs job/" + job_name(name, "pre") + " -n shop");
  EXPECT_EQ(get(name).status.adapter, "none");
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kInProgress; }, seconds(120)));
  EXPECT_EQ(ref(name, "preHook"), "Succeeded");
  EXPECT_TRUE(evictions().empty()) << "the move waits for the migrate hook";
  ASSERT_TRUE(run_until([&] { return ref(name, "postHook") == "Running"; }, seconds(300)));
  EXPECT_EQ(ref(name, "migrateHook"), "Succeeded");
  EXPECT_EQ(granted(), 1u);
  EXPECT_EQ(condition(name, "ReplacementReady"), "Ready") << "post comes after the replacement";
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(ref(name, "postHook"), "Succeeded");
  EXPECT_EQ(jobs_made(), 3u);
  EXPECT_EQ(job(name, "pre")["spec"]["ttlSecondsAfterFinished"], 3600);
}

TEST_F(HookScenario, APreJobThatFailsKeepsThePod) {
  const std::string name = begin({{"pre", job_hook("5", "3", 1)}});
  expect_end(name, Phase::kFailed, "HandoffFailed");
  EXPECT_TRUE(get(name).status.message.find("PreHookFailed") != std::string::npos) << get(name).status.message;
  EXPECT_TRUE(ref(name, "preHook").starts_with("Failed: BackoffLimitExceeded")) << ref(name, "preHook");
  EXPECT_NE(ref(name, "preHookLogs"), "");
  EXPECT_TRUE(pod_exists(pod));
  EXPECT_TRUE(evictions().empty());
}

TEST_F(HookScenario, ACancelStopsTheJobThatRuns) {
  const std::string name = begin({{"pre", job_hook("500")}, {"undo", webhook()}});
  ASSERT_TRUE(run_until([&] { return ref(name, "preHook") == "Running"; }, seconds(30)));
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(job(name, "pre")["spec"]["activeDeadlineSeconds"], 1);
  EXPECT_EQ(job(name, "pre")["status"]["conditions"][0]["reason"], "DeadlineExceeded");
  EXPECT_EQ(service.calls, std::vector<std::string>{"/v1/hooks/undo"});
  EXPECT_EQ(condition(name, "RollbackComplete"), "Complete");
  EXPECT_TRUE(pod_exists(pod));
}

TEST_F(HookScenario, WebhooksAreAskedUntilTheyAreDone) {
  service.script = {{200, R"({"done":false,"retryAfterSeconds":5})", {}, ""}, {503, "", {}, ""}};
  const std::string name = begin({{"pre", webhook()}, {"post", webhook()}});
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(service.calls,
            (std::vector<std::string>{"/v1/hooks/pre", "/v1/hooks/pre", "/v1/hooks/pre", "/v1/hooks/post"}));
  EXPECT_EQ(ref(name, "preHook"), "Succeeded");
  EXPECT_EQ(ref(name, "postHook"), "Succeeded");
}

TEST_F(HookScenario, AWebhookThatFailsAbortsOrIsIgnored) {
  service.script = {{400, "in backup", {}, ""}};
  const std::string name = begin({{"pre", webhook()}});
  expect_end(name, Phase::kFailed, "HandoffFailed");
  EXPECT_TRUE(evictions().empty());
}

TEST_F(HookScenario, AnIgnoredWebhookDoesNotHoldTheMove) {
  service.script = {{0, "", {}, ""}, {200, "<html>", {}, ""}};
  const std::string name = begin({{"pre", webhook("Ignore")}});
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_TRUE(ref(name, "preHook").starts_with("Failed: after 2 tries")) << ref(name, "preHook");
}

TEST_F(HookScenario, AttackByTheHooksOfAPolicyInANamespaceThatIsNotListedIsRefused) {
  service.config.namespaces = {"bank"};
  const std::string name = begin({{"pre", webhook("Ignore")}, {"undo", webhook()}});
  expect_end(name, Phase::kFailed, "NotAllowed");
  EXPECT_NE(get(name).status.message.find("services[backup].namespaces"), std::string::npos);
  EXPECT_TRUE(service.calls.empty()) << "neither the hook nor its undo";
  EXPECT_TRUE(pod_exists(pod));
  EXPECT_EQ(granted(), 0u);
}

TEST_F(HookScenario, AFailedPostHookIsReportedAsFailure) {
  service.script = {{400, "no", {}, ""}};
  const std::string name = begin({{"post", webhook()}});
  expect_end(name, Phase::kFailed, "HandoffFailed");
  EXPECT_EQ(granted(), 1u);
  EXPECT_EQ(condition(name, "ReplacementReady"), "Ready");
}

TEST_F(HookScenario, OfAForeignPolicyDoNotRunForAnEvacuationThatOnlyNamesIt) {
  const std::string real = begin({{"pre", webhook()}, {"post", job_hook("5")}});
  expect_end(real, Phase::kSucceeded, "Evicted");
  ASSERT_EQ(service.calls, std::vector<std::string>{"/v1/hooks/pre"});
  const std::size_t jobs = jobs_made();
  const std::string forged = evacuate(pods().front(), [&](Json& spec) {
    spec["source"] = {{"policy", "safe"}};
    spec["evictors"] = Json::array({{{"name", "stateful-handoff"}}});
  });
  ASSERT_TRUE(run_to_end(forged));
  EXPECT_EQ(condition(forged, "OriginVerified"), "NotSigned");
  EXPECT_EQ(service.calls.size(), 1U) << "neither with the operator's credentials";
  EXPECT_EQ(jobs_made(), jobs) << "nor as Jobs";
}

TEST_F(HookScenario, APolicyThatIsNotThereFailsClosed) {
  const std::string name = begin({{"pre", webhook()}}, [](Json& spec) { spec["source"]["policy"] = "gone"; });
  expect_end(name, Phase::kCancelled, "DecisionExpired");
  EXPECT_EQ(get(name).status.attempt, 0) << "nobody knows its limits and hooks";
  EXPECT_TRUE(evictions().empty());
  EXPECT_TRUE(service.calls.empty());
}

TEST_F(HookScenario, APolicyThatGoesWhileItsPreJobRunsKeepsThePod) {
  const std::string name = begin({{"pre", job_hook("500")}, {"undo", webhook()}});
  ASSERT_TRUE(run_until([&] { return ref(name, "preHook") == "Running"; }, seconds(30)));
  delete_policy();
  expect_end(name, Phase::kFailed, "HandoffFailed");
  EXPECT_NE(get(name).status.message.find("PolicyUnusable: policy safe"), std::string::npos);
  EXPECT_EQ(job(name, "pre")["spec"]["activeDeadlineSeconds"], 1) << "and its Job does not run on";
  EXPECT_EQ(service.calls, std::vector<std::string>{"/v1/hooks/undo"}) << "what the attempt remembers of the policy";
  EXPECT_EQ(condition(name, "RollbackComplete"), "Complete");
  EXPECT_TRUE(pod_exists(pod));
  EXPECT_TRUE(evictions().empty());
}

TEST_F(HookScenario, AnUndoJobRemovedWithItsPolicyIsReported) {
  const std::string name = begin({{"pre", webhook()}, {"migrate", job_hook("500")}, {"undo", job_hook("5")}});
  ASSERT_TRUE(run_until([&] { return ref(name, "migrateHook") == "Running"; }, seconds(60)));
  edit(
      kube::kPolicies, "safe", [](Json& policy) { policy["spec"]["evacuation"]["hooks"]["pre"]["newer"] = true; }, "");
  expect_end(name, Phase::kFailed, "HandoffFailed");
  const auto end = get(name);
  const auto* rollback = api::find_condition(end.status.conditions, "RollbackComplete");
  ASSERT_TRUE(rollback);
  EXPECT_EQ(rollback->reason, "RemoteMarkRemains");
  EXPECT_NE(rollback->message.find("undo hook"), std::string::npos) << rollback->message;
  EXPECT_TRUE(pod_exists(pod));
  EXPECT_TRUE(evictions().empty());
  EXPECT_EQ(jobs_made(), 1u);
}

TEST_F(HookScenario, APostWebhookIsCalledThoughItsPolicyHasGone) {
  service.script = {{200, R"({"done":true})", {}, ""}};
  const std::string name = begin({{"pre", webhook()}, {"post", webhook()}});
  ASSERT_TRUE(
      run_until([&] { return phase(name) == Phase::kEvicting || phase(name) == Phase::kVerifying; }, seconds(60)));
  delete_policy();
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(service.calls, (std::vector<std::string>{"/v1/hooks/pre", "/v1/hooks/post"}));
}

TEST_F(HookScenario, APreHookMayTakeLongerThanPreparing) {
  const std::string name = begin({{"pre", job_hook("500")}}, [](Json& spec) {
    spec["timeouts"] = {{"prepareSeconds", 10}};
  });
  expect_end(name, Phase::kSucceeded, "Evicted");
}

/// Scenario 44 with hooks: each Job is created exactly once, whenever the process crashes.
TEST(Crash, S44_InALifeWithHookJobs) {
  const Json hooks = {{"pre", job_hook("5")}, {"migrate", job_hook("5")}, {"post", job_hook("5")}};
  int calls = 60;
  for (int at = 0; at < calls; at += 3) {  // every third call, because a run with Jobs is long
    for (const auto how : {fakes::Death::kBeforeTheCall, fakes::Death::kAfterTheCall}) {
      SCOPED_TRACE("died at call " + std::to_string(at));
      Hooks play;
      const std::string name = play.begin(hooks);
      const auto* first = play.replica.get();
      play.replica->transport.die_in(at, how);
      play.run_to_end_over_deaths({name}, std::chrono::hours(2));
      const bool died = play.replica.get() != first;
      EXPECT_EQ(play.phase(name), Phase::kSucceeded) << play.get(name).status.message;
      EXPECT_EQ(play.jobs_made(), 3u);
      EXPECT_EQ(play.granted(), 1u);
      if (!died) return;  // the run makes fewer calls
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace stateful_hooks_test
