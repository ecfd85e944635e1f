#include "kube/runtime/events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "test/unit/kube/fake_transport.hpp"

namespace kube {
namespace events_test {

using api::Json;
using base::ErrorCode;
using base::seconds;
using ::testing::ElementsAre;
using testing::FakeTransport;
using testing::json_response;
using ::testing::StartsWith;

Event note_about(const std::string& name, const std::string& reason = "Evicted", const std::string& text = "moved") {
  Event note;
  note.regarding = {"v1", "Pod", "shop", name, "u-" + name};
  note.reason = reason;
  note.action = "Evict";
  note.note = text;
  return note;
}

class EventsTest : public ::testing::Test {
 protected:
  EventsTest() {
    transport.answer = [this](const Request& request) -> base::Result<Response> {
      if (failure) return *failure;
      if (status == 404) return testing::not_found(request.path.substr(request.path.rfind('/') + 1));
      return json_response(status, R"({"kind":"Status","status":"Failure"})");
    };
  }
  std::vector<std::string> methods() const {
    std::vector<std::string> all;
    for (const Request& each : transport.requests()) all.push_back(each.method);
    return all;
  }
  Json body(std::size_t index) const { return Json::parse(transport.requests().at(index).body); }

  base::ManualClock clock{base::TimePoint{} + seconds(1'800'000'000)};
  FakeTransport transport;
  Client client{transport, nullptr};
  int status = 201;
  std::optional<base::Error> failure;
  EventOptions options{.instance = "evacuator-0"};
  EventRecorder recorder{client, clock, options, base::Log()};
};

TEST_F(EventsTest, WritesTheWireNames) {
  Event note = note_about("web-1");
  note.kind = EventKind::kWarning;
  note.related = EventObject{"v1", "Node", "", "n1", ""};
  recorder.publish(note);
  recorder.drain();
  ASSERT_THAT(methods(), ElementsAre("POST"));
  EXPECT_EQ(transport.requests()[0].path, "/apis/events.k8s.io/v1/namespaces/shop/events");
  Json got = body(0);
  EXPECT_THAT(got["metadata"]["name"].get<std::string>(), StartsWith("web-1."));
  got["metadata"].erase("name");
  EXPECT_EQ(got, Json::parse(R"({"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"namespace":"shop"},
      "eventTime":"2027-01-15T08:00:00.000000Z","reportingController":"evacuator.dev/evacuator","reportingInstance":"evacuator-0",
      "type":"Warning","reason":"Evicted","action":"Evict","note":"moved",
      "regarding":{"apiVersion":"v1","kind":"Pod","namespace":"shop","name":"web-1","uid":"u-web-1"},
      "related":{"apiVersion":"v1","kind":"Node","name":"n1"}})"));
}

/// A missing permission is logged, but must not flood the log.
TEST_F(EventsTest, WarnsOfARefusalOncePerMinuteKindReasonAndNamespace) {
  status = 403;
  ::testing::internal::CaptureStderr();
  EventRecorder loud(client, clock, options, base::Log::to_stderr(base::LogLevel::kWarning, base::LogFormat::kText));
  const auto tell = [&](const std::string& name, const std::string& reason) {
    loud.publish(note_about(name, reason));
    loud.drain();
  };
  for (const char* pod : {"web-1", "web-2", "web-3"}) tell(pod, "Evicted");
  tell("web-1", "Failed");
  clock.advance(seconds(61));
  for (const char* pod : {"web-4", "web-5"}) tell(pod, "Evicted");
  const std::string log = ::testing::internal::GetCapturedStderr();
  const auto count = [&](const std::string& text) {
    int found = 0;
    for (auto at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("an event could not be published"), 3) << log;
  EXPECT_EQ(count("web-1."), 2) << "the first one of each: " << log;
  EXPECT_EQ(count("web-4."), 1) << log;
}

TEST_F(EventsTest, SetsTheRelatedObjectIfGiven) {
  Event event = Event::warning(api::EventReason::kFailed, "no attempt remains")
                    .about({"v1", "Pod", "shop", "web-1", "u-1"}, "Evacuate");
  event.related = EventObject{"evacuator.dev/v1alpha1", "Evacuation", "shop", "web-1-u1", "e-1"};
  event.also_on_related = true;
  recorder.publish(event);
  recorder.drain();
  ASSERT_THAT(methods(), ElementsAre("POST", "POST"));
  EXPECT_EQ(body(0)["regarding"], body(1)["related"]);
  EXPECT_EQ(body(0)["related"], body(1)["regarding"]);
  for (const char* same : {"type", "reason", "action", "note"}) EXPECT_EQ(body(0)[same], body(1)[same]) << same;
}

TEST_F(EventsTest, PutsClusterScopedOnesIntoDefault) {
  Event note = note_about("policy");
  note.regarding.ns.clear();
  recorder.publish(note);
  recorder.drain();
  EXPECT_EQ(transport.requests()[0].path, "/apis/events.k8s.io/v1/namespaces/default/events");
}

TEST_F(EventsTest, FollowsOldServersIntoKubeSystem) {  // Observed on 1.20.2
  transport.answer = [](const Request& request) -> base::Result<Response> {
    if (request.path.find("/kube-system/") != std::string::npos) return json_response(201, "{}");
    return json_response(422,
                         R"({"kind":"Status","message":"involvedObject.namespace: does not match event.namespace"})");
  };
  ::testing::internal::CaptureStderr();
  EventRecorder told{client, clock, options, base::Log::to_stderr(base::LogLevel::kDebug, base::LogFormat::kText)};
  for (const char* name : {"n1", "n2"}) {
    Event note = note_about(name);
    note.regarding.ns.clear();
    told.publish(note);
  }
  told.drain();
  EXPECT_EQ(told.stats().sent, 2u);
  EXPECT_EQ(told.stats().failed, 0u);
  EXPECT_EQ(methods().size(), 3u) << "it learns once";
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "nothing is lost";
  EXPECT_EQ(body(2)["metadata"]["namespace"], "kube-system");
}

TEST_F(EventsTest, DoesNotCountEventsThatWereNeverCreated) {
  status = 422;
  for (int i = 0; i < 3; ++i) recorder.publish(note_about("a"));
  recorder.drain();
  clock.advance(seconds(60));
  recorder.drain();
  EXPECT_EQ(methods(), std::vector<std::string>(3, "POST")) << "no patch of a series that does not exist";
}

TEST_F(EventsTest, TruncatesLongNotesBetweenCharacters) {
  std::string text(1023, 'x');
  recorder.publish(note_about("a", "R", text + "\xC3\xA9\xC3\xA9"));
  recorder.drain();
  EXPECT_EQ(body(0)["note"], text);
}

TEST_F(EventsTest, FillsTheActionTheServerInsistsOn) {
  Event note = note_about("a", "Blocked");
  note.action.clear();
  recorder.publish(note);
  recorder.drain();
  EXPECT_EQ(body(0)["action"], "Blocked");
}

TEST_F(EventsTest, FoldsRepetitionsIntoASeries) {
  for (int i = 0; i < 5; ++i) recorder.publish(note_about("web-1"));
  recorder.drain();
  EXPECT_THAT(methods(), ElementsAre("POST")) << "the count may wait";
  clock.advance(seconds(10));
  recorder.drain();
  ASSERT_THAT(methods(), ElementsAre("POST", "PATCH"));
  const Request patch = transport.requests()[1];
  EXPECT_EQ(patch.content_type, "application/merge-patch+json");
  EXPECT_EQ(patch.path,
            "/apis/events.k8s.io/v1/namespaces/shop/events/" + body(0)["metadata"]["name"].get<std::string>());
  EXPECT_EQ(body(1), Json::parse(R"({"series":{"count":5,"lastObservedTime":"2027-01-15T08:00:00.000000Z"}})"));
  clock.advance(seconds(100));
  recorder.drain();
  EXPECT_EQ(methods().size(), 2u) << "nothing new to count";
}

TEST_F(EventsTest, KeepsDifferentEventsApart) {
  recorder.publish(note_about("web-1", "Evicted"));
  recorder.publish(note_about("web-1", "Blocked"));
  recorder.publish(note_about("web-2", "Evicted"));
  Event warning = note_about("web-1", "Evicted");
  warning.kind = EventKind::kWarning;
  recorder.publish(warning);
  recorder.drain();
  EXPECT_EQ(methods(), std::vector<std::string>(4, "POST"));
  std::set<std::string> names;
  for (std::size_t i = 0; i < 4; ++i) names.insert(body(i)["metadata"]["name"]);
  EXPECT_EQ(names.size(), 4u);
}

TEST_F(EventsTest, StartsANewEventAfterALongPause) {
  recorder.publish(note_about("web-1"));
  recorder.drain();
  clock.advance(seconds(361));
  recorder.publish(note_about("web-1"));
  recorder.drain();
  EXPECT_THAT(methods(), ElementsAre("POST", "POST"));
}

TEST_F(EventsTest, LimitsEventsOfOneObject) {
  for (int i = 0; i < 40; ++i) recorder.publish(note_about("web-1", "Reason" + std::to_string(i)));
  recorder.publish(note_about("web-2"));
  recorder.drain();
  EXPECT_EQ(methods().size(), 26u) << "25 of the chatty one and the quiet one";
  EXPECT_EQ(recorder.stats().dropped, 15u);
}

TEST_F(EventsTest, DropsEventsBeyondTheQueue) {
  for (int i = 0; i < 1010; ++i) recorder.publish(note_about("p" + std::to_string(i)));
  EXPECT_EQ(recorder.stats().dropped, 10u);
  EXPECT_EQ(recorder.stats().published, 1010u);
  recorder.drain();
  EXPECT_EQ(recorder.stats().sent, 1000u);
}

TEST_F(EventsTest, RetriesTransientErrorsAndThenGivesUp) {
  failure = base::unavailable("down");
  recorder.publish(note_about("a"));
  recorder.drain();
  EXPECT_EQ(methods().size(), 3u);
  EXPECT_EQ(recorder.stats().failed, 1u);
  failure.reset();
  status = 403;
  recorder.publish(note_about("b"));
  recorder.drain();
  EXPECT_EQ(methods().size(), 4u) << "a refusal is final";
  EXPECT_EQ(recorder.stats().failed, 2u);
}

TEST_F(EventsTest, TreatsAlreadyExistsAfterALostAnswerAsSuccess) {
  int calls = 0;
  transport.answer = [&](const Request&) -> base::Result<Response> {
    if (++calls == 1) return base::Error{ErrorCode::kOutcomeUnknown, "lost"};
    return json_response(409, R"({"kind":"Status","reason":"AlreadyExists"})");
  };
  recorder.publish(note_about("a"));
  recorder.drain();
  EXPECT_EQ(recorder.stats().sent, 1u);
  EXPECT_EQ(recorder.stats().failed, 0u);
}

TEST_F(EventsTest, RecreatesEventsThatTheServerDeleted) {
  recorder.publish(note_about("a"));
  recorder.drain();
  recorder.publish(note_about("a"));
  clock.advance(seconds(10));
  status = 404;
  recorder.drain();
  status = 201;
  recorder.publish(note_about("a"));
  recorder.drain();
  EXPECT_THAT(methods(), ElementsAre("POST", "PATCH", "POST"));
}

TEST(EventCorrelatorTest, ForgetsTheOldestSeries) {
  EventOptions options;
  options.series_limit = 10;
  EventCorrelator correlator(options);
  const base::TimePoint start = base::TimePoint{} + seconds(1000);
  for (int i = 0; i < 50; ++i) correlator.correlate(note_about("p" + std::to_string(i)), start + seconds(i));
  EXPECT_EQ(correlator.size(), 10u);
  EXPECT_TRUE(
      std::holds_alternative<EventCorrelator::Count>(correlator.correlate(note_about("p49"), start + seconds(50))));
  EXPECT_TRUE(
      std::holds_alternative<EventCorrelator::Create>(correlator.correlate(note_about("p0"), start + seconds(50))));
}

TEST(EventsRealTime, PublishNeverWaitsForTheServer) {
  const base::SystemClock clock;
  FakeTransport transport;
  std::mutex mutex;
  std::condition_variable released;
  bool open = false;
  transport.answer = [&](const Request&) -> base::Result<Response> {
    std::unique_lock lock(mutex);
    released.wait(lock, [&] { return open; });
    return json_response(201, "{}");
  };
  Client client(transport, nullptr);
  EventRecorder recorder(client, clock, {}, base::Log());
  std::jthread runner([&](std::stop_token stop) { recorder.run(stop); });
  for (int i = 0; i < 5000; ++i) recorder.publish(note_about("p" + std::to_string(i)));
  EXPECT_GT(recorder.stats().dropped, 3000u);
  {
    const std::scoped_lock lock(mutex);
    open = true;
    released.notify_all();
  }
  runner.request_stop();
  runner.join();
  EXPECT_EQ(recorder.stats().sent + recorder.stats().dropped, 5000u) << "what was accepted is sent before the end";
}

TEST(EventsRealTime, EndsQuicklyIfTheServerIsGone) {
  const base::SystemClock clock;
  FakeTransport transport;
  transport.answer = [](const Request&) -> base::Result<Response> { return base::unavailable("gone"); };
  Client client(transport, nullptr);
  EventRecorder recorder(client, clock, {}, base::Log());
  for (int i = 0; i < 500; ++i) recorder.publish(note_about("p" + std::to_string(i)));
  std::jthread runner([&](std::stop_token stop) { recorder.run(stop); });
  runner.request_stop();
  runner.join();
  EXPECT_LE(transport.requests().size(), 10u);
}

TEST(EventObjectOf, NamesTheKind) {
  api::ObjectMeta meta;
  meta.ns = "shop";
  meta.name = "e";
  meta.uid = "u";
  EXPECT_EQ(event_object(kEvacuations, meta), (EventObject{"evacuator.dev/v1alpha1", "Evacuation", "shop", "e", "u"}));
}

}  // namespace events_test
}  // namespace kube
