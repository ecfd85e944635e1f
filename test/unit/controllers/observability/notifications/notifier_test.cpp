#include "controllers/observability/notifications/notifier.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "http_server/server.hpp"
#include "test/fakes/temp_folder.hpp"

namespace notifier_test {

using api::Json;
using base::minutes;
using base::seconds;
using controllers::NotificationChannel;
using controllers::NotificationFormat;
using controllers::Notifier;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

kube::Event event_of(api::EventReason reason, const std::string& name, const std::string& note = "why") {
  auto event = kube::Event::warning(reason, note);
  const bool is_policy = reason == api::EventReason::kCircuitOpened;
  event.regarding = is_policy ? kube::event_object(kube::kPolicies, {"", name}, "uid-" + name)
                              : kube::event_object(kube::kEvacuations, {"shop", name}, "uid-" + name);
  if (!is_policy) event.related = kube::event_object(kube::kPods, {"shop", "pod-of-" + name}, "u");
  return event;
}

struct Inner : kube::EventSink {
  void publish(kube::Event event) override { passed_on.push_back(event.reason); }
  std::vector<std::string> passed_on;
};

class NotifierTest : public testing::Test {
 protected:
  Notifier& start(std::vector<NotificationChannel> channels) {
    notifier_.emplace(Notifier::Dependencies{.inner = inner,
                                             .clock = clock,
                                             .steady = clock,
                                             .metrics = metrics,
                                             .log = {},
                                             .instance = "operator-0",
                                             .post = [this](const NotificationChannel& channel,
                                                            const std::string& body) -> base::Result<kube::Response> {
                                               posts.emplace_back(channel.name, body);
                                               if (meanwhile) meanwhile();
                                               if (takes && !takes(body)) return answer(500);
                                               if (answers.empty())
                                                 return kube::Response{
                                                     .status = 200, .body = {}, .retry_after = {}, .content_type = {}};
                                               auto next = answers.front();
                                               if (answers.size() > 1) answers.erase(answers.begin());
                                               return next;
                                             }},
                      std::move(channels));
    return *notifier_;
  }
  static base::Result<kube::Response> answer(int status, std::optional<seconds> retry_after = {}) {
    return kube::Response{.status = status, .body = "SECRET", .retry_after = retry_after, .content_type = {}};
  }
  Json told(std::size_t index) const { return Json::parse(posts.at(index).second).at("notifications"); }
  std::string counted(const std::string& result) const {
    const std::string text = metrics.render();
    const auto at = text.find("result=\"" + result + "\"} ");
    return at == std::string::npos ? "0" : text.substr(at, text.find('\n', at) - at).substr(result.size() + 11);
  }

