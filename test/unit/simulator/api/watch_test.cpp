#include <thread>

#include "api/core/codec.hpp"
#include "api/core/protobuf/envelope.hpp"
#include "simulator/api/request_info.hpp"
#include "test/unit/simulator/api/fixture.hpp"

namespace simulator {
namespace watch_test {

TEST(Query, ReadsBooleansLikeKubernetes) {
  for (const char* yes : {"watch", "watch=", "watch=1", "watch=t", "watch=T", "watch=true", "watch=True", "watch=TRUE"})
    EXPECT_TRUE(Query::parse(yes).flag("watch")) << yes;
  for (const char* no : {"", "other=1", "watch=0", "watch=false", "watch=False", "watch=FALSE"})
    EXPECT_FALSE(Query::parse(no).flag("watch")) << no;
}

using Json = api::Json;
using base::ErrorCode;
using base::milliseconds;

class WatchTest : public ApiFixture {
 protected:
  std::unique_ptr<kube::WatchStream> watch(const std::string& path, const std::string& query = "") {
    kube::Request request;
    request.path = path;
    request.query = "watch=true" + (query.empty() ? "" : "&" + query);
    request.accept = accept;
    ApiServer::WatchAnswer answer = server.watch(request, user);
    refusal = answer.refusal;
    return std::move(answer.stream);
  }
  /// Returns all events available now, such as "ADDED a, MODIFIED a".
  static std::string drain(kube::WatchStream& stream) {
    std::string text;
    while (true) {
      auto line = stream.next(milliseconds(0));
      if (!line) return text + (text.empty() ? "" : ", ") + "end";
      if (!*line) return text;
      const Json event = Json::parse(**line);
      text += (text.empty() ? "" : ", ") + event.at("type").get<std::string>();
      if (event.at("object").contains("metadata")) text += " " + event.at("object").at("metadata").value("name", "");
    }
  }
  void put_map(const std::string& name, const std::string& label, const std::string& ns = "shop") {
    const std::string path = "/api/v1/namespaces/" + ns + "/configmaps";
    const Json body = {{"metadata", {{"name", name}, {"labels", {{"l", label}}}}}};
    if (call("POST", path, body).code != 201) must("PUT", path + "/" + name, body);
  }

