#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <stdexcept>
#include <thread>

#include "test/unit/kube/runtime/reflector_fixture.hpp"

/// A reflector that lists page by page and watches from there.
namespace kube {
namespace reflector_test {

using namespace reflector_fixture;

TEST_F(ReflectorTest, ListsThenWatchesFromThere) {
  EXPECT_FALSE(informer.has_synced());
  EXPECT_TRUE(informer.reflector().poll());
  EXPECT_TRUE(informer.has_synced());
  settle();
  ASSERT_EQ(transport.requests().size(), 2u);
  EXPECT_EQ(transport.targets()[0], "/api/v1/pods?limit=500");
  EXPECT_THAT(transport.targets()[1], HasSubstr("watch=true&allowWatchBookmarks=true&resourceVersion=10"));
  EXPECT_THAT(take_changes(), ElementsAre("- > a@1"));
  EXPECT_EQ(informer.store().size(), 1u);
}

/// Omitting an object that cannot be decoded would report it as deleted.
TEST_F(ReflectorTest, AnUndecodableObjectOfAListKeepsItsLastState) {
  settle();
  take_changes();
  list_answers = {json_response(200, list_of({object("b", "11"), object("a", "unreadable")}, "12"))};
  informer.reflector().relist();
  settle();
  EXPECT_THAT(take_changes(), ElementsAre("- > b@11")) << "a is there, whatever it is now";
  informer.reflector().relist();
  list_answers = {json_response(200, list_of({object("b", "11")}, "13"))};
  settle();
  EXPECT_THAT(take_changes(), ElementsAre("a@1 > -"));
}

TEST_F(ReflectorTest, AppliesChanges) {
  settle();
  take_changes();
  feed->push(event("ADDED", object("b", "11")));
  feed->push(event("MODIFIED", object("a", "12")));
  feed->push(event("DELETED", object("b", "13")));
  settle();
  EXPECT_THAT(take_changes(), ElementsAre("- > b@11", "a@1 > a@12", "b@11 > -"));
  EXPECT_EQ(informer.store().size(), 1u);
}

TEST_F(ReflectorTest, ResumesFromTheNewestVersionSeen) {
  settle();
  feed->push(event("MODIFIED", object("a", "12")));
  settle();
  feed->push(event("BOOKMARK", R"({"kind":"Pod","metadata":{"resourceVersion":"99"}})"));
  feed->end(kDown);
  clock.advance(seconds(5));
  settle();
  EXPECT_THAT(transport.targets().back(), HasSubstr("resourceVersion=99"));
  EXPECT_EQ(count("limit=500"), 1u) << "no second list";
  EXPECT_TRUE(informer.has_synced());
}

TEST_F(ReflectorTest, ListsAgainAfter410AsAnEvent) {
  settle();
  take_changes();
  list_answers = {json_response(200, list_of({object("a", "1"), object("c", "20")}, "30"))};
  feed->push(event("ADDED", object("gone", "15")));
  feed->push(event("ERROR", R"({"kind":"Status","code":410,"message":"too old","reason":"Expired"})"));
  settle();
  EXPECT_THAT(take_changes(), ElementsAre("- > gone@15"));
  clock.advance(seconds(1));
  settle();
  EXPECT_THAT(take_changes(), ElementsAre("- > c@20", "gone@15 > -"))
      << "what the list does not have is gone; a is unchanged";
  EXPECT_THAT(transport.targets().back(), HasSubstr("resourceVersion=30"));
  EXPECT_EQ(informer.reflector().last_error(), std::nullopt);
}

TEST_F(ReflectorTest, ListsAgainAfter410AsAnAnswer) {
  watch_errors = {kGoneError};
  settle();
  clock.advance(seconds(1));
  settle();
  EXPECT_EQ(count("limit=500"), 2u);
  EXPECT_EQ(count("watch=true"), 2u);
}

TEST_F(ReflectorTest, DropsASilentWatchAndResumes) {
  settle();
  clock.advance(seconds(89));
  EXPECT_EQ(settle(), 0);
  feed->push(event("BOOKMARK", R"({"metadata":{"resourceVersion":"50"}})"));
  settle();
  clock.advance(seconds(89));
  EXPECT_EQ(settle(), 0) << "a bookmark is a sign of life";
  clock.advance(seconds(1));
  settle();
  EXPECT_EQ(count("watch=true"), 2u);
  EXPECT_THAT(transport.targets().back(), HasSubstr("resourceVersion=50"));
}

TEST_F(ReflectorTest, RetriesAListThatBreaksTheConnection) {
  list_answers = {kLost, kLost, json_response(200, list_of({object("a", "1")}, "10"))};
  settle();
  EXPECT_FALSE(informer.has_synced());
  ASSERT_TRUE(informer.reflector().last_error());
  EXPECT_THAT(informer.reflector().last_error()->message, HasSubstr("listing"));
  clock.advance(seconds(2));
  settle();
  clock.advance(seconds(2));
  settle();
  EXPECT_TRUE(informer.has_synced());
  EXPECT_EQ(informer.reflector().last_error(), std::nullopt);
  EXPECT_THAT(transport.targets()[1], HasSubstr("limit=250"));
  EXPECT_THAT(transport.targets()[2], HasSubstr("limit=125"));
}

TEST_F(ReflectorTest, BacksOffBetweenFailedLists) {
  list_answers.assign(50, kDown);
  EXPECT_EQ(settle(), 1) << "one try, then it waits";
  EXPECT_EQ(settle(), 0);
  clock.advance(milliseconds(200));
  EXPECT_EQ(settle(), 1);
  clock.advance(milliseconds(100));
  EXPECT_EQ(settle(), 0) << "the second wait is longer: 200 to 400 ms";
  for (int i = 0; i < 20; ++i) {
    clock.advance(seconds(30));
    EXPECT_EQ(settle(), 1) << "never longer than 30 s";
  }
}

TEST_F(ReflectorTest, HalfAListDoesNotDeleteTheRest) {
  settle();
  feed->push(event("ADDED", object("b", "11")));
  feed->push(event("ERROR", R"({"kind":"Status","code":410})"));
  settle();
  list_answers = {json_response(200, list_of({object("a", "1")}, "20", "t1")), kLost};
  clock.advance(seconds(1));
  settle();
  EXPECT_EQ(informer.store().size(), 2u);
}

TEST_F(ReflectorTest, SkipsAnObjectThatCannotBeDecoded) {
  list_answers = {json_response(200, list_of({object("a", "1"), object("broken", "2"), object("c", "3")}, "10"))};
  settle();
  feed->push(event("MODIFIED", object("broken", "11")));
  feed->push(event("ADDED", object("d", "12")));
  settle();
  EXPECT_EQ(informer.store().size(), 3u);
}

TEST_F(ReflectorTest, ListsAgainAfterALineThatIsNoEvent) {
  for (const char* line : {"nonsense", R"({"type":"ADDED")", R"({"type":"MYSTERY","object":{}})", "<html>"}) {
    settle();
    feed->push(line);
    settle();
    clock.advance(seconds(60));
    settle();
    EXPECT_TRUE(informer.has_synced());
  }
  EXPECT_EQ(count("limit=500"), 5u);
}

TEST_F(ReflectorTest, RequestsAJitteredTimeoutOfAtMostTwice) {
  for (int i = 0; i < 20; ++i) {
    settle();
    feed->end(kDown);
    clock.advance(seconds(60));
  }
  std::map<std::string, int> seen;
  for (const std::string& target : transport.targets()) {
    const auto at = target.find("timeoutSeconds=");
    if (at == std::string::npos) continue;
    const int asked = std::stoi(target.substr(at + 15));
    EXPECT_GE(asked, 300);
    EXPECT_LE(asked, 600);
    ++seen[target.substr(at)];
  }
  EXPECT_GT(seen.size(), 10u);
}

/// A half-open watch cannot be distinguished from a watch without news.
TEST_F(ReflectorTest, RelistsOnRequest) {
  settle();
  ASSERT_EQ(count("watch=true"), 1U);
  list_answers = {json_response(200, list_of({object("b", "20")}, "30"))};
  const auto ticket = informer.reflector().relist();
  EXPECT_FALSE(informer.reflector().has_relisted(ticket));
  take_changes();
  settle();
  EXPECT_TRUE(informer.reflector().has_relisted(ticket));
  EXPECT_THAT(take_changes(), ElementsAre("- > b@20", "a@1 > -"));
  EXPECT_THAT(transport.targets().back(), HasSubstr("resourceVersion=30")) << "the watch goes on from the new list";
  for (const std::string& each : transport.targets()) {
    if (each.find("watch=true") == std::string::npos) {
      EXPECT_EQ(each.find("resourceVersion"), std::string::npos);
    }
  }
}

TEST_F(ReflectorTest, ARelistIsNotSatisfiedByAFailedOrEarlierList) {
  list_answers = {kDown};
  settle();
  const auto ticket = informer.reflector().relist();
  EXPECT_FALSE(informer.reflector().has_relisted(ticket));
  clock.advance(seconds(60));
  settle();
  EXPECT_TRUE(informer.reflector().has_relisted(ticket)) << "one list that began later is enough";
  EXPECT_EQ(count("watch=true"), 1U);
}

TEST_F(ReflectorTest, ReportsTheTimeSinceTheLastContact) {
  settle();
  EXPECT_EQ(informer.reflector().contact_age(), seconds(0));
  clock.advance(seconds(80));
  feed->push(event("BOOKMARK", object("", "11")));
  settle();
  EXPECT_EQ(informer.reflector().contact_age(), seconds(0));
  for (int i = 0; i < 20; ++i) {  // A quiet kind on a server without bookmarks
    clock.advance(seconds(30));
    settle();
    EXPECT_LE(informer.reflector().contact_age(), seconds(180));
  }
}

TEST_F(ReflectorTest, AgesWhileItsKindIsRefused) {
  settle();
  feed->end(kDown);
  watch_errors.assign(1000, Error{ErrorCode::kForbidden, "no RBAC"});
  for (int i = 0; i < 20; ++i) {
    settle();
    clock.advance(seconds(30));
  }
  EXPECT_TRUE(informer.has_synced());
  EXPECT_GE(informer.reflector().contact_age(), seconds(590));
  watch_errors.clear();
  settle();
  clock.advance(seconds(2));
  settle();
  EXPECT_LE(informer.reflector().contact_age(), seconds(2));
}

TEST_F(ReflectorTest, AgesBehindAProxyThatOpensEveryWatchAndEndsIt) {
  settle();
  for (int i = 0; i < 400; ++i) {
    feed->end(kDown);
    settle();
    clock.advance(seconds(2));
    settle();
  }
  EXPECT_GE(informer.reflector().contact_age(), seconds(600));
}

TEST_F(ReflectorTest, StopWakesABlockedWatch) {
  std::atomic<bool> opened = false;
  auto quiet = std::make_shared<FakeFeed>();
  transport.open_watch = [&](const Request&) -> base::Result<std::shared_ptr<FakeFeed>> {
    opened = true;
    return quiet;
  };
  std::jthread runner([&](std::stop_token stop) { informer.reflector().run(stop); });
  quiet->await_reader();
  EXPECT_TRUE(opened);
  runner.request_stop();
  runner.join();
}

TEST_F(ReflectorTest, StopEndsABackOff) {
  transport.answer = [](const Request&) -> base::Result<Response> { return kDown; };
  std::jthread runner([&](std::stop_token stop) { informer.reflector().run(stop); });
  while (!informer.reflector().last_error()) std::this_thread::yield();
  runner.request_stop();
  runner.join();
}

TEST_F(ReflectorTest, AHandlerThatThrowsIsNamedBeforeItEndsTheProcess) {
  ::testing::internal::CaptureStderr();
  Informer<Thing> careless(client, clock, kPods, &decode_thing, {},
                           base::Log::to_stderr(base::LogLevel::kInfo, base::LogFormat::kText));
  careless.add_handler([](const auto&, const auto&) {});
  careless.add_handler([](const auto&, const auto&) { throw std::out_of_range("no such scope"); });
  EXPECT_THROW(careless.reflector().poll(), std::out_of_range);
  const std::string log = ::testing::internal::GetCapturedStderr();
  for (const char* part : {"a handler of this cache threw", "Pod", "shop/a", "handler=1", "no such scope"})
    EXPECT_THAT(log, HasSubstr(part));
}

TEST(ReflectorRealTime, FollowsAFeedOnItsOwnThread) {
  const base::SystemClock clock;
  FakeTransport transport;
  transport.answer = [](const Request&) -> base::Result<Response> { return json_response(200, list_of({}, "1")); };
  auto feed = std::make_shared<FakeFeed>();
  transport.open_watch = [&](const Request&) -> base::Result<std::shared_ptr<FakeFeed>> { return feed; };
  Client client(transport, nullptr);
  Informer<Thing> informer(client, clock, kPods, &decode_thing, {}, base::Log());
  std::jthread runner([&](std::stop_token stop) { informer.reflector().run(stop); });
  for (int i = 0; i < 200; ++i) feed->push(event("ADDED", object("p" + std::to_string(i), std::to_string(i + 2))));
  while (informer.store().size() < 200) std::this_thread::yield();
}

}  // namespace reflector_test
}  // namespace kube
