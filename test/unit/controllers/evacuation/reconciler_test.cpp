#include <gtest/gtest.h>

#include "test/unit/controllers/evacuation/reconciler_fixture.hpp"

/// The reconciler around decide(): its reads, the order of its writes, and how it handles failing calls. Complete runs
/// are in test/integration.
namespace evacuation_reconciler_test {

using namespace evacuation_reconciler_fixture;

TEST_F(Shell, WritesTheIntentBeforeTheCallAndTheOutcomeAfter) {
  const auto done = reconciler.reconcile(key);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->after, seconds(1)) << "if its pod goes within the second, one write tells all";
  clock.advance(seconds(1));
  const auto later = reconciler.reconcile(key);
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_EQ(server.log, (std::vector<std::string>{"GET /pods/web-1", "PATCH /evacuations/web-1-7c1a8c1e",
                                                  "PATCH /web-1-7c1a8c1e/status", "POST /web-1/eviction",
                                                  "PATCH /web-1-7c1a8c1e/status"}));
  const Json ahead = Json::parse(server.bodies[2])["status"];
  EXPECT_EQ(ahead["phase"], "Requesting");
  EXPECT_EQ(ahead["intent"]["action"], "PostEviction");
  EXPECT_EQ(ahead["intent"]["resolved"], false);
  const Json after = Json::parse(server.bodies[4])["status"];
  EXPECT_EQ(after["phase"], "Evicting");
  EXPECT_EQ(after["intent"]["resolved"], true);
  EXPECT_EQ(after["intent"]["result"], "Granted");
  EXPECT_EQ(answers, std::vector<std::string>{"201 Granted"});
  EXPECT_EQ(server.evacuation["status"]["phaseEnteredAt"], "2026-11-21T12:00:00Z")
      << "the time of the answer, not of the write";
  EXPECT_EQ(later->after, seconds(29));
}

TEST_F(Shell, APlainEvictionOfAPolicyReadsNothingAndWritesTwice) {
  make_it_ours();
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.log, (std::vector<std::string>{"PATCH /web-1-7c1a8c1e/status", "POST /web-1/eviction"}));
  const Json preconditions = Json::parse(server.bodies[1])["deleteOptions"]["preconditions"];
  EXPECT_EQ(preconditions["uid"], kPodUid);
  EXPECT_EQ(preconditions["resourceVersion"], "41") << "as the cache shows it";
  EXPECT_FALSE(server.evacuation["metadata"].contains("finalizers")) << "there is nothing to undo";

  server.pod = nullptr;
  pods.remove({"shop", "web-1"});
  clock.advance(base::milliseconds(300));
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.log.size(), 2u) << "the replacement may be Ready at once";
  clock.advance(base::milliseconds(1000));
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.log, (std::vector<std::string>{"PATCH /web-1-7c1a8c1e/status", "POST /web-1/eviction",
                                                  "PATCH /web-1-7c1a8c1e/status"}))
      << "the watch has shown the pod, and shows it no more";
  EXPECT_EQ(server.evacuation["status"]["phase"], "Verifying") << "its owner makes another one";
  EXPECT_EQ(server.evacuation["status"]["intent"]["result"], "Granted");
  EXPECT_TRUE(events.empty()) << "it goes as it should";
}

/// Calls back in the middle of a reconcile, just before the slot request.
class BeforeTheSlot final : public controllers::evacuation::Audit {
 public:
  explicit BeforeTheSlot(std::function<void()> happens) : happens_(std::move(happens)) {}
  void on_status(const api::Evacuation&, const api::Evacuation&, base::TimePoint) override {}
  void on_answer(const api::Evacuation&, const evictors::Action&, const evictors::CallResult&,
                 const std::optional<api::LastResponse>&, base::TimePoint) override {}
  std::optional<api::Blocker> admission_blocker() const override {
    happens_();
    return std::nullopt;
  }

 private:
  const std::function<void()> happens_;
};

