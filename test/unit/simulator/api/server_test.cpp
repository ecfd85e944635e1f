#include <algorithm>

#include "api/core/codec.hpp"
#include "api/core/protobuf/envelope.hpp"
#include "test/unit/simulator/api/fixture.hpp"

namespace simulator {
namespace api_server_test {

using Json = api::Json;

class ApiServerTest : public ApiFixture {};

constexpr const char* kPodsPath = "/api/v1/namespaces/shop/pods";
constexpr const char* kConfigMapsPath = "/api/v1/namespaces/shop/configmaps";

TEST_F(ApiServerTest, CreatesPodsLikeKubernetes) {
  Json body = pod_json("p");
  body["status"] = {{"phase", "Running"}};
  const Json pod = must("POST", kPodsPath, body);
  EXPECT_EQ(pod.at("metadata").at("namespace"), "shop");
  EXPECT_EQ(pod.at("status"), Json({{"phase", "Pending"}, {"qosClass", "BestEffort"}}));
  EXPECT_EQ(pod.at("spec").at("terminationGracePeriodSeconds"), 30);
  EXPECT_EQ(pod.at("spec").at("priority"), 0);
  EXPECT_EQ(pod.at("spec").at("tolerations").size(), 2u);
  EXPECT_EQ(pod.at("spec").at("containers").at(0).at("imagePullPolicy"), "IfNotPresent");
  EXPECT_EQ(call("POST", kPodsPath, body).code, 409);
}

TEST_F(ApiServerTest, ResolvesPriorities) {
  const char* classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
  must("POST", classes, {{"metadata", {{"name", "high"}}}, {"value", 1000}});
  must("POST", classes, {{"metadata", {{"name", "usual"}}}, {"value", 7}, {"globalDefault", true}});
  Json named = pod_json("a");
  named["spec"]["priorityClassName"] = "high";
  EXPECT_EQ(must("POST", kPodsPath, named).at("spec").at("priority"), 1000);
  EXPECT_EQ(must("POST", kPodsPath, pod_json("b")).at("spec").at("priority"), 7);
  named["metadata"]["name"] = "c";
  named["spec"]["priorityClassName"] = "system-node-critical";
  EXPECT_EQ(must("POST", kPodsPath, named).at("spec").at("priority"), 2'000'001'000);
}

struct RefusalCase {
  const char* name;
  const char* method;
  const char* target;
  const char* body;
  int code;
  const char* reason;
  const char* message;
};

class RefusalTest : public ApiServerTest, public testing::WithParamInterface<RefusalCase> {};

TEST_P(RefusalTest, MatchesTheMessagesOfKubernetes) {
  run_pod("p");
  const RefusalCase& c = GetParam();
  const Json body = *c.body ? Json::parse(c.body) : Json();
  const Reply reply = call(c.method, c.target, body,
                           std::string(c.method) == "PATCH" ? "application/merge-patch+json" : "application/json");
  EXPECT_EQ(reply.code, c.code) << reply.text;
  EXPECT_EQ(reply.body.value("kind", ""), "Status");
  EXPECT_EQ(reply.body.value("reason", ""), c.reason);
  std::string message = c.message;
  if (const auto at = message.find("<uid>"); at != std::string::npos)
    message.replace(at, 5, must("GET", path_of("p")).at("metadata").at("uid"));
  EXPECT_EQ(reply.message(), message);
  EXPECT_EQ(reply.body.value("code", 0), c.code);
}

INSTANTIATE_TEST_SUITE_P(
    ApiServer, RefusalTest,
    testing::Values(
        RefusalCase{"AnAbsentPod", "GET", "/api/v1/namespaces/shop/pods/q", "", 404, "NotFound",
                    "pods \"q\" not found"},
        RefusalCase{"AnAbsentDeployment", "GET", "/apis/apps/v1/namespaces/shop/deployments/q", "", 404, "NotFound",
                    "deployments.apps \"q\" not found"},
        RefusalCase{"AnUnknownKind", "GET", "/apis/nothing.io/v1/things", "", 404, "NotFound",
                    "the server could not find the requested resource"},
        RefusalCase{"AnUnknownPath", "GET", "/nonsense", "", 404, "NotFound",
                    "the server could not find the requested resource"},
        RefusalCase{"AnUnknownSubresource", "GET", "/api/v1/namespaces/shop/pods/p/log", "", 404, "NotFound",
                    "the server could not find the requested resource"},
        RefusalCase{"AnAbsentNamespace", "POST", "/api/v1/namespaces/none/configmaps", R"({"metadata":{"name":"c"}})",
                    404, "NotFound", "namespaces \"none\" not found"},
        RefusalCase{"ATakenName", "POST", "/api/v1/namespaces", R"({"metadata":{"name":"shop"}})", 409, "AlreadyExists",
                    "namespaces \"shop\" already exists"},
        RefusalCase{"NoName", "POST", kConfigMapsPath, R"({"metadata":{}})", 422, "Invalid",
                    "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required"},
        RefusalCase{"AnotherNamespaceInTheBody", "POST", kConfigMapsPath,
                    R"({"metadata":{"name":"c","namespace":"default"}})", 400, "BadRequest",
                    "the namespace of the provided object does not match the namespace sent on the request"},
        RefusalCase{"AnotherNameInTheBody", "PUT", "/api/v1/namespaces/shop/pods/p", R"({"metadata":{"name":"q"}})",
                    400, "BadRequest", "the name of the object (q) does not match the name on the URL (p)"},
        RefusalCase{"AStaleVersion", "PATCH", "/api/v1/namespaces/shop/pods/p",
                    R"({"metadata":{"resourceVersion":"1","labels":{"a":"b"}}})", 409, "Conflict",
                    "Operation cannot be fulfilled on pods \"p\": the object has been modified; please apply your "
                    "changes to the latest version and try again"},
        RefusalCase{"AnotherUidInAPatch", "PATCH", "/api/v1/namespaces/shop/pods/p", R"({"metadata":{"uid":"u"}})", 422,
                    "Invalid", "Pod \"p\" is invalid: metadata.uid: Invalid value: \"u\": field is immutable"},
        RefusalCase{"APodWithoutContainers", "POST", kPodsPath, R"({"metadata":{"name":"x"},"spec":{}})", 422,
                    "Invalid", "Pod \"x\" is invalid: spec.containers: Required value"},
        RefusalCase{"TwoFaults", "POST", kPodsPath, R"({"metadata":{"name":"x"},"spec":{"containers":[{}]}})", 422,
                    "Invalid",
                    "Pod \"x\" is invalid: [spec.containers[0].name: Required value, spec.containers[0].image: "
                    "Required value]"},
        RefusalCase{"ABadLabelSelector", "GET", "/api/v1/pods?labelSelector=a%20what", "", 400, "BadRequest",
                    "unable to parse requirement: found 'a what', expected: in, notin, =, ==, !=, gt, lt"},
        RefusalCase{"AnUnknownField", "GET", "/api/v1/pods?fieldSelector=spec.hostname=x", "", 400, "BadRequest",
                    "field label not supported: spec.hostname"},
        RefusalCase{"AnUnknownDryRun", "DELETE", "/api/v1/namespaces/shop/pods/p?dryRun=Some", "", 400, "BadRequest",
                    "dryRun: Unsupported value: \"Some\": supported values: \"All\""},
        RefusalCase{"AMethodThatSuitsNothing", "POST", "/api/v1/namespaces/shop/pods/p", "{}", 405, "MethodNotAllowed",
                    "the server does not allow this method on the requested resource"},
        RefusalCase{"DeletingAllPodsOfAllNamespaces", "DELETE", "/api/v1/pods", "", 405, "MethodNotAllowed",
                    "the server does not allow this method on the requested resource"},
        RefusalCase{"AFailedDeletePrecondition", "DELETE", "/api/v1/namespaces/shop/pods/p",
                    R"({"preconditions":{"uid":"u"},"dryRun":[]})", 409, "Conflict",
                    "Operation cannot be fulfilled on Pod \"p\": the UID in the precondition (u) does not match the "
                    "UID in record "
                    "(<uid>). The object might have been deleted and then recreated"},
        RefusalCase{"AFutureVersion", "GET", "/api/v1/pods?resourceVersion=99999", "", 504, "Timeout",
                    "Timeout: Too large resource version: 99999, current: 5"}),
    [](const auto& test) { return test.param.name; });

TEST_F(ApiServerTest, PutsNeedNoVersionForBuiltInsButDetectOtherUids) {
  must("POST", kConfigMapsPath, {{"metadata", {{"name", "c"}}}, {"data", {{"k", "1"}}}});
  const std::string path = std::string(kConfigMapsPath) + "/c";
  EXPECT_EQ(must("PUT", path, {{"metadata", {{"name", "c"}}}, {"data", {{"k", "2"}}}}).at("data").at("k"), "2");
  const Reply reply = call("PUT", path, {{"metadata", {{"name", "c"}, {"uid", "u"}}}});
  EXPECT_EQ(reply.code, 409);
  EXPECT_NE(reply.message().find("Precondition failed: UID in precondition: u, UID in object meta: "),
            std::string::npos);
  EXPECT_EQ(call("PUT", std::string(kConfigMapsPath) + "/absent", {{"metadata", {{"name", "absent"}}}}).code, 404);
}

TEST_F(ApiServerTest, StatusIsASubresource) {
  run_pod("p");
  merge(path_of("p"), {{"status", {{"phase", "Failed"}}}, {"metadata", {{"labels", {{"x", "y"}}}}}});
  Json pod = must("GET", path_of("p"));
  EXPECT_EQ(pod.at("status").at("phase"), "Running");
  EXPECT_EQ(pod.at("metadata").at("labels").at("x"), "y");
  merge(path_of("p") + "/status", {{"status", {{"phase", "Failed"}}}, {"spec", {{"nodeName", "n9"}}}});
  pod = must("GET", path_of("p"));
  EXPECT_EQ(pod.at("status").at("phase"), "Failed");
  EXPECT_EQ(pod.at("spec").at("nodeName"), "n1");
}

TEST_F(ApiServerTest, PodsMayChangeLittle) {
  run_pod("p");
  EXPECT_EQ(merge(path_of("p"), {{"spec", {{"nodeName", "n2"}}}}).code, 422);
  EXPECT_EQ(merge(path_of("p"), {{"spec", {{"hostname", "h"}}}}).code, 422);
  EXPECT_EQ(call("PATCH", path_of("p"), {{"spec", {{"containers", Json::array({{{"name", "c"}, {"image", "i:2"}}})}}}},
                 "application/strategic-merge-patch+json")
                .code,
            200);
}

TEST_F(ApiServerTest, PatchTypesAreDistinguished) {
  run_pod("p");
  const auto patch = [&](const Json& body, const char* type) { return call("PATCH", path_of("p"), body, type).code; };
  EXPECT_EQ(patch({{"metadata", {{"labels", {{"a", "b"}}}}}}, "application/merge-patch+json"), 200);
  EXPECT_EQ(patch({{"metadata", {{"labels", {{"a", "b"}}}}}}, "application/strategic-merge-patch+json; charset=utf-8"),
            200);
  EXPECT_EQ(
      patch(Json::array({{{"op", "test"}, {"path", "/metadata/name"}, {"value", "q"}}}), "application/json-patch+json"),
      422);
  EXPECT_EQ(patch(Json::array({{{"op", "replace"}, {"path", "/metadata/labels/new"}, {"value", "q"}}}),
                  "application/json-patch+json"),
            200);
  EXPECT_EQ(patch({{"a", 1}}, "application/json"), 415);
}

TEST_F(ApiServerTest, DryRunsLeaveNoTrace) {
  run_pod("p");
  const std::uint64_t before = store.revision();
  EXPECT_EQ(call("POST", std::string(kPodsPath) + "?dryRun=All", pod_json("q")).code, 201);
  EXPECT_EQ(call("POST", std::string(kPodsPath) + "?dryRun=All", pod_json("p")).code, 409);
  EXPECT_EQ(merge(path_of("p") + "?dryRun=All", {{"metadata", {{"labels", {{"n", "m"}}}}}})
                .body.at("metadata")
                .at("labels")
                .at("n"),
            "m");
  EXPECT_EQ(call("DELETE", path_of("p") + "?dryRun=All").code, 200);
  EXPECT_EQ(call("DELETE", path_of("p"), {{"dryRun", {"All"}}}).code, 200);
  EXPECT_EQ(store.revision(), before);
}

TEST_F(ApiServerTest, PropagationIsRecordedForTheCollector) {
  for (const auto& [policy, finalizer] : {std::pair{"Foreground", "foregroundDeletion"}, {"Orphan", "orphan"}}) {
    must("POST", kConfigMapsPath, {{"metadata", {{"name", "c"}}}});
    const Json left = must("DELETE", std::string(kConfigMapsPath) + "/c", {{"propagationPolicy", policy}});
    EXPECT_EQ(left.at("metadata").at("finalizers"), Json::array({finalizer}));
    must("PATCH", std::string(kConfigMapsPath) + "/c", {{"metadata", {{"finalizers", nullptr}}}},
         "application/merge-patch+json");
    EXPECT_EQ(call("GET", std::string(kConfigMapsPath) + "/c").code, 404);
  }
  EXPECT_EQ(call("DELETE", std::string(kConfigMapsPath) + "/c", {{"propagationPolicy", "Sideways"}}).code, 422);
}

TEST_F(ApiServerTest, DeleteCollectionObeysSelectors) {
  for (const char* name : {"a", "b"})
    must("POST", kConfigMapsPath, {{"metadata", {{"name", name}, {"labels", {{"n", name}}}}}});
  EXPECT_EQ(must("DELETE", std::string(kConfigMapsPath) + "?labelSelector=n%3Da").at("items").size(), 1u);
  EXPECT_EQ(must("GET", kConfigMapsPath).at("items").size(), 1u);
}

TEST_F(ApiServerTest, DeletedNamespacesDeleteTheirContent) {
  run_pod("p");
  must("DELETE", "/api/v1/namespaces/shop");
  EXPECT_EQ(must("GET", "/api/v1/namespaces/shop").at("status").at("phase"), "Terminating");
  const Reply late = call("POST", kConfigMapsPath, {{"metadata", {{"name", "c"}}}});
  EXPECT_EQ(late.code, 403);
  EXPECT_EQ(late.body.at("details").at("causes").at(0).at("reason"), "NamespaceTerminating");
  ASSERT_TRUE(store.remove(kube::kPods, {"shop", "p"}, {}, 0));  // The kubelet has finished the pod
  EXPECT_EQ(call("GET", "/api/v1/namespaces/default").code, 200);
  EXPECT_EQ(call("GET", "/api/v1/namespaces/shop").code, 404);
}

TEST_F(ApiServerTest, ListsPageConsistently) {
  for (const char* name : {"a", "b", "c", "d", "e"}) must("POST", kConfigMapsPath, {{"metadata", {{"name", name}}}});
  const Json first = must("GET", std::string(kConfigMapsPath) + "?limit=2");
  EXPECT_EQ(first.at("items").size(), 2u);
  EXPECT_EQ(first.at("metadata").at("remainingItemCount"), 3);
  EXPECT_FALSE(first.at("items").at(0).contains("kind"));
  must("DELETE", std::string(kConfigMapsPath) + "/c");
  must("POST", kConfigMapsPath, {{"metadata", {{"name", "bb"}}}});
  const std::string token = first.at("metadata").at("continue");
  const Json second = must("GET", std::string(kConfigMapsPath) + "?limit=2&continue=" + token);
  EXPECT_EQ(second.at("items").at(0).at("metadata").at("name"), "c");
  EXPECT_EQ(second.at("metadata").at("resourceVersion"), first.at("metadata").at("resourceVersion"));
  store.compact();
  const Reply expired = call("GET", std::string(kConfigMapsPath) + "?limit=2&continue=" + token);
  EXPECT_EQ(expired.code, 410);
  EXPECT_EQ(expired.body.at("reason"), "Expired");
  EXPECT_EQ(call("GET", std::string(kConfigMapsPath) + "?continue=zz").code, 400);
}

TEST_F(ApiServerTest, ExactVersionsShowThePast) {
  must("POST", kConfigMapsPath, {{"metadata", {{"name", "a"}}}});
  const std::string then = must("GET", kConfigMapsPath).at("metadata").at("resourceVersion");
  must("POST", kConfigMapsPath, {{"metadata", {{"name", "b"}}}});
  EXPECT_EQ(must("GET", std::string(kConfigMapsPath) + "?resourceVersionMatch=Exact&resourceVersion=" + then)
                .at("items")
                .size(),
            1u);
  EXPECT_EQ(must("GET", std::string(kConfigMapsPath) + "?resourceVersionMatch=NotOlderThan&resourceVersion=" + then)
                .at("items")
                .size(),
            2u);
}

struct SelectorCase {
  const char* query;
  const char* want;
};

TEST_F(ApiServerTest, SelectorsFilterLists) {
  run_pod("a", true, {{"app", "web"}, {"tier", "1"}});
  run_pod("b", true, {{"app", "db"}});
  run_pod("c", true, {{"app", "web"}}, "Failed");
  const SelectorCase cases[] = {
      {"labelSelector=app%3Dweb", "ac"},
      {"labelSelector=app%3D%3Dweb", "ac"},
      {"labelSelector=app%21%3Dweb", "b"},
      {"labelSelector=app%20in%20(web,db)", "abc"},
      {"labelSelector=app%20notin%20(web,x)", "b"},
      {"labelSelector=tier", "a"},
      {"labelSelector=%21tier", "bc"},
      {"labelSelector=tier%3E0", "a"},
      {"labelSelector=app%3Dweb,tier", "a"},
      {"labelSelector=", "abc"},
      {"fieldSelector=status.phase%3DFailed", "c"},
      {"fieldSelector=status.phase%21%3DFailed,spec.nodeName%3Dn1", "ab"},
      {"fieldSelector=spec.nodeName%3Dn2", ""},
      {"fieldSelector=metadata.name%3Db", "b"},
      {"fieldSelector=metadata.namespace%3Dshop&labelSelector=app%3Ddb", "b"},
  };
  for (const SelectorCase& c : cases) {
    std::string names;
    const Json list = must("GET", std::string("/api/v1/pods?") + c.query);
    for (const Json& item : list.at("items")) names += item.at("metadata").at("name").get<std::string>();
    EXPECT_EQ(names, c.want) << c.query;
  }
}

TEST_F(ApiServerTest, EventsAreServedInTwoApiGroups) {
  must("POST", "/apis/events.k8s.io/v1/namespaces/shop/events",
       {{"metadata", {{"name", "e"}}},
        {"eventTime", "2026-11-21T09:59:00.000000Z"},
        {"regarding", {{"kind", "Pod"}, {"name", "p"}}},
        {"note", "hello"},
        {"reason", "Evicted"},
        {"type", "Normal"},
        {"reportingController", "evacuator"}});
  const Json core = must("GET", "/api/v1/namespaces/shop/events/e");
  EXPECT_EQ(core.at("apiVersion"), "v1");
  EXPECT_EQ(core.at("message"), "hello");
  EXPECT_EQ(core.at("involvedObject").at("name"), "p");
  EXPECT_FALSE(core.contains("note"));
  EXPECT_EQ(
      must("GET", "/api/v1/namespaces/shop/events?fieldSelector=involvedObject.name%3Dp,involvedObject.kind%3DPod")
          .at("items")
          .size(),
      1u);
  EXPECT_EQ(must("GET", "/apis/events.k8s.io/v1/events?fieldSelector=regarding.name%3Dq").at("items").size(), 0u);
  must("POST", "/api/v1/namespaces/shop/events",
       {{"metadata", {{"name", "old"}}}, {"involvedObject", {{"name", "q"}}}, {"message", "m"}, {"count", 3}});
  EXPECT_EQ(must("GET", "/apis/events.k8s.io/v1/namespaces/shop/events/old").at("note"), "m");
}

TEST_F(ApiServerTest, ScalesWorkloads) {
  const std::string path = "/apis/apps/v1/namespaces/shop/deployments";
  Json deployment = {
      {"metadata", {{"name", "d"}}},
      {"spec", {{"selector", {{"matchLabels", {{"app", "d"}}}}}, {"template", pod_json("", {{"app", "d"}})}}}};
  deployment["spec"]["template"]["metadata"].erase("name");
  EXPECT_EQ(must("POST", path, deployment).at("spec").at("replicas"), 1);
  EXPECT_EQ(must("GET", path + "/d/scale").at("spec").at("replicas"), 1);
  EXPECT_EQ(merge(path + "/d/scale", {{"spec", {{"replicas", 4}}}}).body.at("spec").at("replicas"), 4);
  EXPECT_EQ(must("GET", path + "/d").at("spec").at("replicas"), 4);
  EXPECT_EQ(must("GET", path + "/d").at("metadata").at("generation"), 2);
  EXPECT_EQ(merge(path + "/d/scale", {{"spec", {{"replicas", -1}}}}).code, 422);
  deployment["metadata"]["name"] = "e";
  deployment["spec"]["selector"]["matchLabels"]["app"] = "other";
  EXPECT_NE(call("POST", path, deployment).message().find("`selector` does not match template `labels`"),
            std::string::npos);
}

TEST_F(ApiServerTest, BindsPodsOnce) {
  must("POST", kPodsPath, pod_json("p"));
  EXPECT_EQ(call("POST", path_of("p") + "/binding", {{"target", {{"name", "n1"}}}}).code, 201);
  EXPECT_EQ(must("GET", path_of("p")).at("spec").at("nodeName"), "n1");
  EXPECT_EQ(call("POST", path_of("p") + "/binding", {{"target", {{"name", "n2"}}}}).code, 409);
}

TEST_F(ApiServerTest, AllowsAccessReviews) {
  const Json review = must("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                           {{"kind", "SelfSubjectAccessReview"}, {"spec", Json::object()}});
  EXPECT_TRUE(review.at("status").at("allowed"));
}

TEST_F(ApiServerTest, ServesDiscovery) {
  EXPECT_EQ(must("GET", "/version").at("gitVersion"), "v1.36.0");
  EXPECT_EQ(must("GET", "/version").at("minor"), "36");
  EXPECT_EQ(must("GET", "/api").at("versions"), Json::array({"v1"}));
  const Json core = must("GET", "/api/v1");
  const auto has = [&](const Json& list, const char* name) {
    return std::ranges::any_of(list.at("resources"), [&](const Json& r) { return r.at("name") == name; });
  };
  for (const char* name : {"pods", "pods/eviction", "pods/status", "pods/binding", "nodes", "namespaces", "events"})
    EXPECT_TRUE(has(core, name)) << name;
  EXPECT_TRUE(has(must("GET", "/apis/policy/v1"), "poddisruptionbudgets"));
  EXPECT_EQ(call("GET", "/apis/policy/v1beta1").code, 404);
  EXPECT_EQ(call("GET", "/apis/evacuator.dev/v1alpha1").code, 404);
  install_crds();
  EXPECT_TRUE(has(must("GET", "/apis/evacuator.dev/v1alpha1"), "evacuations/status"));
  EXPECT_EQ(must("GET", "/apis/evacuator.dev").at("preferredVersion").at("version"), "v1alpha1");
  EXPECT_EQ(call("GET", "/readyz").text, "ok");
}

TEST_F(ApiServerTest, ReportsFieldValidationToKubectl) {
  install_crds();
  const Json index = must("GET", "/openapi/v3").at("paths");
  EXPECT_TRUE(index.contains("apis/evacuator.dev/v1alpha1"));
  const Json document = must("GET", "/openapi/v3/apis/evacuator.dev/v1alpha1");
  const Json patch =
      document.at("paths").at("/apis/evacuator.dev/v1alpha1/namespaces/{namespace}/evacuations/{name}").at("patch");
  EXPECT_EQ(patch.at("x-kubernetes-group-version-kind").at("kind"), "Evacuation");
  EXPECT_TRUE(
      std::ranges::any_of(patch.at("parameters"), [](const Json& p) { return p.at("name") == "fieldValidation"; }));
  EXPECT_EQ(call("GET", "/openapi/v3/apis/none/v1").code, 404);
  kube::Request old;
  old.path = "/openapi/v2";
  old.accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
  EXPECT_EQ(server.handle(old, user).body, std::string("\x0a\x03") + "2.0");
}

TEST_F(ApiServerTest, NegotiatesMediaTypes) {
  kube::Request request;
  request.path = "/api/v1/namespaces/shop";
  const auto kind_for = [&](const char* accept) {
    request.accept = accept;
    return send(request).body.value("kind", "");
  };
  EXPECT_EQ(kind_for("application/json"), "Namespace");
  EXPECT_EQ(kind_for(""), "Namespace");
  EXPECT_EQ(kind_for("*/*"), "Namespace");
  EXPECT_EQ(kind_for("application/vnd.kubernetes.protobuf;as=Table,application/json"), "Namespace");
  EXPECT_EQ(kind_for("application/json;as=Table;v=v1;g=meta.k8s.io,application/json"), "Table");
  EXPECT_EQ(kind_for("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"), "PartialObjectMetadata");
  EXPECT_EQ(kind_for("text/html"), "Status");
}

TEST_F(ApiServerTest, AnswersInProtobufIfSupportedAndRequested) {
  kube::Request request;
  request.path = "/api/v1/namespaces/shop";
  request.accept = "application/vnd.kubernetes.protobuf,application/json";
  const auto answer = server.handle(request, user);
  EXPECT_EQ(answer.content_type, "application/vnd.kubernetes.protobuf");
  EXPECT_EQ(api::decode_namespace(answer.body)->meta.name, "shop");
  request.path = "/api/v1/namespaces/none";
  const auto missing = server.handle(request, user);
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.content_type, "application/vnd.kubernetes.protobuf");
  EXPECT_EQ(Json::parse(*api::protobuf::status_json(missing.body)).at("details").at("name"), "none");

  request.path = "/api/v1/namespaces/shop/configmaps";
  EXPECT_EQ(server.handle(request, user).content_type, "application/json") << "a kind that we do not read";
  request.accept = "application/vnd.kubernetes.protobuf";
  EXPECT_EQ(server.handle(request, user).status, 406);

  request.path = "/api/v1/namespaces/shop";
  server.abilities().protobuf = false;
  EXPECT_EQ(server.handle(request, user).status, 406);
  request.accept += ",application/json";
  EXPECT_EQ(server.handle(request, user).content_type, "application/json");
}

TEST_F(ApiServerTest, KeepsAJournalOfWrites) {
  run_pod("p");
  server.journal().clear();
  merge(path_of("p"), {{"metadata", {{"labels", {{"a", "b"}}}}}});
  call("GET", path_of("p"));
  user.name = "other";
  call("DELETE", path_of("absent"));
  call("POST", std::string(kPodsPath) + "?dryRun=All",
       {{"metadata", {{"generateName", "g-"}}}, {"spec", pod_json("x").at("spec")}});
  const std::vector<JournalEntry> entries = server.journal().entries();
  ASSERT_EQ(entries.size(), 3u);
  const std::string uid = must("GET", path_of("p")).at("metadata").at("uid");
  EXPECT_EQ(entries[0], (JournalEntry{clock.now(), "tester", "patch", "", "pods", "", {"shop", "p"}, uid, 200, false}));
  EXPECT_EQ(entries[1],
            (JournalEntry{clock.now(), "other", "delete", "", "pods", "", {"shop", "absent"}, "", 404, false}));
  EXPECT_TRUE(entries[2].dry_run);
  const std::string lines = call("GET", "/simulator/journal").text;
  EXPECT_EQ(std::ranges::count(lines, '\n'), 3);
}

TEST_F(ApiServerTest, TheJournalIsBounded) {
  RequestLog log(3);
  for (int i = 0; i < 5; ++i)
    log.add({clock.now(), "u", "create", "", "pods", "", {"shop", std::to_string(i)}, "", 201, false});
  EXPECT_EQ(log.entries().size(), 3u);
  EXPECT_EQ(log.entries().front().key.name, "2");
  EXPECT_EQ(log.dropped(), 2u);
}

TEST_F(ApiServerTest, WebhooksMayDeny) {
  run_pod("p");
  std::optional<Denial> denial;
  server.add_webhook({"guard.example",
                      [&](const AdmissionRequest& request) -> std::optional<Denial> {
                        return request.resource.plural == "pods" ? denial : std::nullopt;
                      },
                      false, [](const AdmissionRequest& request) { return request.resource.plural == "pods"; }});
  const auto label = [&](const char* query) {
    return merge(path_of("p") + query, {{"metadata", {{"labels", {{"n", store.new_suffix()}}}}}});
  };
  EXPECT_EQ(label("").code, 200);
  denial = Denial{429, "come back later", ""};
  EXPECT_EQ(label("").code, 429);
  EXPECT_EQ(label("").message(), "admission webhook \"guard.example\" denied the request: come back later");
  denial = Denial{200, "", ""};
  EXPECT_EQ(label("").code, 400);
  EXPECT_EQ(label("").message(), "admission webhook \"guard.example\" denied the request without explanation");
  denial = Denial{500, "connection refused", "", true};
  EXPECT_EQ(label("").code, 500);
  EXPECT_EQ(label("").message(),
            "Internal error occurred: failed calling webhook \"guard.example\": connection refused");
  EXPECT_EQ(label("?dryRun=All").message(), "admission webhook \"guard.example\" does not support dry run");
}

TEST_F(ApiServerTest, SurvivesHostileBodies) {
  run_pod("p");
  std::string deep(100'000, '[');
  const std::string bodies[] = {"",
                                "null",
                                "3",
                                "\"x\"",
                                "[]",
                                "{",
                                "{\"metadata\":3}",
                                "{\"metadata\":{\"name\":3}}",
                                "{\"metadata\":{\"name\":\"p\",\"labels\":[1]}}",
                                "{\"kind\":5,\"apiVersion\":{}}",
                                "\xff\xfe",
                                deep,
                                "{\"metadata\":{\"name\":\"p\",\"finalizers\":{}}}",
                                "{\"metadata\":{\"name\":\"p\",\"ownerReferences\":[3]}}",
                                "{\"metadata\":{\"name\":\"p\"},\"spec\":[]}",
                                "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[1]},\"status\":7}"};
  const std::pair<const char*, const char*> doors[] = {
      {"POST", "/api/v1/namespaces/shop/pods"},
      {"PUT", "/api/v1/namespaces/shop/pods/p"},
      {"PATCH", "/api/v1/namespaces/shop/pods/p"},
      {"POST", "/api/v1/namespaces/shop/pods/p/eviction"},
      {"DELETE", "/api/v1/namespaces/shop/pods/absent"},
      {"PUT", "/simulator/faults"},
      {"POST", "/api/v1/namespaces/shop/pods/p/binding"},
      {"PATCH", "/apis/apps/v1/namespaces/shop/deployments/d/scale"},
      {"POST", "/apis/apps/v1/namespaces/shop/deployments"},
      {"POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"}};
  for (const auto& [method, path] : doors) {
    for (const std::string& body : bodies) {
      for (const char* type : {"application/json", "application/merge-patch+json", "application/json-patch+json",
                               "application/strategic-merge-patch+json", "application/apply-patch+yaml", ""}) {
        kube::Request request;
        request.method = method;
        request.path = path;
        request.query = "fieldManager=x";
        request.body = body;
        request.content_type = type;
        const int code = server.handle(request, user).status;
        EXPECT_NE(code, 500) << method << " " << path << " " << type << " " << body.substr(0, 80);
        EXPECT_NE(code, 0);
      }
    }
  }
}

TEST_F(ApiServerTest, RefusesBodiesAboveThreeMegabytes) {
  kube::Request request;
  request.method = "POST";
  request.path = kPodsPath;
  request.body = std::string((3 << 20) + 1, ' ');
  EXPECT_EQ(server.handle(request, user).status, 413);
}

TEST_F(ApiServerTest, SurvivesHostileTargets) {
  for (const char* target :
       {"", "/", "//", "/api", "/api/v1/", "/apis/a/b/c/d/e/f/g/h", "/api/v1/namespaces/%00/pods",
        "/api/v1/pods/%zz?x=%", "/api/v1/pods?limit=x", "/api/v1/pods?limit=-1", "/api/v1/pods?resourceVersion=x",
        "/api/v1/pods?watch=true&resourceVersion=x", "/openapi", "/simulator", "/simulator/none",
        "/api/v1/pods?labelSelector=((((", "/api/v1/pods?fieldSelector==,=!=", "/api/v1/pods?continue=00"}) {
    kube::Request request;
    const std::string text = target;
    request.path = text.substr(0, text.find('?'));
    if (text.find('?') != std::string::npos) request.query = text.substr(text.find('?') + 1);
    for (const char* method : {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", ""}) {
      request.method = method;
      EXPECT_NE(server.handle(request, user).status, 500) << method << " " << target;
      const ApiServer::WatchAnswer answer = server.watch(request, user);
      EXPECT_TRUE(answer.stream || answer.refusal.status >= 400) << target;
    }
  }
}

}  // namespace api_server_test
}  // namespace simulator
