#include "controllers/policy/reconciler.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "test/builders/cluster.hpp"

namespace controllers {
namespace policy_reconciler_test {

using api::Json;
using base::minutes;
using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;

/// Stores the policy's status and the created Evacuations, and answers each write with its body.
class KeepingServer final : public kube::Transport {
 public:
  base::Result<kube::Response> round_trip(const kube::Request& request) override {
    const Json body = Json::parse(request.body);
    if (request.path.ends_with("/status")) {
      writes.push_back(request);
      if (status_failure) return *status_failure;
      if (refuse_status) return conflict();
      status.merge_patch(body["status"]);
    }
    if (body.value("kind", "") == "Evacuation") {
      if (body["metadata"]["namespace"] == refusing) return forbidden();
      evacuated.push_back(body["spec"]["podRef"]["name"]);
    }
    kube::Response response;
    response.status = 200;
    response.body = request.body;
    return response;
  }
  base::Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Request&) override {
    return base::unavailable("no watches here");
  }

  Json status = Json::object();
  std::vector<std::string> evacuated;
  std::vector<kube::Request> writes;  ///< writes of the status
  bool refuse_status = false;
  std::string refusing{};  ///< namespace whose creations are refused
  int code = 403;          ///< HTTP code of the refusal
  std::string why = "exceeded quota: few";
  int refused = 0;
  std::optional<base::Result<kube::Response>> status_failure;  ///< result of each status write, if set

 private:
  kube::Response forbidden() {
    ++refused;
    const Json body = {{"kind", "Status"},      {"apiVersion", "v1"}, {"status", "Failure"},
                       {"reason", "Forbidden"}, {"code", code},       {"message", why}};
    return {.status = code, .body = body.dump(), .retry_after = {}, .content_type = "application/json"};
  }
  static kube::Response conflict() {
    kube::Response response;
    response.status = 409;
    response.body = R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409})";
    return response;
  }
};

class SilentEvents final : public kube::EventSink {
 public:
  void publish(kube::Event) override {}
};

/// The policy controller of one operator for the time that it leads.
class Leader {
 public:
  Leader(kube::Transport& server, const base::Clock& clock, scheduling::SnapshotInput& cluster,
         const base::Clock* steady = nullptr)
      : triggers(
            clock, [](const std::string&, base::Duration) {}, [] { return true; }),
        client_(server, nullptr),
        registry_(evictors::EvictorRegistry::builtin()),
        cooldowns_(api::CooldownLimits{}) {
    evacuations_.add_index(std::string(kByPolicy), [](const api::Evacuation&) { return std::vector<std::string>(); });
    const auto bound_progress = [this] {
      return [this] {
        ++progress;
        if (meanwhile) meanwhile();
      };
    };
    reconciler_.emplace(PolicyReconciler::Dependencies{
        .client = client_,
        .clocks = {.wall = clock, .steady = steady ? *steady : clock},
        .caches = {.policies = policies_,
                   .evacuations = evacuations_,
                   .snapshot = [&cluster] { return cluster; },
                   .stale = [this] { return stale; }},
        .measured = {.cooldowns = cooldowns_},
        .steering = {.triggers = &triggers, .hints_in_force = [this] { return has_hints; }},
        .leadership = {.may_act = [] { return true; }, .progress = bound_progress},
        .evictors = registry_,
        .events = events_,
        .metrics = metrics_,
        .log = {}});
    reconciler_->set_stopping([this] { return is_stopping.load(); });
  }

  std::vector<std::string> stale;
  std::atomic<int> progress = 0;
  std::atomic<bool> is_stopping = false;
  bool has_hints = false;
  Triggers triggers;
  std::function<void()> meanwhile;  ///< called at each progress report; a search reports progress at each check of its
                                    ///< budget

