#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "advisor/rolling/codec.hpp"
#include "api/advice/resource_advice.hpp"
#include "api/core/codec.hpp"
#include "controllers/advice/advice_poller.hpp"
#include "kube/resource.hpp"
#include "simulator/objects.hpp"
#include "test/integration/rig/rig.hpp"

/// The operator updates advice continuously. Runs the real controller on the simulator over days of virtual time.
namespace advice_test {

using api::Json;
using base::minutes;
using kube::kResourceAdvices;
using std::chrono::hours;
using testing::HasSubstr;

constexpr const char* kOurUser = "system:serviceaccount:evacuator-system:evacuator";

class KeptAdvice : public integration::Rig {
 protected:
  /// Returns samples in which every container of a running pod uses a quarter of a core and 100 MiB.
  base::Result<std::vector<std::string>> sample(const usage::EachContainer& each) {
    if (!metrics_work) return base::unavailable("metrics.k8s.io/v1beta1 is not served");
    for (const auto& object : cluster->store().list(kube::kPods)) {
      const Json& pod = *object;
      if (pod["status"].value("phase", "") != "Running") continue;
      const std::string ns = pod["metadata"]["namespace"], name = pod["metadata"]["name"];
      for (const Json& container : pod["spec"]["containers"]) {
        const std::string called = container["name"];
        each({ns, name, called, clock.now(), 0.25, 100.0 * 1024 * 1024});
      }
    }
    return std::vector<std::string>{};
  }

  void start() {
    if (begun == base::TimePoint{}) begun = clock.now();
    config.resource_advice.enabled = true;
    config.resource_advice.sample_interval = minutes(5);
    kube::Discovery served{.server_version = "v1.36.0", .eviction_version = "v1"};
    served.has_evacuations = served.has_policies = true;
    transport = std::make_unique<fakes::MortalTransport>(*server, simulator::User{kOurUser, {}, "evacuator"});
    if (on_call) transport->before_each_call = on_call;
    client = std::make_unique<kube::Client>(*transport, nullptr);
    events =
        std::make_unique<kube::EventRecorder>(*client, clock, kube::EventOptions{.instance = "advice"}, base::Log{});
    op = std::make_unique<controllers::Operator>(controllers::Operator::Dependencies{
        .client = *client,
        .clock = clock,
        .discovery = served,
        .config = config,
        .identity = "replica",
        .may_act = [] { return true; },
        .events = *events,
        .metrics = metrics,
        .log = {},
        .container_samples = [this](const usage::EachContainer& each) { return sample(each); }});
  }
  void stop() {
    op.reset();
    events.reset();
    client.reset();
  }
  /// Like Rig::drive() with longer steps, because the tests span days.
  void live(base::Duration time) {
    const base::TimePoint end = clock.now() + time;
    for (;;) {
      for (bool busy = true; busy;) busy = !cluster->run_until_quiet() || op->step();
      if (clock.now() >= end) return;
      base::TimePoint next = std::min(end, clock.now() + minutes(5));
      if (const auto due = op->next_due(); due && *due > clock.now()) next = std::min(next, *due);
      cluster->advance(next - clock.now());
    }
  }
  std::optional<api::ResourceAdvice> advice(const std::string& name, const std::string& ns = "shop") const {
    const auto object = cluster->store().get(kResourceAdvices, {ns, name});
    if (!object) return std::nullopt;
    auto decoded = api::decode_resource_advice(*object);
    EXPECT_TRUE(decoded) << decoded.error().message;
    return *decoded;
  }
  std::string ready(const std::string& name) const {
    const auto found = advice(name);
    if (!found) return "none";
    const api::Condition* condition = api::find_condition(found->status.conditions, "Ready");
    return condition ? condition->reason + ": " + condition->message : "";
  }
  /// Creates an advice like a tenant, who may not write the status.
  kube::Response forge(Json status, const std::string& name = "deployment-web") {
    return server->handle(kube::create_request(kResourceAdvices, "shop",
                                               {{"apiVersion", "evacuator.dev/v1alpha1"},
                                                {"kind", "ResourceAdvice"},
                                                {"metadata", {{"name", name}, {"namespace", "shop"}}},
                                                {"status", std::move(status)}}),
                          {"alice", {}, "kubectl"});
  }
  /// Returns the pods and their ReplicaSets as the poller reads them.
  controllers::advice::Cluster workloads() const {
    controllers::advice::Cluster seen;
    seen.workload = [this](std::string_view, const api::ObjectKey& key) -> std::shared_ptr<const api::Workload> {
      const auto object = cluster->store().get(kube::kReplicaSets, key);
      if (!object) return nullptr;
      return std::make_shared<const api::Workload>(*api::decode_workload(api::to_json_text(*object)));
    };
    seen.is_selected = [](const std::string&) { return true; };
    for (const auto& object : cluster->store().list(kube::kPods)) {
      auto pod = api::decode_pod(api::to_json_text(*object));
      EXPECT_TRUE(pod);
      seen.pods.push_back(std::make_shared<const api::Pod>(*std::move(pod)));
    }
    return seen;
  }
  std::size_t writes() const {
    std::size_t count = 0;
    for (const auto& entry : server->journal().entries())
      count += entry.resource == "resourceadvices" && entry.verb == "patch" ? 1 : 0;
    return count;
  }

