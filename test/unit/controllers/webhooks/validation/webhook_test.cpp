#include "controllers/webhooks/validation/webhook.hpp"

#include <gmock/gmock.h>

#include "api/core/codec.hpp"
#include "base/base64.hpp"
#include "controllers/evacuation/origin/creator.hpp"

namespace controllers::validation {
namespace webhook_test {

using api::Json;
using testing::HasSubstr;

const base::TimePoint kNoon = *base::parse_time("2026-11-21T12:00:00Z");

class NoKeys final : public KeySource {
 public:
  void refresh(bool) override {}
  std::shared_ptr<const crypto::KeyRing> keys() const override { return nullptr; }
  std::string problem() const override { return "none"; }
};

Json policy(const Json& args = {{"thresholds", {{"cpu", 20}}}, {"targetThresholds", {{"cpu", 50}}}}) {
  return {{"apiVersion", "evacuator.dev/v1alpha1"},
          {"kind", "DeschedulerPolicy"},
          {"metadata", {{"name", "balance"}}},
          {"spec", {{"strategies", Json::array({{{"name", "LowNodeUtilization"}, {"args", args}}})}}}};
}
Json wrong_policy() { return policy({{"thresholds", {{"cpu", 120}}}, {"targetThresholds", {{"cpu", 50}}}}); }

Json evacuation() {
  return {{"apiVersion", "evacuator.dev/v1alpha1"},
          {"kind", "Evacuation"},
          {"metadata", {{"name", "web-1"}, {"namespace", "shop"}}},
          {"spec", {{"podRef", {{"name", "web-1"}}}}}};
}
Json with(Json object, const Json& patch) {
  object.merge_patch(patch);
  return object;
}

class AdmissionWebhook : public testing::Test {
 protected:
  Webhook webhook(KeySource& keys = process_keys()) {
    return Webhook({.registry = registry,
                    .keys = keys,
                    .clock = clock,
                    .look = [this] { return around; },
                    .metrics = metrics,
                    .log = {}});
  }
  /// Returns a review of a creation if `before` is null, else of an update.
  Json review(const Json& object, const Json& before = nullptr) {
    const bool is_policy = object["kind"] == "DeschedulerPolicy";
    return {
        {"apiVersion", "admission.k8s.io/v1"},
        {"request",
         {{"uid", "r"},
          {"operation", before.is_null() ? "CREATE" : "UPDATE"},
          {"namespace", is_policy ? "" : "shop"},
          {"resource", {{"group", "evacuator.dev"}, {"resource", is_policy ? "deschedulerpolicies" : "evacuations"}}},
          {"userInfo", {{"username", "alice"}, {"groups", Json::array({"dev"})}}},
          {"object", object},
          {"oldObject", before}}}};
  }
  Json validate(const Json& object, const Json& before = nullptr) {
    return Json::parse(*webhook().validate(review(object, before).dump()))["response"];
  }
  /// Returns the message of the refusal, empty if the object is allowed.
  std::string refusal(const Json& object, const Json& before = nullptr) {
    const Json said = validate(object, before);
    return said["allowed"] == true ? "" : said["status"]["message"].get<std::string>();
  }
  /// Returns the object with the webhook's patch applied.
  Json recorded(const Json& object, const Json& before = nullptr) {
    const Json said = Json::parse(*webhook().record_creator(review(object, before).dump()))["response"];
    EXPECT_EQ(said["allowed"], true) << said;
    warnings = said.value("warnings", Json::array());
    return said.contains("patch") ? object.patch(Json::parse(*base::decode_base64(said["patch"].get<std::string>())))
                                  : object;
  }
  static std::string record_of(const Json& object) {
    return object["metadata"].value("annotations", Json::object()).value("evacuator.dev/creator", "");
  }