  void reconcile(const Json& policy) {
    const auto done = try_to_reconcile(policy);
    ASSERT_TRUE(done) << done.error().message;
  }
  void see(const Json& policy) {
    auto seen = decode_observed_policy(policy.dump());
    ASSERT_TRUE(seen) << seen.error().message;
    policies_.put(std::make_shared<const ObservedPolicy>(*std::move(seen)));
  }
  base::Result<kube::Requeue> reconcile_other(const Json& policy) {
    see(policy);
    return reconciler_->reconcile({"", policy["metadata"]["name"]});
  }
  void lose() { policies_.remove({"", "restless"}); }
  base::Result<kube::Requeue> try_to_reconcile(const Json& policy) {
    see(policy);
    return reconciler_->reconcile({"", "restless"});
  }
  void see_it_deleted() {
    lose();
    ASSERT_TRUE(reconciler_->reconcile({"", "restless"}));
  }
  std::string metrics() const { return metrics_.render(); }
  void set_creators(int creators) { reconciler_->set_creators(creators); }
  void set_pause(std::function<bool(base::Duration)> pause) { reconciler_->set_pause(std::move(pause)); }

 private:
  kube::Client client_;
  evictors::EvictorRegistry registry_;
  CooldownLedger cooldowns_;
  SilentEvents events_;
  base::Metrics metrics_;
  kube::Store<ObservedPolicy> policies_;
  kube::Store<api::Evacuation> evacuations_;
  std::optional<PolicyReconciler> reconciler_;
};

class RestartMemory : public testing::Test {
 protected:
  /// Creates the pod "web", two days old, whose container has `total` restarts.
  void set_restarts(std::int32_t total) {
    const auto pod = PodBuilder("web").on("n1").older_by(base::seconds(172'800)).with([&](api::Pod& each) {
      api::ContainerStatus status;
      status.name = "main";
      status.restart_count = total;
      each.container_statuses = {status};
    });
    cluster_ = builders::ClusterBuilder().add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(pod).input();
  }

  Json policy() const {
    return {{"apiVersion", "evacuator.dev/v1alpha1"},
            {"kind", "DeschedulerPolicy"},
            {"metadata", {{"name", "restless"}, {"uid", "p-1"}, {"generation", 1}, {"resourceVersion", version_}}},
            {"spec", {{"mode", "Automatic"}, {"schedule", {{"interval", "5m"}}}, {"strategies", strategies_}}},
            {"status", server_.status}};
  }

  std::unique_ptr<Leader> new_leader() { return std::make_unique<Leader>(server_, clock_, cluster_); }

  Json strategies_ = {
      {{"name", "RemovePodsHavingTooManyRestarts"}, {"args", {{"podRestartThreshold", 5}, {"withinSeconds", 3600}}}}};
  std::string version_ = "7";
  base::ManualClock clock_{kNoon};
  KeepingServer server_;
  scheduling::SnapshotInput cluster_;
};

/// A clock that moves forward by one minute at each call.
class RestlessClock final : public base::Clock {
 public:
  base::TimePoint now() const override { return kNoon + minutes(++asked_); }

 private:
  mutable std::atomic<int> asked_ = 0;
};

using PlanTime = RestartMemory;

/// A cycle is limited to three minutes.
TEST_F(PlanTime, IsNotTheWallClocks) {
  strategies_ = {{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 60}}}}};
  set_restarts(0);
  const RestlessClock wall;
  Leader leader(server_, wall, cluster_, &clock_);
  leader.reconcile(policy());
  EXPECT_EQ(server_.status["lastCycle"]["nominated"], 1);
}

TEST_F(RestartMemory, IsTakenOverByTheNextLeader) {
  auto leader = new_leader();
  set_restarts(2);
  leader->reconcile(policy());
  clock_.advance(minutes(30));
  set_restarts(4);
  leader->reconcile(policy());
  EXPECT_TRUE(server_.evacuated.empty()) << "two within the hour";

  leader = new_leader();
  clock_.advance(minutes(10));
  set_restarts(8);
  leader->reconcile(policy());
  EXPECT_EQ(server_.evacuated, std::vector<std::string>{"web"}) << "six within the hour, three of them before";
}

TEST_F(RestartMemory, IsEmptyForANewPolicy) {
  auto leader = new_leader();
  set_restarts(800);
  leader->reconcile(policy());
  EXPECT_TRUE(server_.evacuated.empty()) << "nobody saw when they were";
  EXPECT_EQ(server_.status["restarts"].at(0)["looks"].size(), 1U);
}