  controllers::OperatorConfig config;
  base::TimePoint begun{};  ///< start of the first operator
  bool metrics_work = true;
  std::function<void(const kube::Request&)> on_call;
  base::Metrics metrics;
  std::unique_ptr<fakes::MortalTransport> transport;
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<kube::EventRecorder> events;
  std::unique_ptr<controllers::Operator> op;
};

TEST_F(KeptAdvice, ExistsAfterThreeDaysIncludingAFailover) {
  stage(2);
  start();
  live(hours(1));
  ASSERT_TRUE(advice("deployment-web"));
  EXPECT_THAT(ready("deployment-web"), HasSubstr("InsufficientHistory: main: no history"));
  live(hours(35));
  stop();
  start();  // another replica that knows only what the objects contain
  live(hours(11));
  stop();
  start();
  live(hours(26));
  const auto found = advice("deployment-web");
  ASSERT_TRUE(found);
  EXPECT_THAT(ready("deployment-web"), HasSubstr("Advised: 1 container with advice by"));
  const auto& app = found->status.containers.at(0);
  EXPECT_EQ(app.days, 3);
  EXPECT_EQ(*app.first_sample, begun);
  // Twelve samples per pod and hour. A failover loses at most the samples since the last write, half an hour.
  EXPECT_GE(app.samples, 60 * 12 * 2 - 2 * 12 - 8);
  EXPECT_EQ(found->status.replicas, 2);
  EXPECT_EQ(found->status.workload_text, "Deployment/web");
  EXPECT_EQ(found->status.cpu_text, "100m → 225m");
  EXPECT_EQ(found->status.memory_text, "64Mi → 115Mi");
}

TEST_F(KeptAdvice, IsWrittenOncePerIntervalAndOnlyWithChanges) {
  stage(2);
  start();
  live(hours(10));
  EXPECT_LE(writes(), 60U) << "every ten minutes: more than these are not lost when the leader dies";
  EXPECT_GE(writes(), 59U);
  metrics_work = false;
  live(minutes(40));
  const auto before = writes();
  live(hours(10));
  EXPECT_EQ(writes(), before);
  metrics_work = true;
  live(hours(1));
  EXPECT_GT(writes(), before) << "it goes on by itself";
}

TEST_F(KeptAdvice, GoesWithItsWorkload) {
  stage(2);
  start();
  live(hours(1));
  const Json object = *cluster->store().get(kResourceAdvices, {"shop", "deployment-web"});
  const Json owner = object["metadata"]["ownerReferences"].at(0);
  EXPECT_EQ(owner["uid"], (*cluster->store().get(kube::kDeployments, {"shop", "web"}))["metadata"]["uid"]);
  EXPECT_FALSE(owner.contains("blockOwnerDeletion"));
  ASSERT_EQ(
      server->handle(kube::delete_request(kube::kDeployments, {"shop", "web"}, ""), {"alice", {}, "kubectl"}).status,
      200);
  live(hours(2));
  EXPECT_FALSE(advice("deployment-web")) << "nor is it made again";
}

TEST_F(KeptAdvice, IsRecreatedAfterItsDeletion) {
  stage(2);
  start();
  live(hours(3));
  const auto before = advice("deployment-web")->status.containers.at(0).first_sample;
  ASSERT_EQ(
      server->handle(kube::delete_request(kResourceAdvices, {"shop", "deployment-web"}, ""), {"alice", {}, "kubectl"})
          .status,
      200);
  live(hours(1));
  ASSERT_TRUE(advice("deployment-web"));
  EXPECT_EQ(advice("deployment-web")->status.containers.at(0).first_sample, before) << "with all that was known";
}

/// Forged objects with the right name, and objects without a workload.
TEST_F(KeptAdvice, ForgedObjectsHaveNoEffect) {
  stage(2);
  add(simulator::objects::name_space("bank"));
  add(simulator::objects::deployment("bank", "vault", 1, "100m", "64Mi"));
  const Json lie = {{"workload", {{"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"name", "vault"}}},
                    {"containers", Json::array({{{"name", "app"}, {"sketch", "AAAA"}}})}};
  ASSERT_EQ(forge(lie).status, 201);
  ASSERT_EQ(forge(lie, "deployment-vault").status, 201);
  EXPECT_FALSE((*cluster->store().get(kResourceAdvices, {"shop", "deployment-web"})).contains("status"))
      << "a create says nothing about the status";
  start();
  live(hours(1));
  EXPECT_EQ(advice("deployment-web")->status.workload.name, "web");
  EXPECT_TRUE(advice("deployment-vault")->status.containers.empty()) << "no such workload is in this namespace";
  EXPECT_EQ(advice("deployment-vault", "bank")->status.workload.name, "vault");
}

TEST_F(KeptAdvice, WithAHostileStatusStartsAgain) {
  stage(2);
  start();
  live(hours(3));
  for (const std::string& text : {std::string("AAAA"), std::string("no Base64 \\u0001"), std::string(20'000, 'A')}) {
    stop();
    edit(kResourceAdvices, "deployment-web", [&](Json& object) { object["status"]["containers"][0]["sketch"] = text; });
    const base::TimePoint anew = clock.now();
    start();
    live(hours(1));
    EXPECT_GE(*advice("deployment-web")->status.containers.at(0).first_sample, anew);
  }
}

TEST_F(KeptAdvice, IsBoundedAndDistributedOverNamespaces) {
  stage(1);
  add(simulator::objects::name_space("aaa"));
  for (int i = 0; i < 8; ++i) add(simulator::objects::deployment("aaa", "w" + std::to_string(i), 1, "10m", "16Mi"));
  config.resource_advice.max_workloads = 3;
  start();
  live(hours(1));
  EXPECT_EQ(cluster->store().list(kResourceAdvices).size(), 3U);
  EXPECT_TRUE(advice("deployment-web")) << "the others have no more than their share";
  EXPECT_THAT(metrics.render(), HasSubstr("evacuator_advice_workloads{state=\"left_out\"} 6"));
}

TEST_F(KeptAdvice, IsOfSelectedNamespacesOnly) {
  stage(1);
  add(simulator::objects::name_space("dev", {{"advice", "no"}}));
  add(simulator::objects::deployment("dev", "web", 1, "10m", "16Mi"));
  config.resource_advice.namespaces = api::LabelSelector{{{"advice", api::SelectorOperator::kNotIn, {"no"}}}};
  start();
  live(hours(1));
  EXPECT_TRUE(advice("deployment-web"));
  EXPECT_FALSE(advice("deployment-web", "dev"));
}

TEST_F(KeptAdvice, ForbiddenWritesAreNotRetriedConstantly) {
  stage(2);
  int asked = 0;
  on_call = [&](const kube::Request& request) { asked += request.path.find("resourceadvices") != std::string::npos; };
  start();
  transport->lie = [](const kube::Request& request) -> std::optional<kube::Response> {
    if (request.path.find("resourceadvices") == std::string::npos) return std::nullopt;
    kube::Response refusal;
    refusal.status = 403;
    refusal.body =
        R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":)"
        R"("resourceadvices.evacuator.dev \"deployment-web\" is forbidden: User \"evacuator\" cannot get resource \"resourceadvices\" in API group \"evacuator.dev\" in the namespace \"shop\""})";
    return refusal;
  };
  live(hours(6));
  EXPECT_LE(asked, 37) << "once in ten minutes";
  EXPECT_FALSE(advice("deployment-web"));
  transport->lie = {};
  live(hours(1));
  EXPECT_TRUE(advice("deployment-web"));
  EXPECT_EQ(*advice("deployment-web")->status.containers.at(0).first_sample, begun) << "samples were kept meanwhile";
}

/// A refused write, and the next write of each workload, wait by the clock, which may be set back by hours.
TEST_F(KeptAdvice, IsWrittenSoonAfterTheClockIsSetBack) {
  stage(2);
  transport = std::make_unique<fakes::MortalTransport>(*server, simulator::User{kOurUser, {}, "evacuator"});
  client = std::make_unique<kube::Client>(*transport, nullptr);
  bool forbidden = true;
  int asked = 0;
  transport->before_each_call = [&](const kube::Request& request) {
    asked += request.path.find("resourceadvices") != std::string::npos;
  };
  transport->lie = [&](const kube::Request& request) -> std::optional<kube::Response> {
    if (!forbidden || request.path.find("resourceadvices") == std::string::npos) return std::nullopt;
    return kube::Response{403, R"({"kind":"Status","status":"Failure","reason":"Forbidden","code":403})", {}, ""};
  };
  base::ManualClock ours(clock.now() + hours(12));
  controllers::advice::AdvicePoller poller(
      controllers::advice::AdvicePoller::Dependencies{.client = *client,
                                                      .clock = ours,
                                                      .cluster = [this] { return workloads(); },
                                                      .sample =
                                                          [this, &ours](const usage::EachContainer& each) {
                                                            return sample([&](usage::ContainerSample seen) {
                                                              seen.time = ours.now();
                                                              each(seen);
                                                            });
                                                          },
                                                      .metrics = metrics,
                                                      .log = {}},
      controllers::ResourceAdviceConfig{.sample_interval = minutes(5)});
  const auto live_until = [&](const auto& reached) {
    for (int i = 0; i < 12 && !reached(); ++i) {
      ASSERT_TRUE(poller.reconcile(controllers::advice::AdvicePoller::key()));
      ours.advance(minutes(5));
    }
  };
  live_until([&] { return asked > 0; });
  ASSERT_GT(asked, 0);
  ours.advance(-hours(12));
  forbidden = false;
  live_until([&] { return advice("deployment-web").has_value(); });
  EXPECT_TRUE(advice("deployment-web")) << "within an hour of the clock that was set right";
}

/// On a regular shutdown the process writes its samples. Its successor continues without a gap.
TEST_F(KeptAdvice, IsWrittenAtTheEndOfAProcess) {
  stage(2);
  transport = std::make_unique<fakes::MortalTransport>(*server, simulator::User{kOurUser, {}, "evacuator"});
  client = std::make_unique<kube::Client>(*transport, nullptr);
  const auto keeper = [&] {
    return std::make_unique<controllers::advice::AdvicePoller>(
        controllers::advice::AdvicePoller::Dependencies{
            .client = *client,
            .clock = clock,
            .cluster = [this] { return workloads(); },
            .sample = [this](const usage::EachContainer& each) { return sample(each); },
            .metrics = metrics,
            .log = {}},
        controllers::ResourceAdviceConfig{.sample_interval = minutes(5)});
  };
  const base::TimePoint first = clock.now();
  auto one = keeper();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(one->reconcile(controllers::advice::AdvicePoller::key()));
    cluster->advance(minutes(5));
  }
  one->flush(base::seconds(5));
  one.reset();
  const std::string name = "deployment-web";
  ASSERT_TRUE(advice(name));
  const auto samples = [&] {
    return advisor::decode_history(advice(name)->status.containers.at(0).sketch, clock.now())->parts().samples;
  };
  EXPECT_EQ(samples(), 10U);
  auto two = keeper();
  ASSERT_TRUE(two->reconcile(controllers::advice::AdvicePoller::key()));
  two->flush(base::seconds(5));
  EXPECT_EQ(samples(), 12U);
  EXPECT_EQ(*advice(name)->status.containers.at(0).first_sample, first);
  transport->die();
  cluster->advance(minutes(5));
  ASSERT_TRUE(two->reconcile(controllers::advice::AdvicePoller::key()));
  two->flush(base::seconds(5));
  EXPECT_EQ(samples(), 12U) << "who may not act any more ends at once";
}

TEST_F(KeptAdvice, IsATableForKubectl) {
  stage(2);
  start();
  live(hours(76));
  kube::Request request;
  request.path = "/apis/evacuator.dev/v1alpha1/namespaces/shop/resourceadvices";
  request.accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
  const Json table = Json::parse(server->handle(request, {"alice", {}, "kubectl"}).body);
  Json cells = table.at("rows").at(0).at("cells");
  cells.erase(6);  // age column
  EXPECT_EQ(cells, Json({"deployment-web", "Deployment/web", 1, "100m → 225m", "64Mi → 115Mi", "Low", "True", 2}));
}

TEST_F(KeptAdvice, IsOffByDefault) {
  EXPECT_FALSE(config.resource_advice.enabled);
  stage(1);
  start_operator();
  run_for(minutes(30));
  EXPECT_TRUE(cluster->store().list(kResourceAdvices).empty());
}

}  // namespace advice_test