TEST_F(Shell, AnEvacuationDeletedWhileItIsBeingAdmittedLeavesNothingBehind) {
  const api::Evacuation doomed = make_evacuation();
  admission.observe(nullptr, &doomed);
  BeforeTheSlot deletion([&] {  // the informer is faster than this reconcile
    evacuations.remove(key);
    admission.observe(&doomed, nullptr);
  });
  for (int i = 0; i < 2; ++i)  // the write, and the read that confirms its NotFound
    server.script("evacuations", ScriptedServer::absent(key.name));
  const auto late = reconciler_with(deletion);
  ASSERT_TRUE(late->reconcile(key));
  EXPECT_EQ(server.evacuation["status"], Json()) << "nothing was written";
  ASSERT_TRUE(late->reconcile(key));  // reconcile that the deletion enqueued
  EXPECT_EQ(admission.usage().in_flight, 0) << "its slot is free";
  api::Evacuation next = doomed;
  next.meta.name = "another";
  EXPECT_EQ(admission.duplicate_of(next), "") << "and so is its pod";
}

/// Found by soak: the reconciler requested the slot of the next attempt in an endless loop.
TEST_F(Shell, GoesFromAnAbortThatIsOverToTheNextEvictorInOnePass) {
  api::Evacuation aborting = make_evacuation();
  aborting.meta.finalizers = {"evacuator.dev/evacuation"};
  aborting.status.phase = EvacuationPhase::kAborting;
  aborting.status.attempt = 1;
  aborting.status.token = "e5b3.1";
  aborting.status.evictor = "not-the-one-whose-turn-it-is";
  aborting.status.phase_entered_at = kNoon;
  aborting.status.abort = api::EvacuationAbort{"NativeFailed", EvacuationPhase::kBackoff, kNoon};
  put(aborting);
  server.evacuation["status"] = api::encode_status(aborting.status);
  server.evacuation["metadata"]["finalizers"] = {"evacuator.dev/evacuation"};
  const auto done = reconcile_over_a_second();
  ASSERT_TRUE(done);
  EXPECT_EQ(server.evacuation["status"]["attempt"], 2);
  EXPECT_EQ(server.evacuation["status"]["phase"], "Evicting");
}

TEST_F(Shell, TouchesNoServerWhenThereIsNothingToDo) {
  put(blocked(key.name, 0, 0));
  const auto done = reconciler.reconcile(key);
  ASSERT_TRUE(done);
  EXPECT_TRUE(server.log.empty());
  EXPECT_EQ(done->after, seconds(60));
}

TEST_F(Shell, IgnoresEvacuationsThatAreNotCached) {
  const auto done = reconciler.reconcile({"shop", "nobody"});
  ASSERT_TRUE(done);
  EXPECT_EQ(*done, kube::Requeue::await_change());
}

TEST_F(Shell, DoesNotActOnceItDoesNotLead) {
  leads = false;
  const auto done = reconciler.reconcile(key);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, base::ErrorCode::kCancelled);
  for (const std::string& call : server.log) EXPECT_TRUE(call.starts_with("GET")) << call;
}

/// Requests two optional reads and one required read.
class Reader final : public evictors::Evictor {
 public:
  std::string_view name() const override { return "reader"; }
  std::vector<evictors::Read> reads(const evictors::EvictorContext&) const override {
    std::vector<evictors::Read> all;
    for (const char* path : {"/status/of-1", "/status/of-2", "/status/of-3", "/needed/cluster"}) {
      evictors::Read read;
      read.name = path;
      read.request.path = std::string("/x") + path;
      read.optional = read.name.starts_with("/status");
      all.push_back(std::move(read));
    }
    return all;
  }
  evictors::Probe probe(const evictors::EvictorContext&) const override { return {}; }
  evictors::EvictionStep plan(const evictors::EvictorContext&) const override { return {}; }
  evictors::Classification classify(const evictors::EvictorContext&, const evictors::Action&,
                                    const evictors::CallResult&) const override {
    return {};
  }
};

