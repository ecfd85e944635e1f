#include "controllers/admission/cooldown.hpp"
#include "test/builders/origin.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace cooldown_test {

using api::EvacuationPhase;
using base::minutes;
using controllers::CooldownLedger;
using std::chrono::hours;
using testing::ElementsAre;
using testing::IsEmpty;

const base::TimePoint kNoon{std::chrono::sys_days(std::chrono::year(2026) / 11 / 21) + hours(12)};
const api::CooldownLimits kVms{.pod = {}, .virtual_machine = minutes(15), .workload = {}};

struct CooledCase {
  std::string name;
  std::string subject;
  std::vector<base::Duration> ago;  ///< ages of the evacuations at noon, oldest first
  api::CooldownLimits limits;
  std::optional<base::Duration> wants;  ///< expected end of the cooldown, relative to noon; nullopt if no cooldown is
                                        ///< expected
};
class CooledAt : public testing::TestWithParam<CooledCase> {};

TEST_P(CooledAt, ReturnsTheEndOfTheCooldown) {
  const auto& [name, subject, ago, limits, wants] = GetParam();
  std::vector<base::TimePoint> times;
  for (const base::Duration each : ago) times.push_back(kNoon - each);
  const auto got = controllers::cooldown_end(subject, times, limits);
  EXPECT_EQ(got, wants ? std::optional(kNoon + *wants) : std::nullopt);
}

const api::CooldownLimits kEach{.pod = minutes(1), .virtual_machine = minutes(15), .workload = minutes(5)};
INSTANTIATE_TEST_SUITE_P(
    Cooldown, CooledAt,
    testing::Values(CooledCase{"NothingForWhatNeverMoved", "vm/a/b", {}, kVms, {}},
                    CooledCase{"TheBaseAfterTheFirst", "vm/a/b", {minutes(0)}, kVms, minutes(15)},
                    CooledCase{"TwiceThatAfterTheSecond", "vm/a/b", {hours(1), minutes(0)}, kVms, minutes(30)},
                    CooledCase{"AndAgainAfterTheThird", "vm/a/b", {hours(9), hours(1), minutes(0)}, kVms, hours(1)},
                    CooledCase{"NeverMoreThanTheMaximum",
                               "vm/a/b",
                               {hours(6), hours(5), hours(4), hours(3), hours(2), hours(1), minutes(0)},
                               kVms,
                               hours(6)},
                    CooledCase{"ForgetsWhatIsBeforeTheWindow", "vm/a/b", {hours(48), minutes(0)}, kVms, minutes(15)},
                    CooledCase{
                        "CountsTheWindowFromTheNewest", "vm/a/b", {hours(50), hours(3)}, kVms, -hours(3) + minutes(30)},
                    CooledCase{"NothingForKindsWithoutALimit", "pod/a/b", {minutes(0)}, kVms, {}},
                    CooledCase{"PodsHaveTheirOwn", "pod/a/b", {minutes(0)}, kEach, minutes(1)},
                    CooledCase{"WorkloadsHaveTheirOwn", "workload/a/b", {minutes(1), minutes(0)}, kEach, minutes(10)},
                    CooledCase{"ZeroIsNone",
                               "pod/a/b",
                               {minutes(0)},
                               {.pod = base::Duration(0), .virtual_machine = {}, .workload = {}},
                               {}}),
    [](const auto& test) { return test.param.name; });

api::Evacuation finished(base::TimePoint when, std::string vm = "db-1", const std::string& policy = "balance") {
  api::Evacuation evacuation;
  evacuation.meta.ns = "shop";
  evacuation.meta.name = "launcher-1";
  evacuation.spec.pod_ref = {"virt-launcher-" + vm, {"uid-" + base::format_time(when)}};
  builders::set_policy(evacuation, policy);
  evacuation.status.phase = EvacuationPhase::kSucceeded;
  evacuation.status.attempt = 1;
  evacuation.status.finished_at = when;
  evacuation.status.outcome = api::EvacuationOutcome{api::OutcomeKind::kMigrated, {}, {}};
  evacuation.status.pod_owner =
      api::OwnerReference{"kubevirt.io/v1", "VirtualMachineInstance", vm, "vmi-uid-" + vm, true};
  return evacuation;
}

api::Evacuation changed(const std::function<void(api::Evacuation&)>& change) {
  api::Evacuation evacuation = finished(kNoon);
  change(evacuation);
  return evacuation;
}

