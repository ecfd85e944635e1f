#include "kube/leader_election.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"

namespace kube {
namespace {

using api::Json;
using base::seconds;

const base::TimePoint kNoon{seconds(1'795'000'000)};

LeaseView seen(const char* holder, base::TimePoint changed_at = kNoon) {
  return {LeaseRecord{.resource_version = "1", .holder = holder, .duration = seconds(15), .renew_time = "t", .transitions = 0}, changed_at};
}

struct MoveCase {
  const char* name;
  LeaseView view;
  base::Duration later;
  LeaseMove want;
};
class NextLeaseMove : public testing::TestWithParam<MoveCase> {};
TEST_P(NextLeaseMove, Decides) {
  EXPECT_EQ(next_lease_move(GetParam().view, "me", kNoon + GetParam().later), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(Lease, NextLeaseMove,
                         testing::Values(MoveCase{"CreatesAMissingOne", {}, seconds(0), LeaseMove::kCreate},
                                         MoveCase{"RenewsItsOwn", seen("me"), seconds(3), LeaseMove::kRenew},
                                         MoveCase{"RenewsItsOwnAfterExpiry", seen("me"), seconds(60), LeaseMove::kRenew},
                                         MoveCase{"TakesAReleasedOne", seen(""), seconds(0), LeaseMove::kTake},
                                         MoveCase{"WaitsForAnother", seen("you"), seconds(14), LeaseMove::kWait},
                                         MoveCase{"TakesAnExpiredOne", seen("you"), seconds(15), LeaseMove::kTake}),
                         [](const auto& info) { return info.param.name; });

TEST(DecodeLease, BearsNonsense) {
  EXPECT_FALSE(decode_lease("<html>").ok());
  EXPECT_FALSE(decode_lease("[]").ok());
  EXPECT_TRUE(decode_lease(R"({"metadata":7,"spec":"x"})").ok());
  const auto odd = decode_lease(R"({"spec":{"leaseDurationSeconds":-5,"holderIdentity":3}})");
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(odd->duration, seconds(0));
  EXPECT_EQ(odd->holder, "");
}

/// One Lease with optimistic locking, and a switch for the network.
class LeaseServer final : public Transport {
 public:
  base::Result<Response> round_trip(const Request& request) override {
    EXPECT_EQ(request.flow, Flow::kLease);
    if (!reachable) return base::unavailable("no route");
    if (request.method == "GET") return lease_.empty() ? answer(404, "NotFound") : Response{200, lease_, {}, "application/json"};
    Json body = Json::parse(request.body);
    const std::string version = body["metadata"].value("resourceVersion", "");
    if (request.method == "POST" && !lease_.empty()) return answer(409, "AlreadyExists");
    if (request.method == "PUT" && version != std::to_string(version_)) return answer(409, "Conflict");
    body["metadata"]["resourceVersion"] = std::to_string(++version_);
    lease_ = body.dump();
    return Response{200, lease_, {}, "application/json"};
  }
  base::Result<std::unique_ptr<WatchStream>> watch(const Request&) override { return base::unavailable("no watches here"); }

  bool reachable = true;

 private:
  static Response answer(int code, const char* reason) {
    return {code, Json({{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", reason}}).dump(), {}, "application/json"};
  }
  std::string lease_;
  int version_ = 0;
};

class LeaderElectorTest : public testing::Test {
 protected:
  std::unique_ptr<LeaderElector> replica(const char* identity) {
    return std::make_unique<LeaderElector>(client_, clock_, LeaderElectionOptions{.lease = {"ops", "evacuator"}, .identity = identity}, base::Log());
  }
  base::ManualClock clock_{kNoon};
  LeaseServer server_;
  Client client_{server_, nullptr};
};

TEST_F(LeaderElectorTest, MakesOneLeaderOfTwo) {
  const auto a = replica("a");
  const auto b = replica("b");
  EXPECT_TRUE(a->step());
  EXPECT_FALSE(b->step());
  EXPECT_EQ(b->holder(), "a");
}

TEST_F(LeaderElectorTest, StopsActingBeforeOthersMayTakeOver) {
  const auto a = replica("a");
  const auto b = replica("b");
  a->step();
  b->step();
  server_.reachable = false;
  for (int second = 0; second < 20; ++second) {
    clock_.advance(seconds(1));
    server_.reachable = false;
    a->step();
    server_.reachable = true;
    b->step();
    ASSERT_FALSE(a->is_leading() && b->is_leading()) << "both lead after " << second + 1 << " s";
    EXPECT_EQ(a->is_leading(), second + 1 < 10);
  }
  EXPECT_TRUE(b->is_leading());
}

TEST_F(LeaderElectorTest, KeepsLeadingWhileItRenews) {
  const auto a = replica("a");
  const auto b = replica("b");
  a->step();
  for (int i = 0; i < 30; ++i) {
    clock_.advance(seconds(2));
    EXPECT_TRUE(a->step());
    EXPECT_FALSE(b->step());
  }
}

TEST_F(LeaderElectorTest, HandsOverAtOnceWhenReleased) {
  const auto a = replica("a");
  const auto b = replica("b");
  a->step();
  b->step();
  a->release();
  EXPECT_FALSE(a->is_leading());
  EXPECT_TRUE(b->step());
}

TEST_F(LeaderElectorTest, DoesNotReleaseWhatIsNotItsOwn) {
  const auto a = replica("a");
  const auto b = replica("b");
  a->step();
  b->step();
  b->release();
  clock_.advance(seconds(2));
  EXPECT_TRUE(a->step());
}

TEST_F(LeaderElectorTest, StopsWaitingWhenAsked) {
  std::stop_source stopped;
  stopped.request_stop();
  EXPECT_FALSE(replica("a")->acquire(stopped.get_token()));
}

}  // namespace
}  // namespace kube
