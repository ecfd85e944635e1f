#include <gtest/gtest.h>

#include <map>

#include "test/unit/controllers/admission/queue_fixture.hpp"

/// The admission queue under a rate.
namespace admission_queue_rate_test {

using namespace admission_queue_fixture;

class RatedAdmissions : public Admissions {
 protected:
  RatedAdmissions() : Admissions(limits(number(100))) {}
  void set_rate(api::RateLimit rate) { queue.set_cluster_limits({limits(number(100)), rate}); }
  /// Advances the clock to the alarm of the candidate. Returns true if the candidate is granted a slot then.
  bool alarm_grants(const Candidate& candidate) {
    const auto at = alarms.find(fmt::format("evac-{:05}", candidate.n));
    if (at == alarms.end()) return false;
    clock.set(at->second);
    alarms.erase(at);
    return granted(candidate);
  }
};

TEST_F(RatedAdmissions, AdmitsABurstAndThenOneEachInterval) {
  set_rate({{}, 60, 2});
  EXPECT_TRUE(granted({.n = 0, .node = "a"}));
  EXPECT_TRUE(granted({.n = 1, .node = "b"}));
  EXPECT_EQ(waits_for({.n = 2, .node = "c"}), "rate");
  EXPECT_EQ(last.slot.limit->message, "at most 60 admissions per minute, 2 at once");
  EXPECT_EQ(alarms, (std::map<std::string, base::TimePoint>{{"evac-00002", kNoon + base::seconds(1)}}));
  EXPECT_EQ(waits_for({.n = 3, .node = "d"}), "rate");
  EXPECT_EQ(alarms.size(), 1U) << "only the first of them is woken: ten thousand would stampede";
  EXPECT_TRUE(alarm_grants({.n = 2, .node = "c"}));
  EXPECT_EQ(alarms, (std::map<std::string, base::TimePoint>{{"evac-00003", kNoon + base::seconds(2)}}));
}

TEST_F(RatedAdmissions, TheTokenGoesToTheFirstInLineWhicheverIsWoken) {
  set_rate({1, {}, 1});
  EXPECT_TRUE(granted({.n = 0}));
  EXPECT_EQ(waits_for({.n = 1}), "rate");
  EXPECT_EQ(waits_for({.n = 2, .priority = 9}), "rate");
  EXPECT_FALSE(alarm_grants({.n = 1}));
  EXPECT_EQ(woken, std::vector<std::string>{"evac-00002"});
  EXPECT_EQ(alarms.at("evac-00001"), kNoon + base::seconds(2));
}

TEST_F(RatedAdmissions, APolicysRateHoldsOnlyItsOwn) {
  queue.set_policy_limits("slow", {{{}, api::RateLimit{{}, 1, 1}}});
  EXPECT_TRUE(granted({.n = 0, .policy = "slow"}));
  EXPECT_EQ(waits_for({.n = 1, .policy = "slow"}), "policy slow rate");
  EXPECT_EQ(last.slot.limit->message, "at most 1 admissions per minute, 1 at once under policy slow");
  EXPECT_TRUE(granted({.n = 2, .policy = "other"}));
  EXPECT_TRUE(granted({.n = 3}));
  EXPECT_EQ(alarms, (std::map<std::string, base::TimePoint>{{"evac-00001", kNoon + base::minutes(1)}}));
  EXPECT_TRUE(alarm_grants({.n = 1, .policy = "slow"}));
}

TEST_F(RatedAdmissions, ARetryIsAnAdmissionButTheNextEvictorIsNot) {
  set_rate({{}, 1, 1});
  EXPECT_TRUE(granted({.n = 0}));
  show({.n = 0}, Phase::kRequesting);
  EXPECT_TRUE(granted({.n = 0}, 2)) << "the slot goes on into the next attempt";
  show({.n = 0}, Phase::kRequesting, 2);
  show({.n = 0}, Phase::kBackoff, 2);
  EXPECT_FALSE(granted({.n = 0}, 3));
}

TEST_F(RatedAdmissions, GivesTheTokenOfAnUnusedAdmissionToTheNext) {
  set_rate({{}, 1, 1});
  EXPECT_TRUE(granted({.n = 0}));
  EXPECT_EQ(waits_for({.n = 1}), "rate");
  queue.withdraw({"shop", "evac-00000"});
  EXPECT_EQ(woken, std::vector<std::string>{"evac-00001"});
}

TEST_F(RatedAdmissions, KeepsTheTokenOfAnAttemptThatWasMade) {
  set_rate({{}, 1, 1});
  EXPECT_TRUE(granted({.n = 0}));
  EXPECT_EQ(waits_for({.n = 1}), "rate");
  queue.withdraw({"shop", "evac-00000"}, 1);
  EXPECT_EQ(woken, std::vector<std::string>{});
}

TEST_F(RatedAdmissions, ANewLeaderHasNothingSavedUp) {
  set_rate({{}, 60, 5});
  queue.resume();
  EXPECT_EQ(waits_for({.n = 0}), "rate");
  EXPECT_EQ(alarms.at("evac-00000"), kNoon + base::seconds(1));
}

TEST_F(RatedAdmissions, AFullTotalIsNamedBeforeTheRate) {
  queue.set_cluster_limits({limits(number(1)), api::RateLimit{{}, 1, 1}});
  EXPECT_TRUE(granted({.n = 0}));
  EXPECT_EQ(waits_for({.n = 1}), "total");
  EXPECT_TRUE(alarms.empty());
  show({.n = 0}, Phase::kSucceeded);
  EXPECT_EQ(alarms.size(), 1U) << "now it waits for the token";
}

}  // namespace admission_queue_rate_test
