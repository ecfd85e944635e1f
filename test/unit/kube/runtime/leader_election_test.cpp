#include "kube/runtime/leader_election.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "test/unit/kube/lease_server.hpp"

namespace kube {
namespace leader_election_test {

using api::Json;
using base::Duration;
using base::ErrorCode;
using base::seconds;
using ::testing::ElementsAre;
using testing::json_response;
using testing::LeaseServer;

LeaderOptions options_for(const std::string& identity) {
  LeaderOptions options;
  options.identity = identity;
  return options;
}

SeenLease seen(const std::string& holder, Duration changed_at, int lease_seconds = 15) {
  return {{holder, seconds(lease_seconds), "t", 0, "1"}, changed_at};
}

struct MoveCase {
  const char* name;
  std::optional<SeenLease> lease;
  bool leading;
  int now_s;
  LeaseMove want;
};
class DecideLeaseTest : public ::testing::TestWithParam<MoveCase> {};

TEST_P(DecideLeaseTest, Moves) {
  const MoveCase& c = GetParam();
  EXPECT_EQ(decide(c.lease, options_for("me"), c.leading, seconds(c.now_s)), c.want);
}

INSTANTIATE_TEST_SUITE_P(
    Leader, DecideLeaseTest,
    ::testing::Values(
        MoveCase{"CreatesWhatIsMissing", std::nullopt, false, 0, LeaseMove::kCreate},
        MoveCase{"RecreatesItsOwnWhenDeleted", std::nullopt, true, 0, LeaseMove::kCreate},
        MoveCase{"TakesAReleasedOne", seen("", seconds(100)), false, 100, LeaseMove::kAcquire},
        MoveCase{"RenewsItsOwn", seen("me", seconds(100)), true, 102, LeaseMove::kRenew},
        MoveCase{"RenewsItsOwnEvenWhenLate", seen("me", seconds(100)), false, 900, LeaseMove::kRenew},
        MoveCase{"WaitsForALivingHolder", seen("other", seconds(100)), false, 114, LeaseMove::kWait},
        MoveCase{"TakesItFromADeadHolder", seen("other", seconds(100)), false, 115, LeaseMove::kAcquire},
        MoveCase{"WaitsForAMorePatientHolder", seen("other", seconds(100), 60), false, 159, LeaseMove::kWait},
        MoveCase{"TakesItFromAMorePatientHolder", seen("other", seconds(100), 60), false, 160, LeaseMove::kAcquire},
        MoveCase{"KeepsItsOwnPatienceWithAHastyRecord", seen("other", seconds(100), 0), false, 114, LeaseMove::kWait},
        MoveCase{"DoesNotWaitForNonsense", seen("other", seconds(100), 1'000'000), false, 400, LeaseMove::kAcquire},
        MoveCase{"NoticesThatItLost", seen("other", seconds(100)), true, 100, LeaseMove::kLost}),
    [](const auto& test) { return test.param.name; });

TEST(ObserveLease, CountsFromTheLastRenewal) {
  LeaseRecord record{"other", seconds(15), "t1", 3, "10"};
  auto first = observe(std::nullopt, record, seconds(50));
  EXPECT_EQ(first.changed_at, seconds(50));
  record.resource_version = "11";  // Another client changed a label
  EXPECT_EQ(observe(first, record, seconds(60)).changed_at, seconds(50));
  record.renew_time = "t2";
  EXPECT_EQ(observe(first, record, seconds(60)).changed_at, seconds(60));
}

TEST(DecodeLease, SurvivesWrongTypes) {
  for (const char* lie :
       {R"({"spec":7})", R"({"spec":{"holderIdentity":{},"leaseDurationSeconds":"x","renewTime":1}})", "{}"}) {
    const auto got = decode_lease(lie);
    ASSERT_TRUE(got) << lie;
    EXPECT_EQ(got->holder, "");
  }
  EXPECT_FALSE(decode_lease("nonsense"));
  EXPECT_EQ(decode_lease(R"({"spec":{"leaseDurationSeconds":-5,"leaseTransitions":99999999999}})")->duration,
            seconds(0));
}

TEST(CheckLeaderOptions, RefusesWhatCouldGiveTwoLeaders) {
  EXPECT_EQ(check(options_for("me")), std::nullopt);
  EXPECT_TRUE(check(options_for("")));
  LeaderOptions slow = options_for("me");
  slow.renew_deadline = slow.lease_duration;
  EXPECT_TRUE(check(slow));
  LeaderOptions hasty = options_for("me");
  hasty.retry_period = base::milliseconds(0);
  EXPECT_TRUE(check(hasty));
}

class LeaderTest : public ::testing::Test {
 protected:
  struct Member {
    Member(LeaderTest& test, const std::string& name)
        : client(test.server.transport, nullptr),
          elector(client, test.clock, options_for(name),
                  {[this] { told.push_back("started"); }, [this] { told.push_back("stopped"); }}, base::Log(),
                  [&test] { return test.local; }) {}
    Client client;
    std::vector<std::string> told;
    LeaderElector elector;
  };
  void pass(Duration by) {
    local += by;
    clock.advance(by);
  }
  LeaseServer server;
  base::ManualClock clock{base::TimePoint{} + seconds(1'800'000'000)};
  Duration local = seconds(1000);
};

TEST_F(LeaderTest, LeadsAndRenews) {
  Member me(*this, "me");
  EXPECT_FALSE(me.elector.is_leading());
  const Duration delay = me.elector.step();
  EXPECT_TRUE(me.elector.is_leading());
  EXPECT_EQ(me.elector.leader(), "me");
  EXPECT_GE(delay, seconds(2));
  EXPECT_LE(delay, base::milliseconds(2400));
  const std::string acquired = server.lease["spec"]["acquireTime"];
  for (int i = 0; i < 20; ++i) {
    pass(seconds(2));
    me.elector.step();
    EXPECT_TRUE(me.elector.is_leading());
  }
  EXPECT_EQ(server.lease["spec"]["acquireTime"], acquired);
  EXPECT_NE(server.lease["spec"]["renewTime"], acquired);
  EXPECT_EQ(server.lease["spec"]["leaseDurationSeconds"], 15);
  EXPECT_THAT(me.told, ElementsAre("started"));
}

TEST_F(LeaderTest, RenewsWithOneRequest) {
  Member me(*this, "me");
  me.elector.step();
  const std::size_t before = server.transport.requests().size();
  pass(seconds(2));
  me.elector.step();
  EXPECT_EQ(server.transport.requests().size(), before + 1);
}

TEST_F(LeaderTest, StopsByItselfBeforeAnybodyElseMayLead) {
  Member me(*this, "me");
  Member other(*this, "other");
  me.elector.step();
  other.elector.step();
  server.failure = base::unavailable("cut off");
  pass(base::milliseconds(9999));
  EXPECT_TRUE(me.elector.is_leading());
  pass(base::milliseconds(1));
  EXPECT_FALSE(me.elector.is_leading()) << "without any step: the clock alone ends it";
  me.elector.step();
  EXPECT_THAT(me.told, ElementsAre("started", "stopped"));
  server.failure.reset();
  pass(seconds(4));
  other.elector.step();
  EXPECT_FALSE(other.elector.is_leading()) << "14 s after the last renewal";
  pass(seconds(1));
  other.elector.step();
  EXPECT_TRUE(other.elector.is_leading());
  EXPECT_EQ(server.lease["spec"]["leaseTransitions"], 1);
  me.elector.step();
  EXPECT_FALSE(me.elector.is_leading());
  EXPECT_EQ(me.elector.leader(), "other");
}

TEST_F(LeaderTest, NeverTwoLeadersUnderFailures) {
  Member a(*this, "a");
  Member b(*this, "b");
  std::mt19937 random(7);
  int led = 0;
  for (int i = 0; i < 4'000; ++i) {
    server.failure.reset();
    server.lose_answers = random() % 10 == 0;
    if (random() % 3 == 0) server.failure = base::unavailable("down");
    (random() % 2 == 0 ? a : b).elector.step();
    pass(base::milliseconds(random() % (i % 50 == 0 ? 20'000 : 1500)));
    ASSERT_FALSE(a.elector.is_leading() && b.elector.is_leading());
    led += a.elector.is_leading() || b.elector.is_leading();
  }
  EXPECT_GT(led, 1500);
  EXPECT_GT(a.told.size(), 2u);
  EXPECT_GT(b.told.size(), 2u);
}

TEST_F(LeaderTest, StopsIfAnotherMemberHoldsTheLease) {
  Member me(*this, "me");
  me.elector.step();
  server.lease["spec"]["holderIdentity"] = "usurper";
  server.lease["metadata"]["resourceVersion"] = "999";
  pass(seconds(2));
  me.elector.step();  // Write conflict
  me.elector.step();  // Reads the Lease
  EXPECT_FALSE(me.elector.is_leading());
  EXPECT_THAT(me.told, ElementsAre("started", "stopped"));
  EXPECT_EQ(server.holder(), "usurper");
}

TEST_F(LeaderTest, DoesNotTrustOtherClocks) {
  Member me(*this, "me");
  server.lease =
      Json::parse(R"({"metadata":{"resourceVersion":"1"},"spec":{"holderIdentity":"other","leaseDurationSeconds":15,
                                 "renewTime":"1999-01-01T00:00:00.000000Z"}})");
  for (int i = 0; i < 7; ++i) {
    me.elector.step();
    EXPECT_FALSE(me.elector.is_leading()) << "a holder whose clock is wrong is not dead";
    pass(seconds(2));
  }
  pass(seconds(1));
  me.elector.step();
  EXPECT_TRUE(me.elector.is_leading());
}

TEST_F(LeaderTest, RecognizesItsOwnLeaseAfterALostAnswer) {
  Member me(*this, "me");
  server.lose_answers = true;
  me.elector.step();
  EXPECT_FALSE(me.elector.is_leading()) << "not sure yet";
  server.lose_answers = false;
  pass(seconds(2));
  me.elector.step();
  EXPECT_TRUE(me.elector.is_leading());
}

TEST_F(LeaderTest, ReleasesOnStop) {
  Member me(*this, "me");
  Member other(*this, "other");
  me.elector.step();
  other.elector.step();
  me.elector.release();
  EXPECT_FALSE(me.elector.is_leading());
  EXPECT_EQ(server.holder(), "");
  EXPECT_THAT(me.told, ElementsAre("started", "stopped"));
  pass(seconds(2));
  other.elector.step();
  EXPECT_TRUE(other.elector.is_leading()) << "without waiting for the expiry";
}

TEST_F(LeaderTest, DoesNotReleaseAForeignLease) {
  Member me(*this, "me");
  Member other(*this, "other");
  other.elector.step();
  me.elector.step();
  const int writes = server.writes;
  me.elector.release();
  EXPECT_EQ(server.writes, writes);
  EXPECT_EQ(server.holder(), "other");
}

TEST_F(LeaderTest, KeepsForeignFieldsOfTheLease) {
  Member me(*this, "me");
  me.elector.step();
  server.lease["metadata"]["labels"]["team"] = "a";
  server.lease["metadata"]["resourceVersion"] = "500";
  pass(seconds(2));
  me.elector.step();  // Write conflict
  me.elector.step();
  EXPECT_TRUE(me.elector.is_leading());
  EXPECT_EQ(server.lease["metadata"]["labels"]["team"], "a");
}

TEST_F(LeaderTest, SurvivesALyingServer) {
  Member me(*this, "me");
  for (const char* lie : {"", "[]", "<html>", "{", R"({"spec":[]})", R"({"metadata":7})"}) {
    server.transport.answer = [lie](const Request&) -> base::Result<Response> { return json_response(200, lie); };
    for (int i = 0; i < 10; ++i) {
      me.elector.step();
      pass(seconds(2));
    }
  }
}

TEST_F(LeaderTest, SendsRequestsOnlyWhileItMayLead) {
  Member me(*this, "me");
  me.elector.step();
  server.failure = base::unavailable("down");
  pass(seconds(8));
  me.elector.step();
  EXPECT_LE(server.transport.requests().back().timeout, seconds(2));
}

TEST(LeaderRealTime, RunsAndReleases) {
  LeaseServer server;
  const base::SystemClock clock;
  Client client(server.transport, nullptr);
  LeaderOptions options = options_for("me");
  std::atomic<int> started = 0;
  std::atomic<int> stopped = 0;
  LeaderElector elector(client, clock, options, {[&] { ++started; }, [&] { ++stopped; }}, base::Log());
  {
    std::jthread runner([&](std::stop_token stop) { elector.run(stop); });
    while (!elector.is_leading()) std::this_thread::yield();
  }
  EXPECT_EQ(started, 1);
  EXPECT_EQ(stopped, 1);
  EXPECT_EQ(server.holder(), "");
}

}  // namespace leader_election_test
}  // namespace kube
