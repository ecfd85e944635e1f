#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <thread>

#include "api/core/protobuf/cursor.hpp"
#include "api/core/protobuf/envelope.hpp"
#include "test/unit/kube/runtime/reflector_fixture.hpp"

/// Lists from the server's watch cache, and lists that come as a watch.
namespace kube {
namespace reflector_lists_test {

using namespace reflector_fixture;

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

}  // namespace reflector_lists_test
}  // namespace kube
