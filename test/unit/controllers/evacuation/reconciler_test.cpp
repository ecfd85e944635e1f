#include "controllers/evacuation/reconciler.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <nlohmann/json.hpp>

#include "api/meta/well_known.hpp"
#include "api/origin.hpp"
#include "controllers/evacuation/io.hpp"
#include "controllers/evacuation/origin/origin.hpp"
#include "test/unit/controllers/evacuation/phases/life.hpp"

/// The reconciler around decide(): its reads, the order of its writes, and how it handles a failing or inconsistent
/// server. Complete runs are in test/integration.
namespace evacuation_reconciler_test {

using namespace evacuation_test;
using api::Json;
using base::seconds;

constexpr const char* kNotFound =
    R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"evacuations.evacuator.dev \"web-1-7c1a8c1e\" not found","details":{"name":"web-1-7c1a8c1e","group":"evacuator.dev","kind":"evacuations"}})";
constexpr const char* kPath = "/apis/evacuator.dev/v1alpha1/namespaces/shop/evacuations/web-1-7c1a8c1e";

/// Serves one Evacuation and one pod. Scripted answers take precedence.
class ScriptedServer final : public kube::Transport {
 public:
  base::Result<kube::Response> round_trip(const kube::Request& request) override {
    if (before) before(request);
    log.push_back(request.method + " " + request.path.substr(request.path.rfind('/', request.path.rfind('/') - 1)));
    bodies.push_back(request.body);
    for (auto& [part, answers] : scripted) {
      if (answers.empty() || (request.method + " " + request.path).find(part) == std::string::npos) continue;
      auto answer = answers.front();
      answers.pop_front();
      if (answer && answer->status == kAsEver) break;
      return answer;
    }
    if (request.path.ends_with("/eviction")) return json(201, kSuccessBody);
    if (request.path.find("/pods/") != std::string::npos)
      return pod.is_null() ? absent(request.path) : json(200, pod.dump());
    if (request.path.find("/evacuations/") == std::string::npos) return absent(request.path);
    if (request.method == "GET") return json(200, evacuation.dump());
    return write(request);
  }
  base::Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Request&) override {
    return base::unavailable("no watches here");
  }

  static constexpr int kAsEver = 0;  ///< code of a scripted answer that stands for the server's regular answer
  static kube::Response json(int code, std::string body) { return {code, std::move(body), {}, "application/json"}; }
  /// Returns the server's answer for the object at `path` when it does not exist.
  static kube::Response absent(const std::string& path) {
    const Json details = {{"name", path.substr(path.rfind('/') + 1)}};
    return json(404, Json{{"kind", "Status"}, {"reason", "NotFound"}, {"code", 404}, {"details", details}}.dump());
  }
  void script(const std::string& part, base::Result<kube::Response> answer) {
    scripted[part].push_back(std::move(answer));
  }

  std::function<void(const kube::Request&)> before;  ///< called before each answer
  Json evacuation;
  Json pod;
  std::vector<std::string> prunes;  ///< status fields that the server's CRD does not know and drops
  std::vector<std::string> log;
  std::vector<std::string> bodies;
  std::map<std::string, std::deque<base::Result<kube::Response>>> scripted;

 private:
  kube::Response write(const kube::Request& request) {
    const Json body = Json::parse(request.body);
    if (body["metadata"]["resourceVersion"] != evacuation["metadata"]["resourceVersion"]) {
      return json(409, R"({"kind":"Status","reason":"Conflict","code":409,"message":"the object has been modified"})");
    }
    const Json before = evacuation;
    evacuation.merge_patch(body);
    for (const std::string& field : prunes) {
      if (evacuation.contains("status")) evacuation["status"].erase(field);
    }
    if (prunes.empty() || evacuation != before) evacuation["metadata"]["resourceVersion"] = std::to_string(++version_);
    return json(200, evacuation.dump());
  }
  int version_ = 100;
};

