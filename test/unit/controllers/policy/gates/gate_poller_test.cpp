#include "controllers/policy/gates/gate_poller.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "kube/runtime/worker.hpp"

namespace controllers {
namespace gate_keeper_test {

using base::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kHolds = R"({"hold":true,"message":"a freeze"})";
constexpr const char* kOpen = R"({"hold":false})";

class Gates : public testing::Test {
 protected:
  class Client final : public GateClient {
   public:
    Client(Gates& test, api::UsageEndpoint endpoint) : test_(test), endpoint_(std::move(endpoint)) {}
    base::Result<std::string> ask(kube::Request request) override {
      test_.asked.push_back(request.method + " " + endpoint_.url + request.target());
      test_.bodies.push_back(request.body);
      return test_.answer;
    }

   private:
    Gates& test_;
    api::UsageEndpoint endpoint_;
  };

  static api::PolicyGate webhook(const std::string& name = "freeze") {
    api::PolicyGate gate;
    gate.name = name;
    gate.type = api::GateType::kWebhook;
    gate.endpoint.url = "https://gate.test/hold";
    return gate;
  }
  void work() {
    kube::Worker worker(queue, [this](const api::ObjectKey& key) { return keeper.ask(key); }, counts, {});
    while (worker.step()) {
    }
  }
  void pass(base::Duration time) {
    clock.advance(time);
    work();
  }
  /// Returns the sorted series of evacuator_gate_holding.
  std::vector<std::string> series() const {
    std::vector<std::string> found;
    std::istringstream lines(metrics.render());
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("evacuator_gate_holding{")) found.push_back(line);
    }
    std::ranges::sort(found);
    return found;
  }

  base::ManualClock clock{*base::parse_time("2026-11-21T12:00:00Z")};
  base::Metrics metrics;
  kube::WorkQueue queue{clock};
  kube::WorkerCounts counts;
  std::vector<std::string> asked;
  std::vector<std::string> bodies;
  std::vector<std::string> changed;
  base::Result<std::string> answer = std::string(kOpen);
  GatePoller keeper{{.make_client = [this](const api::UsageEndpoint& endpoint,
                                           std::size_t) { return std::make_unique<Client>(*this, endpoint); },
                     .clock = clock,
                     .log = {},
                     .metrics = metrics,
                     .changed = [this](const std::string& policy) { changed.push_back(policy); }},
                    queue};
};

TEST_F(Gates, AreClosedUntilTheyAreAnswered) {
  EXPECT_FALSE(keeper.verdict("p").stops()) << "no gates";
  keeper.set("p", {webhook()}, {});
  EXPECT_EQ(keeper.verdict("p").kind, GateVerdict::Kind::kUnanswered);
  EXPECT_TRUE(keeper.verdict("p").is_pending);
  work();
  EXPECT_THAT(asked, ElementsAre("POST https://gate.test/hold"));
  EXPECT_EQ(bodies.at(0), R"({"gate":"freeze","policy":"p"})");
  EXPECT_EQ(keeper.verdict("p"), GateVerdict{});
  EXPECT_THAT(changed, ElementsAre("p"));
}

TEST_F(Gates, AreQueriedAtTheirIntervalAndReportChangesOnly) {
  keeper.set("p", {webhook()}, {});
  work();
  pass(seconds(29));
  EXPECT_EQ(asked.size(), 1U);
  pass(seconds(1));
  EXPECT_EQ(asked.size(), 2U);
  EXPECT_EQ(changed.size(), 1U);
  answer = std::string(kHolds);
  pass(seconds(30));
  EXPECT_EQ(changed.size(), 2U);
  EXPECT_EQ(keeper.verdict("p").kind, GateVerdict::Kind::kHolds);
  EXPECT_EQ(keeper.verdict("p").text, "gate freeze holds: a freeze");
  EXPECT_THAT(series(), ElementsAre(R"(evacuator_gate_holding{gate="freeze",policy="p"} 1)"));
  keeper.set("p", {webhook()}, {});
  EXPECT_EQ(keeper.verdict("p").kind, GateVerdict::Kind::kHolds) << "it is the same gate";
}

