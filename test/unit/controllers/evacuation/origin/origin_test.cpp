#include "controllers/evacuation/origin/origin.hpp"

#include <gtest/gtest.h>

#include "api/meta/well_known.hpp"
#include "api/origin.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"
#include "controllers/evacuation/origin/spec_hash.hpp"

namespace origin_test {

using namespace controllers;
using base::seconds;

const base::TimePoint kNoon = *base::parse_time("2026-11-21T12:00:00Z");
const std::string kOrigin(api::well_known::kOriginAnnotation);

crypto::Key key(char filler = 'k') { return *crypto::Key::from_bytes(std::string(crypto::Key::kBytes, filler)); }
crypto::KeyRing keys() { return {key(), key('p')}; }

api::Evacuation wanted() {
  api::Evacuation evacuation;
  evacuation.meta.ns = "shop";
  evacuation.meta.name = "web-1-7c1a8c1e";
  evacuation.meta.owner_references = {{"evacuator.dev/v1alpha1", "DeschedulerPolicy", "balance", "p-1", true}};
  evacuation.spec.pod_ref = {"web-1", {"7c1a8c1e"}};
  evacuation.spec.node_name = {"node-a"};
  evacuation.spec.source = {"balance", "PodLifeTime", "evacuator"};
  evacuation.spec.timeouts.verify = seconds(30);
  return evacuation;
}

/// Returns the object as the server shows it right after the operator created it.
api::Evacuation made() {
  api::Evacuation evacuation = with_origin(wanted(), key(), kNoon);
  evacuation.meta.uid = "e-1";
  evacuation.meta.creation_timestamp = kNoon;
  return evacuation;
}

const std::string& value(const api::Evacuation& of) { return of.meta.annotations.value(kOrigin); }

TEST(Origin, OfAnOperatorsEvacuationIsProved) {
  EXPECT_EQ(prove_origin(made(), keys()), OriginProof::kSigned);
  EXPECT_EQ(value(made()).substr(0, 3), "v1.");
  EXPECT_NE(value(made()).find("." + key().id() + ".1795262400."), std::string::npos) << value(made());
}

TEST(Origin, SurvivesPermittedChanges) {
  api::Evacuation evacuation = made();
  evacuation.spec.suspend = true;
  evacuation.spec.cancel = {true, "no"};
  EXPECT_EQ(prove_origin(evacuation, keys()), OriginProof::kSigned);
}

TEST(Origin, IsOfThePriorityThatWasSigned) {
  api::Evacuation raised = made();
  raised.spec.priority = 2'000'000'000;
  EXPECT_EQ(prove_origin(raised, keys()), OriginProof::kOtherObject);
}

TEST(Origin, SurvivesTheNodeThatIsFilledIn) {
  api::Evacuation unplaced = wanted();
  unplaced.spec.node_name = {};
  unplaced = with_origin(unplaced, key(), kNoon);
  unplaced.meta.creation_timestamp = kNoon;
  unplaced.spec.node_name = {"node-b"};
  EXPECT_EQ(prove_origin(unplaced, keys()), OriginProof::kSigned);
}

TEST(Origin, IsProvedByTheKeyBeforeToo) {
  api::Evacuation evacuation = with_origin(wanted(), key('p'), kNoon);
  evacuation.meta.creation_timestamp = kNoon;
  EXPECT_EQ(prove_origin(evacuation, keys()), OriginProof::kSigned);
  EXPECT_EQ(prove_origin(evacuation, {key(), {}}), OriginProof::kUnknownKey);
}

struct ChangedCase {
  const char* name;
  std::function<void(api::Evacuation&)> change;
  OriginProof want = OriginProof::kOtherObject;
};
class Changed : public testing::TestWithParam<ChangedCase> {};
TEST_P(Changed, CountsAsManual) {
  api::Evacuation evacuation = made();
  GetParam().change(evacuation);
  EXPECT_EQ(prove_origin(evacuation, keys()), GetParam().want) << value(evacuation);
  update_origin_condition(evacuation, nullptr);
  const crypto::KeyRing known = keys();
  update_origin_condition(evacuation, &known);
  EXPECT_FALSE(api::origin_is_verified(evacuation));
  EXPECT_EQ(api::policy_of(evacuation), "");
}
void annotate(api::Evacuation& of, const std::string& text) {
  of.meta.annotations = of.meta.annotations.with(kOrigin, text);
}
INSTANTIATE_TEST_SUITE_P(
    Evacuations, Changed,
    testing::Values(
        ChangedCase{"WithoutASignature", [](auto& of) { of.meta.annotations = of.meta.annotations.without(kOrigin); },
                    OriginProof::kNone},
        ChangedCase{"CopiedToAnotherName", [](auto& of) { of.meta.name = "web-2-7c1a8c1e"; }},
        ChangedCase{"CopiedToAnotherNamespace", [](auto& of) { of.meta.ns = "other"; }},
        ChangedCase{"CopiedToAnotherPod", [](auto& of) { of.spec.pod_ref.uid = {"8d2b9d2f"}; }},
        ChangedCase{"OfAnotherPolicyByItsOwner", [](auto& of) { of.meta.owner_references[0].uid = "p-2"; }},
        ChangedCase{"WithoutItsOwner", [](auto& of) { of.meta.owner_references.clear(); }},
        ChangedCase{"OfAnotherPolicyByItsSource", [](auto& of) { of.spec.source.policy = "other"; }},
        ChangedCase{"WithAnotherTimeout", [](auto& of) { of.spec.timeouts.verify = seconds(1); }},
        ChangedCase{"WithAnotherNode", [](auto& of) { of.spec.node_name = {"node-b"}; }},
        ChangedCase{"WithAnotherTarget",
                    [](auto& of) {
                      of.meta.annotations =
                          of.meta.annotations.with(api::well_known::kPredictedTargetAnnotation, "node-of-others");
                    }},
        ChangedCase{"WithASpecThatDoesNotDecode", [](auto& of) { of.spec_problem = "spec.more: unknown field"; }},
        ChangedCase{"ReplayedLater", [](auto& of) { of.meta.creation_timestamp = kNoon + seconds(61); },
                    OriginProof::kOtherTime},
        ChangedCase{"SignedAheadOfItsTime", [](auto& of) { of.meta.creation_timestamp = kNoon - seconds(61); },
                    OriginProof::kOtherTime},
        ChangedCase{"WithAForgedTime",
                    [](auto& of) {
                      of.meta.creation_timestamp = kNoon + seconds(3600);
                      std::string text = value(of);
                      text.replace(text.find(".1795262400."), 12, ".1795266000.");
                      annotate(of, text);
                    }},
        ChangedCase{"WithAForgedSignature",
                    [](auto& of) {
                      std::string text = value(of);
                      text.back() = text.back() == '0' ? '1' : '0';
                      annotate(of, text);
                    }},
        ChangedCase{"WithHalfASignature", [](auto& of) { annotate(of, value(of).substr(0, value(of).size() / 2)); },
                    OriginProof::kOtherObject},
        ChangedCase{"WithAnotherKey",
                    [](auto& of) { of.meta.annotations = with_origin(wanted(), key('x'), kNoon).meta.annotations; },
                    OriginProof::kUnknownKey},
        ChangedCase{"WithAnotherVersion", [](auto& of) { annotate(of, "v2" + value(of).substr(2)); },
                    OriginProof::kMalformed},
        ChangedCase{"WithOneMorePart", [](auto& of) { annotate(of, value(of) + ".1"); }, OriginProof::kMalformed},
        ChangedCase{"WithAWordForATime", [](auto& of) { annotate(of, "v1." + key().id() + ".soon.00"); },
                    OriginProof::kMalformed},
        ChangedCase{"WithATimeBeyondAllTimes",
                    [](auto& of) { annotate(of, "v1." + key().id() + ".99999999999999999999.00"); },
                    OriginProof::kMalformed},
        ChangedCase{"WithNothingInIt", [](auto& of) { annotate(of, ""); }, OriginProof::kMalformed},
        ChangedCase{"WithDotsOnly", [](auto& of) { annotate(of, "..."); }, OriginProof::kMalformed},
        ChangedCase{"WithoutAPodsUid", [](auto& of) { of.spec.pod_ref.uid = {}; }, OriginProof::kMalformed}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Origin, CountsUpToTheEdgeOfItsWindow) {
  for (const seconds apart : {seconds(60), seconds(-60)}) {
    api::Evacuation evacuation = made();
    evacuation.meta.creation_timestamp = kNoon + apart;
    EXPECT_EQ(prove_origin(evacuation, keys()), OriginProof::kSigned);
  }
}

TEST(SettledOrigin, IsKnownBeforeItIsStored) {
  api::Evacuation evacuation = made();
  update_origin_condition(evacuation, nullptr);
  EXPECT_TRUE(origin_is_undecided(evacuation)) << "without keys nobody can tell";
  const crypto::KeyRing known = keys();
  update_origin_condition(evacuation, &known);
  EXPECT_TRUE(api::origin_is_verified(evacuation));
  EXPECT_EQ(api::policy_of(evacuation), "balance");
  EXPECT_EQ(api::claimed_policy_of(evacuation), "");
}

TEST(SettledOrigin, StaysWhateverBecomesOfTheKeys) {
  api::Evacuation evacuation = made();
  const crypto::KeyRing known = keys();
  update_origin_condition(evacuation, &known);
  evacuation.status.spec_hash = spec_hash(evacuation.spec);
  const api::Evacuation before = evacuation;
  const crypto::KeyRing others{key('x'), {}};
  update_origin_condition(evacuation, &others);
  EXPECT_EQ(evacuation, before);
}

TEST(SettledOrigin, DoesNotChangeAfterAVerdict) {
  api::Evacuation evacuation = made();
  api::Condition judged;
  judged.type = to_string(api::ConditionType::kOriginVerified);
  judged.status = api::ConditionStatus::kFalse;
  evacuation.status.conditions = {judged};
  const crypto::KeyRing known = keys();
  update_origin_condition(evacuation, &known);
  EXPECT_FALSE(api::origin_is_verified(evacuation));
}

TEST(SettledOrigin, IsLostWithTheSpecThatWasAccepted) {
  api::Evacuation evacuation = made();
  const crypto::KeyRing known = keys();
  update_origin_condition(evacuation, &known);
  evacuation.status.spec_hash = spec_hash(evacuation.spec);
  evacuation.spec.source.policy = "other";
  update_origin_condition(evacuation, &known);
  EXPECT_FALSE(api::origin_is_verified(evacuation));
  EXPECT_EQ(evacuation.status.conditions.size(), 1U);
  EXPECT_EQ(evacuation.status.conditions[0].reason, "SpecChanged");
  EXPECT_EQ(api::claimed_policy_of(evacuation), "other");
}

// --- a stored condition is a claim: any user with write access to the status may write it

api::Evacuation claimed(api::Evacuation evacuation) {
  mark_origin_verified(evacuation);
  evacuation.meta.uid = "e-1";
  evacuation.status.spec_hash = spec_hash(evacuation.spec);
  evacuation.status.signed_priority = evacuation.spec.priority;
  return evacuation;
}

struct ClaimCase {
  const char* name;
  std::function<void(api::Evacuation&)> change;
  std::string reason;  ///< expected reason of the condition, empty if the origin is undecided
};
class ClaimedOrigin : public testing::TestWithParam<ClaimCase> {};

TEST_P(ClaimedOrigin, IsProvedAgainByEachProcess) {
  base::ManualClock clock{kNoon};
  OriginMemory memory(clock);
  const crypto::KeyRing known = keys();
  api::Evacuation evacuation = claimed(made());
  GetParam().change(evacuation);
  update_origin_condition(evacuation, &known, &memory);
  const auto& conditions = evacuation.status.conditions;
  EXPECT_EQ(conditions.empty() ? "" : conditions.at(0).reason, GetParam().reason);
  EXPECT_EQ(api::origin_is_verified(evacuation), GetParam().reason == "Signed");
}

INSTANTIATE_TEST_SUITE_P(
    SettledOrigin, ClaimedOrigin,
    testing::Values(
        ClaimCase{"AsItWasSigned", [](auto&) {}, "Signed"},
        ClaimCase{"WithAnotherPriority", [](auto& of) { of.spec.priority = 7; }, "Signed"},
        ClaimCase{"WithAPriorityThatNobodySigned",
                  [](auto& of) { of.spec.priority = of.status.signed_priority.emplace(1'000'000'000); }, "NotSigned"},
        ClaimCase{"WithoutASignature", [](auto& of) { of.meta.annotations = {}; }, "NotSigned"},
        ClaimCase{"OfAnotherPod", [](auto& of) { of.spec.pod_ref.uid = {"other"}; }, "NotSigned"},
        ClaimCase{"OfAnotherTime", [](auto& of) { of.meta.creation_timestamp += seconds(61); }, "NotSigned"},
        ClaimCase{"OfAKeyThatIsGone", [](auto& of) { of = claimed(with_origin(std::move(of), key('x'), kNoon)); }, ""}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(SettledOrigin, OnceProvedStaysWithThePriorityThatWasSigned) {
  base::ManualClock clock{kNoon};
  OriginMemory memory(clock);
  const crypto::KeyRing known = keys();
  api::Evacuation evacuation = claimed(made());
  const std::int32_t as_signed = evacuation.spec.priority;
  update_origin_condition(evacuation, &known, &memory);
  evacuation.spec.priority = evacuation.status.signed_priority.emplace(1'000'000'000);
  evacuation.status.spec_hash = {};
  const crypto::KeyRing others{key('x'), {}};
  update_origin_condition(evacuation, &others, &memory);
  EXPECT_TRUE(api::origin_is_verified(evacuation)) << "keys are rotated";
  EXPECT_EQ(evacuation.status.signed_priority, as_signed);
  memory.forget("e-1");
  update_origin_condition(evacuation, &known, &memory);
  EXPECT_TRUE(api::origin_is_verified(evacuation)) << "by its signature again";
}

/// A user with write access to spec and status changes both.
TEST(SettledOrigin, OnceProvedIsLostWithTheSpecThatWasSigned) {
  base::ManualClock clock{kNoon};
  OriginMemory memory(clock);
  const crypto::KeyRing known = keys();
  api::Evacuation evacuation = claimed(made());
  update_origin_condition(evacuation, &known, &memory);
  ASSERT_TRUE(api::origin_is_verified(evacuation));
  evacuation.spec.source.policy = "other";
  evacuation.status.spec_hash = spec_hash(evacuation.spec);
  update_origin_condition(evacuation, &known, &memory);
  EXPECT_FALSE(api::origin_is_verified(evacuation));
  EXPECT_EQ(evacuation.status.conditions.at(0).reason, "NotSigned");
}

TEST(SettledOrigin, IsOpenAgainWhileThereAreNoKeys) {
  base::ManualClock clock{kNoon};
  OriginMemory memory(clock);
  api::Evacuation evacuation = claimed(made());
  update_origin_condition(evacuation, nullptr, &memory);
  EXPECT_TRUE(origin_is_undecided(evacuation));
  const crypto::KeyRing known = keys();
  update_origin_condition(evacuation, &known, &memory);
  EXPECT_TRUE(api::origin_is_verified(evacuation));
}

/// A user with write access to the object can falsify forecasts, and nothing else.
TEST(SettledOrigin, DoesNotHangOnTheTargetOnceItWasAccepted) {
  api::Evacuation evacuation = made();
  const crypto::KeyRing known = keys();
  update_origin_condition(evacuation, &known);
  evacuation.status.spec_hash = spec_hash(evacuation.spec);
  evacuation.meta.annotations =
      evacuation.meta.annotations.with(api::well_known::kPredictedTargetAnnotation, "node-of-others");
  update_origin_condition(evacuation, &known);
  EXPECT_TRUE(api::origin_is_verified(evacuation));
  EXPECT_EQ(api::policy_of(evacuation), "balance");
}

// --- hash of the spec

TEST(SpecHash, CoversImmutableFields) {
  const std::string hash = spec_hash(wanted().spec);
  api::EvacuationSpec spec = wanted().spec;
  spec.priority = 3;
  spec.suspend = true;
  spec.cancel.requested = true;
  EXPECT_EQ(spec_hash(spec), hash);
  spec.on_timeout = api::OnTimeout::kFail;
  EXPECT_NE(spec_hash(spec), hash);
}

/// Golden values. A different hash would fail every Evacuation that is in flight during an upgrade. Fields added in a
/// new version must not change it.
TEST(SpecHash, IsTheSameInEveryVersion) {
  EXPECT_EQ(spec_hash({}), "v1:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a") << "of {}";
  EXPECT_EQ(spec_hash(wanted().spec), "v1:18d1a0bf645cb8fc631d705c2d23d88c67d1ab97dd2f001bf717770e682ff382");
}

TEST(SpecHash, FitsTheSpecBeforeItsNodeWasFilledIn) {
  api::EvacuationSpec spec = wanted().spec;
  const std::string full = spec_hash(spec);
  spec.node_name = {};
  const std::string unfilled = spec_hash(spec);
  EXPECT_TRUE(has_spec_hash(wanted().spec, unfilled));
  EXPECT_FALSE(has_spec_hash(spec, full)) << "a node cannot be taken out again";
  spec.node_name = {"node-z"};
  EXPECT_FALSE(has_spec_hash(spec, full));
}

TEST(SpecHash, OfAnUnknownFormIsNoChange) { EXPECT_TRUE(has_spec_hash(wanted().spec, "v9:00")); }

// --- clock skew

struct SkewCase {
  const char* name;
  seconds created;
  seconds want;
};
class Skew : public testing::TestWithParam<SkewCase> {};
TEST_P(Skew, IsTheUnexplainedDifference) {
  EXPECT_EQ(clock_skew(kNoon, kNoon + seconds(5), kNoon + GetParam().created), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(Of, Skew,
                         testing::Values(SkewCase{"AnObjectMadeMeanwhile", seconds(3), seconds(0)},
                                         SkewCase{"WholeSeconds", seconds(-1), seconds(0)},
                                         SkewCase{"AServerAhead", seconds(45), seconds(40)},
                                         SkewCase{"AServerBehind", seconds(-46), seconds(-45)}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Skew, IsReportedFromThirtySecondsOn) {
  EXPECT_EQ(clock_skew_warning(seconds(29)), "");
  EXPECT_NE(clock_skew_warning(seconds(31)).find("31s ahead of"), std::string::npos);
  EXPECT_NE(clock_skew_warning(seconds(-90)).find("90s behind"), std::string::npos);
}

TEST(Skew, IsReadFromTheServersAnswer) {
  const std::string answer = R"({"metadata":{"name":"a","creationTimestamp":"2026-11-21T12:01:00Z"}})";
  EXPECT_EQ(clock_skew(kNoon, kNoon, std::string_view(answer)), seconds(60));
  EXPECT_EQ(clock_skew(kNoon, kNoon, std::string_view("{}")), seconds(0));
  EXPECT_EQ(clock_skew(kNoon, kNoon, std::string_view("<html>")), seconds(0));
}

}  // namespace origin_test