class Shell : public testing::Test, private kube::EventSink, private controllers::evacuation::Metrics {
 protected:
  Shell() {
    controllers::evacuation::add_evacuation_indexes(evacuations, pods, pdbs);
    server.evacuation = api::encode_evacuation(make_evacuation());
    server.evacuation["metadata"].update(
        {{"uid", "e5b3"}, {"resourceVersion", "7"}, {"creationTimestamp", "2026-11-21T12:00:00Z"}, {"generation", 1}});
    server.pod = Json::parse(
        R"({"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"shop","name":"web-1","resourceVersion":"41",
      "uid":"7c1a8c1e-0000-4000-8000-000000000001"},"spec":{"nodeName":"node-a"},"status":{"phase":"Running"}})");
    put(make_evacuation());
    pods.put(std::make_shared<const api::Pod>(make_pod()));
  }

  void put(api::Evacuation evacuation) {
    evacuation.meta.resource_version = server.evacuation["metadata"]["resourceVersion"];
    evacuations.put(std::make_shared<const api::Evacuation>(std::move(evacuation)));
  }
  void budget(int allowed, api::PodDisruptionBudget* out) {
    out->meta.ns = "shop";
    out->meta.name = "web";
    out->disruptions_allowed = allowed;
  }
  /// Returns a cached Evacuation that a PDB blocks.
  api::Evacuation blocked(const std::string& name, std::int32_t priority, int since) {
    api::Evacuation evacuation = make_evacuation();
    evacuation.meta.name = name;
    evacuation.spec.priority = priority;
    evacuation.status.phase = EvacuationPhase::kRequesting;
    evacuation.status.phase_entered_at = kNoon;
    evacuation.status.deadline = kNoon + seconds(900);
    evacuation.status.blocked_since = kNoon;
    evacuation.status.evictor = "eviction-api";
    evacuation.status.attempt = 1;
    evacuation.status.token = "e5b3.1";
    evacuation.status.request_sent_at = kNoon;
    evacuation.status.next_action_at = kNoon + seconds(60);
    evacuation.status.blocked_by = {{"PodDisruptionBudget", "web", "", 0, 3, 3, kNoon + seconds(since)}};
    return evacuation;
  }

  void publish(kube::Event event) override { events.push_back(event.reason); }
  void on_status(const api::Evacuation&, const api::Evacuation&, base::TimePoint) override {}
  void on_answer(std::string_view, int code, std::string_view response_class) override {
    answers.push_back(std::to_string(code) + " " + std::string(response_class));
  }

  controllers::evacuation::Reconciler::Dependencies dependencies(
      controllers::evacuation::Audit& audit = controllers::evacuation::no_audit(),
      controllers::KeySource& keys = controllers::process_keys()) {
    return {.client = client,
            .clock = clock,
            .evictors = registry,
            .evacuations = evacuations,
            .pods = pods,
            .pdbs = pdbs,
            .admission = admission,
            .events = *this,
            .metrics = *this,
            .may_act = [this] { return leads; },
            .desired_replicas = {},
            .identity = "me",
            .log = base::Log(),
            .audit = audit,
            .keys = keys};
  }
  /// Reconciles twice, one second apart. Within that second a granted eviction needs no write of its own.
  base::Result<kube::Requeue> reconcile_over_a_second() {
    if (auto done = reconciler.reconcile(key); !done) return done;
    clock.advance(seconds(1));
    return reconciler.reconcile(key);
  }
  /// Stores the Evacuation as the operator creates it for a policy.
  void make_it_ours() {
    api::Evacuation ours = make_evacuation();
    ours.spec.source.policy = "balance";
    controllers::mark_origin_verified(ours);
    server.evacuation["spec"] = api::encode_evacuation(ours)["spec"];
    server.evacuation["status"] = api::encode_status(ours.status);
    put(ours);
  }
  std::ptrdiff_t calls(const std::string& call) const { return std::count(server.log.begin(), server.log.end(), call); }
  std::unique_ptr<controllers::evacuation::Reconciler> reconciler_with(controllers::evacuation::Audit& audit) {
    return std::make_unique<controllers::evacuation::Reconciler>(dependencies(audit));
  }

  const api::ObjectKey key{"shop", "web-1-7c1a8c1e"};
  base::ManualClock clock{kNoon};
  ScriptedServer server;
  kube::Client client{server, nullptr};
  evictors::EvictorRegistry registry = evictors::EvictorRegistry::builtin();
  kube::Store<api::Evacuation> evacuations;
  kube::Store<api::Pod> pods;
  kube::Store<api::PodDisruptionBudget> pdbs;
  controllers::AdmissionQueue admission{{}, clock, [](const api::ObjectKey&, base::Duration) {}};
  bool leads = true;
  std::vector<std::string> events;
  std::vector<std::string> answers;
  controllers::evacuation::Reconciler reconciler{dependencies()};
};

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