TEST_F(Gates, KeepAnAnswerForThreeIntervals) {
  keeper.set("p", {webhook()}, {});
  work();
  answer = base::unavailable("connection refused");
  for (int i = 0; i < 3; ++i) {
    pass(seconds(30));
    EXPECT_FALSE(keeper.verdict("p").stops()) << i;
  }
  pass(seconds(30));
  EXPECT_EQ(keeper.verdict("p").kind, GateVerdict::Kind::kUnanswered);
  EXPECT_FALSE(keeper.verdict("p").is_pending);
  EXPECT_EQ(keeper.verdict("p").text, "gate freeze has no response: connection refused");
  EXPECT_THAT(series(), ElementsAre(R"(evacuator_gate_holding{gate="freeze",policy="p"} 1)"));
  answer = std::string(kOpen);
  pass(seconds(30));
  EXPECT_FALSE(keeper.verdict("p").stops());
  EXPECT_EQ(changed.size(), 3U);
}

TEST_F(Gates, ThatWereNotAskedInTimeAreUnanswered) {
  keeper.set("p", {webhook()}, {});
  work();
  clock.advance(seconds(91));
  EXPECT_EQ(keeper.verdict("p").text, "gate freeze has no response: its last response is too old");
}

TEST_F(Gates, WithOnErrorIgnoreHoldOnlyByAnAnswer) {
  api::PolicyGate gate = webhook();
  gate.on_error = api::GateOnError::kIgnore;
  answer = base::unavailable("connection refused");
  keeper.set("p", {gate}, {});
  EXPECT_FALSE(keeper.verdict("p").stops());
  work();
  EXPECT_FALSE(keeper.verdict("p").stops());
  answer = std::string(kHolds);
  pass(seconds(30));
  EXPECT_TRUE(keeper.verdict("p").stops());
}

TEST_F(Gates, ThatHoldCountBeforeThoseWithoutAnAnswer) {
  keeper.set("p", {webhook("late"), webhook("freeze")}, {});
  answer = std::string(kHolds);
  ASSERT_TRUE(keeper.ask({"p", "freeze"}));
  EXPECT_EQ(keeper.verdict("p").kind, GateVerdict::Kind::kHolds);
}

TEST_F(Gates, AskPrometheusAndAlertmanager) {
  api::PolicyGate query;
  query.name = "errors";
  query.source = "prom";
  query.query = "sum(rate(errors[5m])) > 0.1";
  api::UsageSource source;
  source.name = "prom";
  source.type = api::UsageSourceType::kPrometheus;
  source.endpoint.url = "http://prom.test";
  api::PolicyGate alerts;
  alerts.name = "alerts";
  alerts.type = api::GateType::kAlertmanager;
  alerts.endpoint.url = "http://am.test/prefix";
  alerts.matchers = {{"severity", "crit\"ical"}, {"team", "db"}};
  keeper.set("p", {query, alerts}, {source});
  work();
  EXPECT_THAT(asked,
              ElementsAre("GET http://prom.test/api/v1/query?query=sum%28rate%28errors%5B5m%5D%29%29%20%3E%200.1",
                          "GET http://am.test/prefix/api/v2/alerts?active=true&silenced=false&inhibited=false"
                          "&filter=severity%3D%22crit%5C%22ical%22&filter=team%3D%22db%22"));
  EXPECT_EQ(keeper.verdict("p").kind, GateVerdict::Kind::kUnanswered) << "what a webhook says is no answer of theirs";
  answer = std::string(R"({"status":"success","data":{"resultType":"vector","result":[{"value":[1,"0.4"]}]}})");
  ASSERT_TRUE(keeper.ask({"p", "errors"}));
  EXPECT_EQ(keeper.verdict("p").text, "gate errors holds: sum(rate(errors[5m])) > 0.1 is 0.4");
}

