#include "test/unit/simulator/api/fixture.hpp"

namespace simulator {
namespace eviction_test {

using Json = api::Json;

class EvictionTest : public ApiFixture {
 protected:
  explicit EvictionTest(ApiServerOptions options = {}) : ApiFixture(std::move(options)) {}

  struct Budget {
    std::int64_t allowed = 1;
    std::int64_t healthy = 3;
    std::int64_t desired = 2;
    Json spec = Json::object();
    Json status = Json::object();
    Json selector = {{"matchLabels", {{"app", "web"}}}};
    std::int64_t observed = 1;
  };
  void budget(const std::string& name, Budget b) {
    b.spec["selector"] = b.selector;
    const std::string version = server.registry().find("policy", "v1", "poddisruptionbudgets") ? "v1" : "v1beta1";
    must("POST", "/apis/policy/" + version + "/namespaces/shop/poddisruptionbudgets",
         {{"metadata", {{"name", name}}}, {"spec", b.spec}});
    ASSERT_TRUE(store.mutate(kube::kPdbs, {"shop", name}, Part::kStatus, [&](Json& pdb) -> base::Status {
      Json status = {{"disruptionsAllowed", b.allowed},
                     {"currentHealthy", b.healthy},
                     {"desiredHealthy", b.desired},
                     {"observedGeneration", b.observed}};
      status.update(b.status);
      pdb["status"] = status;
      return base::Done{};
    }));
  }
  Json pdb_status(const std::string& name) { return store.get(kube::kPdbs, {"shop", name})->at("status"); }