/// When a single pod of a scheduling.k8s.io PodGroup may leave.
class WholePodGroup : public Shell {
 protected:
  /// Returns the phase that the Evacuation of a pod of PodGroup "g" reaches.
  std::string phase_with(const kube::Store<api::SchedulingPodGroup>* groups, base::Duration pause = seconds(1)) {
    server.pod["spec"]["schedulingGroup"]["podGroupName"] = "g";
    pods.put(std::make_shared<const api::Pod>(*api::decode_pod(server.pod.dump())));
    auto with_groups = dependencies();
    with_groups.pod_groups = groups;
    with_groups.pod_group_kind = kube::kPodGroups;
    controllers::evacuation::Reconciler of_groups{with_groups};
    for (int i = 0; i < 3; ++i) {
      (void)of_groups.reconcile(key);
      clock.advance(pause);
    }
    return server.evacuation.value(Json::json_pointer("/status/phase"), "");
  }
  /// Sets the server's answer to each list of PodGroups.
  void answers_with(const kube::Response& answer) {
    server.scripted["/podgroups"].clear();
    for (int i = 0; i < 10; ++i) server.script("/podgroups", answer);
  }
  static kube::Response list_of(const char* mode) {
    Json items = Json::array();
    if (*mode)
      items.push_back({{"metadata", {{"name", "g"}, {"namespace", "shop"}, {"uid", "group-uid"}}},
                       {"spec", {{"disruptionMode", {{mode, Json::object()}}}}}});
    return ScriptedServer::json(200, Json{{"kind", "PodGroupList"}, {"items", items}}.dump());
  }
  void put_group(bool is_disrupted_whole) {
    api::SchedulingPodGroup group;
    group.meta.ns = "shop";
    group.meta.name = "g";
    group.is_disrupted_whole = is_disrupted_whole;
    groups.put(std::make_shared<const api::SchedulingPodGroup>(group));
  }
  kube::Store<api::SchedulingPodGroup> groups;
};

TEST_F(WholePodGroup, ThatIsCachedKeepsItsPods) {
  put_group(true);
  EXPECT_EQ(phase_with(&groups), "Failed");
  EXPECT_EQ(server.evacuation["status"]["reason"], "NotEvictable");
  EXPECT_EQ(calls("POST /web-1/eviction"), 0);
}

TEST_F(WholePodGroup, ThatTheCacheDoesNotKnowIsReadBeforeACall) {
  answers_with(list_of("all"));
  EXPECT_EQ(phase_with(&groups), "Failed");
  EXPECT_EQ(server.evacuation["status"]["message"],
            "its PodGroup g (scheduling.k8s.io) has disruptionMode All: its pods do not leave individually");
  EXPECT_EQ(calls("POST /web-1/eviction"), 0);
}

TEST_F(WholePodGroup, ThatTheCacheDoesNotKnowYetMayLetItsPodsGo) {
  answers_with(list_of("single"));
  EXPECT_EQ(phase_with(&groups), "Evicting");
}

TEST_F(WholePodGroup, ThatDoesNotExistKeepsNoPod) {
  answers_with(list_of(""));
  EXPECT_EQ(phase_with(&groups), "Evicting");
}

TEST_F(WholePodGroup, ThatCannotBeReadIsWaitedFor) {
  const auto busy = ScriptedServer::json(500, R"({"kind":"Status","code":500})");
  answers_with(busy);
  EXPECT_NE(phase_with(&groups), "Failed");
  EXPECT_EQ(calls("POST /web-1/eviction"), 0);
  answers_with(list_of("single"));
  EXPECT_EQ(phase_with(&groups), "Evicting");
}