TEST_F(Shell, SendsNoOptionalReadAfterTwoThatWereNotAnswered) {
  registry.add(std::make_unique<Reader>());
  server.evacuation["spec"]["evictors"] = Json::array({{{"name", "reader"}}});
  api::Evacuation evacuation = make_evacuation();
  evacuation.spec.evictors = {{"reader", {}}};
  put(evacuation);
  for (const char* silent : {"/status/of-1", "/status/of-2"}) {
    for (int i = 0; i < 50; ++i) server.script(silent, base::Error{base::ErrorCode::kTimeout, "1 s"});
  }
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_GT(calls("GET /status/of-1"), 0);
  EXPECT_EQ(calls("GET /status/of-2"), calls("GET /status/of-1"));
  EXPECT_EQ(calls("GET /status/of-3"), 0);
  EXPECT_EQ(calls("GET /needed/cluster"), calls("GET /status/of-1"));
  server.scripted.clear();
  clock.advance(seconds(5));
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_GT(calls("GET /status/of-3"), 0) << "the next look asks again";
}

TEST_F(Shell, RecordsTheAnswerOnTopOfAnotherWrite) {
  server.script("/status",
                ScriptedServer::json(409, R"({"kind":"Status","reason":"Conflict","code":409})"));  // the intent
  ASSERT_TRUE(reconcile_over_a_second());
  EXPECT_EQ(server.evacuation["status"]["phase"], "Evicting");
  EXPECT_EQ(std::count(server.log.begin(), server.log.end(), "POST /web-1/eviction"), 1);
}

TEST_F(Shell, LooksAtThePodAfterALostAnswer) {
  server.script("POST ", base::Error{base::ErrorCode::kOutcomeUnknown, "reset"});
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.log.back(), "GET /pods/web-1");
  EXPECT_EQ(server.evacuation["status"]["intent"]["resolved"], false);
  EXPECT_EQ(server.evacuation["status"]["lastResponse"]["class"], "Unknown");
}

TEST_F(Shell, DoesNotRepeatACallAtOnceWhoseAnswerCouldNotBeStored) {
  server.script("/eviction", ScriptedServer::json(429, pdb_body()));
  server.script("/status", ScriptedServer::json(500, "{}"));
  // the write of the intent succeeds
  server.scripted["/status"].push_front(ScriptedServer::json(ScriptedServer::kAsEver, ""));
  EXPECT_FALSE(reconciler.reconcile(key));
  const auto held = reconciler.reconcile(key);
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_EQ(held->after, seconds(1));
  EXPECT_EQ(std::count(server.log.begin(), server.log.end(), "POST /web-1/eviction"), 1);
  EXPECT_EQ(answers.back(), "429 NotRecorded");
  clock.advance(seconds(1));
  EXPECT_TRUE(reconcile_over_a_second());
  EXPECT_EQ(server.evacuation["status"]["phase"], "Evicting");
}

TEST_F(Shell, AGrantThatCannotBeStoredIsNotAskedForAgain) {
  ASSERT_TRUE(reconciler.reconcile(key));
  server.script("/status", ScriptedServer::json(500, "{}"));
  clock.advance(seconds(1));
  EXPECT_FALSE(reconciler.reconcile(key));
  EXPECT_TRUE(reconciler.reconcile(key)) << "the work queue tries again";
  EXPECT_EQ(server.evacuation["status"]["phase"], "Evicting");
  EXPECT_EQ(calls("POST /web-1/eviction"), 1);
}

/// A new leader relies on it: kCallTimeout after its intent, every call has ended or is lost.
TEST_F(Shell, DoesNotSendACallWhoseTurnComesTooLate) {
  server.before = [this](const kube::Request& request) {
    if (request.path.ends_with("/status") && request.body.find("PostEviction") != std::string::npos)
      clock.advance(seconds(34));  // delay of a slow server or a full rate limiter
  };
  (void)reconciler.reconcile(key);
  EXPECT_EQ(std::count(server.log.begin(), server.log.end(), "POST /web-1/eviction"), 0);
  EXPECT_EQ(server.evacuation["status"]["intent"]["result"], "NotSent");
  server.before = nullptr;
  clock.advance(seconds(60));
  server.evacuation["metadata"]["resourceVersion"] = "900";
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(std::count(server.log.begin(), server.log.end(), "POST /web-1/eviction"), 1);
}