TEST_F(Gates, AreForgottenWithTheirSeries) {
  keeper.set("p", {webhook("a"), webhook("b")}, {});
  keeper.set("q", {webhook("a")}, {});
  work();
  keeper.set("p", {webhook("b")}, {});
  EXPECT_THAT(series(), ElementsAre(R"(evacuator_gate_holding{gate="a",policy="q"} 0)",
                                    R"(evacuator_gate_holding{gate="b",policy="p"} 0)"));
  keeper.drop("q");
  EXPECT_FALSE(keeper.verdict("q").stops());
  asked.clear();
  pass(seconds(30));
  EXPECT_EQ(asked.size(), 1U);
}

TEST_F(Gates, ShowLongExpressionsCutBetweenCharacters) {
  api::PolicyGate query = webhook("errors");
  query.type = api::GateType::kPrometheus;
  query.query = std::string(255, 'x') + "ü > 1";
  keeper.set("p", {query}, {});
  answer = std::string(R"({"status":"success","data":{"resultType":"scalar","result":[1,"2"]}})");
  work();
  EXPECT_EQ(keeper.verdict("p").text, "gate errors holds: " + std::string(255, 'x') + "… is 2");
}

/// Simulates other workers that continue while a gate is asked, in the same thread.
class StalledGates : public testing::Test {
 protected:
  class Client final : public GateClient {
   public:
    Client(StalledGates& test, std::string url) : test_(test), url_(std::move(url)) {}
    base::Result<std::string> ask(kube::Request) override {
      test_.asked.push_back(url_);
      test_.ask_next();
      if (url_ == "good") return std::string(kOpen);
      test_.clock.advance(seconds(10));
      return base::unavailable("no answer: timeout");
    }

   private:
    StalledGates& test_;
    const std::string url_;
  };
  /// Asks all of them concurrently, in this order. Returns the order of the requests.
  std::vector<std::string> ask(std::vector<std::string> names) {
    asked.clear();
    left = std::move(names);
    ask_next();
    return asked;
  }
  void ask_next() {
    if (left.empty()) return;
    const std::string next = left.front();
    left.erase(left.begin());
    const auto again = keeper.ask({"p", next});
    EXPECT_TRUE(again && again->after);
    if (!left.empty()) ask_next();
  }

  base::ManualClock clock{base::TimePoint()};
  base::Metrics metrics;
  kube::WorkQueue queue{clock};
  std::vector<std::string> asked;
  std::vector<std::string> left;
  GatePoller keeper{{.make_client = [this](const api::UsageEndpoint& endpoint,
                                           std::size_t) { return std::make_unique<Client>(*this, endpoint.url); },
                     .clock = clock,
                     .log = {},
                     .metrics = metrics},
                    queue};
};

/// Otherwise a hanging server would make the gates of all policies hold because no worker is left to ask them.
TEST_F(StalledGates, LeaveAWorkerToThoseThatAreAnswered) {
  std::vector<api::PolicyGate> gates;
  for (const char* name : {"a", "b", "c", "d", "good"}) {
    gates.emplace_back().name = name;
    gates.back().type = api::GateType::kWebhook;
    gates.back().endpoint.url = name;
  }
  keeper.set("p", gates, {});
  EXPECT_THAT(ask({"good"}), ElementsAre("good"));
  EXPECT_THAT(ask({"a", "b", "c", "d", "good"}), ElementsAre("a", "b", "c", "good")) << "new ones take three of four";
  EXPECT_THAT(ask({"d", "good"}), ElementsAre("d", "good"));
  EXPECT_THAT(ask({"a", "b", "c", "d", "good"}), ElementsAre("a", "b", "good")) << "stalled ones take two";
}

TEST(GatesWithoutClients, AreNeverAnswered) {
  base::ManualClock clock{base::TimePoint()};
  base::Metrics metrics;
  kube::WorkQueue queue(clock);
  GatePoller keeper({.make_client = {}, .clock = clock, .log = {}, .metrics = metrics}, queue);
  api::PolicyGate gate;
  gate.name = "g";
  keeper.set("p", {gate}, {});
  ASSERT_TRUE(keeper.ask({"p", "g"}));
  EXPECT_EQ(keeper.verdict("p").text, "gate g has no response: gates are not polled in this process");
  EXPECT_FALSE(keeper.verdict("p").is_pending);
}

}  // namespace gate_keeper_test
}  // namespace controllers
