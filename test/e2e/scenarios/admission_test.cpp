// End-to-end scenario 18: the admission webhook rejects an invalid policy by its field, warns of a risky one, and
// records the creator of an Evacuation. While it is unavailable, creations fail, but existing objects can be changed
// and deleted.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

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
  // The simulator does not pass warnings on.
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

TEST_F(Admission, WithoutAnAnswerOnlyCreationsFail) {
  begin();
  const auto pods = deploy({.ns = ns(), .name = "web", .replicas = 2});
  const std::string name = evacuate(pods[0], {{"suspend", true}});
  apply_policy(policy("e2e-admission", 20));
  stop_calling();
  call(free_port());  // unused port
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

/// Latency that the webhook adds to a creation, measured alternately with and without the webhook.
class AdmissionLatency : public Admission {
 protected:
  static constexpr int kTurns = 6;
  static constexpr int kPerTurn = 50;

  /// Records the milliseconds of each creation of a suspended Evacuation. The pod does not exist, so they have no
  /// effect.
  void create_some(const std::string& prefix, std::vector<double>& took) const {
    for (int i = 0; i < kPerTurn; ++i) {
      Json object = manifest::evacuation(ns(), prefix + std::to_string(i), "nobody", "nobody");
      object["spec"]["suspend"] = true;
      const auto start = std::chrono::steady_clock::now();
      api().create(path::evacuations(ns()), object);
      took.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
  }
  static double quantile(std::vector<double> took, double part) {
    std::ranges::sort(took);
    return took[std::min(took.size() - 1, static_cast<std::size_t>(part * static_cast<double>(took.size())))];
  }
  static void tell(const char* what, const std::vector<double>& took) {
    char text[120];
    std::snprintf(text, sizeof text, "%s: p50 %.1f ms, p99 %.1f ms of %zu", what, quantile(took, 0.5),
                  quantile(took, 0.99), took.size());
    note(text);
  }
};

TEST_F(AdmissionLatency, IsFarBelowItsTimeout) {
  const std::uint16_t port = free_port();
  Operator& op = start_operator(serving_at(port));
  call(port);
  await_trust(op);
  const Json mutating_one = api().get(mutating());
  const Json validating_one = api().get(validating());
  std::vector<double> with;
  std::vector<double> without;
  const auto one_more = [&](const std::string& name) { create_some(name, name[0] == 'w' ? with : without); };
  for (int turn = 0; turn < kTurns; ++turn) {
    one_more("with-" + std::to_string(turn) + "-");
    stop_calling();
    one_more("bare-" + std::to_string(turn) + "-");
    for (Json configuration : {mutating_one, validating_one}) {
      for (const char* each : {"resourceVersion", "uid", "generation", "creationTimestamp", "managedFields"})
        configuration["metadata"].erase(each);
      kubectl()({"create", "-f", "-"}, configuration.dump());
    }
    await("the webhook to be asked again", [&](std::string& seen) {
      const std::string name = "probe-" + std::to_string(turn) + "-" + std::to_string(std::rand());
      Json object = manifest::evacuation(ns(), name, "nobody", "nobody");
      object["spec"]["suspend"] = true;
      seen = apply(object).err;
      return !text_at(evacuation(ns(), name), "/metadata/annotations/evacuator.dev~1creator").empty();
    });
  }
  tell("creation of an Evacuation with the admission webhook", with);
  tell("the same without it", without);
  EXPECT_LT(quantile(with, 0.99), 2'500) << "half of its timeout";
}

}  // namespace admission_test
}  // namespace e2e