  static Json eviction(const std::string& pod, Json options = nullptr) {
    Json body = {
        {"apiVersion", "policy/v1"}, {"kind", "Eviction"}, {"metadata", {{"name", pod}, {"namespace", "shop"}}}};
    if (!options.is_null()) body["deleteOptions"] = std::move(options);
    return body;
  }
  Reply evict(const std::string& pod, Json options = nullptr, const std::string& query = "") {
    return call("POST", path_of(pod) + "/eviction" + query, eviction(pod, std::move(options)));
  }
  Json pod(const std::string& name) {
    const Object found = store.get(kube::kPods, {"shop", name});
    return found ? *found : Json();
  }
  std::string uid(const std::string& name) { return pod(name).at("metadata").at("uid"); }
  static const Json* condition(const Json& object, const char* type) {
    for (const Json& c : object.at("status").at("conditions")) {
      if (c.at("type") == type) return &c;
    }
    return nullptr;
  }
};

TEST_F(EvictionTest, GrantsWithinTheBudget) {
  run_pod("p");
  budget("web-pdb", {});
  const Reply reply = evict("p", {{"preconditions", {{"uid", uid("p")}}}, {"gracePeriodSeconds", 7}});
  EXPECT_EQ(reply.code, 201);
  EXPECT_EQ(reply.body.at("status"), "Success");
  const Json evicted = pod("p");
  EXPECT_EQ(evicted.at("metadata").at("deletionTimestamp"), "2026-11-21T10:00:07Z");
  const Json* target = condition(evicted, "DisruptionTarget");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->at("reason"), "EvictionByEvictionAPI");
  EXPECT_EQ(target->at("message"), "Eviction API: evicting");
  const Json status = pdb_status("web-pdb");
  EXPECT_EQ(status.at("disruptionsAllowed"), 0);
  EXPECT_EQ(status.at("disruptedPods").at("p"), "2026-11-21T10:00:00Z");
  EXPECT_EQ(status.at("conditions").at(0).at("reason"), "InsufficientPods");
}

TEST_F(EvictionTest, ASecondEvictionOfALeavingPodSpendsNoBudget) {
  run_pod("p");
  budget("web-pdb", {.allowed = 2});
  EXPECT_EQ(evict("p").code, 201);
  EXPECT_EQ(evict("p").code, 201);
  EXPECT_EQ(pdb_status("web-pdb").at("disruptionsAllowed"), 1);
}

struct BlockCase {
  const char* name;
  std::int64_t allowed;
  std::int64_t healthy;
  std::int64_t observed;
  Json status;
  int code;
  std::string cause;  ///< Cause, or the message for 403
  int retry_after;
};

TEST_F(EvictionTest, BlocksWithTheMessagesOfKubernetes) {
  run_pod("p");
  Json broken = Json::object();
  for (int i = 0; i < 2001; ++i) broken["gone-" + std::to_string(i)] = "2026-11-21T09:00:00Z";
  const Json failed = {
      {"conditions",
       Json::array(
           {{{"type", "DisruptionAllowed"}, {"status", "False"}, {"reason", "SyncFailed"}, {"message", "no scale"}}})}};
  const BlockCase cases[] = {
      {"exhausted", 0, 2, 1, Json::object(), 429,
       "The disruption budget web-pdb needs 2 healthy pods and has 2 currently", 0},
      {"healthy-but-none", 0, 3, 1, Json::object(), 429,
       "The disruption budget web-pdb does not allow evicting pods currently", 0},
      {"sync-failed", 0, 0, 1, failed, 429,
       "The disruption budget web-pdb does not allow evicting pods currently because it failed sync: no scale", 0},
      {"not-observed", 1, 3, 0, Json::object(), 429,
       "The disruption budget web-pdb is still being processed by the server.", 10},
      {"negative", -1, 3, 1, Json::object(), 403,
       "poddisruptionbudget.policy \"web-pdb\" is forbidden: pdb disruptions allowed is negative", 0},
      {"too-many-disrupted",
       1,
       3,
       1,
       {{"disruptedPods", broken}},
       403,
       "poddisruptionbudget.policy \"web-pdb\" is forbidden: DisruptedPods map too big - too many evictions not "
       "confirmed by PDB controller",
       0},
  };
  for (const BlockCase& c : cases) {
    budget("web-pdb", {.allowed = c.allowed, .healthy = c.healthy, .status = c.status, .observed = c.observed});
    for (const char* query : {"", "?dryRun=All"}) {
      const Reply reply = evict("p", nullptr, query);
      EXPECT_EQ(reply.code, c.code) << c.name << query;
      if (c.code == 429) {
        EXPECT_EQ(reply.message(), "Cannot evict pod as it would violate the pod's disruption budget.") << c.name;
        EXPECT_EQ(reply.body.at("reason"), "TooManyRequests");
        EXPECT_EQ(reply.body.at("details").at("causes").at(0),
                  Json({{"reason", "DisruptionBudget"}, {"message", c.cause}}))
            << c.name;
      } else {
        EXPECT_EQ(reply.message(), c.cause);
      }
      EXPECT_EQ(reply.retry_after.value_or(base::seconds(0)).count(), c.retry_after) << c.name;
    }
    EXPECT_FALSE(pod("p").at("metadata").contains("deletionTimestamp")) << c.name;
    must("DELETE", "/apis/policy/v1/namespaces/shop/poddisruptionbudgets/web-pdb");
  }
}

TEST_F(EvictionTest, RefusesTwoBudgets) {
  run_pod("p");
  budget("a", {});
  budget("b", {.selector = Json::object()});  // In policy/v1 an empty selector selects every pod
  const Reply reply = evict("p");
  EXPECT_EQ(reply.code, 500);
  EXPECT_EQ(reply.message(),
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.");
  EXPECT_EQ(pdb_status("a").at("disruptionsAllowed"), 1);
}

struct UnreadyCase {
  const char* name;
  const char* phase;
  bool ready;
  const char* policy;  ///< unhealthyPodEvictionPolicy
  std::int64_t healthy;
  std::int64_t desired;
  int code;  ///< HTTP code while disruptionsAllowed is 0
};

TEST_F(EvictionTest, EvictsPodsThatBudgetsDoNotProtect) {
  const UnreadyCase cases[] = {
      {"pending", "Pending", false, "", 0, 2, 201},
      {"succeeded", "Succeeded", false, "", 0, 2, 201},
      {"failed", "Failed", false, "", 0, 2, 201},
      {"ready", "Running", true, "AlwaysAllow", 2, 2, 429},
      {"unready-healthy-budget", "Running", false, "", 2, 2, 201},
      {"unready-if-healthy", "Running", false, "IfHealthyBudget", 2, 2, 201},
      {"unready-unhealthy-budget", "Running", false, "", 1, 2, 429},
      {"unready-nothing-desired", "Running", false, "", 0, 0, 429},
      {"unready-always", "Running", false, "AlwaysAllow", 1, 2, 201},
  };
  for (const UnreadyCase& c : cases) {
    run_pod(c.name, c.ready, {{"app", c.name}}, c.phase);
    Budget b{
        .allowed = 0, .healthy = c.healthy, .desired = c.desired, .selector = {{"matchLabels", {{"app", c.name}}}}};
    if (*c.policy) b.spec["unhealthyPodEvictionPolicy"] = c.policy;
    budget(c.name, b);
    EXPECT_EQ(evict(c.name).code, c.code) << c.name;
    EXPECT_EQ(pdb_status(c.name).at("disruptionsAllowed"), 0) << c.name;
    EXPECT_FALSE(pdb_status(c.name).contains("disruptedPods")) << c.name;
  }
}

TEST_F(EvictionTest, PodsWithoutLabelsHaveNoBudget) {
  run_pod("p", true, Json::object());
  budget("everything", {.allowed = 0, .selector = Json::object()});
  EXPECT_EQ(evict("p").code, 201);
}

TEST_F(EvictionTest, AFailedPreconditionComesAfterTheBudgetIsSpent) {
  run_pod("p");
  budget("web-pdb", {});
  const Reply reply = evict("p", {{"preconditions", {{"uid", "other"}}}});
  EXPECT_EQ(reply.code, 409);
  EXPECT_EQ(reply.body.at("reason"), "Conflict");
  EXPECT_EQ(reply.message(),
            "Operation cannot be fulfilled on Pod \"p\": the UID in the precondition (other) does not match the UID in "
            "record (" +
                uid("p") + "). The object might have been deleted and then recreated");
  EXPECT_EQ(pdb_status("web-pdb").at("disruptionsAllowed"), 0);
  EXPECT_FALSE(pod("p").at("metadata").contains("deletionTimestamp"));
  EXPECT_FALSE(condition(pod("p"), "DisruptionTarget"));
}

TEST_F(EvictionTest, VersionPreconditionsHoldThroughTheConditionUpdate) {
  run_pod("p");
  const std::string version = pod("p").at("metadata").at("resourceVersion");
  const Reply stale = evict("p", {{"preconditions", {{"resourceVersion", "1"}}}});
  EXPECT_EQ(stale.code, 409);
  EXPECT_NE(stale.message().find(
                "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (" + version +
                "). The object might have been modified"),
            std::string::npos);
  EXPECT_EQ(evict("p", {{"preconditions", {{"resourceVersion", version}}}}).code, 201);
}

TEST_F(EvictionTest, DryRunsCheckButDoNothing) {
  run_pod("p");
  budget("web-pdb", {});
  const std::uint64_t before = store.revision();
  EXPECT_EQ(evict("p", nullptr, "?dryRun=All").code, 201);
  EXPECT_EQ(evict("p", {{"dryRun", {"All"}}}).code, 201);
  EXPECT_EQ(evict("p", {{"dryRun", {"All"}}}, "?dryRun=All").code, 201);
  EXPECT_EQ(evict("p", {{"preconditions", {{"uid", "other"}}}}, "?dryRun=All").code, 409);
  EXPECT_EQ(store.revision(), before);
  EXPECT_TRUE(server.journal().entries().back().dry_run);
}

TEST_F(EvictionTest, OnlyADryRunInTheQueryIsOneForWebhooks) {
  run_pod("p");
  std::vector<bool> dry;
  server.add_webhook({"w",
                      [&](const AdmissionRequest& request) -> std::optional<Denial> {
                        if (request.subresource == "eviction") dry.push_back(request.dry_run);
                        return std::nullopt;
                      },
                      true,
                      {}});
  evict("p", {{"dryRun", {"All"}}});
  evict("p", nullptr, "?dryRun=All");
  EXPECT_EQ(dry, (std::vector<bool>{false, true}));
}

TEST_F(EvictionTest, WebhooksSeeTheEvictionBeforeThePodIsLookedUp) {
  server.add_webhook(
      {"virt",
       [](const AdmissionRequest& request) -> std::optional<Denial> {
         if (request.subresource != "eviction") return std::nullopt;
         return Denial{429,
                       "moving " + request.object->at("metadata").at("annotations").at("reason").get<std::string>(),
                       "TooManyRequests"};
       },
       true,
       {}});
  Json body = eviction("absent");
  body["metadata"]["annotations"] = {{"reason", "age"}};
  const Reply reply = call("POST", path_of("absent") + "/eviction", body);
  EXPECT_EQ(reply.code, 429);
  EXPECT_EQ(reply.message(), "admission webhook \"virt\" denied the request: moving age");
  EXPECT_FALSE(reply.retry_after);
}

TEST_F(EvictionTest, RefusesInvalidBodies) {
  run_pod("p");
  const auto post = [&](Json body) { return call("POST", path_of("p") + "/eviction", body); };
  EXPECT_EQ(evict("absent").message(), "pods \"absent\" not found");
  EXPECT_EQ(evict("absent").body.at("details").at("kind"), "pods");
  EXPECT_EQ(post(eviction("q")).message(), "name in URL does not match name in Eviction object");
  Json other = eviction("p");
  other["apiVersion"] = "policy/v2";
  EXPECT_EQ(post(other).code, 400);
  other = eviction("p", {{"dryRun", {"Some"}}});
  EXPECT_EQ(post(other).code, 400);
  EXPECT_EQ(post(eviction("p", {{"ignoreStoreReadErrorWithClusterBreakingPotential", true}})).code, 422);
  EXPECT_EQ(call("GET", path_of("p") + "/eviction").code, 405);
}

TEST_F(EvictionTest, BothBodyVersionsAreRead) {
  run_pod("p");
  Json body = eviction("p");
  body["apiVersion"] = "policy/v1beta1";
  EXPECT_EQ(call("POST", path_of("p") + "/eviction", body).code, 201);
}

TEST_F(EvictionTest, NamespacesThatEndRefuse) {
  run_pod("p");
  must("DELETE", "/api/v1/namespaces/shop");
  const Reply reply = evict("p");
  EXPECT_EQ(reply.code, 403);
  EXPECT_EQ(reply.body.at("details").at("causes").at(0).at("reason"), "NamespaceTerminating");
}

TEST_F(EvictionTest, ManyEvictionsNeverOverspend) {
  for (int i = 0; i < 20; ++i) run_pod("p" + std::to_string(i));
  budget("web-pdb", {.allowed = 7, .healthy = 20, .desired = 13});
  int granted = 0;
  for (int i = 0; i < 20; ++i) granted += evict("p" + std::to_string(i)).code == 201 ? 1 : 0;
  EXPECT_EQ(granted, 7);
  EXPECT_EQ(pdb_status("web-pdb").at("disruptedPods").size(), 7u);
}

class OldServerTest : public EvictionTest {
 protected:
  static ApiServerOptions old_options() {
    ApiServerOptions options;
    options.policy = PolicyVersion::kV1beta1;
    options.version = "v1.20.2";
    return options;
  }
  OldServerTest() : EvictionTest(old_options()) {}
};

TEST_F(OldServerTest, SupportsPolicyV1beta1Only) {
  EXPECT_EQ(call("GET", "/apis/policy/v1").code, 404);
  EXPECT_EQ(call("GET", "/openapi/v3").code, 404);
  run_pod("p");
  EXPECT_EQ(evict("p").code, 400);
  Json body = eviction("p");
  body["apiVersion"] = "policy/v1beta1";
  budget("empty", {.allowed = 0, .selector = Json::object()});  // In v1beta1 an empty selector selects no pod
  EXPECT_EQ(call("POST", path_of("p") + "/eviction", body).code, 201);
  EXPECT_FALSE(condition(pod("p"), "DisruptionTarget"));
  const Json pdb = must("GET", "/apis/policy/v1beta1/namespaces/shop/poddisruptionbudgets/empty");
  EXPECT_EQ(pdb.at("apiVersion"), "policy/v1beta1");
  const Json pods = must("GET", "/api/v1");
  for (const Json& resource : pods.at("resources")) {
    if (resource.at("name") == "pods/eviction") {
      EXPECT_EQ(resource.at("version"), "v1beta1");
    }
  }
}

}  // namespace eviction_test
}  // namespace simulator
