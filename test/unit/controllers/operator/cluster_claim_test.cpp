#include "controllers/operator/cluster_claim.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <random>

#include "test/unit/kube/lease_server.hpp"

namespace cluster_claim_test {

using api::Json;
using base::Duration;
using base::minutes;
using base::seconds;
using controllers::ClusterClaim;
using State = controllers::ClusterClaim::State;
using kube::Request;
using kube::Response;
using kube::testing::json_response;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// API server with the one Lease in kube-system.
class LeaseOfTheCluster : public kube::testing::LeaseServer {
 public:
  LeaseOfTheCluster() {
    look = [this](const Request& request) { return refusal(request); };
  }
  int refuses = 0;  ///< HTTP code for each request; 0 to answer normally

 private:
  std::optional<Response> refusal(const Request& request) const {
    EXPECT_EQ(request.path.find("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/evacuator-operator"), 0U)
        << "a POST could not be narrowed to a name: " << request.path;
    if (refuses == 403)
      return json_response(403, R"({"kind":"Status","reason":"Forbidden","code":403,"message":"no right"})");
    if (refuses == 404) return kube::testing::not_found("evacuator-operator");
    return std::nullopt;
  }
};

class ClusterClaimTest : public testing::Test {
 protected:
  struct Replica final : kube::EventSink {
    Replica(ClusterClaimTest& test, const std::string& ns, Duration skew = {})
        : wall(test.clock.now() + skew),
          client(test.server.transport, nullptr),
          claim(client, wall, *this, metrics, {}, {.lease = {ns, "evacuator"}}, [&test] { return test.local; }) {}
    void publish(kube::Event event) override {
      events.push_back(event.regarding.ns + "/" + event.regarding.name + " " + event.reason);
      notes += event.note;
    }
    /// Calls step() when it is due.
    void play(Duration now) {
      if (now >= next) next = now + claim.step();
    }

    base::ManualClock wall;
    base::Metrics metrics;
    std::vector<std::string> events;
    std::string notes;
    kube::Client client;
    ClusterClaim claim;
    Duration next{};
  };

  void pass(Duration time, std::vector<Replica*> alive) {
    for (const Duration end = local + time; local < end; local += base::milliseconds(500)) {
      for (Replica* each : alive) {
        each->wall.advance(base::milliseconds(500));
        each->play(local);
      }
    }
  }