TEST_F(RestartMemory, IsNotKeptForPoliciesThatCountNoRestartsInATime) {
  strategies_[0]["args"].erase("withinSeconds");
  auto leader = new_leader();
  set_restarts(4);
  leader->reconcile(policy());
  EXPECT_FALSE(server_.status.contains("restarts"));
}

TEST_F(RestartMemory, IsBounded) {
  builders::ClusterBuilder builder;
  builder.add(NodeBuilder("n1"));
  for (int i = 0; i < 250; ++i) {
    builder.add(PodBuilder("p" + std::to_string(i)).on("n1").with([&](api::Pod& each) {
      api::ContainerStatus status;
      status.name = "main";
      status.restart_count = 1;
      each.container_statuses = {status};
    }));
  }
  cluster_ = builder.input();
  new_leader()->reconcile(policy());
  EXPECT_EQ(server_.status["restarts"].size(), api::kMaxRestartRecords);
}

TEST_F(RestartMemory, ABalancingPolicyHasAMetricOfTheImbalance) {
  builders::ClusterBuilder builder;
  builder.add(NodeBuilder("n1").sized(4000, 4000, 10)).add(NodeBuilder("n2").sized(4000, 4000, 10));
  for (const char* name : {"a", "b", "c"}) builder.add(PodBuilder(name).on("n1").cpu(1000));
  cluster_ = builder.input();
  const Json restarts = strategies_;
  strategies_ = {
      {{"name", "LowNodeUtilization"}, {"args", {{"thresholds", {{"cpu", 20}}}, {"targetThresholds", {{"cpu", 50}}}}}}};
  auto leader = new_leader();
  leader->reconcile(policy());
  EXPECT_THAT(leader->metrics(), testing::HasSubstr(R"(evacuator_policy_imbalance{policy="restless"} 37.5)"));
  strategies_ = restarts;
  clock_.advance(minutes(5));
  leader->reconcile(policy());
  EXPECT_THAT(leader->metrics(), testing::HasSubstr(R"(evacuator_policy_imbalance{policy="restless"} Nan)"))
      << "nobody measures it any more";
  leader->see_it_deleted();
  EXPECT_THAT(leader->metrics(), testing::Not(testing::HasSubstr("restless")));
}

/// The rows explain why nothing is moved.
TEST_F(RestartMemory, NodeClassesHaveRowsOnlyWhereNothingIsMoved) {
  strategies_ = {
      {{"name", "LowNodeUtilization"}, {"args", {{"thresholds", {{"cpu", 20}}}, {"targetThresholds", {{"cpu", 50}}}}}}};
  const auto set_load = [&](std::int64_t of_second) {
    builders::ClusterBuilder builder;
    builder.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
    for (const char* name : {"a", "b", "c"}) builder.add(PodBuilder(name).on("n1").cpu(1000));
    cluster_ = builder.add(PodBuilder("d").on("n2").cpu(of_second)).input();
  };
  auto leader = new_leader();
  set_load(1000);
  leader->reconcile(policy());
  ASSERT_TRUE(server_.status.contains("nodeClasses"));
  const Json idle = server_.status["nodeClasses"].at(0);
  EXPECT_EQ(idle["strategy"], "LowNodeUtilization");
  EXPECT_EQ(idle["note"], "no node is underutilized");
  ASSERT_EQ(idle["nodes"].size(), 2U);
  EXPECT_EQ(idle["nodes"][0]["class"], "Overutilized");

  clock_.advance(minutes(10));
  set_load(100);
  leader->reconcile(policy());
  EXPECT_FALSE(server_.evacuated.empty());
  const Json moves = server_.status["nodeClasses"].at(0);
  EXPECT_EQ(moves["overutilized"], 1);
  EXPECT_EQ(moves["underutilized"], 1);
  EXPECT_TRUE(moves["nodes"].empty()) << moves;
}

