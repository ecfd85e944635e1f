#include "api/eviction_request.hpp"

#include <gmock/gmock.h>

#include "api/core/codec.hpp"

namespace native_eviction_test {

using testing::ElementsAre;

base::TimePoint at(const char* text) { return *base::parse_time(text); }

TEST(EvictionRequest, IsRead) {
  const auto got = api::decode_eviction_request(R"({"kind": "EvictionRequest",
    "metadata": {"name": "evac-1", "namespace": "shop", "uid": "r-1", "generation": 2},
    "spec": {"target": {"pod": {"name": "web-1", "uid": "u-1"}}, "requester": "evacuator.dev/evacuation-controller",
             "intent": "Withdrawn"},
    "status": {"observedGeneration": 2, "conditions": [{"type": "Failed", "status": "True", "reason": "CanceledDueToNoRequesters"}]}})");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->pod_name, "web-1");
  EXPECT_EQ(got->pod_uid.value, "u-1");
  EXPECT_EQ(got->requester, "evacuator.dev/evacuation-controller");
  EXPECT_TRUE(got->withdrawn);
  EXPECT_EQ(got->observed_generation, 2);
  EXPECT_TRUE(api::is_true(got->conditions, "Failed"));
}

TEST(EvictionRequest, IsReadInTheDraftsSpelling) {
  const auto got =
      api::decode_eviction_request(R"({"metadata": {"name": "r"}, "spec": {"requesterName": "acme.io/x"}})");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->requester, "acme.io/x");
  EXPECT_FALSE(got->withdrawn);
  EXPECT_EQ(got->observed_generation, 0);
}

TEST(EvictionRequest, OfInvalidInputIsAnErrorOrEmpty) {
  for (const char* nonsense : {"", "<html>", "[]", "{}", R"({"metadata": {}})", R"({"metadata": 7})"}) {
    EXPECT_FALSE(api::decode_eviction_request(nonsense)) << nonsense;
    EXPECT_FALSE(api::decode_native_eviction(nonsense)) << nonsense;
  }
  const auto got = api::decode_eviction_request(
      R"({"metadata": {"name": "r"}, "spec": {"target": [1], "requester": 7, "intent": {}}, "status": "x"})");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->requester + got->pod_name + got->pod_uid.value, "");
}

constexpr const char* kEviction = R"({"kind": "Eviction",
  "metadata": {"name": "pod-1-web-1", "namespace": "shop", "uid": "e-1"},
  "spec": {"target": {"pod": {"name": "web-1", "uid": "u-1"}}},
  "status": {
    "requesters": [{"name": "a.io/x", "intent": "Eviction"}, {"name": "b.io/y", "intent": "Withdrawn"}, 7],
    "targetResponders": [{"name": "a.io/first", "priority": 20000, "state": "Interrupted"},
                         {"name": "a.io/second", "priority": 10000, "state": "Active"},
                         {"name": "a.io/third", "priority": 100, "state": "Dancing"}],
    "responders": [{"name": "a.io/second", "startTime": "2026-11-21T12:00:00Z", "heartbeatTime": "2026-11-21T12:03:00.5Z",
                    "expectedCompletionTime": "2026-11-21T12:30:00Z", "message": "copying"},
                   {"name": "a.io/first", "startTime": "2026-11-21T11:00:00Z"}, {"message": "nameless"}]}})";

TEST(NativeEviction, HasItsRespondersInOrder) {
  const auto got = api::decode_native_eviction(kEviction);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_THAT(got->requesters,
              ElementsAre(api::NativeRequester{"a.io/x", false}, api::NativeRequester{"b.io/y", true}));
  ASSERT_EQ(got->responders.size(), 3u);
  EXPECT_EQ(got->responders[0].state, api::ResponderState::kInterrupted);
  EXPECT_EQ(got->responders[0].start_time, at("2026-11-21T11:00:00Z"));
  EXPECT_EQ(got->responders[2].state, api::ResponderState::kInactive) << "a state of the future";
  ASSERT_TRUE(got->active());
  EXPECT_EQ(got->active()->name, "a.io/second");
  EXPECT_EQ(got->active()->heartbeat_time, at("2026-11-21T12:03:00.5Z"));
  EXPECT_EQ(got->active()->expected_completion_time, at("2026-11-21T12:30:00Z"));
  EXPECT_EQ(got->active()->message, "copying");
  EXPECT_EQ(got->responder("a.io/third")->priority, 100);
  EXPECT_EQ(got->responder("a.io/fourth"), nullptr);
  EXPECT_FALSE(got->is_final());
}

TEST(NativeEviction, ListsSkipInvalidItems) {
  const auto got = api::decode_native_evictions(std::string(R"({"items": [7, {"metadata": {}}, )") + kEviction + "]}");
  ASSERT_TRUE(got);
  ASSERT_EQ(got->size(), 1u);
  EXPECT_EQ(got->front().meta.name, "pod-1-web-1");
  EXPECT_FALSE(api::decode_native_evictions("{}"));
}

TEST(PodResponders, AreReadFromThePod) {
  const auto pod = api::decode_pod(std::string_view(R"({"metadata": {"name": "p"}, "spec": {"evictionResponders": [
      {"name": "acme.io/db", "priority": 10000}, {"priority": 5}, 7, {"name": "evacuator.dev/responder"}]}})"));
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_THAT(pod->eviction_responders,
              ElementsAre(api::PodResponder{"acme.io/db", 10000}, api::PodResponder{"evacuator.dev/responder", 0}));
}

}  // namespace native_eviction_test