  base::ManualClock clock{*base::parse_time("2026-11-25T12:00:00Z")};
  LeaseOfTheCluster server;
  Duration local = seconds(1000);
};

TEST_F(ClusterClaimTest, ASingleInstallationServesTheClusterAtOnce) {
  Replica only(*this, "evacuator-system");
  EXPECT_FALSE(only.claim.may_act()) << "before the first answer nobody knows";
  EXPECT_FALSE(only.claim.ready());
  only.claim.step();
  EXPECT_TRUE(only.claim.may_act());
  EXPECT_TRUE(only.claim.ready());
  EXPECT_EQ(server.holder(), "evacuator-system/evacuator");
  EXPECT_THAT(only.events, IsEmpty()) << "that is how it should be: nothing to tell";
  pass(minutes(10), {&only});
  EXPECT_TRUE(only.claim.may_act());
  EXPECT_LE(server.writes, 32) << "three a minute";
}

TEST_F(ClusterClaimTest, ASecondOneStaysOutAndSaysSo) {
  Replica first(*this, "evacuator-system");
  Replica second(*this, "platform");
  pass(seconds(30), {&first});
  pass(minutes(30), {&first, &second});
  EXPECT_TRUE(first.claim.may_act());
  EXPECT_FALSE(second.claim.may_act());
  EXPECT_EQ(second.claim.state(), State::kOthers);
  EXPECT_THAT(second.claim.ready().error().message, HasSubstr("evacuator-system/evacuator"));
  EXPECT_THAT(second.events, ElementsAre("platform/evacuator AnotherOperator")) << "once";
  EXPECT_THAT(second.notes, HasSubstr("evacuator-system/evacuator"));
  EXPECT_THAT(second.metrics.render(), HasSubstr("evacuator_cluster_claim{state=\"others\"} 1"));
  EXPECT_THAT(first.metrics.render(), HasSubstr("evacuator_cluster_claim{state=\"ours\"} 1"));
  EXPECT_THAT(first.events, IsEmpty());
}

TEST_F(ClusterClaimTest, ItTakesOverWhenTheOtherIsGone) {
  Replica first(*this, "evacuator-system");
  Replica second(*this, "platform");
  pass(minutes(2), {&first, &second});
  pass(seconds(30), {&second});
  EXPECT_FALSE(second.claim.may_act()) << "it may only be slow";
  pass(seconds(60), {&second});
  EXPECT_TRUE(second.claim.may_act());
  EXPECT_EQ(server.holder(), "platform/evacuator");
  EXPECT_THAT(second.events, ElementsAre("platform/evacuator AnotherOperator", "platform/evacuator ClusterClaimed"));
  EXPECT_FALSE(first.claim.may_act()) << "by the clock alone: it has not looked since";
  pass(minutes(5), {&first, &second});
  EXPECT_FALSE(first.claim.may_act()) << "who comes back is the second one";
  EXPECT_TRUE(second.claim.may_act());
}

/// A failover or an upgrade: replicas of one installation do not wait for each other.
TEST_F(ClusterClaimTest, ReplicasOfOneInstallationShareIt) {
  Replica one(*this, "evacuator-system");
  Replica two(*this, "evacuator-system");
  Replica stranger(*this, "platform");
  pass(minutes(10), {&one, &two});
  EXPECT_TRUE(one.claim.may_act());
  EXPECT_TRUE(two.claim.may_act());
  EXPECT_LE(server.writes, 64);
  pass(minutes(5), {&two, &stranger});
  EXPECT_TRUE(two.claim.may_act());
  Replica three(*this, "evacuator-system");
  three.claim.step();
  EXPECT_TRUE(three.claim.may_act()) << "at its first look";
  pass(minutes(5), {&three, &stranger});
  EXPECT_TRUE(three.claim.may_act());
  EXPECT_FALSE(stranger.claim.may_act());
}

TEST_F(ClusterClaimTest, ClocksOfOtherMachinesDoNotMatter) {
  for (const Duration skew : {Duration(std::chrono::hours(24 * 400)), Duration(-std::chrono::hours(24 * 400))}) {
    server.lease = nullptr;
    Replica first(*this, "evacuator-system", skew);
    Replica second(*this, "platform", -skew);
    pass(minutes(10), {&first, &second});
    EXPECT_TRUE(first.claim.may_act());
    EXPECT_FALSE(second.claim.may_act());
  }
}

TEST_F(ClusterClaimTest, WithoutTheRightItSaysSoAndActs) {
  for (const int code : {403, 404}) {  // 404 to a PUT: the namespace does not exist
    server.refuses = code;
    Replica old_roles(*this, "evacuator-system");
    old_roles.claim.step();
    EXPECT_TRUE(old_roles.claim.may_act()) << "an image that is newer than its roles";
    EXPECT_TRUE(old_roles.claim.ready());
    EXPECT_EQ(old_roles.claim.state(), State::kUnguarded);
    EXPECT_THAT(old_roles.metrics.render(), HasSubstr("evacuator_cluster_claim{state=\"unguarded\"} 1"));
    server.refuses = 0;
    pass(seconds(30), {&old_roles});
    EXPECT_EQ(old_roles.claim.state(), State::kOurs) << "the roles came later";
    server.lease = nullptr;
  }
}

TEST_F(ClusterClaimTest, ARightThatIsTakenAwayMakesNoSecondOneAct) {
  Replica first(*this, "evacuator-system");
  Replica second(*this, "platform");
  pass(minutes(1), {&first, &second});
  server.refuses = 403;
  pass(minutes(10), {&second});
  EXPECT_FALSE(second.claim.may_act());
}

TEST_F(ClusterClaimTest, AnUnavailableServerGrantsNothing) {
  server.failure = base::unavailable("down");
  Replica one(*this, "evacuator-system");
  pass(minutes(5), {&one});
  EXPECT_FALSE(one.claim.may_act());
  server.failure.reset();
  pass(seconds(5), {&one});
  EXPECT_TRUE(one.claim.may_act());
  server.failure = base::unavailable("down");
  pass(seconds(50), {&one});
  EXPECT_FALSE(one.claim.may_act()) << "before anybody else may think it gone";
}

struct Nonsense {
  const char* name;
  const char* spec;
  bool acts;  ///< whether the replica may act in the end
};
class HostileClaim : public ClusterClaimTest, public testing::WithParamInterface<Nonsense> {};

TEST_P(HostileClaim, IsBorne) {
  server.lease = {{"metadata", {{"name", "evacuator-operator"}, {"resourceVersion", "7"}}},
                  {"spec", Json::parse(GetParam().spec)}};
  Replica one(*this, "evacuator-system");
  pass(minutes(6), {&one});
  EXPECT_EQ(one.claim.may_act(), GetParam().acts);
  EXPECT_LT(one.notes.size(), 2000U);
}

INSTANTIATE_TEST_SUITE_P(
    With, HostileClaim,
    testing::Values(Nonsense{"NoHolder", R"({})", true},
                    Nonsense{"AHolderOfAnotherType", R"({"holderIdentity":7})", true},
                    Nonsense{"AnEternity", R"({"holderIdentity":"x","leaseDurationSeconds":2147483647})", true},
                    Nonsense{"ANegativeTime", R"({"holderIdentity":"x","leaseDurationSeconds":-1})", true},
                    Nonsense{"AYearToCome", R"({"holderIdentity":"x","renewTime":"9999-01-01T00:00:00.000000Z"})",
                             true},
                    Nonsense{"NoObject", R"("text")", true}),
    [](const auto& test) { return test.param.name; });

TEST_F(ClusterClaimTest, AHugeHolderFillsNoEvent) {
  server.lease = {{"metadata", {{"name", "evacuator-operator"}, {"resourceVersion", "0"}}},
                  {"spec", {{"holderIdentity", std::string(100'000, 'x')}}}};
  Replica one(*this, "evacuator-system");
  one.claim.step();
  EXPECT_EQ(one.claim.state(), State::kOthers);
  EXPECT_LT(one.notes.size(), 600U);
  EXPECT_LT(one.claim.ready().error().message.size(), 600U);
}

/// Two installations of two replicas each, with network failures, lost answers and paused replicas.
TEST_F(ClusterClaimTest, NeverTwoInstallationsActAtOnce) {
  std::vector<std::unique_ptr<Replica>> a, b;
  for (int i = 0; i < 2; ++i) {
    a.push_back(std::make_unique<Replica>(*this, "a"));
    b.push_back(std::make_unique<Replica>(*this, "b"));
  }
  const auto acts = [](const auto& of) {
    return std::ranges::any_of(of, [](const auto& each) { return each->claim.may_act(); });
  };
  std::mt19937 random(7);
  int by_a = 0;
  int by_b = 0;
  for (int i = 0; i < 20'000; ++i) {
    server.failure.reset();
    server.lose_answers = random() % 10 == 0;
    if (random() % 3 == 0) server.failure = base::unavailable("down");
    auto& side = (i / 400) % 2 == 0 ? a : b;  // one installation is absent for a long time
    auto& replica = random() % 8 == 0 ? (&side == &a ? b : a)[0] : side[random() % 2];
    replica->claim.step();
    const base::milliseconds passed(random() % (i % 97 == 0 ? 30'000 : 3'000));
    local += passed;
    for (const auto& each : {&a, &b}) {
      for (const auto& one : *each) one->wall.advance(passed);
    }
    ASSERT_FALSE(acts(a) && acts(b)) << i;
    by_a += acts(a);
    by_b += acts(b);
  }
  EXPECT_GT(by_a + by_b, 5'000);
}

}  // namespace cluster_claim_test
