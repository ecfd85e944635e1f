#include "controllers/policy/admission_rules.hpp"

#include <gtest/gtest.h>

namespace controllers {
namespace limits_in_force_test {

const base::TimePoint kNoon = *base::parse_time("2026-11-21T12:00:00Z");  // a Saturday

ObservedPolicy policy(const std::string& spec) {
  const auto seen = decode_observed_policy(
      R"({"apiVersion":"evacuator.dev/v1alpha1","kind":"DeschedulerPolicy","metadata":{"name":"p","uid":"u"},"spec":)" +
      spec + "}");
  EXPECT_TRUE(seen) << seen.error().message;
  return seen ? *seen : ObservedPolicy{};
}
const std::string kLimited = R"("limits":{"inFlight":{"total":3}})";

struct BrakeCase {
  const char* name;
  const char* spec;
  const char* want;
};
class PolicyBrake : public testing::TestWithParam<BrakeCase> {};

TEST_P(PolicyBrake, HoldsWaitingEvacuations) {
  PolicyLimitsInForce known;
  EXPECT_EQ(known.take(policy(GetParam().spec), kNoon).hold_reason, GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(
    Policies, PolicyBrake,
    testing::Values(
        BrakeCase{"Automatic", R"({"mode":"Automatic"})", ""}, BrakeCase{"Manual", R"({"mode":"Manual"})", ""},
        BrakeCase{"DryRun", R"({"mode":"DryRun"})", "policy p is in mode DryRun: its Evacuations are not admitted"},
        BrakeCase{"Suspended", R"({"mode":"Automatic","suspend":true})",
                  "policy p is suspended: its Evacuations are not admitted"},
        BrakeCase{"InAWeeklyBlackout",
                  R"({"schedule":{"blackouts":[{"start":"11:00","end":"13:00"}]},)"
                  R"("mode":"Automatic"})",
                  "policy p is inside a blackout: its Evacuations are not admitted"},
        BrakeCase{"AfterABlackout",
                  R"({"schedule":{"blackouts":[{"start":"11:00","end":"12:00"}]},)"
                  R"("mode":"Automatic"})",
                  ""},
        BrakeCase{"OutsideOfAWindow",
                  R"({"schedule":{"windows":[{"start":"22:00","end":"23:00"}]},)"
                  R"("mode":"Automatic"})",
                  ""},
        BrakeCase{"InABlackoutOfAnUnknownZone",
                  R"({"schedule":{"timeZone":"Mars/Base",)"
                  R"("blackouts":[{"start":"22:00","end":"23:00"}]},"mode":"Automatic"})",
                  "spec.schedule of policy p is invalid: its Evacuations are not admitted"},
        BrakeCase{
            "WithABlackoutInASpecThatDoesNotDecode",
            R"({"schedule":{"blackouts":[{"start":"22:00","end":"23:00"}]},)"
            R"("mode":"Automatic","strategies":7})",
            "the spec of policy p, with its blackouts and gates, cannot be read: its Evacuations are not admitted"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(PolicyLimitsInForce, AnOpenCircuitIsABrake) {
  ObservedPolicy open = policy(R"({"mode":"Automatic"})");
  open.status.circuit.opened_at = base::TimePoint{};
  EXPECT_EQ(PolicyLimitsInForce().take(open, kNoon).hold_reason,
            "the circuit breaker of policy p is open: its Evacuations are not admitted");
}

TEST(PolicyLimitsInForce, APendingDeletionIsABrake) {
  ObservedPolicy doomed = policy(R"({"mode":"Automatic"})");
  doomed.meta.deletion_timestamp = base::TimePoint{} + base::seconds(1);
  EXPECT_EQ(PolicyLimitsInForce().take(doomed, kNoon).hold_reason,
            "policy p is being deleted: its Evacuations are not admitted");
}

TEST(PolicyLimitsInForce, AGateThatHoldsIsABrake) {
  const GateVerdict holds{GateVerdict::Kind::kHolds, false, "gate freeze holds: a freeze"};
  EXPECT_EQ(PolicyLimitsInForce().take(policy(R"({"mode":"Automatic"})"), kNoon, holds).hold_reason,
            "gate freeze holds: a freeze: Evacuations of policy p are not admitted");
}

TEST(PolicyLimitsInForce, ASpecThatDoesNotDecodeKeepsTheLimitsThatDo) {
  PolicyLimitsInForce known;
  const auto now = known.take(policy(R"({"mode":"Automatic","strategies":7,)" + kLimited + "}"), kNoon);
  EXPECT_EQ(now.limits.in_flight.total, (api::IntOrPercent{3, false}));
  EXPECT_EQ(now.hold_reason, "");
}

TEST(PolicyLimitsInForce, LimitsThatDoNotDecodeAreThoseReadLast) {
  PolicyLimitsInForce known;
  known.take(policy(R"({"mode":"Automatic",)" + kLimited + "}"), kNoon);
  const auto broken = policy(R"({"mode":"Automatic","limits":{"inFlight":{"total":"many"}}})");
  EXPECT_FALSE(broken.limits_are_readable);
  EXPECT_EQ(known.take(broken, kNoon).limits.in_flight.total, (api::IntOrPercent{3, false}));
  EXPECT_EQ(known.take(broken, kNoon).hold_reason, "");
  known.forget("p");
  EXPECT_NE(known.take(broken, kNoon).hold_reason.find("the limits of policy p cannot be read: "), std::string::npos)
      << "a new leader has never read them: nothing is admitted";
}

}  // namespace limits_in_force_test
}  // namespace controllers