TEST_F(WholePodGroup, ThatMayNotBeReadKeepsItsPods) {
  const auto refused = ScriptedServer::json(403, R"({"kind":"Status","reason":"Forbidden","code":403})");
  answers_with(refused);
  EXPECT_NE(phase_with(&groups), "Failed") << "it may pass";
  EXPECT_EQ(phase_with(&groups, seconds(15)), "Failed") << "not before the right has been missing for a while";
  EXPECT_EQ(server.evacuation["status"]["message"],
            "its PodGroup g (scheduling.k8s.io) is unknown, and may have to leave as a whole");
  EXPECT_EQ(calls("POST /web-1/eviction"), 0);
}

TEST_F(WholePodGroup, ThatLeavesPodByPodKeepsNone) {
  put_group(false);
  EXPECT_EQ(phase_with(&groups), "Evicting");
}

TEST_F(WholePodGroup, CannotExistWhereTheServerHasNoSuchKind) { EXPECT_EQ(phase_with(nullptr), "Evicting"); }

/// The cache of a new process may not contain the pod yet.
TEST_F(Shell, APodThatTheCacheHasNeverShownIsReadBeforeItCountsAsGone) {
  make_it_ours();
  ASSERT_TRUE(reconciler.reconcile(key));
  server.pod = nullptr;
  pods.remove({"shop", "web-1"});
  const auto stored = api::decode_evacuation(server.evacuation);
  ASSERT_TRUE(stored) << stored.error().message;
  put(*stored);
  controllers::evacuation::Reconciler successor{dependencies()};
  ASSERT_TRUE(successor.reconcile(key));
  EXPECT_EQ(calls("GET /pods/web-1"), 1);
  EXPECT_EQ(server.evacuation["status"]["phase"], "Verifying");
}

TEST_F(Shell, APodThatABudgetCoversIsReadBeforeItsEviction) {
  make_it_ours();
  api::PodDisruptionBudget pdb;
  budget(1, &pdb);
  pdb.selector = api::LabelSelector{};
  pdbs.put(std::make_shared<const api::PodDisruptionBudget>(pdb));
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.log, (std::vector<std::string>{"GET /pods/web-1", "PATCH /evacuations/web-1-7c1a8c1e",
                                                  "PATCH /web-1-7c1a8c1e/status", "POST /web-1/eviction"}));
  EXPECT_TRUE(server.evacuation["metadata"].contains("finalizers")) << "it may have to wait for long";
  EXPECT_FALSE(Json::parse(server.bodies[3])["deleteOptions"]["preconditions"].contains("resourceVersion"));
}

TEST_F(Shell, AnEvictionThatWasDecidedOnAnOldPodIsDecidedAgain) {
  make_it_ours();
  server.pod["metadata"]["resourceVersion"] = "42";
  server.pod["metadata"]["annotations"]["handoff.evacuator.dev/mode"] = "required";
  server.script(
      "/eviction",
      ScriptedServer::json(409, R"({"kind":"Status","reason":"Conflict","code":409,"message":"Precondition failed"})"));
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(calls("POST /web-1/eviction"), 1);
  EXPECT_EQ(calls("GET /pods/web-1"), 1);
  EXPECT_EQ(server.evacuation["status"]["phase"], "Backoff") << "the next attempt chooses another evictor";
  pods.put(std::make_shared<const api::Pod>(make_pod({{"handoff.evacuator.dev/mode", "required"}})));
  clock.advance(seconds(2));
  (void)reconciler.reconcile(key);
  EXPECT_EQ(calls("POST /web-1/eviction"), 1) << "its owner decides";
}

TEST_F(Shell, WhatItWroteItselfIsNewerThanACacheThatLags) {
  make_it_ours();
  server.script("/eviction", ScriptedServer::json(429, pdb_body()));
  ASSERT_TRUE(reconciler.reconcile(key));
  ASSERT_EQ(server.evacuation["status"]["phase"], "Requesting");
  server.log.clear();
  clock.advance(seconds(60));
  ASSERT_TRUE(reconciler.reconcile(key));  // the cache still shows Pending
  EXPECT_EQ(calls("GET /evacuations/web-1-7c1a8c1e"), 0);
  EXPECT_EQ(calls("POST /web-1/eviction"), 1);
  EXPECT_EQ(server.evacuation["status"]["attempt"], 1) << "the same attempt goes on";
}