TEST(StartsCooldown, OnlyMovesAndAttempts) {
  using api::OutcomeKind;
  const auto ends = [](EvacuationPhase phase, std::optional<OutcomeKind> kind, bool asked) {
    return changed([&](api::Evacuation& each) {
      each.status.phase = phase;
      if (asked) each.status.request_sent_at = kNoon;
      each.status.outcome.reset();
      if (kind) each.status.outcome = api::EvacuationOutcome{*kind, {}, {}};
    });
  };
  EXPECT_TRUE(controllers::starts_cooldown(ends(EvacuationPhase::kSucceeded, OutcomeKind::kEvicted, true)));
  EXPECT_TRUE(controllers::starts_cooldown(ends(EvacuationPhase::kSucceeded, OutcomeKind::kMovedByOwner, true)));
  EXPECT_FALSE(controllers::starts_cooldown(ends(EvacuationPhase::kSucceeded, OutcomeKind::kGoneExternally, false)));
  EXPECT_FALSE(controllers::starts_cooldown(ends(EvacuationPhase::kSucceeded, OutcomeKind::kDryRun, true)));
  EXPECT_TRUE(controllers::starts_cooldown(ends(EvacuationPhase::kFailed, std::nullopt, true)));
  EXPECT_FALSE(controllers::starts_cooldown(ends(EvacuationPhase::kFailed, std::nullopt, false)))
      << "nobody was bothered";
  EXPECT_FALSE(controllers::starts_cooldown(ends(EvacuationPhase::kCancelled, std::nullopt, true)));
  EXPECT_FALSE(controllers::starts_cooldown(ends(EvacuationPhase::kEvicting, OutcomeKind::kEvicted, true)));
  EXPECT_FALSE(controllers::starts_cooldown(changed([](api::Evacuation& each) { each.spec.dry_run = true; })));
  EXPECT_FALSE(controllers::starts_cooldown(changed([](api::Evacuation& each) { each.status.attempt = 0; })));
}

TEST(CooldownSubjects, AreTheSameOfThePodAndOfItsEvacuation) {
  api::Pod pod;
  pod.meta.ns = "shop";
  pod.meta.name = "virt-launcher-db-1";
  pod.meta.owner_references = {{"kubevirt.io/v1", "VirtualMachineInstance", "db-1", "vmi-uid-db-1", true}};
  const auto of_pod = controllers::cooldown_subjects(pod);
  EXPECT_THAT(of_pod, ElementsAre("vm/shop/db-1", "workload/shop/vmi-uid-db-1"));
  EXPECT_EQ(controllers::cooldown_subjects(finished(kNoon), nullptr), of_pod);
  const auto unknown_owner = changed([](api::Evacuation& each) { each.status.pod_owner.reset(); });
  EXPECT_EQ(controllers::cooldown_subjects(unknown_owner, &pod), of_pod);
  pod.meta.owner_references.clear();
  EXPECT_THAT(controllers::cooldown_subjects(pod), ElementsAre("pod/shop/virt-launcher-db-1"));
  const auto grouped = changed([](api::Evacuation& each) { each.spec.concurrency_group = "team"; });
  EXPECT_THAT(controllers::cooldown_subjects(grouped, nullptr), ElementsAre("vm/shop/db-1", "workload/shop/team"));
}

TEST(CooldownLedger, CountsEachEvacuationOnce) {
  CooldownLedger ledger(kVms);
  for (int i = 0; i < 3; ++i) ledger.note(finished(kNoon));
  const auto cooling = ledger.cooling({"vm/shop/db-1"}, "balance", kNoon);
  ASSERT_TRUE(cooling);
  EXPECT_EQ(cooling->count, 1U);
  EXPECT_EQ(cooling->until, kNoon + minutes(15));
  EXPECT_FALSE(ledger.cooling({"vm/shop/db-1"}, "balance", kNoon + minutes(15)));
  EXPECT_FALSE(ledger.cooling({"vm/shop/db-2", "workload/shop/vmi-uid-db-1"}, "balance", kNoon));
}

TEST(CooldownLedger, TheLongerOfClusterAndPolicyHolds) {
  CooldownLedger ledger(kVms);
  ledger.set_policy_limits("gentle", api::CooldownLimits{.pod = {}, .virtual_machine = hours(1), .workload = {}});
  ledger.set_policy_limits("hasty", api::CooldownLimits{.pod = {}, .virtual_machine = minutes(1), .workload = {}});
  ledger.note(finished(kNoon));
  const auto until = [&](const char* policy) { return ledger.cooling({"vm/shop/db-1"}, policy, kNoon)->until; };
  EXPECT_EQ(until("gentle"), kNoon + hours(1));
  EXPECT_EQ(until("hasty"), kNoon + minutes(15));
  EXPECT_EQ(until("unknown"), kNoon + minutes(15));
}