TEST_F(RestartMemory, ADeletedPolicyLeavesNoSeries) {
  auto leader = new_leader();
  set_restarts(2);
  leader->reconcile(policy());
  EXPECT_NE(leader->metrics().find(R"(evacuator_policy_circuit_open{policy="restless"})"), std::string::npos);
  EXPECT_NE(leader->metrics().find(R"(evacuator_policy_cycles_total{policy="restless"} 1)"), std::string::npos);
  leader->see_it_deleted();
  EXPECT_EQ(leader->metrics().find("restless"), std::string::npos) << "no alert about a policy that is gone";
  leader->see_it_deleted();
  server_.status = Json::object();
  leader->reconcile(policy());
  EXPECT_NE(leader->metrics().find(R"(evacuator_policy_cycles_total{policy="restless"} 1)"), std::string::npos)
      << "another one of that name begins at nothing";
}

using StatusWrites = RestartMemory;

TEST_F(StatusWrites, AreGuardedPatchesOfChangedFields) {
  auto leader = new_leader();
  set_restarts(2);
  leader->reconcile(policy());
  clock_.advance(minutes(5));
  leader->reconcile(policy());
  ASSERT_EQ(server_.writes.size(), 2U);
  const kube::Request& second = server_.writes.back();
  EXPECT_EQ(second.method, "PATCH");
  EXPECT_EQ(second.content_type, "application/merge-patch+json");
  const Json patch = Json::parse(second.body);
  EXPECT_EQ(patch["metadata"], (Json{{"uid", "p-1"}, {"resourceVersion", "7"}}));
  EXPECT_TRUE(patch["status"].contains("lastCycle"));
  EXPECT_FALSE(patch["status"].contains("observedGeneration")) << "it is what it was";
}

TEST_F(StatusWrites, AreTriedAgainAfterAConflictWithoutAnotherCycle) {
  auto leader = new_leader();
  set_restarts(2);
  server_.refuse_status = true;
  const auto refused = leader->try_to_reconcile(policy());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ErrorCode::kConflict);
  EXPECT_TRUE(server_.status.empty());

  server_.refuse_status = false;
  version_ = "8";
  clock_.advance(base::seconds(1));
  leader->reconcile(policy());
  ASSERT_EQ(server_.writes.size(), 2U);
  EXPECT_EQ(Json::parse(server_.writes.back().body)["metadata"]["resourceVersion"], "8");
  EXPECT_EQ(server_.status["lastCycle"]["start"], base::format_time(kNoon)) << "the cycle that has run";

  leader->reconcile(policy());
  EXPECT_EQ(server_.writes.size(), 2U) << "nothing changed since";
}

/// The cache still shows a start time written by a clock that was a day ahead.
TEST_F(StatusWrites, HealAStartFromTheFutureWithOneCycle) {
  auto leader = new_leader();
  set_restarts(2);
  leader->reconcile(policy());
  server_.status["lastCycle"]["start"] = base::format_time(kNoon + std::chrono::hours(24));
  server_.status["nextCycleTime"] = base::format_time(kNoon + std::chrono::hours(25));
  const Json seen = policy();
  auto next = new_leader();
  clock_.advance(minutes(1));
  next->reconcile(seen);
  EXPECT_EQ(server_.status["lastCycle"]["start"], base::format_time(kNoon + minutes(1)));
  const std::size_t writes = server_.writes.size();
  clock_.advance(base::seconds(1));
  next->reconcile(seen);
  EXPECT_EQ(server_.writes.size(), writes) << "it remembers that cycle";
}

struct FailedReport {
  const char* name;
  base::Result<kube::Response> answer;
};
class ReportAfterAFailure : public RestartMemory, public testing::WithParamInterface<FailedReport> {};

/// The interval may be a week. Without a retry the old report would remain for that time.
TEST_P(ReportAfterAFailure, IsWrittenAtTheNextAttempt) {
  auto leader = new_leader();
  set_restarts(2);
  for (int i = 0; i < 3; ++i) {
    server_.status_failure = GetParam().answer;
    ASSERT_FALSE(leader->try_to_reconcile(policy())) << "worth a retry with back-off";
    EXPECT_TRUE(server_.status.empty());
    clock_.advance(base::seconds(10));
  }
  server_.status_failure.reset();
  leader->reconcile(policy());
  EXPECT_EQ(server_.writes.size(), 4U);
  EXPECT_EQ(server_.status["lastCycle"]["start"], base::format_time(kNoon)) << "the cycle that has run, and no other";
}

