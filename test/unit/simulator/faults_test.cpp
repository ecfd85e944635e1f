#include "simulator/faults.hpp"

#include <algorithm>

#include "test/unit/simulator/api/fixture.hpp"

namespace simulator {
namespace faults_test {

using Json = api::Json;

class FaultsTest : public ApiFixture {
 protected:
  ApiAnswer ask(const std::string& method, const std::string& target, const Json& body = nullptr) {
    kube::Request request;
    request.method = method;
    request.path = target;
    request.content_type = "application/json";
    if (!body.is_null()) request.body = body.dump();
    return server.answer(request, user);
  }
  static constexpr const char* kMaps = "/api/v1/namespaces/shop/configmaps";
  static Json map_json(const char* name) { return {{"metadata", {{"name", name}}}}; }
};

TEST_F(FaultsTest, EachEffectIsApplied) {
  server.faults().add({.effect = FaultEffect::kDropRequest, .count = 1});
  ApiAnswer answer = ask("POST", kMaps, map_json("a"));
  EXPECT_TRUE(answer.dropped);
  EXPECT_FALSE(answer.carried_out);
  EXPECT_EQ(call("GET", std::string(kMaps) + "/a").code, 404);

  server.faults().add({.effect = FaultEffect::kDropResponse, .count = 1});
  answer = ask("POST", kMaps, map_json("a"));
  EXPECT_TRUE(answer.dropped);
  EXPECT_EQ(server.journal().entries().back().code, 201);
  EXPECT_EQ(call("GET", std::string(kMaps) + "/a").code, 200);

  server.faults().add({.effect = FaultEffect::kDuplicate, .count = 1});
  answer = ask("POST", kMaps, map_json("b"));
  EXPECT_FALSE(answer.dropped);
  EXPECT_EQ(answer.response.status, 409) << "the second try found what the first had made";
  EXPECT_EQ(call("GET", std::string(kMaps) + "/b").code, 200);

  server.faults().add({.effect = FaultEffect::kTooManyRequests, .count = 1, .retry_after = base::seconds(3)});
  answer = ask("GET", kMaps);
  EXPECT_EQ(answer.response.status, 429);
  EXPECT_EQ(answer.response.body, "Too many requests, please try again later.\n");
  EXPECT_EQ(answer.response.retry_after, base::seconds(3));

  server.faults().add({.effect = FaultEffect::kInternalError, .count = 1});
  EXPECT_EQ(ask("GET", kMaps).response.status, 500);
  server.faults().add({.effect = FaultEffect::kUnavailable, .count = 1});
  EXPECT_EQ(ask("GET", kMaps).response.status, 503);
  server.faults().add({.effect = FaultEffect::kDelay, .count = 1, .delay = base::milliseconds(77)});
  EXPECT_EQ(ask("GET", kMaps).delay, base::milliseconds(77));
  EXPECT_EQ(ask("GET", kMaps).response.status, 200);
}

TEST_F(FaultsTest, StaleListsShowThePast) {
  ask("POST", kMaps, map_json("a"));
  ask("POST", kMaps, map_json("b"));
  server.faults().add({.effect = FaultEffect::kStaleList, .count = 1, .lag = 1});
  EXPECT_EQ(Json::parse(ask("GET", kMaps).response.body).at("items").size(), 1u);
  EXPECT_EQ(Json::parse(ask("GET", kMaps).response.body).at("items").size(), 2u);
  store.compact();
  server.faults().add({.effect = FaultEffect::kStaleList, .count = 1, .lag = 100});
  EXPECT_EQ(ask("GET", kMaps).response.status, 200) << "no past left: the present";
}

TEST_F(FaultsTest, RulesMatchTheirRequests) {
  const auto hit = [&](FaultRule rule, FaultSubject subject) {
    Faults faults(1);
    faults.add(std::move(rule));
    return faults.strike(subject).has_value();
  };
  const FaultSubject eviction{"create", "pods", "eviction", "op"};
  EXPECT_TRUE(hit({}, eviction));
  EXPECT_TRUE(hit({.verb = "create", .resource = "pods", .subresource = "eviction", .user = "op"}, eviction));
  EXPECT_FALSE(hit({.verb = "patch"}, eviction));
  EXPECT_FALSE(hit({.resource = "nodes"}, eviction));
  EXPECT_FALSE(hit({.subresource = "-"}, eviction));
  EXPECT_TRUE(hit({.subresource = "-"}, {"create", "pods", "", "op"}));
  EXPECT_FALSE(hit({.user = "other"}, eviction));
  EXPECT_FALSE(hit({.count = 0}, eviction));
  EXPECT_FALSE(hit({.effect = FaultEffect::kStaleList}, eviction));
  EXPECT_FALSE(hit({.effect = FaultEffect::kCutWatch}, {"watch", "pods", "", "op"})) << "that is for running watches";
}

TEST_F(FaultsTest, AnswersAreTruncatedAtAGivenOrRandomByte) {
  server.faults().add({.effect = FaultEffect::kCutAnswer, .count = 1, .at = 0.5});
  ApiAnswer answer = ask("GET", kMaps);
  EXPECT_EQ(answer.cut_at, answer.response.body.size() / 2);
  server.faults().add({.effect = FaultEffect::kCutAnswer, .count = 1});
  answer = ask("GET", kMaps);
  ASSERT_TRUE(answer.cut_at);
  EXPECT_LT(*answer.cut_at, answer.response.body.size());
  EXPECT_FALSE(ask("GET", kMaps).cut_at);
}

TEST_F(FaultsTest, AfterSkipsTheFirstRequests) {
  Faults faults(1);
  faults.add({.effect = FaultEffect::kUnavailable, .count = 1, .after = 2});
  const FaultSubject get{"get", "pods", "", "op"};
  EXPECT_FALSE(faults.strike(get));
  EXPECT_FALSE(faults.strike(get));
  EXPECT_TRUE(faults.strike(get));
  EXPECT_FALSE(faults.strike(get));
  const FaultSubject watch{"watch", "pods", "", "op"};
  faults.set({{.effect = FaultEffect::kCutWatch, .after = 1}});
  EXPECT_FALSE(faults.strike_watch(watch, WatchMoment::kPoll)) << "who looks changes nothing";
  EXPECT_FALSE(faults.strike_watch(watch, WatchMoment::kEvent));
  EXPECT_EQ(faults.strike_watch(watch, WatchMoment::kPoll), FaultEffect::kCutWatch);
  faults.set({{.effect = FaultEffect::kHoldBookmark}});
  EXPECT_FALSE(faults.strike_watch(watch, WatchMoment::kEvent));
  EXPECT_EQ(faults.strike_watch(watch, WatchMoment::kInitialEvents), FaultEffect::kHoldBookmark);
}

TEST_F(FaultsTest, OddsAreReproducibleAndAboutRight) {
  const auto hits = [](std::uint64_t seed) {
    Faults faults(seed);
    faults.add({.probability = 0.25});
    std::string pattern;
    for (int i = 0; i < 1'000; ++i) pattern += faults.strike({"get", "pods", "", "u"}) ? 'x' : '.';
    return pattern;
  };
  EXPECT_EQ(hits(5), hits(5));
  EXPECT_NE(hits(5), hits(6));
  const auto count = std::ranges::count(hits(5), 'x');
  EXPECT_GT(count, 180);
  EXPECT_LT(count, 320);
}

TEST_F(FaultsTest, AreSetAndReadOverHttp) {
  const Json rules = {{"seed", 3},
                      {"rules", Json::array({{{"effect", "drop-response"},
                                              {"verb", "create"},
                                              {"resource", "pods"},
                                              {"subresource", "eviction"},
                                              {"count", 2}}})}};
  EXPECT_EQ(call("PUT", "/simulator/faults", rules).code, 200);
  const Json set = must("GET", "/simulator/faults").at("rules").at(0);
  EXPECT_EQ(set.at("effect"), "drop-response");
  EXPECT_EQ(set.at("count"), 2);
  const Json wrong = {{"rules", Json::array({{{"effect", "explode"}}})}};
  const Reply reply = call("PUT", "/simulator/faults", wrong);
  EXPECT_EQ(reply.code, 400);
  EXPECT_NE(reply.message().find("rules[0]: effect: \"explode\" is unknown; one of drop-request"), std::string::npos)
      << reply.message();
  EXPECT_EQ(must("GET", "/simulator/faults").at("rules").size(), 1u) << "a bad document changes nothing";
  EXPECT_TRUE(must("DELETE", "/simulator/faults").at("rules").empty());
}

}  // namespace faults_test
}  // namespace simulator
