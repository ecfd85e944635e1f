// End-to-end scenario 10: a stateful pod is prepared (hook), handed over by its operator (generic protocol), moved, and
// cleaned up after (hook). The operator is killed in each of these steps.

#include "test/e2e/harness/process.hpp"
#include "test/e2e/harness/scenario.hpp"
#include "test/e2e/peers/handoff.hpp"
#include "test/e2e/peers/hook_service.hpp"

namespace e2e {
namespace hooks_test {

const std::map<std::string, std::string> kRequiresHandoff{{"handoff.evacuator.dev/mode", "required"}};

Json hook() { return {{"webhook", {{"service", "keeper"}}}, {"timeoutSeconds", 120}, {"retries", 5}}; }

class StatefulHandoff : public Scenario {
 protected:
  /// Hooks run only for a policy's own Evacuations. The policy nominates each pod that is older than a second.
  void apply_hooks() {
    apply_policy(manifest::pod_life_time_policy(ns(), ns(), 1,
                                                {{"mode", "Automatic"},
                                                 {"evacuation",
                                                  {{"evictors", Json::array({{{"name", "stateful-handoff"}}})},
                                                   {"retry", {{"maxAttempts", 1}}},
                                                   {"hooks", {{"pre", hook()}, {"post", hook()}}}}}}));
  }
  Operator::Settings settings() const {
    return {.services = "[{name: keeper, url: 'http://127.0.0.1:" + std::to_string(service_.port()) +
                        "', namespaces: ['" + ns() + "'], uses: [hook]}]"};
  }
  /// Returns the name of the policy's Evacuation of this pod once it has its slot. From then on the policy nominates no
  /// other pod.
  std::string await_hand_over(const PodInfo& pod) {
    std::string name;
    await("the policy's Evacuation to have its slot", [&](std::string& seen) {
      for (const Json& each : api().list(path::evacuations(ns()))) {
        seen = summary(each);
        if (text_at(each, "/spec/podRef/uid") == pod.uid && phase_of(each) == "Preparing")
          name = text_at(each, "/metadata/name");
      }
      return !name.empty();
    });
    kubectl()({"patch", "dsp", ns(), "--type=merge", "-p", R"({"spec":{"suspend":true}})"});
    return name;
  }

  void await_call(const std::string& point, std::size_t more_than, const std::string& name, const Operator& op) const {
    await("hook " + point + " to be called", [&](std::string& seen) {
      seen = summary(evacuation(ns(), name)) + "\n" + op.log_tail();
      return service_.calls(point).size() > more_than;
    });
  }
  /// Kills the operator while this hook is running. The new process must repeat the call.
  void crash_during(const std::string& point, const std::string& name, Operator& op) const {
    await_call(point, 0, name, op);
    op.kill();
    const std::size_t before = service_.calls(point).size();
    op.start();
    await_call(point, before, name, op);
  }
  void expect_one_token(const std::string& point) const {
    const auto calls = service_.calls(point);
    for (const HookCall& call : calls) {
      EXPECT_FALSE(call.token.empty());
      EXPECT_EQ(call.token, calls.front().token) << point << " was begun a second time";
    }
  }

  HookService service_;
};

TEST_F(StatefulHandoff, PreHandOverAndPostEachSurviveACrash) {
  const PodInfo primary = deploy({.ns = ns(), .name = "db", .replicas = 1, .annotations = kRequiresHandoff}).front();
  apply_hooks();
  const HandoffOperator workload_operator(api(), ns(), {{"db", {.progress = {0, 50, 100}}}});
  const Recorder pods(api(), path::pods(ns()));
  Operator& op = start_operator(settings());

  const std::string name = await_hand_over(primary);
  crash_during("pre", name, op);
  EXPECT_EQ(phase_of(evacuation(ns(), name)), "Preparing");
  EXPECT_EQ(text_at(api().get(path::pods(ns(), primary.name)), "/metadata/annotations/handoff.evacuator.dev~1request"),
            "")
      << "its operator was asked before the pre hook had ended";
  service_.release("pre");
  await("half of the handoff", [&](std::string& seen) {
    const Json now = evacuation(ns(), name);
    seen = now.value("status", Json()).dump() + "\n" + op.log_tail();
    return number_at(now, "/status/progress", -1) >= 50;
  });
  op.crash();
  crash_during("post", name, op);
  EXPECT_EQ(phase_of(evacuation(ns(), name)), "Verifying");
  service_.release("post");
  const Json done = await_phase(ns(), name, kFinished);

  EXPECT_EQ(phase_of(done), "Succeeded") << summary(done);
  EXPECT_EQ(text_at(done, "/status/evictor"), "stateful-handoff");
  EXPECT_EQ(text_at(done, "/status/adapter"), "generic");
  EXPECT_EQ(number_at(done, "/status/attempt"), 1) << done.at("status").dump(2);
  expect_one_token("pre");
  expect_one_token("post");

  // The pod left after its operator had confirmed this request with ready-to-evict.
  const Json leaving = await_leaving(pods, primary);
  const std::string request = text_at(leaving, "/metadata/annotations/handoff.evacuator.dev~1request");
  EXPECT_FALSE(request.empty());
  EXPECT_EQ(text_at(leaving, "/metadata/annotations/handoff.evacuator.dev~1ready-to-evict"), request);

  // The post hook received the name of the replacement and was called after the eviction.
  const PodInfo heir = await_pods(ns(), "db", 1).front();
  const HookCall post = service_.calls("post").front();
  EXPECT_EQ(text_at(post.body, "/replacement/name"), heir.name) << post.body.dump(2);
  EXPECT_EQ(text_at(post.body, "/pod/uid"), primary.uid);
  expect_evicted({primary});
  for (const PodCall& call : pod_calls()) {
    EXPECT_TRUE(!call.granted() || call.at < post.at) << "the post hook was called before the eviction";
  }
  expect_no_misdeeds();
}

}  // namespace hooks_test
}  // namespace e2e