  std::string accept = "application/json";
  kube::Response refusal;
};

constexpr const char* kMaps = "/api/v1/namespaces/shop/configmaps";
constexpr const char* kStreamedList =
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

TEST_F(WatchTest, BeginsWithExistingObjects) {
  put_map("a", "1");
  const auto stream = watch(kMaps);
  EXPECT_EQ(drain(*stream), "ADDED a");
  put_map("b", "1");
  put_map("b", "2");
  must("DELETE", std::string(kMaps) + "/a");
  put_map("elsewhere", "1", "default");
  EXPECT_EQ(drain(*stream), "ADDED b, MODIFIED b, DELETED a");
  EXPECT_EQ(drain(*stream), "");
}

TEST_F(WatchTest, ResumesAfterAVersion) {
  put_map("a", "1");
  const std::string version = must("GET", kMaps).at("metadata").at("resourceVersion");
  put_map("a", "2");
  EXPECT_EQ(drain(*watch(kMaps, "resourceVersion=" + version)), "MODIFIED a");
  EXPECT_EQ(drain(*watch("/api/v1/configmaps", "resourceVersion=" + version)), "MODIFIED a");
}

TEST_F(WatchTest, SelectorChangesBecomeAddedAndDeleted) {
  const auto stream = watch(kMaps, "labelSelector=l%3D1");
  put_map("a", "2");
  put_map("a", "1");
  put_map("a", "2");
  put_map("a", "1");
  must("DELETE", std::string(kMaps) + "/a");
  EXPECT_EQ(drain(*stream), "ADDED a, DELETED a, ADDED a, DELETED a");
  const auto named = watch(kMaps, "fieldSelector=metadata.name%3Dx");
  put_map("y", "1");
  put_map("x", "1");
  EXPECT_EQ(drain(*named), "ADDED x");
}

TEST_F(WatchTest, CompactionEndsIt) {
  put_map("a", "1");
  const std::string version = must("GET", kMaps).at("metadata").at("resourceVersion");
  put_map("a", "2");
  store.compact();
  const auto stream = watch(kMaps, "resourceVersion=" + version);
  auto line = stream->next(milliseconds(0));
  ASSERT_TRUE(line && *line);
  const Json event = Json::parse(**line);
  EXPECT_EQ(event.at("type"), "ERROR");
  EXPECT_EQ(event.at("object").at("code"), 410);
  EXPECT_EQ(event.at("object").at("reason"), "Expired");
  EXPECT_EQ(stream->next(milliseconds(0)).error().code, ErrorCode::kUnavailable);
}

TEST_F(WatchTest, EndsAtItsTimeWithABookmark) {
  const auto stream = watch(kMaps, "timeoutSeconds=30&allowWatchBookmarks=true");
  put_map("a", "1");
  clock.advance(base::seconds(29));
  EXPECT_EQ(drain(*stream), "ADDED a");
  clock.advance(base::seconds(1));
  auto line = stream->next(milliseconds(0));
  ASSERT_TRUE(line && *line);
  const Json event = Json::parse(**line);
  EXPECT_EQ(event.at("type"), "BOOKMARK");
  EXPECT_EQ(event.at("object").at("kind"), "ConfigMap");
  EXPECT_EQ(event.at("object").at("metadata").at("resourceVersion"), std::to_string(store.revision()));
  EXPECT_EQ(drain(*stream), "end");
}

TEST_F(WatchTest, BookmarksComeEveryMinuteIfRequested) {
  const auto with = watch(kMaps, "allowWatchBookmarks=true");
  const auto without = watch(kMaps);
  clock.advance(base::seconds(61));
  EXPECT_EQ(drain(*with), "BOOKMARK ");
  EXPECT_EQ(drain(*without), "");
}

TEST_F(WatchTest, RefusesWhatOldServersRefuse) {
  server.abilities().streamed_lists = false;
  EXPECT_FALSE(watch(kMaps, kStreamedList));
  EXPECT_EQ(refusal.status, 422);
  EXPECT_NE(refusal.body.find("unless the WatchList feature gate is enabled"), std::string::npos) << refusal.body;
  EXPECT_FALSE(watch("/apis/none/v1/things"));
  EXPECT_EQ(refusal.status, 404);
  EXPECT_FALSE(watch(kMaps, "resourceVersion=x"));
  EXPECT_EQ(refusal.status, 400);
}

TEST_F(WatchTest, SendsInitialEventsIfRequested) {
  put_map("a", "1");
  put_map("b", "2");
  const std::string version = std::to_string(store.revision());
  const auto stream = watch(kMaps, std::string(kStreamedList) + "&labelSelector=l%3D1");
  put_map("c", "1");
  auto first = stream->next(milliseconds(0));
  ASSERT_TRUE(first && *first);
  EXPECT_EQ(Json::parse(**first).at("object").at("metadata").at("name"), "a");
  auto end = stream->next(milliseconds(0));
  ASSERT_TRUE(end && *end);
  const Json bookmark = Json::parse(**end);
  EXPECT_EQ(bookmark.at("type"), "BOOKMARK");
  EXPECT_EQ(bookmark.at("object").at("metadata").at("annotations").at("k8s.io/initial-events-end"), "true");
  EXPECT_EQ(bookmark.at("object").at("metadata").at("resourceVersion"), version);
  EXPECT_EQ(drain(*stream), "ADDED c") << "and goes on as a watch";
}

TEST_F(WatchTest, ChecksTheOptionsOfAListLikeKubernetes) {
  for (const char* query : {"sendInitialEvents=true", "resourceVersionMatch=NotOlderThan",
                            "sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1"}) {
    EXPECT_FALSE(watch(kMaps, query)) << query;
    EXPECT_EQ(refusal.status, 422) << query;
  }
  EXPECT_FALSE(watch(kMaps, std::string(kStreamedList) + "&resourceVersion=99999"));
  EXPECT_EQ(refusal.status, 504);
  put_map("a", "1");
  EXPECT_EQ(drain(*watch(kMaps, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan")), "ADDED a")
      << "without bookmarks nothing says that it is complete";
  const auto from_now = watch(kMaps, "sendInitialEvents=false&resourceVersionMatch=NotOlderThan");
  put_map("b", "1");
  EXPECT_EQ(drain(*from_now), "ADDED b");
}

TEST_F(WatchTest, FaultsApplyWithinAList) {
  for (const char* name : {"a", "b", "c"}) put_map(name, "1");
  const char* want[] = {"end", "ADDED a, end", "ADDED a, ADDED b, end", "ADDED a, ADDED b, ADDED c, end",
                        "ADDED a, ADDED b, ADDED c, BOOKMARK , end"};
  for (std::int64_t after = 0; after < 5; ++after) {
    server.faults().set({{.effect = FaultEffect::kCutWatch, .count = 1, .after = after}});
    EXPECT_EQ(drain(*watch(kMaps, kStreamedList)), want[after]);
  }
  server.faults().set({{.effect = FaultEffect::kHoldBookmark, .count = 1}});
  const auto stream = watch(kMaps, kStreamedList);
  put_map("d", "1");
  EXPECT_EQ(drain(*stream), "ADDED a, ADDED b, ADDED c, ADDED d");
}

TEST_F(WatchTest, SupportsProtobufForKindsThatWeRead) {
  accept = "application/vnd.kubernetes.protobuf;stream=watch,application/json";
  run_pod("p");
  const auto stream = watch("/api/v1/pods", kStreamedList);
  run_pod("q");
  std::string told;
  for (auto line = stream->next(milliseconds(0)); line && *line; line = stream->next(milliseconds(0))) {
    EXPECT_TRUE((*line)->starts_with('\x0a'));
    const auto event = api::split_watch_line(**line);
    ASSERT_TRUE(event) << event.error().message;
    const auto pod = api::decode_pod(event->object);
    ASSERT_TRUE(pod) << pod.error().message;
    told += event->type + " " + pod->meta.name + " " + pod->node_name.value + ", ";
  }
  EXPECT_EQ(told, "ADDED p n1, BOOKMARK  , ADDED q , MODIFIED q n1, ");
  const auto old = watch("/api/v1/pods", "resourceVersion=1");
  store.compact();
  const auto event = api::split_watch_line(**old->next(milliseconds(0)));
  EXPECT_EQ(event->type, "ERROR");
  EXPECT_TRUE(api::protobuf::is_envelope(event->object));
}

TEST_F(WatchTest, CancelWakesTheWaiter) {
  const auto stream = watch(kMaps);
  std::jthread canceller([&] { stream->cancel(); });
  EXPECT_EQ(stream->next(milliseconds(20'000)).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(stream->next(milliseconds(0)).error().code, ErrorCode::kCancelled);
}

TEST_F(WatchTest, AChangeWakesTheWaiter) {
  const auto stream = watch(kMaps);
  std::jthread writer([&] { put_map("a", "1"); });
  auto line = stream->next(milliseconds(20'000));
  ASSERT_TRUE(line && *line);
}

TEST_F(WatchTest, TablesComeRowByRow) {
  accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
  const auto stream = watch("/api/v1/namespaces/shop/pods");
  run_pod("p");
  auto line = stream->next(milliseconds(0));
  ASSERT_TRUE(line && *line);
  const Json table = Json::parse(**line).at("object");
  EXPECT_EQ(table.at("kind"), "Table");
  EXPECT_EQ(table.at("rows").at(0).at("cells").at(0), "p");
  EXPECT_EQ(table.at("rows").at(0).at("object").at("kind"), "PartialObjectMetadata");
}

TEST_F(WatchTest, CoreEventsAreTranslated) {
  const auto stream = watch("/api/v1/namespaces/shop/events");
  must("POST", "/apis/events.k8s.io/v1/namespaces/shop/events", {{"metadata", {{"name", "e"}}}, {"note", "hello"}});
  auto line = stream->next(milliseconds(0));
  ASSERT_TRUE(line && *line);
  EXPECT_EQ(Json::parse(**line).at("object").at("message"), "hello");
}

TEST_F(WatchTest, FaultsCutAndStall) {
  const auto cut = watch(kMaps);
  EXPECT_EQ(drain(*cut), "");
  server.faults().add({.effect = FaultEffect::kCutWatch, .resource = "configmaps", .count = 1});
  EXPECT_EQ(drain(*cut), "end");
  const auto stalled = watch(kMaps);
  server.faults().add({.effect = FaultEffect::kStallWatch, .count = 1});
  EXPECT_EQ(drain(*stalled), "");
  put_map("a", "1");
  EXPECT_EQ(drain(*stalled), "");
  EXPECT_EQ(drain(*watch(kMaps)), "ADDED a");
}

TEST_F(WatchTest, TheTransportReturnsErrors) {
  SimulatorTransport transport(server, user);
  kube::Request request;
  request.path = "/apis/none/v1/things";
  request.query = "watch=true";
  EXPECT_EQ(transport.watch(request).error().code, ErrorCode::kNotFound);
  request.path = kMaps;
  EXPECT_TRUE(transport.watch(request));
  request.query = "";
  EXPECT_EQ(transport.round_trip(request)->status, 200);
  server.faults().add({.effect = FaultEffect::kDropRequest, .count = 1});
  EXPECT_EQ(transport.round_trip(request).error().code, ErrorCode::kOutcomeUnknown);
  server.faults().add({.effect = FaultEffect::kDelay, .count = 2, .delay = base::milliseconds(5'000)});
  request.timeout = base::milliseconds(4'000);
  EXPECT_EQ(transport.round_trip(request).error().code, ErrorCode::kOutcomeUnknown);
  request.timeout = base::milliseconds(6'000);
  EXPECT_TRUE(transport.round_trip(request));
}

TEST_F(WatchTest, ARacingReaderMissesNothing) {
  const auto stream = watch(kMaps);
  constexpr int kWrites = 200;
  std::jthread writer([&] {
    for (int i = 0; i < kWrites; ++i) {
      put_map("m" + std::to_string(i), "1");
      must("POST", "/api/v1/namespaces/shop/secrets", {{"metadata", {{"name", "s" + std::to_string(i)}}}});
    }
  });
  int seen = 0;
  while (seen < kWrites) {
    auto line = stream->next(milliseconds(20'000));
    ASSERT_TRUE(line && *line) << "after " << seen;
    const Json event = Json::parse(**line);
    EXPECT_EQ(event.at("object").at("metadata").at("name"), "m" + std::to_string(seen));
    ++seen;
  }
}

}  // namespace watch_test
}  // namespace simulator