INSTANTIATE_TEST_SUITE_P(
    Of, ReportAfterAFailure,
    testing::Values(FailedReport{"TheServer", kube::Response{500, "{}", {}, "application/json"}},
                    FailedReport{"TheConnection", base::unavailable("refused")},
                    FailedReport{"TheAnswer", base::Error{base::ErrorCode::kOutcomeUnknown, "lost"}},
                    FailedReport{"Throttling", kube::Response{429, "busy", base::seconds(0), "text/plain"}},
                    FailedReport{"AProxy", kube::Response{404, "<html/>", {}, "text/html"}},
                    FailedReport{"Rights", kube::Response{403, "{}", {}, "application/json"}}),
    [](const auto& test) { return test.param.name; });

using StalePlans = RestartMemory;

TEST_F(StalePlans, AreNotMade) {
  strategies_ = {{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 3600}}}}};
  auto leader = new_leader();
  set_restarts(0);
  leader->stale = {"nodes: received nothing from the server for more than 5m"};
  const auto put_off = leader->try_to_reconcile(policy());
  ASSERT_TRUE(put_off);
  EXPECT_EQ(put_off->after, minutes(1)) << "not at once, again and again";
  EXPECT_TRUE(server_.evacuated.empty());
  EXPECT_FALSE(server_.status.contains("lastCycle"));
  EXPECT_NE(server_.status.dump().find("StaleCaches"), std::string::npos);

  leader->stale.clear();
  leader->reconcile(policy());
  EXPECT_EQ(server_.evacuated, std::vector<std::string>{"web"});
  EXPECT_EQ(server_.status.dump().find("StaleCaches"), std::string::npos);
  EXPECT_EQ(leader->progress, 1);
}

// --- concurrent creations

/// Answers creations when `together_` of them are in flight, or when kPatience has passed.
class MeetingServer final : public kube::Transport {
 public:
  explicit MeetingServer(int together) : together_(together) {}

  base::Result<kube::Response> round_trip(const kube::Request& request) override {
    std::unique_lock lock(mutex_);
    if (Json::parse(request.body).value("kind", "") == "Evacuation") {
      ++asked;
      most_at_once = std::max(most_at_once, ++under_way_);
      came_.notify_all();
      came_.wait_for(lock, kPatience, [&] { return most_at_once >= together_; });
      --under_way_;
      if (throttled > 0) return --throttled, kube::Response{429, "busy", base::seconds(3), "text/plain"};
      created.push_back(Json::parse(request.body)["spec"]["podRef"]["name"]);
      if (fails) return base::unavailable("503");
    }
    kube::Response response;
    response.status = 200;
    response.body = request.body;
    return response;
  }
  base::Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Request&) override {
    return base::unavailable("no watches here");
  }

  std::vector<std::string> created;
  int asked = 0;  ///< number of creation requests
  int most_at_once = 0;
  bool fails = false;
  int throttled = 0;  ///< number of creations answered with 429 before the first one succeeds

 private:
  static constexpr std::chrono::seconds kPatience{10};
  const int together_;
  std::mutex mutex_;
  std::condition_variable came_;
  int under_way_ = 0;
};

class Creations : public testing::Test {
 protected:
  void SetUp() override {
    builders::ClusterBuilder builder;
    builder.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
    for (int i = 0; i < kPods; ++i) builder.add(PodBuilder("p" + std::to_string(i)).on("n1").older_by(minutes(60)));
    cluster_ = builder.input();
  }
  Json policy() const {
    const Json strategies = {{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 60}}}}};
    return {{"apiVersion", "evacuator.dev/v1alpha1"},
            {"kind", "DeschedulerPolicy"},
            {"metadata", {{"name", "restless"}, {"uid", "p-1"}, {"generation", 1}, {"resourceVersion", "7"}}},
            {"spec", {{"mode", "Automatic"}, {"schedule", {{"interval", "5m"}}}, {"strategies", strategies}}}};
  }

  static constexpr int kPods = 20;
  base::ManualClock clock_{kNoon};
  scheduling::SnapshotInput cluster_;
};