TEST_F(Shell, GivesACallOnlyTheTimeThatItsIntentHasLeft) {
  base::milliseconds given{};
  server.before = [&](const kube::Request& request) {
    if (request.path.ends_with("/status") && request.body.find("PostEviction") != std::string::npos)
      clock.advance(seconds(20));
    if (request.path.ends_with("/eviction")) given = request.timeout;
  };
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(given, seconds(14));
}

TEST_F(Shell, TheCallTimeoutCountsFromTheLastSend) {
  api::Evacuation open = blocked(key.name, 0, 0);
  open.status.intent = api::EvacuationIntent{"PostEviction", "e5b3.1", kNoon - seconds(60), false, "", ""};
  open.status.next_action_at.reset();
  open.meta.finalizers = {"evacuator.dev/evacuation"};
  server.evacuation["status"] = api::encode_status(open.status);
  server.evacuation["metadata"]["finalizers"] = {"evacuator.dev/evacuation"};
  put(open);
  server.script("/eviction", base::Error{base::ErrorCode::kOutcomeUnknown, "the answer was lost"});
  ASSERT_TRUE(reconciler.reconcile(key));  // the call is sent once more, like after a crash
  ASSERT_EQ(server.evacuation["status"]["intent"]["resolved"], false);

  clock.advance(seconds(10));
  server.evacuation["spec"]["cancel"] = {{"requested", true}};
  server.evacuation["metadata"]["resourceVersion"] = "900";
  const auto waits = reconciler.reconcile(key);
  ASSERT_TRUE(waits);
  EXPECT_EQ(server.evacuation["status"]["phase"], "Requesting") << "the second call may still take effect";
}

TEST_F(Shell, ReportsTheProblemOfAnUnreadableSpec) {
  server.evacuation["spec"]["surprise"] = 1;
  server.evacuation["metadata"]["resourceVersion"] = "8";
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.evacuation["status"]["phase"], "Failed");
  EXPECT_EQ(server.evacuation["status"]["reason"], "InvalidSpec");
  EXPECT_NE(server.evacuation["status"]["message"].get<std::string>().find("spec.surprise"), std::string::npos);
  EXPECT_EQ(server.evacuation["spec"]["surprise"], 1);
}

TEST_F(Shell, EndsARunningOneWhoseSpecCannotBeReadAnyMore) {
  for (int i = 0; i < 3 && server.evacuation["status"]["phase"] != "Requesting"; ++i) {
    server.script("/eviction", ScriptedServer::json(429, pdb_body()));
    ASSERT_TRUE(reconciler.reconcile(key));
  }
  ASSERT_EQ(server.evacuation["status"]["phase"], "Requesting");
  server.evacuation["spec"]["surprise"] = 1;
  server.evacuation["spec"]["timeouts"] = {{"newerSeconds", 1}};
  evacuations.put(std::make_shared<const api::Evacuation>(
      *controllers::evacuation::decode_observed_evacuation(server.evacuation.dump())));
  EXPECT_EQ(evacuations.get(key)->spec.pod_ref.name, "web-1") << "what can be read is kept";
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.evacuation["status"]["phase"], "Failed");
  EXPECT_EQ(server.evacuation["status"]["reason"], "InvalidSpec");
  EXPECT_NE(server.evacuation["status"]["message"].get<std::string>().find("spec.surprise"), std::string::npos);
  EXPECT_TRUE(server.evacuation["metadata"].value("finalizers", Json::array()).empty());
}

}  // namespace evacuation_reconciler_test