TEST_F(Shell, AnUnstoredGrantSurvivesAConcurrentWrite) {
  make_it_ours();
  ASSERT_TRUE(reconciler.reconcile(key));
  server.evacuation["status"]["conditions"].push_back(
      {{"type", "Foreign"}, {"status", "True"}, {"reason", "Told"}, {"lastTransitionTime", "2026-11-21T12:00:00Z"}});
  server.evacuation["metadata"]["resourceVersion"] = "900";
  clock.advance(seconds(1));
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.evacuation["status"]["phase"], "Evicting");
  EXPECT_NE(server.evacuation.dump().find("Foreign"), std::string::npos);
  EXPECT_EQ(calls("POST /web-1/eviction"), 1);
}

TEST_F(Shell, ACancelAfterTheGrantIsRefusedAtOnce) {
  make_it_ours();
  ASSERT_TRUE(reconciler.reconcile(key));
  server.evacuation["spec"]["cancel"] = {{"requested", true}};
  server.evacuation["metadata"]["resourceVersion"] = "900";
  evacuations.put(std::make_shared<const api::Evacuation>(
      *controllers::evacuation::decode_observed_evacuation(server.evacuation.dump())));
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.evacuation["status"]["phase"], "Evicting");
  EXPECT_EQ(events, std::vector<std::string>{"CancelRefused"});
}

TEST_F(Shell, ReadsTheEvacuationAfterAWriteBasedOnAStaleCache) {
  server.evacuation["metadata"]["resourceVersion"] = "8";
  server.evacuation["spec"]["cancel"] = {{"requested", true}, {"reason", "changed my mind"}};
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.evacuation["status"]["phase"], "Cancelled");
  EXPECT_EQ(std::count(server.log.begin(), server.log.end(), "POST /web-1/eviction"), 0);
}

TEST_F(Shell, ReadsTheEvacuationBeforeACallThatNoWriteGuards) {
  api::Evacuation open = blocked(key.name, 0, 0);
  open.status.intent = api::EvacuationIntent{"PostEviction", "e5b3.1", kNoon - seconds(60), false, "", ""};
  open.status.next_action_at.reset();
  open.meta.finalizers = {"evacuator.dev/evacuation"};
  put(open);
  server.evacuation["spec"]["cancel"] = {{"requested", true}, {"reason", "changed my mind"}};
  server.evacuation["status"] = api::encode_status(open.status);
  server.evacuation["metadata"]["resourceVersion"] = "8";
  server.evacuation["metadata"]["finalizers"] = {"evacuator.dev/evacuation"};
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.evacuation["status"]["phase"], "Cancelled");
  EXPECT_EQ(std::count(server.log.begin(), server.log.end(), "POST /web-1/eviction"), 0);
}

TEST_F(Shell, AsksForASlotAgainWhenTheLiveObjectIsInALaterAttempt) {
  api::Evacuation live = make_evacuation();
  live.meta.finalizers = {"evacuator.dev/evacuation"};
  live.status.phase = EvacuationPhase::kBackoff;
  live.status.attempt = 1;
  live.status.phase_entered_at = live.status.next_action_at = kNoon - seconds(1);
  server.evacuation["status"] = api::encode_status(live.status);
  server.evacuation["metadata"]["resourceVersion"] = "8";
  server.evacuation["metadata"]["finalizers"] = {"evacuator.dev/evacuation"};
  ASSERT_TRUE(reconciler.reconcile(key));  // the cache still shows Pending
  ASSERT_EQ(server.evacuation["status"]["attempt"], 2);
  admission.observe(nullptr, &live);  // the cache catches up to the end of the first attempt
  EXPECT_EQ(admission.usage().in_flight, 1) << "the slot of the second attempt is nobody else's";
}

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

using EvacuationReconciler = Shell;

/// The informer has delivered the end, and then a reconcile begins with the older state.
TEST_F(EvacuationReconciler, AStaleLookAfterTheVerdictHoldsNoSlot) {
  const api::Evacuation waits = make_evacuation();
  api::Evacuation ended = waits;
  ended.status.phase = EvacuationPhase::kCancelled;
  ended.status.reason = "UserCancelled";
  ended.status.finished_at = ended.status.phase_entered_at = kNoon;
  server.evacuation["status"] = api::encode_status(ended.status);
  server.evacuation["metadata"]["resourceVersion"] = "8";
  admission.observe(nullptr, &waits);
  admission.observe(&waits, &ended);
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(admission.usage().in_flight, 0) << "nobody would free it before the object is deleted";
  api::Evacuation next = waits;
  next.meta.name = "another";
  EXPECT_EQ(admission.duplicate_of(next), "");
}

