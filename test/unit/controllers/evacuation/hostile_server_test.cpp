#include <gtest/gtest.h>

#include "test/unit/controllers/evacuation/reconciler_fixture.hpp"

/// The reconciler with a server that drops fields, refuses writes or answers nonsense.
namespace evacuation_hostile_server_test {

using namespace evacuation_reconciler_fixture;

TEST_F(Shell, BacksOffFromAStatusFieldThatAnOlderCrdPrunes) {
  server.prunes = {"specHash"};
  server.evacuation["spec"]["suspend"] = true;
  api::Evacuation waits = make_evacuation();
  waits.spec.suspend = true;
  put(waits);
  const auto done = reconciler.reconcile(key);
  ASSERT_FALSE(done) << "an error is retried later and later";
  EXPECT_EQ(done.error().message,
            "the API server drops specHash of the status: the installed CRD is of another version");
  EXPECT_EQ(std::count(server.log.begin(), server.log.end(), "PATCH /web-1-7c1a8c1e/status"), 2) << "not 24 at once";
  EXPECT_EQ(server.evacuation["status"]["blockedBy"][0]["kind"], "Suspended") << "what it can keep is there";
}

TEST_F(Shell, MakesNoCallWhoseIntentTheServerPrunes) {
  server.prunes = {"intent"};
  (void)reconciler.reconcile(key);
  (void)reconciler.reconcile(key);
  EXPECT_EQ(std::count(server.log.begin(), server.log.end(), "POST /web-1/eviction"), 0);
  EXPECT_LE(std::count(server.log.begin(), server.log.end(), "PATCH /web-1-7c1a8c1e/status"), 4);
}

TEST_F(Shell, DoesNotCallWhereTheServerDropsTheIntent) {
  const Json without = server.evacuation;  // an older CRD prunes the field
  server.before = [&](const kube::Request& request) {
    if (request.path.ends_with("/status")) server.script("/status", ScriptedServer::json(200, without.dump()));
  };
  (void)reconciler.reconcile(key);
  EXPECT_EQ(std::count(server.log.begin(), server.log.end(), "POST /web-1/eviction"), 0);
}

struct Lie {
  const char* name;
  const char* where;
  const char* body;
  int code = 200;
};
class LyingServer : public Shell, public testing::WithParamInterface<Lie> {};
TEST_P(LyingServer, LeadsToARetryWithoutACall) {
  server.evacuation["metadata"]["resourceVersion"] = "8";  // the cache lags, so everything is read
  server.script(GetParam().where, ScriptedServer::json(GetParam().code, GetParam().body));
  const auto done = reconciler.reconcile(key);
  EXPECT_FALSE(done);
  EXPECT_EQ(std::count(server.log.begin(), server.log.end(), "POST /web-1/eviction"), 0);
  EXPECT_TRUE(reconciler.reconcile(key)) << "and goes on once the server tells the truth";
  EXPECT_EQ(std::count(server.log.begin(), server.log.end(), "POST /web-1/eviction"), 1);
}
INSTANTIATE_TEST_SUITE_P(
    Reads, LyingServer,
    testing::Values(Lie{"EvacuationIsHtml", "GET /apis", "<html>login</html>"},
                    Lie{"EvacuationIsCut", "GET /apis", "{\"metadata\":{"},
                    Lie{"EvacuationIsAList", "GET /apis", "[1,2,3]"}, Lie{"EvacuationIsEmpty", "GET /apis", "{}"},
                    Lie{"EvacuationIsBroken", "GET /apis", "{}", 500},
                    Lie{"PodIsHtml", "GET /api/v1", "<html>login</html>"}, Lie{"PodIsNull", "GET /api/v1", "null"},
                    Lie{"PodHasNoUid", "GET /api/v1", "{\"metadata\":{\"name\":\"web-1\"}}"},
                    Lie{"PodIsForbidden", "GET /api/v1", "{}", 403}, Lie{"StatusIsHtml", "/status", "<html>ok</html>"},
                    Lie{"StatusIsUnavailable", "/status", "", 503},
                    Lie{"PodIsAProxysPage", "GET /api/v1", "<html>not here</html>", 404},
                    Lie{"PodIsAnUnknownPath", "GET /api/v1", "404 page not found\n", 404},
                    Lie{"EvacuationIsAProxysPage", "GET /apis", "<html>not here</html>", 404},
                    Lie{"EvacuationsAreNotServedNow", "GET /apis", "404 page not found\n", 404},
                    Lie{"StatusOfAKindThatIsNotServedNow", "/status",
                        R"({"kind":"Status","message":"the server could not find the requested resource"})", 404},
                    Lie{"StatusIsAWebhooks404", "/status",
                        R"({"kind":"Status","code":404,"details":{"name":"web-1-7c1a8c1e"}})", 404}),
    [](const auto& test) { return test.param.name; });

const char* const kRefusal =
    R"({"kind":"Status","status":"Failure","reason":"Invalid","code":422,"message":"spec.priority: Invalid value: 50"})";

/// An Evacuation that was stored under an older schema. The server refuses every write to it.
class RefusedWrite : public Shell {
 protected:
  RefusedWrite() {
    for (int i = 0; i < 20; ++i) {
      server.script("PATCH", ScriptedServer::json(422, kRefusal));
    }
  }
  /// Stores an Evacuation in the middle of its attempt, with a slot.
  void put_begun() {
    api::Evacuation begun = blocked(key.name, 0, 0);
    begun.status.next_action_at = kNoon - seconds(1);
    begun.meta.finalizers = {"evacuator.dev/evacuation"};
    server.evacuation["metadata"]["finalizers"] = {"evacuator.dev/evacuation"};
    server.evacuation["status"] = api::encode_status(begun.status);
    begun.meta.resource_version = server.evacuation["metadata"]["resourceVersion"];
    put(begun);
    admission.observe(nullptr, evacuations.get(key).get());
  }
};

TEST_F(RefusedWrite, IsReportedOnceAndNotTriedAgainForTenMinutes) {
  const auto done = reconciler.reconcile(key);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->after, base::minutes(10));
  EXPECT_EQ(events, std::vector<std::string>{"WriteRefused"});
  ASSERT_EQ(reconciler.refused_writes().problems_of("").size(), 1u);
  EXPECT_NE(reconciler.refused_writes().problems_of("").at(0).find("spec.priority: Invalid value: 50"),
            std::string::npos);
  const auto calls = server.log.size();
  clock.advance(seconds(60));
  const auto rests = reconciler.reconcile(key);  // enqueued by a change of the pod
  ASSERT_TRUE(rests);
  EXPECT_EQ(rests->after, base::minutes(9));
  EXPECT_EQ(server.log.size(), calls) << "it says nothing to the server";
  clock.advance(base::minutes(9));
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_GT(server.log.size(), calls) << "the schema may have been fixed";
  EXPECT_EQ(events.size(), 1u);
}