TEST_F(Creations, AreConcurrentUpToTheLimit) {
  MeetingServer server(4);
  Leader leader(server, clock_, cluster_);
  leader.set_creators(4);
  leader.reconcile(policy());
  EXPECT_EQ(server.most_at_once, 4);
  EXPECT_EQ(std::set<std::string>(server.created.begin(), server.created.end()).size(), std::size_t{kPods});
  EXPECT_EQ(server.created.size(), std::size_t{kPods}) << "each once";
  EXPECT_EQ(leader.progress, kPods);
}

TEST_F(Creations, EndWithTheFirstThatTheServerDoesNotTake) {
  MeetingServer server(4);
  server.fails = true;
  Leader leader(server, clock_, cluster_);
  leader.set_creators(4);
  leader.reconcile(policy());
  EXPECT_LE(server.created.size(), 8U) << "those under way, and at most one more of each creator";
}

TEST_F(Creations, WaitForAServerThatHasTooMuchToDoAndLeaveNothingOut) {
  MeetingServer server(1);
  server.throttled = 5;
  Leader leader(server, clock_, cluster_);
  std::vector<base::Duration> pauses;
  leader.set_pause([&](base::Duration pause) { return pauses.push_back(pause), true; });
  leader.reconcile(policy());
  EXPECT_EQ(server.created.size(), std::size_t{kPods});
  EXPECT_EQ(server.created.front(), "p0") << "in the order of the plan";
  ASSERT_EQ(pauses.size(), 5U);
  EXPECT_EQ(pauses.front(), base::seconds(3)) << "as the server says";
  EXPECT_EQ(pauses.back(), base::seconds(8)) << "longer when it says the same again and again";
}

TEST_F(Creations, WaitTogetherForABusyServer) {
  MeetingServer server(4);
  server.throttled = 12;
  Leader leader(server, clock_, cluster_);
  leader.set_creators(4);
  std::atomic<int> pauses = 0;
  leader.set_pause([&](base::Duration) { return ++pauses, true; });
  leader.reconcile(policy());
  EXPECT_EQ(std::set<std::string>(server.created.begin(), server.created.end()).size(), std::size_t{kPods});
  EXPECT_EQ(server.created.size(), std::size_t{kPods}) << "each once";
  EXPECT_EQ(pauses, 12);
}

TEST_F(Creations, AreGivenUpWhenTheServerNeverHasTime) {
  MeetingServer server(1);
  server.throttled = 1'000'000;
  Leader leader(server, clock_, cluster_);
  base::Duration paused{};
  leader.set_pause([&](base::Duration pause) { return paused += pause, true; });
  leader.reconcile(policy());
  EXPECT_GT(server.asked, 3);
  EXPECT_LE(server.asked, 10) << "the first move again and again; the others of the namespace wait for the next cycle";
  EXPECT_LE(paused, base::seconds(30)) << "other policies wait for so long";
}

TEST_F(Creations, DoNotOutliveTheProcessInAPause) {
  MeetingServer server(1);
  server.throttled = 1'000'000;
  Leader leader(server, clock_, cluster_);
  leader.set_pause([](base::Duration) { return false; });
  leader.reconcile(policy());
  EXPECT_EQ(server.asked, 1);
}

TEST_F(Creations, DoNotGoOnAfterAPauseInWhichACacheWentStale) {
  MeetingServer server(1);
  server.throttled = 1;
  Leader leader(server, clock_, cluster_);
  leader.set_pause([&](base::Duration) { return leader.stale = {"nodes: received nothing"}, true; });
  leader.reconcile(policy());
  EXPECT_EQ(server.asked, 1);
}