TEST_F(Shell, TheSuccessorOfADeletedEvacuationIsLeftToItsOwnReconcile) {
  server.evacuation["metadata"].update({{"uid", "another"}, {"resourceVersion", "9"}});
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.evacuation["status"], Json());
  EXPECT_EQ(std::count(server.log.begin(), server.log.end(), "POST /web-1/eviction"), 0);
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

TEST_F(Shell, DecidesOnLiveReadsNotOnTheCache) {
  server.pod["metadata"]["uid"] = "successor";
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.evacuation["status"]["phase"], "Cancelled");
  EXPECT_EQ(server.evacuation["status"]["reason"], "TargetGone");
  for (const std::string& call : server.log) EXPECT_EQ(call.find("eviction\""), std::string::npos);
}

/// Requests two optional reads and one required read.
class Reader final : public evictors::Evictor, public evictors::DocumentReader {
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

TEST_F(Shell, DoesNotCallWhereTheServerDropsTheIntent) {
  const Json without = server.evacuation;  // an older CRD prunes the field
  server.before = [&](const kube::Request& request) {
    if (request.path.ends_with("/status")) server.script("/status", ScriptedServer::json(200, without.dump()));
  };
  (void)reconciler.reconcile(key);
  EXPECT_EQ(std::count(server.log.begin(), server.log.end(), "POST /web-1/eviction"), 0);
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
    [](const auto& info) { return info.param.name; });

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

/// Keys that were read once and can no longer be read.
class OldKeys final : public controllers::KeySource {
 public:
  void refresh(bool) override {}
  std::shared_ptr<const crypto::KeyRing> keys() const override { return ring; }
  std::string problem() const override { return why; }