TEST_F(RefusedWrite, ReleasesTheSlotUntilTheObjectChanges) {
  put_begun();
  ASSERT_EQ(admission.usage().in_flight, 1);
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(admission.usage().in_flight, 0);
  admission.observe(nullptr, evacuations.get(key).get());
  EXPECT_EQ(admission.usage().in_flight, 0) << "the watch brought the same again";
  EXPECT_EQ(std::count(server.log.begin(), server.log.end(), "POST /web-1/eviction"), 0)
      << "no call whose intent cannot be written down";
}

TEST_F(RefusedWrite, ContinuesAtOnceWhenItIsFixed) {
  put_begun();
  ASSERT_TRUE(reconciler.reconcile(key));
  server.scripted.clear();
  server.evacuation["metadata"]["resourceVersion"] = "8";
  api::Evacuation fixed = *evacuations.get(key);
  put(fixed);
  admission.observe(nullptr, evacuations.get(key).get());
  EXPECT_EQ(admission.usage().in_flight, 1);
  ASSERT_TRUE(reconcile_over_a_second());
  EXPECT_EQ(reconciler.refused_writes().count(), 0u);
  EXPECT_EQ(server.evacuation["status"]["phase"], "Evicting") << "its call was due";
}

TEST_F(RefusedWrite, IsForgottenWithTheObject) {
  ASSERT_TRUE(reconciler.reconcile(key));
  ASSERT_EQ(reconciler.refused_writes().count(), 1u);
  evacuations.remove(key);
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(reconciler.refused_writes().count(), 0u);
}

}  // namespace evacuation_hostile_server_test