  base::ManualClock clock{*base::parse_time("2026-11-25T12:00:00Z")};
  base::Metrics metrics;
  Inner inner;
  std::vector<std::pair<std::string, std::string>> posts;  ///< channel and body
  std::vector<base::Result<kube::Response>> answers;       ///< consumed in order, the last one repeats; 200 if empty
  std::function<bool(const std::string& body)> takes;      ///< returns false to answer 500; `answers` apply if empty
  std::function<void()> meanwhile;
  std::optional<Notifier> notifier_;
};

TEST_F(NotifierTest, NotifiesOfEventsForPeopleAndForwardsAllEvents) {
  Notifier& notifier = start({{.name = "ops"}});
  for (const auto reason : {api::EventReason::kAccepted, api::EventReason::kFailed, api::EventReason::kEvictionBlocked,
                            api::EventReason::kWriteRefused, api::EventReason::kSlotReturned,
                            api::EventReason::kCircuitOpened, api::EventReason::kEvicted})
    notifier.publish(event_of(reason, std::string(to_string(reason))));
  EXPECT_EQ(inner.passed_on.size(), 7U);
  EXPECT_TRUE(posts.empty()) << "publish() sends nothing by itself";
  EXPECT_EQ(notifier.step(), std::nullopt);
  ASSERT_EQ(posts.size(), 1U) << "one message for all of them";
  std::vector<std::string> events;
  for (const Json& each : told(0)) events.push_back(each.at("event"));
  EXPECT_THAT(events, ElementsAre("Failed", "Stuck", "Stuck", "CircuitOpen"));
  EXPECT_EQ(told(0)[0], Json::parse(R"({"event": "Failed", "time": "2026-11-25T12:00:00Z", "pod": "shop/pod-of-Failed",
      "object": {"apiVersion": "evacuator.dev/v1alpha1", "kind": "Evacuation", "namespace": "shop", "name": "Failed",
                 "uid": "uid-Failed"}, "reason": "Failed", "message": "why"})"));
}

TEST_F(NotifierTest, ADuplicateIsSentAgainOnlyLater) {
  Notifier& notifier = start({{.name = "ops", .repeat_after = minutes(10)}});
  for (int i = 0; i < 5; ++i) {
    notifier.publish(event_of(api::EventReason::kWriteRefused, "one", "attempt " + std::to_string(i)));
    notifier.publish(event_of(api::EventReason::kWriteRefused, "two"));
    notifier.step();
    clock.advance(minutes(3));
  }
  ASSERT_EQ(posts.size(), 2U);
  EXPECT_EQ(told(0).size(), 2U);
  EXPECT_EQ(told(1)[0].at("message"), "attempt 4") << "at 12:12";
  EXPECT_EQ(counted("repeated"), "6");
}

TEST_F(NotifierTest, EachChannelHasItsEvents) {
  Notifier& notifier = start({{.name = "all"}, {.name = "circuits", .events = {"CircuitOpen"}}});
  notifier.publish(event_of(api::EventReason::kFailed, "one"));
  notifier.step();
  notifier.publish(event_of(api::EventReason::kCircuitOpened, "balance"));
  notifier.step();
  ASSERT_EQ(posts.size(), 3U);
  EXPECT_EQ(posts[0].first + posts[1].first + posts[2].first, "allallcircuits");
}

TEST_F(NotifierTest, RetriesWithIncreasingDelays) {
  Notifier& notifier = start({{.name = "ops"}});
  answers = {answer(503), answer(429, seconds(60)), base::unavailable("no connection"), answer(200)};
  notifier.publish(event_of(api::EventReason::kFailed, "one"));
  const auto pauses = [&] {
    std::vector<std::int64_t> all;
    for (auto due = notifier.step(); due; due = notifier.step()) {
      all.push_back(std::chrono::duration_cast<seconds>(*due - clock.now()).count());
      EXPECT_EQ(notifier.step(), due) << "not before its time";
      clock.advance(*due - clock.now());
    }
    return all;
  }();
  EXPECT_THAT(pauses, ElementsAre(2, 60, 8));
  EXPECT_EQ(posts.size(), 4U);
  EXPECT_EQ(counted("sent"), "1");
}

TEST_F(NotifierTest, GivesUpFinallyAndAtOnceWhenRejected) {
  Notifier& notifier = start({{.name = "ops"}});
  answers = {answer(500)};
  notifier.publish(event_of(api::EventReason::kFailed, "one"));
  for (auto due = notifier.step(); due; due = notifier.step()) clock.advance(*due - clock.now());
  EXPECT_EQ(posts.size(), static_cast<std::size_t>(Notifier::kMaxTries));
  answers = {answer(404)};
  notifier.publish(event_of(api::EventReason::kFailed, "two"));
  EXPECT_EQ(notifier.step(), std::nullopt);
  EXPECT_EQ(counted("failed"), "2");
}

/// CircuitOpened is published on the transition only.
TEST_F(NotifierTest, AnAlertOfAPolicyOutlastsAnOutageOfTheReceiver) {
  Notifier& notifier = start({{.name = "ops"}});
  answers = {answer(503)};
  notifier.publish(event_of(api::EventReason::kCircuitOpened, "balance"));
  notifier.publish(event_of(api::EventReason::kFailed, "one"));
  const base::TimePoint end = clock.now() + minutes(60);
  for (auto due = notifier.step(); due && *due < end; due = notifier.step()) clock.advance(*due - clock.now());
  EXPECT_LT(posts.size(), 125U) << "a receiver that is away gets few messages";
  EXPECT_EQ(counted("failed"), "1");
  answers = {answer(200)};
  clock.advance(minutes(5));
  EXPECT_EQ(notifier.step(), std::nullopt);
  ASSERT_EQ(told(posts.size() - 1).size(), 1U);
  EXPECT_EQ(told(posts.size() - 1)[0].at("event"), "CircuitOpen");
  EXPECT_EQ(counted("sent"), "1");
}

/// A receiver whose server fails on one specific alert.
TEST_F(NotifierTest, AnAlertThatIsNeverTakenHoldsUpNoOther) {
  Notifier& notifier = start({{.name = "ops"}});
  takes = [](const std::string& body) { return body.find("poison") == std::string::npos; };
  notifier.publish(event_of(api::EventReason::kCircuitOpened, "poison"));
  const auto run_for = [&](base::Duration time) {
    const base::TimePoint end = clock.now() + time;
    for (auto due = notifier.step(); due && *due < end; due = notifier.step())
      clock.advance(std::max(*due - clock.now(), base::Duration::zero()));
    clock.advance(end - clock.now());
  };
  run_for(minutes(10));
  for (int i = 0; i < 100; ++i) notifier.publish(event_of(api::EventReason::kFailed, "e" + std::to_string(i)));
  notifier.publish(event_of(api::EventReason::kCircuitOpened, "balance"));
  run_for(minutes(5));
  EXPECT_EQ(counted("sent"), "101");
  EXPECT_EQ(counted("failed"), "0");
  run_for(std::chrono::hours(25));
  EXPECT_EQ(counted("failed"), "1") << "it is dropped after a day";
  EXPECT_LT(posts.size(), 800U);
}

TEST_F(NotifierTest, AFloodIsBoundedAndReported) {
  Notifier& notifier = start({{.name = "ops"}});
  for (std::size_t i = 0; i < 3000; ++i) notifier.publish(event_of(api::EventReason::kFailed, "e" + std::to_string(i)));
  for (auto due = notifier.step(); due; due = notifier.step()) {
  }
  EXPECT_EQ(posts.size(), (Notifier::kMaxPending + Notifier::kMaxAtOnce - 1) / Notifier::kMaxAtOnce);
  EXPECT_EQ(Json::parse(posts[0].second).at("leftOut"), 3000 - Notifier::kMaxPending);
  EXPECT_EQ(Json::parse(posts[1].second).at("leftOut"), 0) << "told once";
  EXPECT_EQ(counted("sent"), std::to_string(Notifier::kMaxPending));
}

kube::Event manual(const std::string& ns, int number, bool is_refusal = true) {
  const std::string name = ns + std::to_string(number);
  auto event = kube::Event::warning(api::EventReason::kFailed, "InvalidSpec");
  event.regarding = kube::event_object(kube::kEvacuations, {ns, name}, "uid-" + name);
  event.is_manual = true;
  event.is_refusal = is_refusal;
  return event;
}

/// A dropped notification does not count as sent, so its next occurrence is a new one.
TEST_F(NotifierTest, WhatWasDroppedOrGivenUpIsNotTakenForTold) {
  Notifier& notifier = start({{.name = "ops"}});
  for (int i = 0; i < 600; ++i) notifier.publish(manual("shop", i));
  for (auto due = notifier.step(); due; due = notifier.step()) {
  }
  const std::size_t before = posts.size();
  notifier.publish(manual("shop", 599));
  notifier.publish(manual("shop", 0));
  notifier.step();
  ASSERT_EQ(posts.size(), before + 1);
  EXPECT_EQ(told(before).size(), 1U) << "the first was sent, the last was dropped";
  answers = {answer(404)};
  notifier.publish(event_of(api::EventReason::kCircuitOpened, "balance"));
  notifier.step();
  answers = {answer(200)};
  notifier.publish(event_of(api::EventReason::kCircuitOpened, "balance"));
  EXPECT_EQ(notifier.step(), std::nullopt);
  EXPECT_EQ(told(before + 2)[0].at("event"), "CircuitOpen");
}

TEST_F(NotifierTest, AFloodOfRefusedEvacuationsHidesNoAlertOfAPolicy) {
  Notifier& notifier = start({{.name = "ops"}});
  for (int i = 0; i < 600; ++i) notifier.publish(manual("shop", i));
  notifier.publish(event_of(api::EventReason::kCircuitOpened, "balance"));
  notifier.publish(event_of(api::EventReason::kFailed, "of-a-policy"));
  notifier.publish(manual("bank", 1));
  notifier.step();
  std::vector<std::string> names;
  for (const Json& each : told(0)) names.push_back(each.at("object").at("name"));
  EXPECT_THAT(names, testing::IsSupersetOf({"balance", "of-a-policy", "bank1"})) << "in the first message";
}

TEST_F(NotifierTest, OmitsRefusedManualEvacuationsIfConfigured) {
  Notifier& notifier = start({{.name = "ops", .omit_refused_manual = true}});
  notifier.publish(manual("shop", 1));
  notifier.publish(manual("shop", 2, false));
  auto refused = event_of(api::EventReason::kFailed, "of-a-policy");
  refused.is_refusal = true;
  notifier.publish(std::move(refused));
  notifier.step();
  ASSERT_EQ(posts.size(), 1U);
  ASSERT_EQ(told(0).size(), 2U);
  EXPECT_EQ(told(0)[0].at("object").at("name"), "shop2");
  EXPECT_EQ(told(0)[1].at("object").at("name"), "of-a-policy");
}

TEST_F(NotifierTest, PublishDoesNotBlockDuringAPost) {
  Notifier& notifier = start({{.name = "ops"}});
  notifier.publish(event_of(api::EventReason::kFailed, "one"));
  meanwhile = [&] {  // called during the post: a lock held here would deadlock
    if (posts.size() == 1) std::thread([&] { notifier.publish(event_of(api::EventReason::kFailed, "two")); }).join();
  };
  notifier.step();
  notifier.step();
  ASSERT_EQ(posts.size(), 2U);
  EXPECT_EQ(told(1)[0].at("object").at("name"), "two");
}

TEST_F(NotifierTest, SlackGetsTextThatMakesNoMarkup) {
  Notifier& notifier = start({{.name = "chat", .format = NotificationFormat::kSlack}});
  notifier.publish(event_of(api::EventReason::kFailed, "one",
                            "<!channel> & <https://evil|click>\n`code` \xff" + std::string(5000, 'x')));
  notifier.step();
  const std::string text = Json::parse(posts.at(0).second).at("text");
  EXPECT_THAT(text, HasSubstr("*Evacuator* (operator-0)\n• An Evacuation failed: `shop/one`: "
                              "&lt;!channel&gt; &amp; &lt;https://evil|click&gt;  code  \xEF\xBF\xBD"));
  EXPECT_LT(text.size(), 1000U);
}

/// A local receiver with real HTTP.
class HttpPostTest : public testing::Test {
 protected:
  HttpPostTest() {
    EXPECT_TRUE(server.start());
    url("http://127.0.0.1:" + std::to_string(server.port()) + "/services/T0/SECRET?key=SECRET\n");
  }
  void url(const std::string& text) { std::ofstream(folder.file("url")) << text; }