TEST(CooldownLedger, RecordsItsOwnAndManualOnesAsLongAsTheyMatter) {
  CooldownLedger ledger(kVms);
  ledger.note(finished(kNoon, "db-1"));
  ledger.note(finished(kNoon + minutes(1), "db-2", ""));
  ledger.note(finished(kNoon + minutes(2), "db-3", "another"));
  const auto records = ledger.records("balance", kNoon + hours(1));
  EXPECT_THAT(records, ElementsAre(api::CooldownRecord{"vm/shop/db-1", {kNoon}},
                                   api::CooldownRecord{"vm/shop/db-2", {kNoon + minutes(1)}}))
      << "no limit asks for workloads";
  EXPECT_THAT(ledger.records("balance", kNoon + hours(49)), IsEmpty());
}

TEST(CooldownLedger, ANewLeaderKnowsWhatTheStatusRemembers) {
  CooldownLedger before(kVms);
  before.note(finished(kNoon - hours(2)));
  before.note(finished(kNoon));
  CooldownLedger after(kVms);
  after.restore("balance", before.records("balance", kNoon));
  after.note(finished(kNoon));  // the object still exists and is noted a second time
  const auto cooling = after.cooling({"vm/shop/db-1"}, "balance", kNoon);
  ASSERT_TRUE(cooling);
  EXPECT_EQ(cooling->until, kNoon + minutes(30));
  EXPECT_EQ(after.records("balance", kNoon), before.records("balance", kNoon)) << "an unchanged status is not written";
}

/// A cooldown that starts at a time in the future counts from the time of the first call and does not move with the
/// clock.
TEST(CooldownLedger, DoesNotBelieveAClockThatWasAhead) {
  CooldownLedger ledger({.pod = base::minutes(5), .virtual_machine = {}, .workload = {}});
  const api::CooldownRecord wrong{"pod/shop/db-0", {kNoon + std::chrono::hours(720)}};
  ledger.restore("p", {wrong});
  const auto until = [&](base::TimePoint now) {
    const auto cooling = ledger.cooling({"pod/shop/db-0"}, "", now);
    return cooling ? cooling->until - kNoon : base::Duration::zero();
  };
  EXPECT_EQ(until(kNoon), base::Duration(base::minutes(5)));
  ledger.restore("p", {wrong});  // the policy's status still has the wrong time
  EXPECT_EQ(until(kNoon + base::minutes(2)), base::Duration(base::minutes(5)));
  EXPECT_EQ(until(kNoon + base::minutes(5)), base::Duration::zero());
  ledger.restore("p", {{"pod/shop/db-0", {kNoon + base::seconds(20)}}});  // corrected time of the same evacuation
  EXPECT_EQ(until(kNoon + base::minutes(2)), base::Duration(base::minutes(5))) << "counted once";
  ASSERT_EQ(ledger.records("p", kNoon + base::minutes(2)).size(), 1U);
  EXPECT_EQ(ledger.records("p", kNoon + base::minutes(2))[0].times, std::vector{kNoon});
}

TEST(CooldownLedger, RecordsAreBounded) {
  CooldownLedger ledger(kVms);
  for (int i = 0; i < 600; ++i) ledger.note(finished(kNoon + base::seconds(i), fmt::format("vm-{:04}", i)));
  for (int i = 0; i < 20; ++i) ledger.note(finished(kNoon + minutes(20 + i), "restless"));
  const auto records = ledger.records("balance", kNoon + hours(1));
  ASSERT_EQ(records.size(), api::kMaxCooldowns);
  EXPECT_EQ(records.front().subject, "vm/shop/restless");
  EXPECT_EQ(records.front().times.size(), api::kMaxCooldownTimes);
  EXPECT_EQ(records.back().subject, "vm/shop/vm-0599") << "the newest ones are kept";
}

/// Property: whatever the order of events and restarts, two evacuations of one VM are at least its cooldown apart.
TEST(CooldownLedger, HoldsAcrossRestartsWhateverHappens) {
  std::mt19937 random(11);
  auto ledger = std::make_unique<CooldownLedger>(kVms);
  std::vector<api::CooldownRecord> status;
  std::map<int, std::vector<base::TimePoint>> moved;
  base::TimePoint now = kNoon;
  for (int step = 0; step < 5'000; ++step) {
    now += base::seconds(random() % 300);
    const int n = static_cast<int>(random() % 7);
    const std::string subject = fmt::format("vm/shop/vm-{}", n);
    if (random() % 40 == 0) {
      ledger = std::make_unique<CooldownLedger>(kVms);
      ledger->restore("balance", status);
    }
    if (ledger->cooling({subject}, "balance", now)) continue;
    auto& times = moved[n];
    if (const auto until = controllers::cooldown_end(subject, times, kVms)) {
      ASSERT_GE(now, std::chrono::floor<base::seconds>(*until)) << subject;
    }
    times.push_back(now);
    if (times.size() > api::kMaxCooldownTimes) times.erase(times.begin());
    ledger->note(finished(now, fmt::format("vm-{}", n)));
    status = ledger->records("balance", now);
  }
}

}  // namespace cooldown_test