/// Three pods in each of two namespaces.
class Namespaces : public RestartMemory {
 protected:
  void SetUp() override {
    strategies_ = {{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 60}}}}};
    builders::ClusterBuilder builder;
    builder.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
    for (const std::string ns : {"a", "b"}) {
      for (int i = 0; i < 3; ++i) builder.add(PodBuilder(ns + std::to_string(i)).ns(ns).on("n1").older_by(minutes(60)));
    }
    cluster_ = builder.input();
    server_.refusing = "a";
  }
};

TEST_F(Namespaces, AFullNamespaceDoesNotBlockOthers) {
  new_leader()->reconcile(policy());
  EXPECT_THAT(server_.evacuated, testing::UnorderedElementsAre("b0", "b1", "b2"));
  EXPECT_EQ(server_.refused, 1) << "one try a cycle";
  EXPECT_NE(server_.status.dump().find("exceeded quota"), std::string::npos);
}

TEST_F(Namespaces, WhoseWebhookIsAlwaysBusyDelayNoOther) {
  server_.code = 429;
  auto leader = new_leader();
  base::Duration paused{};
  leader->set_pause([&](base::Duration pause) { return paused += pause, true; });
  leader->reconcile(policy());
  EXPECT_THAT(server_.evacuated, testing::UnorderedElementsAre("b0", "b1", "b2"));
  EXPECT_LE(paused, base::seconds(30));
}

TEST_F(Namespaces, AreNotTriedWithoutTheRight) {
  server_.why = R"(evacuations.evacuator.dev is forbidden: User "x" cannot create resource "evacuations")";
  new_leader()->reconcile(policy());
  EXPECT_EQ(server_.refused, 1);
  EXPECT_LE(server_.evacuated.size(), 3U) << "what came before";
  EXPECT_NE(server_.status.dump().find("cannot create resource"), std::string::npos);
}

/// A policy that searches, and events in the middle of the search.
class Searching : public RestartMemory {
 protected:
  Searching() {
    strategies_ = {{{"name", "Defragmentation"}}};
    builders::ClusterBuilder builder;
    for (int i = 0; i < 3; ++i) {
      const std::string number = std::to_string(i);
      builder.add(NodeBuilder("full-" + number));
      for (const char* part : {"a", "b", "c", "d"})
        builder.add(PodBuilder(part + number).on("full-" + number).cpu(1000));
      builder.add(NodeBuilder("open-" + number));
      builder.add(PodBuilder("quorum-" + number)
                      .on("open-" + number)
                      .cpu(1000)
                      .label("app", "quorum")
                      .anti_affinity("app", "quorum", "kubernetes.io/hostname"));
    }
    cluster_ = builder.input();
  }
  Json edited() const {
    Json changed = policy();
    changed["metadata"]["generation"] = 2;
    changed["metadata"]["resourceVersion"] = "8";
    return changed;
  }
  std::unique_ptr<Leader> searching_leader() {
    auto leader = new_leader();
    leader->has_hints = true;
    return leader;
  }
  /// Runs a cycle that calls `happening` at the second check of the budget and expects it to be cancelled.
  void expect_given_up(Leader& leader, const std::function<void()>& happening) {
    leader.meanwhile = [&leader, happening, looks = 0]() mutable {
      if (++looks == 2) happening();
    };
    const auto done = leader.try_to_reconcile(policy());
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, base::ErrorCode::kCancelled);
    EXPECT_LE(leader.progress, 5) << "nothing is searched any more";
    EXPECT_THAT(server_.evacuated, testing::IsEmpty());
    EXPECT_THAT(server_.writes, testing::IsEmpty()) << "a cycle that was given up has not been";
    leader.meanwhile = nullptr;
  }
};

TEST_F(Searching, MovesSomethingWhenNothingHappens) {
  const auto leader = searching_leader();
  leader->reconcile(policy());
  EXPECT_THAT(server_.evacuated, testing::Not(testing::IsEmpty()));
  EXPECT_GT(leader->progress, 20) << "or the others prove nothing";
}

TEST_F(Searching, StartsAnewWhenThePolicyIsEdited) {
  const auto leader = searching_leader();
  expect_given_up(*leader, [&] { leader->see(edited()); });
  leader->reconcile(edited());
  EXPECT_THAT(server_.evacuated, testing::Not(testing::IsEmpty()));
}

