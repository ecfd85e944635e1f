#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <stdexcept>
#include <thread>

#include "api/core/protobuf/cursor.hpp"
#include "api/core/protobuf/envelope.hpp"
#include "kube/runtime/informer.hpp"
#include "kube/runtime/reflector_state.hpp"
#include "test/unit/kube/fake_transport.hpp"

namespace kube {

// Used by GoogleTest to print states.
void PrintTo(const ReflectorState& state, std::ostream* out) {
  std::visit(base::Overload{
                 [&](const NeedsList& s) { *out << "MustList{" << s.failures << ", " << s.page_shift << "}"; },
                 [&](const Streaming& s) { *out << "Streaming{" << s.failures << "}"; },
                 [&](const MustWatch& s) { *out << "MustWatch{" << s.resource_version << ", " << s.failures << "}"; },
                 [&](const Watching& s) {
                   *out << "Watching{" << s.resource_version << ", " << s.failures << ", " << s.progressed << "}";
                 },
             },
             state);
}

namespace reflector_test {

using base::Error;
using base::ErrorCode;
using base::milliseconds;
using base::seconds;
using ::testing::ElementsAre;
using testing::FakeFeed;
using testing::FakeTransport;
using ::testing::HasSubstr;
using testing::json_response;

const Error kGoneError{ErrorCode::kGone, "too old"};
const Error kDown{ErrorCode::kUnavailable, "refused"};
const Error kLost{ErrorCode::kOutcomeUnknown, "504"};
const Error kBad{ErrorCode::kInvalid, "400"};

struct StepCase {
  const char* name;
  ReflectorState from;
  ReflectorInput input;
  ReflectorState want;
};
class NextStateTest : public ::testing::TestWithParam<StepCase> {};

TEST_P(NextStateTest, IsAsExpected) { EXPECT_EQ(next_state(GetParam().from, GetParam().input), GetParam().want); }

INSTANTIATE_TEST_SUITE_P(
    Reflector, NextStateTest,
    ::testing::Values(
        StepCase{"ListLeadsToWatch", NeedsList{}, Listed{"7"}, MustWatch{"7"}},
        StepCase{"ListKeepsTheCountSoThat410sCannotSpin", NeedsList{2}, Listed{"7"}, MustWatch{"7", 2}},
        StepCase{"FailedListIsRepeated", NeedsList{}, ListFailed{kDown}, NeedsList{1}},
        StepCase{"HeavyListIsRepeatedInSmallerPages", NeedsList{}, ListFailed{kLost}, NeedsList{1, -1}},
        StepCase{"PagesDoNotShrinkForEver", NeedsList{9, -5}, ListFailed{kLost}, NeedsList{10, -5}},
        StepCase{"ExpiredTokenIsMetWithLargerPages", NeedsList{}, ListFailed{kGoneError}, NeedsList{1, 1}},
        StepCase{"PagesDoNotGrowForEver", NeedsList{3, 3}, ListFailed{kGoneError}, NeedsList{4, 3}},
        StepCase{"AStreamedListIsRead", NeedsList{}, ListOpened{}, Streaming{}},
        StepCase{"AStreamedListIsTheBeginningOfItsWatch", Streaming{}, Listed{"7"}, Watching{"7", 0, true}},
        StepCase{"AStreamedListThatFailsIsRepeated", Streaming{}, ListFailed{kDown}, NeedsList{1}},
        StepCase{"AStreamedListThatIsLostSaysNothingOfPages", Streaming{}, ListFailed{kLost}, NeedsList{1}},
        StepCase{"AStreamedListThatExpiresSaysNothingOfPages", Streaming{2}, ListFailed{kGoneError}, NeedsList{3}},
        StepCase{"AStreamedListHasNoVersionYet", Streaming{}, Changed{"7"}, Streaming{}},
        StepCase{"OpenedWatchKeepsTheVersion", MustWatch{"7"}, WatchOpened{}, Watching{"7"}},
        StepCase{"RefusedWatchIsTriedAgain", MustWatch{"7"}, WatchRefused{kDown}, MustWatch{"7", 1}},
        StepCase{"RefusedFor410Lists", MustWatch{"7"}, WatchRefused{kGoneError}, NeedsList{1}},
        StepCase{"RefusedAsInvalidLists", MustWatch{"7", 2}, WatchRefused{kBad}, NeedsList{3}},
        StepCase{"VersionAheadOfTheServerListsInTheEnd", MustWatch{"7", 3}, WatchRefused{kLost}, NeedsList{4}},
        StepCase{"OutageDoesNotList", MustWatch{"7", 90}, WatchRefused{kDown}, MustWatch{"7", 91}},
        StepCase{"ChangeMovesTheVersion", Watching{"7", 3}, Changed{"8"}, Watching{"8", 0, true}},
        StepCase{"ChangeWithoutVersionKeepsIt", Watching{"7"}, Changed{""}, Watching{"7", 0, true}},
        StepCase{"Error410Lists", Watching{"8", 0, true}, ServerError{kGoneError}, NeedsList{1}},
        StepCase{"OtherErrorResumes", Watching{"8", 0, true}, ServerError{kDown}, MustWatch{"8", 1}},
        StepCase{"MalformedLineLists", Watching{"8"}, Malformed{}, NeedsList{1}},
        StepCase{"EndResumesWhereItWas", Watching{"8", 2, true}, StreamEnded{}, MustWatch{"8", 0}},
        StepCase{"QuietWatchThatLastedIsNoFailure", Watching{"8", 2}, StreamEnded{}, MustWatch{"8", 0}},
        StepCase{"FruitlessWatchBacksOff", Watching{"8", 2}, StreamEnded{true}, MustWatch{"8", 3}},
        StepCase{"ShortButFruitfulWatchDoesNot", Watching{"8", 0, true}, StreamEnded{true}, MustWatch{"8", 0}},
        StepCase{"StrayInputIsIgnored", NeedsList{1}, Changed{"9"}, NeedsList{1}},
        StepCase{"StrayListIsIgnored", Watching{"8"}, Listed{"9"}, Watching{"8"}}),
    [](const auto& info) { return info.param.name; });

TEST(NextState, ServerThatAlwaysSaysGoneIsAskedEverMoreSlowly) {
  ReflectorState state = NeedsList{};
  for (int round = 1; round <= 5; ++round) {
    state = next_state(state, Listed{"7"});
    state = next_state(state, WatchRefused{kGoneError});
    EXPECT_EQ(failures_of(state), round);
  }
}

TEST(ReflectorBackoff, GrowsWithJitterToItsMaximum) {
  const auto delay = [](int failures, double random) {
    return reflector_backoff(failures, milliseconds(200), milliseconds(30'000), random);
  };
  EXPECT_EQ(delay(0, 0.9), milliseconds(0));
  EXPECT_EQ(delay(1, 0.0), milliseconds(100));
  EXPECT_EQ(delay(1, 0.5), milliseconds(150));
  EXPECT_EQ(delay(2, 0.0), milliseconds(200));
  EXPECT_EQ(delay(1'000'000, 0.0), milliseconds(15'000));
  EXPECT_LT(delay(1'000'000, 0.999), milliseconds(30'000));
}

TEST(PageLimit, FollowsTheShift) {
  EXPECT_EQ(page_limit({0, 0}, 500), 500);
  EXPECT_EQ(page_limit({0, -1}, 500), 250);
  EXPECT_EQ(page_limit({0, -5}, 500), 20);
  EXPECT_EQ(page_limit({0, 3}, 500), 4000);
  EXPECT_EQ(page_limit({0, -2}, 3), 3);
  EXPECT_EQ(page_limit({0, 2}, 0), 0) << "no paging wanted";
}

// --- reflector

std::string object(const std::string& name, const std::string& version) {
  return R"({"metadata":{"namespace":"shop","name":")" + name + R"(","uid":"u-)" + name + R"(","resourceVersion":")" +
         version + "\"}}";
}
std::string event(const std::string& type, const std::string& json) {
  return R"({"type":")" + type + R"(","object":)" + json + "}";
}
std::string list_of(const std::vector<std::string>& objects, const std::string& version,
                    const std::string& token = {}) {
  std::string items;
  for (const std::string& each : objects) items += (items.empty() ? "" : ",") + each;
  return R"({"kind":"List","metadata":{"resourceVersion":")" + version + R"(","continue":")" + token +
         R"("},"items":[)" + items + "]}";
}

struct Thing {
  api::ObjectMeta meta;
};
base::Result<Thing> decode_thing(std::string_view json) {
  auto meta = api::decode_meta(json);
  if (!meta) return meta.error();
  if (meta->name == "broken" || meta->resource_version == "unreadable") return base::invalid("broken on purpose");
  return Thing{*std::move(meta)};
}

class ReflectorTest : public ::testing::Test {
 protected:
  ReflectorTest() {
    transport.answer = [this](const Request&) -> base::Result<Response> {
      if (list_answers.empty()) return json_response(200, list_of({object("a", "1")}, "10"));
      auto next = std::move(list_answers.front());
      list_answers.erase(list_answers.begin());
      return next;
    };
    transport.open_watch = [this](const Request&) -> base::Result<std::shared_ptr<FakeFeed>> {
      if (!watch_errors.empty()) {
        Error error = watch_errors.front();
        watch_errors.erase(watch_errors.begin());
        return error;
      }
      feed = std::make_shared<FakeFeed>();
      return feed;
    };
    informer.add_handler([this](const auto& before, const auto& after) {
      changes.push_back((before ? before->meta.name + "@" + before->meta.resource_version : "-") + " > " +
                        (after ? after->meta.name + "@" + after->meta.resource_version : "-"));
    });
  }
  /// Polls until poll() returns false. Returns the number of polls that made progress.
  int settle() {
    int steps = 0;
    while (informer.reflector().poll()) {
      if (++steps > 100) ADD_FAILURE() << "the reflector spins";
      if (steps > 100) break;
    }
    return steps;
  }
  std::vector<std::string> take_changes() { return std::exchange(changes, {}); }
  std::size_t count(const std::string& part) const {
    std::size_t found = 0;
    for (const std::string& each : transport.targets()) found += each.find(part) != std::string::npos;
    return found;
  }

  base::ManualClock clock{base::TimePoint{} + seconds(1'000'000)};
  FakeTransport transport;
  Client client{transport, nullptr};
  std::vector<base::Result<Response>> list_answers;
  std::vector<Error> watch_errors;
  std::shared_ptr<FakeFeed> feed;
  std::vector<std::string> changes;
  Informer<Thing> informer{client, clock, kPods, &decode_thing, {}, base::Log()};
};

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

// --- lists from the server's watch cache

std::string sealed(const std::string& name, const std::string& version) {
  std::string meta;
  api::protobuf::put_bytes(meta, 1, name);
  api::protobuf::put_bytes(meta, 3, "shop");
  api::protobuf::put_bytes(meta, 5, "u-" + name);
  api::protobuf::put_bytes(meta, 6, version);
  std::string body;
  api::protobuf::put_bytes(body, 1, meta);
  return api::protobuf::seal("v1", "Pod", body);
}
std::string sealed_end(const std::string& version, const std::string& continues = {}) {
  std::string meta;
  api::protobuf::put_bytes(meta, 2, version);
  if (!continues.empty()) api::protobuf::put_bytes(meta, 3, continues);
  std::string body;
  api::protobuf::put_bytes(body, 1, meta);
  return api::protobuf::seal("v1", "PodList", body);
}
std::string frame(const std::string& type, const std::string& envelope) {
  std::string object;
  api::protobuf::put_bytes(object, 1, envelope);
  std::string event;
  api::protobuf::put_bytes(event, 1, type);
  api::protobuf::put_bytes(event, 2, object);
  return event;
}

class CachedListTest : public ReflectorTest {
 protected:
  CachedListTest() {
    transport.open_list = [this](const Request&) -> base::Result<std::shared_ptr<FakeFeed>> {
      if (list_error) return *list_error;
      return list_feed;
    };
    cached.add_handler([this](const auto& before, const auto& after) {
      changes.push_back((before ? before->meta.name : "-") + " > " + (after ? after->meta.name : "-"));
    });
  }
  static ReflectorOptions options() {
    ReflectorOptions chosen;
    chosen.list.protobuf = true;
    chosen.starts_from_cache = true;
    return chosen;
  }
  void settle_cached() {
    for (int steps = 0; cached.reflector().poll();) {
      if (++steps > 100) return ADD_FAILURE() << "the reflector spins", void();
    }
  }

  std::shared_ptr<FakeFeed> list_feed = std::make_shared<FakeFeed>();
  std::optional<Error> list_error;
  Informer<Thing> cached{client, clock, kPods, &decode_thing, options(), base::Log()};
};

TEST_F(CachedListTest, ReadsItemsAsTheyArriveAndWatchesFromThere) {
  list_feed->push(sealed("a", "1"));
  list_feed->push(sealed("b", "2"));
  list_feed->push(sealed_end("10"));
  settle_cached();
  EXPECT_TRUE(cached.has_synced());
  EXPECT_THAT(take_changes(), ElementsAre("- > a", "- > b"));
  ASSERT_EQ(transport.requests().size(), 2U);
  EXPECT_EQ(transport.targets()[0], "/api/v1/pods?resourceVersion=0");
  EXPECT_THAT(transport.targets()[1], HasSubstr("resourceVersion=10"));
  feed->push(frame("MODIFIED", sealed("a", "11")));
  feed->push(frame("DELETED", sealed("b", "12")));
  settle_cached();
  EXPECT_THAT(take_changes(), ElementsAre("a > a", "b > -"));
}

TEST_F(CachedListTest, ListsInPagesIfTheServerAnswersJson) {
  list_error = Error{ErrorCode::kUnsupported, "application/json"};
  settle_cached();
  EXPECT_TRUE(cached.has_synced());
  EXPECT_EQ(transport.targets().at(1), "/api/v1/pods?limit=500") << "at once, and not in any old version";
  EXPECT_THAT(take_changes(), ElementsAre("- > a"));
}

TEST_F(CachedListTest, ListsInPagesIfAProxyDoesNotKnowThePath) {
  list_error = Error{ErrorCode::kNotFound, "default backend - 404"};
  settle_cached();
  EXPECT_TRUE(cached.has_synced());
  EXPECT_EQ(transport.targets().at(1), "/api/v1/pods?limit=500");
}

TEST_F(CachedListTest, AListWithAContinueTokenIsIncomplete) {
  list_feed->push(sealed("gone", "1"));
  list_feed->push(sealed_end("10", "t1"));
  settle_cached();
  EXPECT_TRUE(cached.has_synced());
  EXPECT_EQ(transport.targets().at(1), "/api/v1/pods?limit=500");
  EXPECT_THAT(take_changes(), ElementsAre("- > gone", "- > a", "gone > -")) << "what was streamed counts for nothing";
}

TEST_F(CachedListTest, AListThatIsCutIsNoList) {
  list_feed->push(sealed("b", "2"));
  list_feed->end(kDown);
  EXPECT_TRUE(cached.reflector().poll());
  EXPECT_FALSE(cached.has_synced());
  clock.advance(seconds(5));
  settle_cached();
  EXPECT_TRUE(cached.has_synced());
  EXPECT_EQ(transport.targets().at(1), "/api/v1/pods?limit=500") << "the next one comes from the store";
  EXPECT_THAT(take_changes(), ElementsAre("- > b", "- > a", "b > -"));
}

TEST_F(CachedListTest, NeverGoesBackInTime) {
  list_feed->push(sealed("a", "1"));
  list_feed->push(sealed_end("10"));
  settle_cached();
  feed->push(frame("ERROR", api::protobuf::seal("v1", "Status", "\x30\x9a\x03")));
  clock.advance(seconds(5));
  settle_cached();
  clock.advance(seconds(5));
  settle_cached();
  EXPECT_EQ(count("resourceVersion=0"), 1U);
  EXPECT_EQ(count("/api/v1/pods?limit=500"), 1U) << "the list after 410 comes from the store";
}

TEST_F(CachedListTest, ARelistIsReadFromTheStore) {
  cached.reflector().relist();
  settle_cached();
  EXPECT_EQ(transport.targets().at(0), "/api/v1/pods?limit=500");
}

TEST_F(CachedListTest, AListOfAnotherKindIsNone) {
  list_feed->push(sealed("a", "1"));
  list_feed->push(api::protobuf::seal("v1", "NodeList", ""));
  list_feed->end(kDown);
  EXPECT_TRUE(cached.reflector().poll());
  EXPECT_FALSE(cached.has_synced());
}

// --- streamed lists

std::string bookmark(const std::string& version, bool ends_list) {
  return event("BOOKMARK", R"({"kind":"Pod","metadata":{"resourceVersion":")" + version + "\"" +
                               (ends_list ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "") + "}}");
}

class StreamedListTest : public CachedListTest {
 protected:
  StreamedListTest() {
    streamed.add_handler([this](const auto& before, const auto& after) {
      changes.push_back((before ? before->meta.name : "-") + " > " + (after ? after->meta.name : "-"));
    });
    transport.open_watch = [this](const Request& request) -> base::Result<std::shared_ptr<FakeFeed>> {
      const bool is_list = request.query.find("sendInitialEvents") != std::string::npos;
      if (is_list && refusal) return *refusal;
      feed = std::make_shared<FakeFeed>();
      return feed;
    };
  }
  static ReflectorOptions with(std::shared_ptr<StreamedLists> lists) {
    ReflectorOptions chosen = options();
    chosen.streamed_lists = std::move(lists);
    return chosen;
  }
  void settle_streamed() {
    for (int steps = 0; streamed.reflector().poll();) {
      if (++steps > 100) return ADD_FAILURE() << "the reflector spins", void();
    }
  }
  std::size_t asked() const { return count("sendInitialEvents=true"); }

