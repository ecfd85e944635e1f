#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/meta/well_known.hpp"
#include "api/origin.hpp"
#include "controllers/admission/request.hpp"
#include "simulator/objects.hpp"
#include "test/integration/rig/rig.hpp"

/// Alice may edit namespace shop only. She creates Evacuations that claim another user's policy.
namespace forged_origin_test {

using api::Json;
using base::seconds;
using integration::Rig;
using testing::HasSubstr;
using Phase = api::EvacuationPhase;

class ForgedOrigin : public Rig {
 protected:
  /// Creates the pods of `web` and `db` and the administrator's policy `balance`.
  void begin(const Json& spec = Json::object(), int replicas = 3) {
    stage(replicas);
    Json policy = {{"apiVersion", "evacuator.dev/v1alpha1"},
                   {"kind", "DeschedulerPolicy"},
                   {"metadata", {{"name", "balance"}}},
                   {"spec", {{"mode", "Automatic"}, {"schedule", {{"interval", "1m"}}}}}};
    policy["spec"].update(spec);
    const auto stored = server->handle(kube::create_request(kube::kPolicies, "", policy), {"admin", {}, "kubectl"});
    ASSERT_EQ(stored.status, 201) << stored.body;
    start_operator();
  }
  static std::function<void(Json&)> of_balance(const Json& more = Json::object()) {
    return [more](Json& spec) {
      spec["source"] = {{"policy", "balance"}, {"strategy", "LowNodeUtilization"}, {"requester", "evacuator"}};
      spec.update(more);
    };
  }
  api::DeschedulerPolicyStatus policy() const { return policy_status("balance"); }
  std::string message(const std::string& name, std::string_view type) const {
    const api::Evacuation evacuation = get(name);
    const auto* found = api::find_condition(evacuation.status.conditions, type);
    return found ? found->message : "";
  }
  /// Expects that the Evacuation counts as manual and that its condition explains why.
  void expect_hand_made(const std::string& name, const std::string& why) const {
    EXPECT_EQ(condition(name, "OriginVerified"), "NotSigned");
    EXPECT_THAT(message(name, "OriginVerified"), HasSubstr(why));
    EXPECT_FALSE(api::origin_is_verified(get(name)));
    EXPECT_EQ(get(name).spec.source.policy, "balance") << "shown as it was given";
    EXPECT_EQ(api::policy_of(get(name)), "");
  }
  Json stored(const std::string& name) const { return *cluster->store().get(kube::kEvacuations, {"shop", name}); }
  std::string origin_of(const std::string& name) const {
    return stored(name)["metadata"]["annotations"].value(std::string(api::well_known::kOriginAnnotation), "");
  }
};

TEST_F(ForgedOrigin, WithoutASignatureIsManual) {
  begin();
  const std::string name = evacuate(pods()[0], of_balance());
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(phase(name), Phase::kSucceeded) << "her own pod may leave all the same";
  expect_hand_made(name, "it has no signature");
  run_for(seconds(120));
  EXPECT_EQ(policy().evicted, 0);
}

TEST_F(ForgedOrigin, WithAForeignSignatureIsManual) {
  begin();
  Json body = evacuation_of(pods()[0], of_balance());
  body["metadata"]["annotations"]["evacuator.dev/origin"] = "v1.0123456789abcdef.1795262400." + std::string(64, 'a');
  const std::string name = create(body);
  ASSERT_TRUE(run_to_end(name));
  expect_hand_made(name, "with a key that the operator does not have");
}

TEST_F(ForgedOrigin, WithThePolicyAsOwnerCountsAsManual) {
  begin();
  Json body = evacuation_of(pods()[0], of_balance());
  const Json policy_object = *cluster->store().get(kube::kPolicies, {"", "balance"});
  body["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", "evacuator.dev/v1alpha1"},
                                                      {"kind", "DeschedulerPolicy"},
                                                      {"name", "balance"},
                                                      {"uid", policy_object["metadata"]["uid"]},
                                                      {"controller", true}}});
  body["metadata"]["labels"]["evacuator.dev/policy"] = "balance";
  const std::string name = create(body);
  ASSERT_TRUE(run_to_end(name));
  expect_hand_made(name, "it has no signature");
  run_for(seconds(120));
  EXPECT_EQ(policy().evicted, 0);
}

