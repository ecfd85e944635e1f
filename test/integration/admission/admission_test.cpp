// The admission webhook for Evacuator's own objects, as called by the simulated API server.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "controllers/evacuation/origin/creator.hpp"
#include "kube/request.hpp"
#include "test/integration/rig/rig.hpp"

namespace integration {
namespace admission_test {

using api::Json;
using std::chrono::minutes;

Json policy(const char* name, int cpu) {
  const Json args = {{"thresholds", {{"cpu", cpu}}}, {"targetThresholds", {{"cpu", 60}}}};
  return {{"apiVersion", "evacuator.dev/v1alpha1"},
          {"kind", "DeschedulerPolicy"},
          {"metadata", {{"name", name}}},
          {"spec", {{"strategies", Json::array({{{"name", "LowNodeUtilization"}, {"args", args}}})}}}};
}

class Admission : public Rig {
 protected:
  Admission() {
    stage(1);
    start_operator();
    settle();
  }
  kube::Response send(const kube::Request& request, const std::string& user = "alice") {
    return server->handle(request, {user, {"dev"}, "kubectl"});
  }
  kube::Response make(const Json& object) { return send(kube::create_request(kube::kPolicies, "", object)); }
  kube::Response change(const char* name, const Json& merge) {
    return send(kube::patch_request(kube::kPolicies, {"", name}, kube::PatchType::kMerge, merge));
  }
  Json stored(const std::string& name) const { return *cluster->store().get(kube::kEvacuations, {"shop", name}); }
  std::string record_of(const std::string& name) const {
    return stored(name)["metadata"].value("annotations", Json::object()).value("evacuator.dev/creator", "");
  }
};

TEST_F(Admission, AWrongPolicyIsRefusedByItsField) {
  install_admission_webhook();
  const auto refused = make(policy("wrong", 120));
  EXPECT_EQ(refused.status, 422) << refused.body;
  const std::string said = Json::parse(refused.body)["message"];
  EXPECT_TRUE(
      said.starts_with("admission webhook \"validate.evacuator.dev\" denied the request: "
                       "spec.strategies[0].args.thresholds.cpu: "))
      << said;
  EXPECT_EQ(make(policy("right", 20)).status, 201);
  const auto changed = change("right", {{"spec", policy("right", 120)["spec"]}});
  EXPECT_EQ(changed.status, 422) << changed.body;
}

/// The webhook and the condition report the same message.
TEST_F(Admission, SaysWhatTheConditionReadySays) {
  ASSERT_EQ(make(policy("wrong", 120)).status, 201);
  run_for(minutes(1));
  const Json found = *cluster->store().get(kube::kPolicies, {"", "wrong"});
  std::string ready;
  for (const Json& each : found["status"]["conditions"]) {
    if (each["type"] == "Ready") ready = each["message"];
  }
  ASSERT_NE(ready, "");
  install_admission_webhook();
  const std::string said = Json::parse(make(policy("again", 120)).body)["message"];
  EXPECT_NE(said.find(ready), std::string::npos) << said << "\n" << ready;
}

TEST_F(Admission, ExistingObjectsCanBeLabelledAndRemoved) {
  Json wrong = policy("wrong", 120);
  wrong["metadata"]["finalizers"] = Json::array({"example.com/hold"});
  ASSERT_EQ(make(wrong).status, 201);
  install_admission_webhook();
  EXPECT_EQ(change("wrong", {{"metadata", {{"labels", {{"a", "b"}}}}}}).status, 200);
  EXPECT_EQ(change("wrong", {{"spec", {{"suspend", true}}}}).status, 200);
  EXPECT_EQ(send(kube::delete_request(kube::kPolicies, {"", "wrong"}, "")).status, 200);
  const auto freed = change("wrong", {{"metadata", {{"finalizers", nullptr}}}});
  EXPECT_EQ(freed.status, 200) << freed.body;
  EXPECT_EQ(cluster->store().get(kube::kPolicies, {"", "wrong"}), nullptr);
}

TEST_F(Admission, RecordsWhoMakesAnEvacuationAndKeepsTheRecord) {
  install_admission_webhook();
  Json forged = evacuation_of(pods().front());
  forged["metadata"]["annotations"]["evacuator.dev/creator"] = R"({"user":"root"})";
  const std::string name = create(forged, "mallory");
  const std::string record = record_of(name);
  EXPECT_EQ(Json::parse(record)["user"], "mallory");
  const auto decoded = api::decode_evacuation(stored(name));
  ASSERT_TRUE(decoded);
  const auto keys = controllers::process_keys().keys();
  const auto subject = controllers::proven_creator(*decoded, *keys);
  ASSERT_TRUE(subject);
  EXPECT_EQ((*subject)["user"], "mallory");
  patch_evacuation(name, {{"metadata", {{"annotations", {{"evacuator.dev/creator", "somebody else"}}}}}});
  EXPECT_EQ(record_of(name), record);
  patch_evacuation(name, {{"metadata", {{"annotations", {{"evacuator.dev/creator", nullptr}}}}}});
  EXPECT_EQ(record_of(name), record);
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(phase(name), api::EvacuationPhase::kSucceeded);
  EXPECT_EQ(record_of(name), record);
}

TEST_F(Admission, OperatorsEvacuationsKeepTheirOrigin) {
  install_admission_webhook();
  const std::string name = evacuate_as_operator(pods().front());
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(condition(name, "OriginVerified"), "Signed");
  EXPECT_NE(record_of(name), "");
}

TEST_F(Admission, WithoutAnAnswerNothingNewIsMadeAndWhatIsThereGoesOn) {
  install_admission_webhook();
  const std::string name = evacuate(pods().front(), [](Json& spec) { spec["suspend"] = true; });
  ASSERT_EQ(make(policy("right", 20)).status, 201);
  webhook_answers = false;
  Json other = evacuation_of(pods().front());
  other["metadata"]["name"] = "other";
  const auto refused = send(kube::create_request(kube::kEvacuations, "shop", other));
  EXPECT_EQ(refused.status, 500) << refused.body;
  EXPECT_NE(refused.body.find("record-creator.evacuator.dev"), std::string::npos) << refused.body;
  EXPECT_EQ(make(policy("new", 20)).status, 500);
  EXPECT_EQ(change("right", {{"spec", {{"suspend", true}}}}).status, 200);
  patch_evacuation(name, {{"spec", {{"suspend", false}}}});
  ASSERT_TRUE(run_to_end(name)) << "the operator's own writes are not held up: " << stored(name).dump(1);
  EXPECT_EQ(send(kube::delete_request(kube::kPolicies, {"", "right"}, "")).status, 200);
}

}  // namespace admission_test
}  // namespace integration