  std::shared_ptr<const crypto::KeyRing> ring = std::make_shared<const crypto::KeyRing>(
      crypto::KeyRing{*crypto::Key::from_bytes(std::string(crypto::Key::kBytes, 'o')), {}});
  std::string why = "secrets is forbidden";
};

class ForgedOrigin : public Shell {
 protected:
  static crypto::Key key_of(char filler) { return *crypto::Key::from_bytes(std::string(crypto::Key::kBytes, filler)); }
  static api::Evacuation made(const std::string& uid, base::TimePoint created) {
    api::Evacuation evacuation = make_evacuation();
    evacuation.status = {};
    evacuation = controllers::with_origin(evacuation, key_of('k'), created);
    evacuation.meta.uid = uid;
    evacuation.meta.creation_timestamp = created;
    return evacuation;
  }
};

TEST_F(ForgedOrigin, ASignedObjectMadeAgainWithinTheWindowDoesNotCount) {
  using controllers::OriginProof;
  controllers::OriginMemory memory(clock);
  const crypto::KeyRing known{key_of('k'), {}};
  const api::Evacuation first = made("e-1", kNoon);
  for (int relist = 0; relist < 3; ++relist) {
    api::Evacuation listed = first;
    controllers::update_origin_condition(listed, &known, &memory);
    EXPECT_TRUE(api::origin_is_verified(listed)) << "the same object, however often it is looked at";
  }
  api::Evacuation again = first;
  again.meta.uid = "e-2";
  again.meta.creation_timestamp = kNoon + seconds(5);
  controllers::update_origin_condition(again, &known, &memory);
  EXPECT_FALSE(api::origin_is_verified(again));
  EXPECT_EQ(controllers::prove_origin(again, known, &memory), OriginProof::kOtherObject);
  EXPECT_EQ(controllers::prove_origin(first, known, &memory), OriginProof::kSigned);
  clock.advance(10 * controllers::kOriginWindow);
  EXPECT_EQ(controllers::prove_origin(made("e-3", clock.now()), known, &memory), OriginProof::kSigned);
  EXPECT_EQ(memory.size(), 1U) << "what no signature can count for any more is forgotten";
  controllers::OriginMemory of_the_next_process(clock);
  EXPECT_EQ(controllers::prove_origin(again, known, &of_the_next_process), OriginProof::kSigned)
      << "docs/design/faults.md: the memory is lost with its process";
}

TEST_F(ForgedOrigin, AnUnknownKeyIsNotJudgedWhileTheKeysCannotBeRead) {
  const api::Evacuation signed_elsewhere = controllers::with_origin(make_evacuation(), key_of('n'), kNoon);
  server.evacuation["metadata"]["annotations"][std::string(api::well_known::kOriginAnnotation)] =
      signed_elsewhere.meta.annotations.value(api::well_known::kOriginAnnotation);
  put(signed_elsewhere);
  OldKeys old;
  controllers::evacuation::Reconciler::Dependencies with_old = dependencies(controllers::evacuation::no_audit(), old);
  controllers::evacuation::Reconciler waiting(with_old);
  ASSERT_TRUE(waiting.reconcile(key));
  EXPECT_FALSE(server.evacuation.contains("status") && server.evacuation["status"].contains("conditions"))
      << server.evacuation.dump();
  old.why.clear();
  ASSERT_TRUE(waiting.reconcile(key));
  EXPECT_NE(server.evacuation.dump().find("OriginVerified"), std::string::npos) << "now it is known to be nobody's";
}

class ForeignOwner : public Shell {};

TEST_F(ForeignOwner, APodOfAnotherNamespaceIsNoReplacement) {
  pods.remove({"shop", "web-1"});
  server.pod["metadata"]["uid"] = "its-successor";
  api::Evacuation verifying = make_evacuation();
  verifying.meta.finalizers = {"evacuator.dev/evacuation"};
  verifying.status.phase = EvacuationPhase::kVerifying;
  verifying.status.attempt = 1;
  verifying.status.token = "e5b3.1";
  verifying.status.evictor = "eviction-api";
  verifying.status.phase_entered_at = verifying.status.attempt_started_at = kNoon;
  verifying.status.deadline = kNoon + seconds(600);
  verifying.status.outcome = api::EvacuationOutcome{api::OutcomeKind::kEvicted, {}, {}};
  verifying.status.pod_owner = api::OwnerReference{"apps/v1", "ReplicaSet", "web", "rs-1", true};
  server.evacuation["metadata"]["finalizers"] = {"evacuator.dev/evacuation"};
  server.evacuation["status"] = api::encode_status(verifying.status);
  put(verifying);
  api::Pod foreign = make_pod({}, "uid-foreign", "claims-to-be-it");
  foreign.meta.ns = "attacker";
  foreign.meta.owner_references = {{"apps/v1", "ReplicaSet", "web", "rs-1", true}};
  foreign.meta.creation_timestamp = kNoon + seconds(1);
  foreign.node_name = {"node-b"};
  foreign.phase = api::PodPhase::kRunning;
  foreign.conditions = {{"Ready", api::ConditionStatus::kTrue, "", "", 0, {}}};
  pods.put(std::make_shared<const api::Pod>(foreign));
  EXPECT_TRUE(reconciler.keys_for_pod(foreign).empty()) << "it wakes nobody";
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.evacuation["status"]["phase"], "Verifying");
  EXPECT_FALSE(server.evacuation["status"]["outcome"].contains("replacement"));
  api::Pod own = foreign;
  own.meta.ns = "shop";
  EXPECT_EQ(reconciler.keys_for_pod(own), std::vector<api::ObjectKey>{key});
}

TEST_F(Shell, WakesAsManyAsTheBudgetAllowsInOrder) {
  for (const auto& [name, priority, since] : {std::tuple("c", 0, 1), {"a", 0, 5}, {"d", 9, 7}, {"b", 0, 3}}) {
    put(blocked(name, priority, since));
    ASSERT_TRUE(reconciler.reconcile({"shop", name}));
  }
  api::PodDisruptionBudget none, some, more;
  budget(0, &none);
  budget(2, &some);
  budget(9, &more);
  const auto names = [&](const api::PodDisruptionBudget* before, const api::PodDisruptionBudget* after) {
    std::string joined;
    for (const auto& each : reconciler.on_pdb_changed(before, after)) joined += each.name;
    return joined;
  };
  EXPECT_EQ(names(&none, &none), "");
  EXPECT_EQ(names(&some, &none), "");
  EXPECT_EQ(names(&none, &some), "dc");
  EXPECT_EQ(names(&none, &more), "dbac") << "c had its turn";
  EXPECT_EQ(names(&none, nullptr), "dbac") << "a deleted one blocks nobody";
}