TEST_F(ForgedOrigin, WithAVerifiedStatusFromTheStartIsManual) {
  begin();
  Json body = evacuation_of(pods()[0], of_balance());
  body["status"] = {{"conditions", Json::array({{{"type", "OriginVerified"},
                                                 {"status", "True"},
                                                 {"reason", "Signed"},
                                                 {"message", ""},
                                                 {"lastTransitionTime", "2026-11-21T12:00:00Z"}}})}};
  const std::string name = create(body);
  ASSERT_TRUE(run_to_end(name));
  expect_hand_made(name, "it has no signature");
}

/// The attacker has a wildcard role and may write evacuations/status.
TEST_F(ForgedOrigin, WhoseStatusIsChangedToVerifiedIsManual) {
  begin({{"limits", {{"inFlight", {{"total", 1}}}}}});
  budget("web", "web", 3);
  const std::string name = evacuate(pods()[0], of_balance({{"suspend", true}}));
  settle();
  const auto claim = [&] {
    edit(kube::kEvacuations, name, [](Json& object) {
      for (Json& each : object["status"]["conditions"]) {
        if (each["type"] == "OriginVerified") each.update({{"status", "True"}, {"reason", "Signed"}, {"message", ""}});
      }
    });
  };
  claim();
  start_operator("replica-2");
  patch_evacuation(name, {{"spec", {{"suspend", false}}}});
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kRequesting; }, seconds(60)));
  expect_hand_made(name, "it has no signature");
  claim();
  start_operator("replica-3");
  run_for(seconds(90));
  EXPECT_EQ(policy().active, 0) << "it takes none of the policy's slots";
  ASSERT_TRUE(run_to_end(name));
  run_for(seconds(90));
  EXPECT_EQ(policy().evicted, 0);
}

TEST_F(ForgedOrigin, OfAnEarlierProcessIsProvedAgainWhateverPriorityItHasNow) {
  begin();
  budget("web", "web", 3);
  const std::string name = evacuate_as_operator(pods()[0], of_balance());
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kRequesting; }, seconds(60)));
  patch_evacuation(name, {{"spec", {{"priority", 9}}}});
  start_operator("replica-2");
  run_for(seconds(90));
  EXPECT_EQ(condition(name, "OriginVerified"), "Signed");
  EXPECT_EQ(policy().active, 1);
}

TEST_F(ForgedOrigin, ASignatureCopiedToAnotherObjectDoesNotCount) {
  begin();
  const std::string real = evacuate_as_operator(pods()[0], of_balance({{"suspend", true}}));
  settle();
  EXPECT_EQ(condition(real, "OriginVerified"), "Signed");
  Json copy = evacuation_of(pods()[1], of_balance());
  copy["metadata"]["annotations"]["evacuator.dev/origin"] = origin_of(real);
  const std::string forged = create(copy);
  ASSERT_TRUE(run_to_end(forged));
  expect_hand_made(forged, "its signature belongs to another object");
  EXPECT_EQ(condition(real, "OriginVerified"), "Signed") << "the other is unharmed";
}

TEST_F(ForgedOrigin, ASignedObjectReplayedUnderItsNameDoesNotCount) {
  begin();
  const Json body = signed_now(evacuation_of(pods()[0], of_balance({{"suspend", true}})));
  const std::string name = create(body, "system:serviceaccount:evacuator-system:evacuator");
  settle();
  EXPECT_EQ(condition(name, "OriginVerified"), "Signed");
  delete_evacuation(name);
  run_for(seconds(90));
  ASSERT_FALSE(find(name)) << "it is gone, and its pod stayed";
  create(body);
  settle();
  expect_hand_made(name, "does not match its creation time");
}

TEST_F(ForgedOrigin, ASignedObjectMadeAgainAtOnceDoesNotCount) {
  begin();
  const Json body = signed_now(evacuation_of(pods()[0], of_balance({{"suspend", true}})));
  const std::string name = create(body, "system:serviceaccount:evacuator-system:evacuator");
  settle();
  EXPECT_EQ(condition(name, "OriginVerified"), "Signed");
  delete_evacuation(name);
  ASSERT_TRUE(run_until([&] { return !find(name); }, seconds(20)));
  create(body);
  settle();
  expect_hand_made(name, "its signature belongs to another object");
}