TEST_F(Searching, KeepsTheTriggerOfACycleThatIsGivenUp) {
  const auto leader = searching_leader();
  leader->triggers.follow("restless", {{api::TriggerKind::kNodeAdded, base::seconds(0), {}, {}, 0}});
  const api::Node added;
  leader->triggers.on_node(nullptr, &added);
  expect_given_up(*leader, [&] { leader->see(edited()); });
  EXPECT_EQ(leader->triggers.due_in("restless"), base::seconds(0));
  EXPECT_THAT(leader->metrics(), testing::Not(testing::HasSubstr("triggered_cycles")));
  leader->reconcile(edited());
  EXPECT_EQ(leader->triggers.due_in("restless"), std::nullopt);
  EXPECT_THAT(
      leader->metrics(),
      testing::HasSubstr(R"(evacuator_policy_triggered_cycles_total{policy="restless",trigger="NodeAdded"} 1)"));
}

TEST_F(Searching, EndsWhenThePolicyIsDeleted) {
  const auto leader = searching_leader();
  expect_given_up(*leader, [&] { leader->lose(); });
  leader->see_it_deleted();
  EXPECT_THAT(server_.writes, testing::IsEmpty());
}

TEST_F(Searching, EndsWhenTheOperatorStopsAndTheNextLeaderSearchesAtOnce) {
  const auto leader = searching_leader();
  expect_given_up(*leader, [&] { leader->is_stopping = true; });
  const auto next = searching_leader();
  next->reconcile(policy());
  EXPECT_THAT(server_.evacuated, testing::Not(testing::IsEmpty()));
}

Json another(Json policy, Json strategies) {
  policy["metadata"]["name"] = "other";
  policy["metadata"]["uid"] = "p-2";
  policy["spec"]["strategies"] = std::move(strategies);
  policy["spec"]["limits"]["perCycle"]["total"] = 2;
  return policy;
}

TEST_F(Searching, LetsOtherPoliciesHaveTheirTurnMeanwhile) {
  const auto leader = searching_leader();
  const Json other = another(policy(), {{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 60}}}}});
  std::size_t made = 0;
  leader->meanwhile = [&, looks = 0]() mutable {
    if (++looks != 2) return;
    const auto done = leader->reconcile_other(other);
    EXPECT_TRUE(done) << done.error().message;
    made = server_.evacuated.size();
  };
  leader->reconcile(policy());
  EXPECT_EQ(made, 2U) << "in the middle of the search";
  EXPECT_GT(server_.evacuated.size(), made) << "and it went on after that";
}

TEST_F(Searching, PutsOffASearchOfAnotherPolicy) {
  const auto leader = searching_leader();
  const Json other = another(policy(), strategies_);
  std::optional<base::Result<kube::Requeue>> put_off;
  leader->meanwhile = [&, looks = 0]() mutable {
    if (++looks == 2) put_off = leader->reconcile_other(other);
  };
  leader->reconcile(policy());
  ASSERT_TRUE(put_off && *put_off);
  EXPECT_EQ(**put_off, kube::Requeue::in(base::seconds(5)));
  EXPECT_THAT(server_.writes, testing::SizeIs(1)) << "the other one has not had its cycle";
  const std::size_t made = server_.evacuated.size();
  leader->meanwhile = nullptr;
  server_.status = Json::object();
  ASSERT_TRUE(leader->reconcile_other(another(policy(), strategies_)));
  EXPECT_GT(server_.evacuated.size(), made) << "and has it then";
}

TEST_F(Searching, CreatesNothingMoreWhenTheOperatorStops) {
  const auto leader = searching_leader();
  leader->meanwhile = [&] { leader->is_stopping = !server_.evacuated.empty(); };
  leader->reconcile(policy());
  EXPECT_THAT(server_.evacuated, testing::SizeIs(1));
  EXPECT_EQ(server_.status["lastCycle"]["created"], 1);
}

}  // namespace policy_reconciler_test
}  // namespace controllers
