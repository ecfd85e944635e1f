// End-to-end scenario 18: the admission webhook refuses a wrong policy by its field, warns of a risky one, and records
// who makes an Evacuation. When nobody answers, nothing new is made, and what is there goes on and can be deleted.

#include "test/e2e/harness/admission_scenario.hpp"

namespace e2e {
namespace admission_test {

class Admission : public AdmissionScenario {
 protected:
  Operator& begin() {
    const std::uint16_t port = free_port();
    Operator& op = start_operator(serving_at(port));
    call(port);
    await_trust(op);
    return op;
  }
  static Json policy(const char* name, int cpu, const char* mode = "DryRun") {
    const Json args = {{"thresholds", {{"cpu", cpu}}}, {"targetThresholds", {{"cpu", 60}}}};
    return {{"apiVersion", "evacuator.dev/v1alpha1"},
            {"kind", "DeschedulerPolicy"},
            {"metadata", {{"name", name}}},
            {"spec",
             {{"mode", mode},
              {"suspend", false},
              {"nodeSelector", {{"matchLabels", {{"no-such", "node"}}}}},
              {"strategies", Json::array({{{"name", "LowNodeUtilization"}, {"args", args}}})}}}};
  }
};

TEST_F(Admission, RefusesWarnsAndRecords) {
  begin();
  const Finished wrong = apply(policy("e2e-admission-wrong", 120));
  EXPECT_FALSE(wrong.ok());
  EXPECT_NE(wrong.err.find("spec.strategies[0].args.thresholds.cpu"), std::string::npos) << wrong.err;

  apply_policy(policy("e2e-admission", 20));
  const Finished risky = apply(policy("e2e-admission", 20, "Automatic"));
  EXPECT_TRUE(risky.ok()) << risky.err;
  // The simulator passes no warnings on.
  if (cluster().has_rbac()) {
    EXPECT_NE(risky.err.find("Warning: spec.limits: without perCycle.total"), std::string::npos) << risky.err;
  }
  const Finished changed = apply(policy("e2e-admission", 120));
  EXPECT_FALSE(changed.ok()) << changed.err;

  const PodInfo pod = deploy({.ns = ns(), .name = "web", .replicas = 1}).front();
  const std::string name = evacuate(pod, {{"suspend", true}});
  const char* annotation = "/metadata/annotations/evacuator.dev~1creator";
  const std::string record = text_at(evacuation(ns(), name), annotation);
  EXPECT_FALSE(text_at(Json::parse(record), "/user").empty()) << record;
  kubectl()({"annotate", "--overwrite", "evac", name, "-n", ns(), "evacuator.dev/creator=somebody"});
  EXPECT_EQ(text_at(evacuation(ns(), name), annotation), record);
  kubectl()({"patch", "evac", name, "-n", ns(), "--type=merge", "-p", R"({"spec":{"suspend":false}})"});
  const Json done = await_phase(ns(), name, kFinished);
  EXPECT_EQ(phase_of(done), "Succeeded") << summary(done);
  expect_evicted({pod});
}

TEST_F(Admission, WithoutAnAnswerNothingNewIsMadeAndAllElseGoesOn) {
  begin();
  const auto pods = deploy({.ns = ns(), .name = "web", .replicas = 2});
  const std::string name = evacuate(pods[0], {{"suspend", true}});
  apply_policy(policy("e2e-admission", 20));
  stop_calling();
  call(free_port());  // nobody serves it
  const Json other = manifest::evacuation(ns(), "other", pods[1].name, pods[1].uid);
  const Finished refused = apply(other);
  EXPECT_FALSE(refused.ok());
  EXPECT_NE(refused.err.find("record-creator.evacuator.dev"), std::string::npos) << refused.err;
  EXPECT_TRUE(apply(policy("e2e-admission", 30)).ok()) << "what is there can be changed";
  kubectl()({"delete", "dsp", "e2e-admission"});
  kubectl()({"patch", "evac", name, "-n", ns(), "--type=merge", "-p", R"({"spec":{"suspend":false}})"});
  const Json done = await_phase(ns(), name, kFinished);
  EXPECT_EQ(phase_of(done), "Succeeded") << summary(done);
  stop_calling();
  EXPECT_TRUE(apply(other).ok());
}

}  // namespace admission_test
}  // namespace e2e