TEST_F(ForgedOrigin, WithAnotherTimeoutThanWasSignedDoesNotCount) {
  begin();
  Json body = signed_now(evacuation_of(pods()[0], of_balance()));
  body["spec"]["timeouts"]["verifySeconds"] = 1;
  const std::string name = create(body);
  ASSERT_TRUE(run_to_end(name));
  expect_hand_made(name, "the object was changed after it was signed");
}

// --- effects on the policy of another user

const auto kFailedVerification = testing::AnyOf("ReplacementTimeout", "SameNode");

TEST_F(ForgedOrigin, DoesNotOpenAForeignPolicysCircuit) {
  begin();
  for (int i = 0; i < 5; ++i) {
    const std::string name = evacuate(pods()[0], of_balance({{"timeouts", {{"verifySeconds", 1}}}}));
    ASSERT_TRUE(run_to_end(name));
    ASSERT_THAT(condition(name, "ReplacementReady"), kFailedVerification) << "or the attack would be none";
    run_for(seconds(60));
  }
  EXPECT_EQ(policy().circuit.failures, 0);
  EXPECT_FALSE(policy().circuit.opened_at);
  EXPECT_FALSE(has_event("CircuitOpened"));
}

TEST_F(ForgedOrigin, OpensTheCircuitIfTheOriginIsReal) {
  begin();
  for (int i = 0; i < 5; ++i) {
    const std::string name = evacuate_as_operator(pods()[0], of_balance({{"timeouts", {{"verifySeconds", 1}}}}));
    ASSERT_TRUE(run_to_end(name));
    ASSERT_THAT(condition(name, "ReplacementReady"), kFailedVerification);
    run_for(seconds(60));
  }
  EXPECT_EQ(policy().circuit.failures, 5);
  EXPECT_TRUE(policy().circuit.opened_at);
}

TEST_F(ForgedOrigin, DoesNotEatAForeignPolicysLimits) {
  begin({{"limits", {{"inFlight", {{"total", 1}}}}}});
  add(simulator::objects::deployment("shop", "db", 2, "100m", "64Mi"));
  ASSERT_TRUE(run_until([&] { return pods("db").size() == 2; }, base::minutes(2)));
  budget("web", "web", 3);
  const std::string forged = evacuate(pods()[0], of_balance());
  ASSERT_TRUE(run_until([&] { return phase(forged) == Phase::kRequesting; }, seconds(60))) << "it holds its slot";
  const std::string real = evacuate_as_operator(pods("db")[0], of_balance());
  ASSERT_TRUE(run_to_end(real, base::minutes(10)));
  EXPECT_EQ(phase(real), Phase::kSucceeded);
  EXPECT_EQ(phase(forged), Phase::kRequesting);
  run_for(seconds(60));
  EXPECT_EQ(policy().active, 0);
  EXPECT_EQ(policy().evicted, 1);
}

TEST_F(ForgedOrigin, DoesNotStartAForeignPolicysCooldowns) {
  begin({{"limits", {{"cooldown", {{"workload", "1h"}}}}}});
  const std::string forged = evacuate(pods()[0], of_balance());
  ASSERT_TRUE(run_to_end(forged));
  run_for(seconds(120));
  EXPECT_THAT(policy().cooldowns, testing::SizeIs(testing::Le(2U))) << "as of any made by hand";
}

/// After the end the cache stores the result only. The parameters are checked earlier.
TEST_F(ForgedOrigin, ASignedEvacuationStaysProvenAfterItsEnd) {
  begin();
  const Json chain = Json::array({{{"name", "eviction-api"}, {"parameters", {{"requestedBy", "me"}}}}});
  const std::string real = evacuate_as_operator(pods()[0], of_balance({{"evictors", chain}}));
  ASSERT_TRUE(run_to_end(real));
  run_for(seconds(120));
  EXPECT_EQ(condition(real, "OriginVerified"), "Signed");
  EXPECT_EQ(policy().evicted, 1);
}

// --- changed spec, on a server without the CRD's validation rules

struct ChangedCase {
  const char* name;
  std::function<void(Json& spec)> prepare;  ///< changes the spec so that the Evacuation stays in the phase
  Phase phase;
};
class SpecChanged : public ForgedOrigin, public testing::WithParamInterface<ChangedCase> {};