  evictors::EvictorRegistry registry = evictors::EvictorRegistry::builtin();
  base::ManualClock clock{kNoon};
  base::Metrics metrics;
  ClusterContext around;
  Json warnings;
};

TEST_F(AdmissionWebhook, RefusesAWrongPolicyByItsField) {
  EXPECT_EQ(refusal(policy()), "");
  EXPECT_THAT(refusal(wrong_policy()), HasSubstr("spec.strategies[0].args.thresholds.cpu: "));
  EXPECT_EQ(validate(wrong_policy())["status"]["code"], 422);
  EXPECT_THAT(refusal(wrong_policy(), policy()), HasSubstr("thresholds.cpu")) << "also on update";
  EXPECT_THAT(refusal(with(policy(), {{"spec", {{"mode", "Sometimes"}}}})), HasSubstr("spec.mode"));
  EXPECT_NE(refusal(with(policy(), {{"spec", 7}})), "");
}

TEST_F(AdmissionWebhook, RefusesAWrongEvacuationByItsField) {
  EXPECT_EQ(refusal(evacuation()), "");
  EXPECT_EQ(refusal(with(evacuation(), {{"metadata", {{"name", nullptr}, {"generateName", "web-"}}}})), "");
  const Json wrong = {{"spec", {{"evictors", Json::array({{{"name", "teleport"}}})}}}};
  EXPECT_THAT(refusal(with(evacuation(), wrong)), HasSubstr("spec.evictors[0].name"));
}

/// Objects that older rules accepted must remain editable.
TEST_F(AdmissionWebhook, LetsThroughWhatChangesNothingThatIsChecked) {
  const Json stored = with(wrong_policy(), {{"metadata", {{"finalizers", Json::array({"a"})}}}});
  EXPECT_EQ(refusal(with(stored, {{"metadata", {{"finalizers", nullptr}, {"labels", {{"a", "b"}}}}}}), stored), "");
  EXPECT_EQ(refusal(with(stored, {{"spec", {{"suspend", true}}}}), stored), "");
  EXPECT_NE(refusal(with(stored, {{"spec", {{"mode", "Automatic"}}}}), stored), "");
  const Json going = with(stored, {{"metadata", {{"deletionTimestamp", "2026-11-21T12:00:00Z"}}}});
  EXPECT_EQ(refusal(with(going, {{"spec", {{"mode", "Manual"}}}}), going), "");
  EXPECT_NE(refusal(going), "") << "a new one is not going, whatever it says";

  const Json old = with(evacuation(), {{"spec", {{"evictors", Json::array({{{"name", "teleport"}}})}}}});
  for (const Json& change : {Json{{"cancel", {{"requested", true}}}}, Json{{"suspend", true}}, Json{{"priority", 7}}})
    EXPECT_EQ(refusal(with(old, {{"spec", change}}), old), "") << change;
  EXPECT_NE(refusal(with(old, {{"spec", {{"gracePeriodSeconds", 1}}}}), old), "");
}

TEST_F(AdmissionWebhook, WarnsOfRisks) {
  around.has_budgets = false;
  EXPECT_FALSE(validate(policy()).contains("warnings")) << "it is a DryRun";
  const Json said = validate(with(policy(), {{"spec", {{"mode", "Automatic"}}}}));
  EXPECT_EQ(said["allowed"], true);
  EXPECT_EQ(said["warnings"].size(), 2U) << said;
}

TEST_F(AdmissionWebhook, IsNotAskedAboutOthers) {
  Json pod = review(wrong_policy());
  pod["request"]["resource"] = {{"group", ""}, {"resource", "pods"}};
  EXPECT_EQ(Json::parse(*webhook().validate(pod.dump()))["response"]["allowed"], true);
  EXPECT_FALSE(Json::parse(*webhook().record_creator(pod.dump()))["response"].contains("patch"));
  Json status = review(wrong_policy());
  status["request"]["subResource"] = "status";
  EXPECT_EQ(Json::parse(*webhook().validate(status.dump()))["response"]["allowed"], true);
  Json deletion = review(wrong_policy());
  deletion["request"]["object"] = nullptr;
  EXPECT_EQ(Json::parse(*webhook().validate(deletion.dump()))["response"]["allowed"], true);
  EXPECT_EQ(webhook().validate("<html>"), std::nullopt);
  EXPECT_EQ(webhook().record_creator("{}"), std::nullopt);
}

TEST_F(AdmissionWebhook, RecordsTheCreatorOfAnEvacuation) {
  Json made = recorded(evacuation());
  made["metadata"]["uid"] = "e-1";
  made["metadata"]["creationTimestamp"] = "2026-11-21T12:00:01Z";
  const auto decoded = api::decode_evacuation(made);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(proven_creator(*decoded, *process_keys().keys()),
            (Json{{"user", "alice"}, {"groups", Json::array({"dev"})}}));
  EXPECT_TRUE(warnings.empty());
  EXPECT_THAT(record_of(recorded(policy())), HasSubstr("\"user\":\"alice\""));
}

TEST_F(AdmissionWebhook, OverwritesARecordInTheRequest) {
  const Json forged =
      with(evacuation(), {{"metadata", {{"annotations", {{"evacuator.dev/creator", "root"}, {"a", "b"}}}}}});
  const Json made = recorded(forged);
  EXPECT_THAT(record_of(made), HasSubstr("\"user\":\"alice\""));
  EXPECT_EQ(made["metadata"]["annotations"]["a"], "b");
  EXPECT_EQ(warnings.size(), 1U);
  const Json strange = with(evacuation(), {{"metadata", {{"annotations", {{"evacuator.dev/creator", 7}}}}}});
  EXPECT_THAT(record_of(recorded(strange)), HasSubstr("alice"));
}

TEST_F(AdmissionWebhook, KeepsTheRecord) {
  const Json stored = recorded(evacuation());
  const Json none = evacuation();
  const Json other = with(none, {{"metadata", {{"annotations", {{"evacuator.dev/creator", "root"}}}}}});
  EXPECT_EQ(recorded(other, stored), stored);
  EXPECT_EQ(record_of(recorded(none, stored)), record_of(stored)) << "nobody takes it off";
  EXPECT_EQ(record_of(recorded(other, none)), "") << "nobody adds it later";
  EXPECT_EQ(recorded(stored, stored), stored);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(AdmissionWebhook, RefusesWhatCannotBeSigned) {
  NoKeys none;
  const Json said = Json::parse(*webhook(none).record_creator(review(evacuation()).dump()))["response"];
  EXPECT_EQ(said["allowed"], false);
  EXPECT_EQ(said["status"]["code"], 503);
  const Json kept = Json::parse(*webhook(none).record_creator(review(evacuation(), evacuation()).dump()))["response"];
  EXPECT_EQ(kept["allowed"], true) << "updates need no key";
  Json nobody = review(evacuation());
  nobody["request"].erase("userInfo");
  EXPECT_EQ(Json::parse(*webhook().record_creator(nobody.dump()))["response"]["status"]["code"], 403);
}

}  // namespace webhook_test
}  // namespace controllers::validation