  fakes::TempFolder folder;
  base::SystemClock clock;
  std::vector<http_server::Request> seen;
  http_server::Server server{
      {}, [this](const http_server::Request& request) {
        seen.push_back(request);
        return http_server::Response{.status = request.path.find("gone") == std::string::npos ? 200 : 410};
      }};
  NotificationChannel channel{.name = "ops", .url_file = folder.file("url")};
  controllers::HttpPost post{clock};
};

TEST_F(HttpPostTest, PostsToTheUrlOfTheFileAsItIsNow) {
  ASSERT_TRUE(post(channel, "{}"));
  url("http://127.0.0.1:" + std::to_string(server.port()) + "/gone");
  const auto second = post(channel, "[]");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->status, 410);
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].method + " " + seen[0].path + "?" + seen[0].query + " " + seen[0].body,
            "POST /services/T0/SECRET?key=SECRET {}");
  EXPECT_EQ(seen[0].header("content-type"), "application/json");
  EXPECT_EQ(seen[0].header("authorization"), "");
  EXPECT_EQ(seen[1].body, "[]");
}

TEST_F(HttpPostTest, ErrorsDoNotHoldTheUrl) {
  for (const char* bad : {"", "SECRET", "ftp://SECRET/x", "http://SECRET.example/x", "https://u:SECRET@h/x",
                          "https://[SECRET", "http://127.0.0.1:1/SECRET"}) {
    url(bad);
    const auto answer = post(channel, "{}");
    ASSERT_FALSE(answer) << bad;
    EXPECT_THAT(answer.error().message, Not(HasSubstr("SECRET"))) << bad;
  }
  url("https://h/" + std::string(9000, 'x'));
  EXPECT_THAT(post(channel, "{}").error().message, HasSubstr("too long"));
  channel.url_file = folder.file("absent");
  EXPECT_THAT(post(channel, "{}").error().message, HasSubstr("cannot be read"));
  EXPECT_TRUE(seen.empty());
}

TEST_F(HttpPostTest, NotifierAndReceiverTogether) {
  struct Nowhere : kube::EventSink {
    void publish(kube::Event) override {}
  } null_recorder;
  base::Metrics metrics;
  Notifier notifier({.inner = null_recorder,
                     .clock = clock,
                     .steady = clock,
                     .metrics = metrics,
                     .log = {},
                     .instance = "operator-0",
                     .post = [this](const auto& to, const auto& body) { return post(to, body); }},
                    {channel});
  notifier.publish(event_of(api::EventReason::kFailed, "one"));
  std::jthread thread([&](std::stop_token stop) { notifier.run(stop); });
  thread.request_stop();  // pending notifications are still sent
  thread.join();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(Json::parse(seen[0].body).at("notifications").size(), 1U);
  EXPECT_THAT(metrics.render(), HasSubstr("evacuator_notifications_total{channel=\"ops\",result=\"sent\"} 1"));
}

}  // namespace notifier_test