TEST_F(Shell, TakesTurnsAmongThePodsOfOneBudget) {
  for (const char* name : {"a", "b", "c"}) {
    put(blocked(name, 0, 0));
    ASSERT_TRUE(reconciler.reconcile({"shop", name}));
  }
  api::PodDisruptionBudget none, one;
  budget(0, &none);
  budget(1, &one);
  std::string order;
  for (int i = 0; i < 6; ++i) {
    for (const auto& each : reconciler.on_pdb_changed(&none, &one)) {
      order += each.name;
      ASSERT_TRUE(reconciler.reconcile(each)) << "refused again: it goes on waiting";
    }
  }
  EXPECT_EQ(order, "abcabc");
}

TEST_F(Shell, AWokenOneDoesNotWaitForItsDelay) {
  put(blocked(key.name, 0, 0));
  server.evacuation["metadata"]["finalizers"] = {"evacuator.dev/evacuation"};
  server.evacuation["status"] = api::encode_status(blocked(key.name, 0, 0).status);
  ASSERT_TRUE(reconciler.reconcile(key));
  ASSERT_TRUE(server.log.empty());
  api::PodDisruptionBudget none, some;
  budget(0, &none);
  budget(1, &some);
  ASSERT_EQ(reconciler.on_pdb_changed(&none, &some).size(), 1u);
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(std::count(server.log.begin(), server.log.end(), "POST /web-1/eviction"), 1);
}

TEST_F(Shell, FindsTheEvacuationsThatAPodConcerns) {
  api::Evacuation verifying = make_evacuation();
  verifying.meta.name = "other";
  verifying.spec.pod_ref.name = "web-0";
  verifying.status.phase = EvacuationPhase::kVerifying;
  verifying.status.pod_owner = api::OwnerReference{"apps/v1", "ReplicaSet", "web", "rs-uid", true};
  put(verifying);
  std::string joined;
  for (const auto& each : reconciler.keys_for_pod(make_pod())) joined += each.name + " ";
  EXPECT_EQ(joined, "web-1-7c1a8c1e other ");
}

/// With 3,000 Evacuations of one owner, an event wakes a bounded number of them. The others wait for their periodic
/// reconcile.
TEST_F(Shell, AnEventOfOnePodWakesFewOfManyThatVerify) {
  constexpr int kMany = 3000;
  for (int i = 0; i < kMany; ++i) {
    api::Evacuation verifying = make_evacuation();
    verifying.meta.name = "e" + std::to_string(10'000 + i);
    verifying.spec.pod_ref.name = "gone-" + std::to_string(i);
    verifying.status.phase = EvacuationPhase::kVerifying;
    verifying.status.attempt_started_at = kNoon + seconds(i == kMany - 1 ? -1 : i);
    verifying.status.pod_owner = api::OwnerReference{"apps/v1", "ReplicaSet", "web", "rs-uid", true};
    if (i == 2000) verifying.status.outcome.emplace().replacement = {"new", make_pod().meta.uid, {"node-b"}, {}};
    put(verifying);
  }
  std::vector<std::string> names;
  for (const auto& each : reconciler.keys_for_pod(make_pod())) names.push_back(each.name);
  ASSERT_EQ(names.size(), 2 + controllers::evacuation::Reconciler::kMaxWokenAtOnce);
  EXPECT_EQ(names[1], "e12000") << "the pod is its replacement";
  EXPECT_EQ(names[2], "e12999") << "the oldest";
  EXPECT_EQ(names[3], "e10000");
  const auto later = reconciler.later_keys_for_pod(make_pod());
  EXPECT_EQ(later.keys.size(), kMany - 1 - controllers::evacuation::Reconciler::kMaxWokenAtOnce);
  EXPECT_GE(later.delay, seconds(10));
}

}  // namespace evacuation_reconciler_test
