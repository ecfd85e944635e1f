// End-to-end scenario 18: the admission webhook refuses a wrong policy by its field, warns of a risky one, and records
// who makes an Evacuation. When nobody answers, nothing new is made, and what is there goes on and can be deleted.

#include <fstream>
#include <sstream>

#include "api/json/yaml.hpp"
#include "test/e2e/harness/scenario.hpp"

namespace e2e {
namespace admission_test {

const std::string kGroup = "/apis/admissionregistration.k8s.io/v1/";
const std::string kMutating = kGroup + "mutatingwebhookconfigurations/evacuator-admission";
const std::string kValidating = kGroup + "validatingwebhookconfigurations/evacuator-admission";

std::string manifest_file(const char* name) {
  return std::string(EVACUATOR_SOURCE_DIR) + "/config/admission-webhook/" + name;
}

class Admission : public Scenario {
 protected:
  Admission() {
    if (cluster().has_rbac()) kubectl()({"apply", "-f", manifest_file("role.yaml")});
  }
  ~Admission() override {
    stop_calling();
    if (!cluster().has_rbac()) return;
    const Finished done = kubectl().attempt({"delete", "-f", manifest_file("role.yaml"), "--ignore-not-found"});
    if (!done.ok()) note("taking the role of the webhook back: " + done.err);
  }

  void stop_calling() const {
    for (const std::string& each : {kMutating, kValidating}) api().remove(each);
  }
  /// The configurations of config/, by URL instead of Service: there is no pod network here.
  void call(std::uint16_t port) const {
    std::stringstream text;
    text << std::ifstream(manifest_file("webhook.yaml")).rdbuf();
    const auto documents = api::parse_yaml(text.str());
    ASSERT_TRUE(documents) << documents.error().message;
    for (Json configuration : *documents) {
      for (Json& webhook : configuration["webhooks"]) {
        const std::string path = webhook["clientConfig"]["service"]["path"];
        webhook["clientConfig"] = {{"url", "https://127.0.0.1:" + std::to_string(port) + path}};
      }
      kubectl().apply(configuration);
    }
  }
  Operator& begin() {
    const std::uint16_t port = free_port();
    Operator::Settings settings;
    settings.webhook = "{address: '127.0.0.1:" + std::to_string(port) + "', admission: {enabled: true}}";
    Operator& op = start_operator(settings);
    call(port);
    await("the operator to be trusted", [&](std::string& seen) {
      bool all = true;
      for (const std::string& path : {kMutating, kValidating}) {
        const Json now = api().get(path);
        seen += now.dump() + "\n";
        for (const Json& webhook : now["webhooks"]) all = all && !text_at(webhook, "/clientConfig/caBundle").empty();
      }
      seen += op.log_tail();
      return all;
    });
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
  Finished apply(const Json& object) const { return kubectl().attempt({"apply", "-f", "-"}, object.dump()); }
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