  std::optional<Error> refusal;
  std::shared_ptr<StreamedLists> lists = std::make_shared<StreamedLists>(true);
  Informer<Thing> streamed{client, clock, kPods, &decode_thing, with(lists), base::Log()};
};

TEST_F(StreamedListTest, IsReadUpToItsBookmarkAndContinuesAsTheWatch) {
  settle_streamed();
  ASSERT_EQ(transport.requests().size(), 1U);
  EXPECT_THAT(transport.targets()[0], HasSubstr("/api/v1/pods?watch=true&allowWatchBookmarks=true&sendInitialEvents="
                                                "true&resourceVersionMatch=NotOlderThan&timeoutSeconds="))
      << "without resourceVersion: as consistent as the store";
  EXPECT_THAT(transport.requests()[0].accept, HasSubstr("application/vnd.kubernetes.protobuf;stream=watch"));
  EXPECT_EQ(transport.requests()[0].flow, Flow::kList);
  feed->push(event("ADDED", object("a", "1")));
  feed->push(frame("ADDED", sealed("b", "2")));
  feed->push(bookmark("3", false));
  settle_streamed();
  EXPECT_FALSE(streamed.has_synced()) << "half a list is none";
  feed->push(bookmark("10", true));
  feed->push(event("MODIFIED", object("a", "11")));
  settle_streamed();
  EXPECT_TRUE(streamed.has_synced());
  EXPECT_THAT(take_changes(), ElementsAre("- > a", "- > b", "a > a"));
  EXPECT_EQ(transport.requests().size(), 1U) << "one request for both";
  feed->end(kDown);
  settle_streamed();
  EXPECT_THAT(transport.targets().at(1), HasSubstr("resourceVersion=11")) << "and resumes where it was";
}

TEST_F(StreamedListTest, AppliesChangesDuringTheList) {
  settle_streamed();
  for (const char* name : {"a", "b"}) feed->push(event("ADDED", object(name, "1")));
  feed->push(event("MODIFIED", object("a", "5")));
  feed->push(event("DELETED", object("b", "6")));
  feed->push(bookmark("6", true));
  settle_streamed();
  EXPECT_TRUE(streamed.has_synced());
  ASSERT_EQ(streamed.store().size(), 1U);
  EXPECT_EQ(streamed.store().list()[0]->meta.resource_version, "5");
}

TEST_F(StreamedListTest, FallsBackPermanentlyIfTheServerRefuses) {
  for (const ErrorCode code : {ErrorCode::kInvalid, ErrorCode::kForbidden, ErrorCode::kNotFound}) {
    SCOPED_TRACE(to_string(code));
    refusal = Error{code, "sendInitialEvents: Forbidden"};
    list_feed->push(sealed("a", "1"));
    list_feed->push(sealed_end("10"));
    Informer<Thing> fresh{client, clock, kPods, &decode_thing, with(lists), base::Log()};
    while (!fresh.has_synced() && fresh.reflector().poll()) {
    }
    EXPECT_TRUE(fresh.has_synced()) << "at once";
    EXPECT_EQ(lists->are_served(), code != ErrorCode::kInvalid) << "a missing right is this kind's matter";
    if (code == ErrorCode::kInvalid) lists = std::make_shared<StreamedLists>(true);
  }
  const std::size_t before = asked();
  lists->give_up();
  list_feed->end(kDown);
  Informer<Thing> other{client, clock, kNodes, &decode_thing, with(lists), base::Log()};
  other.reflector().poll();
  EXPECT_EQ(asked(), before) << "what one was refused no other asks for";
}

/// A fallback would send requests for complete lists of twelve kinds to an overloaded server.
TEST_F(StreamedListTest, BacksOffIfTheServerIsDownOrBusy) {
  for (const ErrorCode code : {ErrorCode::kThrottled, ErrorCode::kUnavailable}) {
    SCOPED_TRACE(to_string(code));
    refusal = Error{code, "not now"};
    Informer<Thing> fresh{client, clock, kPods, &decode_thing, with(lists), base::Log()};
    const std::size_t before = transport.requests().size();
    while (fresh.reflector().poll()) {
    }
    EXPECT_EQ(transport.requests().size(), before + 1) << "nothing before the back-off";
    clock.advance(seconds(5));
    EXPECT_TRUE(fresh.reflector().poll());
    EXPECT_EQ(transport.targets().back(), "/api/v1/pods?limit=500");
    EXPECT_TRUE(lists->are_served());
  }
}

TEST_F(StreamedListTest, ATruncatedListIsAnError) {
  settle_streamed();
  feed->push(event("ADDED", object("b", "2")));
  feed->end(kDown);
  settle_streamed();
  EXPECT_FALSE(streamed.has_synced());
  EXPECT_THAT(streamed.reflector().last_error()->message, HasSubstr("listing: listing by a watch: refused"));
  clock.advance(seconds(5));
  settle_streamed();
  EXPECT_TRUE(streamed.has_synced());
  EXPECT_EQ(transport.targets().at(1), "/api/v1/pods?limit=500") << "the next one comes from the store";
  EXPECT_THAT(take_changes(), ElementsAre("- > b", "- > a", "b > -"));
  EXPECT_TRUE(lists->are_served()) << "a broken connection says nothing of the server";
}

TEST_F(StreamedListTest, IsAbandonedWithoutItsBookmark) {
  settle_streamed();
  feed->push(event("ADDED", object("b", "2")));
  settle_streamed();
  clock.advance(seconds(9));
  feed->push(event("ADDED", object("c", "3")));
  settle_streamed();
  clock.advance(seconds(9));
  settle_streamed();
  EXPECT_EQ(transport.requests().size(), 1U) << "it still comes in";
  clock.advance(seconds(2));
  settle_streamed();
  EXPECT_FALSE(streamed.has_synced());
  clock.advance(seconds(5));
  settle_streamed();
  EXPECT_TRUE(streamed.has_synced());
  EXPECT_EQ(transport.targets().at(1), "/api/v1/pods?limit=500");
  EXPECT_THAT(take_changes(), ElementsAre("- > b", "- > c", "- > a", "b > -", "c > -"));
  EXPECT_FALSE(lists->are_served());
}

TEST_F(StreamedListTest, IsAbandonedIfItIsTooSlow) {
  settle_streamed();
  for (int i = 0; i < 40 && lists->are_served(); ++i) {
    clock.advance(seconds(9));
    feed->push(event("MODIFIED", object("b", std::to_string(i))));
    streamed.reflector().poll();
  }
  EXPECT_FALSE(lists->are_served());
  EXPECT_FALSE(streamed.has_synced());
}

TEST_F(StreamedListTest, ErrorsWithinItAreFailures) {
  const std::string lines[] = {
      event("ERROR", R"({"kind":"Status","code":410,"reason":"Expired"})"), "no json at all",
      event("SURPRISE", object("a", "1")),
      event("BOOKMARK", R"({"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}})")};
  for (const std::string& line : lines) {
    SCOPED_TRACE(line);
    Informer<Thing> fresh{client, clock, kPods, &decode_thing, with(lists), base::Log()};
    EXPECT_TRUE(fresh.reflector().poll());
    feed->push(line);
    EXPECT_TRUE(fresh.reflector().poll());
    EXPECT_FALSE(fresh.has_synced());
    EXPECT_TRUE(fresh.reflector().last_error());
    clock.advance(seconds(5));
    EXPECT_TRUE(fresh.reflector().poll());
    EXPECT_TRUE(fresh.has_synced()) << "page by page";
  }
}

TEST_F(StreamedListTest, ARelistIsAListThatBeganLater) {
  settle_streamed();
  feed->push(event("ADDED", object("b", "2")));
  settle_streamed();
  const auto ticket = streamed.reflector().relist();
  settle_streamed();
  EXPECT_EQ(asked(), 2U) << "the one that was coming in began too early";
  feed->push(event("ADDED", object("a", "3")));
  feed->push(bookmark("10", true));
  settle_streamed();
  EXPECT_TRUE(streamed.reflector().has_relisted(ticket));
  EXPECT_THAT(take_changes(), ElementsAre("- > b", "- > a", "b > -"));
  const auto later = streamed.reflector().relist();
  settle_streamed();
  EXPECT_FALSE(streamed.reflector().has_relisted(later)) << "not before its bookmark";
  EXPECT_EQ(asked(), 3U);
  feed->push(event("ADDED", object("a", "3")));
  feed->push(bookmark("12", true));
  settle_streamed();
  EXPECT_TRUE(streamed.reflector().has_relisted(later));
  EXPECT_THAT(take_changes(), ElementsAre());
}

TEST_F(StreamedListTest, AStopEndsIt) {
  std::jthread runner([this](std::stop_token stop) { streamed.reflector().run(stop); });
  while (asked() == 0) std::this_thread::yield();
  runner.request_stop();
  runner.join();
  EXPECT_FALSE(streamed.has_synced());
  EXPECT_EQ(transport.requests().size(), 1U);
}

}  // namespace reflector_test
}  // namespace kube