TEST_P(SpecChanged, FailsItByName) {
  begin();
  budget("web", "web", 3);
  const std::string name = evacuate_as_operator(pods()[0], [&](Json& spec) {
    of_balance()(spec);
    GetParam().prepare(spec);
  });
  ASSERT_TRUE(run_until([&] { return phase(name) == GetParam().phase; }, base::minutes(20)))
      << api::to_string(phase(name)) << " " << get(name).status.message;
  EXPECT_EQ(condition(name, "OriginVerified"), "Signed");
  edit(kube::kEvacuations, name, [](Json& object) { object["spec"]["source"]["policy"] = "other"; });
  ASSERT_TRUE(run_to_end(name, base::minutes(10)));
  EXPECT_EQ(phase(name), Phase::kFailed);
  EXPECT_EQ(reason(name), "SpecChanged");
  EXPECT_THAT(get(name).status.message, HasSubstr("only suspend, priority and cancel may be changed"));
  EXPECT_FALSE(api::origin_is_verified(get(name))) << "and it is nobody's any more";
  EXPECT_TRUE(evictions().empty() || granted() == 0U);
}

INSTANTIATE_TEST_SUITE_P(
    InEachPhase, SpecChanged,
    testing::Values(ChangedCase{"Pending", [](Json& spec) { spec["suspend"] = true; }, Phase::kPending},
                    ChangedCase{"Requesting", [](Json&) {}, Phase::kRequesting},
                    ChangedCase{"Backoff",
                                [](Json& spec) {
                                  spec["timeouts"]["blockedSeconds"] = 5;
                                  spec["retry"] = {{"backoffSeconds", 600}, {"backoffMaxSeconds", 600}};
                                },
                                Phase::kBackoff}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(ForgedOrigin, ChangedWhileItsOwnerWorksFailsAndIsRolledBack) {
  stage(3, {{"handoff.evacuator.dev/mode", "required"}, {"simulator.evacuator.dev/handoff", "ack after 1s"}});
  start_operator();
  const std::string name = evacuate(pods()[0]);
  ASSERT_TRUE(run_until([&] { return get(name).status.request_sent_at.has_value(); }, seconds(60)));
  const std::string pod = get(name).spec.pod_ref.name;
  edit(kube::kEvacuations, name, [](Json& object) { object["spec"]["gracePeriodSeconds"] = 1; });
  ASSERT_TRUE(run_to_end(name, base::minutes(30)));
  EXPECT_EQ(phase(name), Phase::kFailed);
  EXPECT_EQ(reason(name), "SpecChanged");
  EXPECT_TRUE(pod_exists(pod));
  EXPECT_EQ(annotation(pod, "handoff.evacuator.dev/request"), "") << "our marks are taken off";
}

TEST_F(ForgedOrigin, ContinuesAfterPermittedChanges) {
  begin();
  const std::string name = evacuate_as_operator(pods()[0], of_balance({{"suspend", true}}));
  settle();
  patch_evacuation(name, {{"spec", {{"suspend", false}, {"priority", 9}}}});
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(phase(name), Phase::kSucceeded);
  EXPECT_EQ(condition(name, "OriginVerified"), "Signed");
}

TEST_F(ForgedOrigin, WhosePriorityWasRaisedOvertakesNoOther) {
  begin();
  const std::string name = evacuate_as_operator(pods()[0], of_balance({{"suspend", true}, {"priority", 1500}}));
  settle();
  patch_evacuation(name, {{"spec", {{"priority", 1'000'000'000}}}});
  settle();
  EXPECT_EQ(get(name).status.signed_priority, 1500);
  EXPECT_EQ(controllers::effective_priority(get(name), 1000), 1500);
  patch_evacuation(name, {{"spec", {{"suspend", false}}}});
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(phase(name), Phase::kSucceeded) << "it only counts for less";
}

TEST_F(ForgedOrigin, FilledInUidAndNodeAreNoChange) {
  begin();
  const std::string name = evacuate(pods()[0], [](Json& spec) { spec["podRef"].erase("uid"); });
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(phase(name), Phase::kSucceeded);
  EXPECT_THAT(get(name).status.spec_hash, HasSubstr("v1:"));
}

}  // namespace forged_origin_test
