#include "simulator/webhooks/configured.hpp"

#include <gmock/gmock.h>

#include "base/base64.hpp"
#include "http_server/certificates.hpp"
#include "http_server/server.hpp"
#include "test/unit/simulator/api/fixture.hpp"

namespace simulator {
namespace mutating_test {

using testing::HasSubstr;

constexpr const char* kConfigurations = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
constexpr const char* kPodsOfShop = "/api/v1/namespaces/shop/pods";

/// Records the calls of the webhook and returns the configured answers.
struct Peer {
  base::Result<std::string> answer(const WebhookCall& call) {
    calls.push_back(call);
    if (!reachable) return base::unavailable("connection refused");
    const api::Json asked = api::Json::parse(call.body);
    api::Json response = {{"uid", asked["request"]["uid"]}, {"allowed", allowed}};
    if (!allowed) response["status"] = {{"code", 403}, {"message", "not today"}};
    if (!patch.is_null()) {
      response["patchType"] = "JSONPatch";
      response["patch"] = base::encode_base64(patch.dump());
    }
    return api::Json({{"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"response", response}})
        .dump();
  }
  api::Json asked() const { return api::Json::parse(calls.back().body)["request"]; }

  std::vector<WebhookCall> calls;
  bool reachable = true;
  bool allowed = true;
  api::Json patch = api::Json::array({{{"op", "add"}, {"path", "/metadata/labels/seen"}, {"value", "yes"}}});
};

ApiServerOptions options_of(Peer& peer) {
  ApiServerOptions options;
  options.call_webhook = [&peer](const WebhookCall& call) { return peer.answer(call); };
  return options;
}

class ConfiguredWebhooksTest : private Peer, public ApiFixture {
 protected:
  ConfiguredWebhooksTest() : ApiFixture(options_of(*this)) {}

  Peer& peer() { return *this; }
  /// Installs one webhook for new pods. `more` is merged into it.
  void install(const Json& more = Json::object()) {
    Json webhook = {{"name", "a.example.com"},
                    {"clientConfig", {{"url", "https://127.0.0.1:9443/mutate"}, {"caBundle", "Y2E="}}},
                    {"rules", Json::array({{{"operations", Json::array({"CREATE"})},
                                            {"apiGroups", Json::array({""})},
                                            {"apiVersions", Json::array({"v1"})},
                                            {"resources", Json::array({"pods"})}}})},
                    {"sideEffects", "None"},
                    {"failurePolicy", "Ignore"},
                    {"timeoutSeconds", 1}};
    webhook.merge_patch(more);
    must("POST", kConfigurations, {{"metadata", {{"name", "a"}}}, {"webhooks", Json::array({webhook})}});
  }
  /// Returns "yes" if the webhook has changed a new pod.
  std::string seen(const std::string& target = kPodsOfShop) {
    const Json made = must("POST", target, pod_json("p" + std::to_string(++pods_)));
    return made["metadata"]["labels"].value("seen", "");
  }

 private:
  int pods_ = 0;
};

TEST_F(ConfiguredWebhooksTest, ChangeNewPods) {
  install();
  EXPECT_EQ(seen(), "yes");
  EXPECT_EQ(peer().asked()["operation"], "CREATE");
  EXPECT_EQ(peer().asked()["namespace"], "shop");
  EXPECT_EQ(peer().asked()["dryRun"], false);
  EXPECT_EQ(peer().calls.back().host, "127.0.0.1:9443");
  EXPECT_EQ(peer().calls.back().path, "/mutate?timeout=1s");
  EXPECT_EQ(peer().calls.back().ca_pem, "ca");
}

TEST_F(ConfiguredWebhooksTest, AreCalledByTheNamesOfServices) {
  install(
      {{"clientConfig", {{"url", nullptr}, {"service", {{"name", "hook"}, {"namespace", "ops"}, {"path", "/x"}}}}}});
  EXPECT_EQ(seen(), "yes");
  EXPECT_EQ(peer().calls.back().host, "hook.ops.svc:443");
}

TEST_F(ConfiguredWebhooksTest, AreNotCalledForOtherRequests) {
  install();
  must("POST", "/api/v1/namespaces/shop/configmaps", {{"metadata", {{"name", "c"}}}});
  EXPECT_TRUE(peer().calls.empty());
}

TEST_F(ConfiguredWebhooksTest, AreChosenByNamespaceAndLabels) {
  const auto not_in = [](const char* key, const char* value) {
    return Json{
        {"matchExpressions", Json::array({{{"key", key}, {"operator", "NotIn"}, {"values", Json::array({value})}}})}};
  };
  install({{"namespaceSelector", not_in("kind", "quiet")}, {"objectSelector", not_in("app", "other")}});
  EXPECT_EQ(seen(), "yes");
  must("POST", "/api/v1/namespaces", {{"metadata", {{"name", "quiet"}, {"labels", {{"kind", "quiet"}}}}}});
  EXPECT_EQ(seen("/api/v1/namespaces/quiet/pods"), "");
  const Json other = must("POST", kPodsOfShop, pod_json("other", {{"app", "other"}}));
  EXPECT_FALSE(other["metadata"]["labels"].contains("seen"));
}

TEST_F(ConfiguredWebhooksTest, AreIgnoredIfTheyDoNotAnswer) {
  install();
  peer().reachable = false;
  EXPECT_EQ(seen(), "");
}

TEST_F(ConfiguredWebhooksTest, FailTheCreationIfTheyMustAnswer) {
  install({{"failurePolicy", "Fail"}});
  peer().reachable = false;
  const Reply reply = call("POST", kPodsOfShop, pod_json("p"));
  EXPECT_EQ(reply.code, 500);
  EXPECT_THAT(reply.message(), HasSubstr("failed calling webhook \"a.example.com\": connection refused"));
}

TEST_F(ConfiguredWebhooksTest, MayDeny) {
  install();
  peer().allowed = false;
  const Reply reply = call("POST", kPodsOfShop, pod_json("p"));
  EXPECT_EQ(reply.code, 403);
  EXPECT_EQ(reply.message(), "admission webhook \"a.example.com\" denied the request: not today");
}

TEST_F(ConfiguredWebhooksTest, TheirResultIsValidated) {
  install();
  peer().patch = Json::array({{{"op", "remove"}, {"path", "/spec/containers"}}});
  EXPECT_EQ(call("POST", kPodsOfShop, pod_json("p")).code, 422);
}

TEST_F(ConfiguredWebhooksTest, ReceiveTheOldObjectOfUpdates) {
  must("POST", kPodsOfShop, pod_json("p"));
  install({{"rules", Json::array({{{"operations", Json::array({"UPDATE"})},
                                   {"apiGroups", Json::array({""})},
                                   {"apiVersions", Json::array({"v1"})},
                                   {"resources", Json::array({"pods"})}}})}});
  const std::string path = std::string(kPodsOfShop) + "/p";
  const Json after = merge(path, {{"metadata", {{"labels", {{"new", "1"}}}}}}).body;
  EXPECT_EQ(after["metadata"]["labels"]["seen"], "yes");
  EXPECT_EQ(peer().asked()["operation"], "UPDATE");
  EXPECT_EQ(peer().asked()["object"]["metadata"]["labels"]["new"], "1");
  EXPECT_FALSE(peer().asked()["oldObject"]["metadata"].value("labels", Json::object()).contains("new"));
  EXPECT_EQ(peer().asked()["name"], "p");
}

TEST_F(ConfiguredWebhooksTest, ThatValidateSeeMutationsAndChangeNothing) {
  install();
  Json webhook = {{"name", "v.example.com"},
                  {"clientConfig", {{"url", "https://127.0.0.1:9443/validate"}}},
                  {"rules", Json::array({{{"operations", Json::array({"*"})},
                                          {"apiGroups", Json::array({""})},
                                          {"apiVersions", Json::array({"v1"})},
                                          {"resources", Json::array({"pods"})}}})},
                  {"sideEffects", "None"},
                  {"failurePolicy", "Fail"}};
  must("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
       {{"metadata", {{"name", "v"}}}, {"webhooks", Json::array({webhook})}});
  EXPECT_EQ(seen(), "yes");
  ASSERT_EQ(peer().calls.size(), 2U);
  EXPECT_EQ(peer().asked()["object"]["metadata"]["labels"]["seen"], "yes");
  peer().patch = nullptr;
  peer().allowed = false;
  const Reply reply = merge(std::string(kPodsOfShop) + "/p1", {{"metadata", {{"labels", {{"a", "b"}}}}}});
  EXPECT_EQ(reply.code, 403);
  EXPECT_EQ(reply.message(), "admission webhook \"v.example.com\" denied the request: not today");
  EXPECT_FALSE(must("GET", std::string(kPodsOfShop) + "/p1")["metadata"]["labels"].contains("a"));
}

TEST_F(ConfiguredWebhooksTest, ReceiveTheDryRunFlag) {
  install();
  must("POST", std::string(kPodsOfShop) + "?dryRun=All", pod_json("p"));
  EXPECT_EQ(peer().asked()["dryRun"], true);
}

TEST_F(ConfiguredWebhooksTest, WithSideEffectsRefuseADryRun) {
  install({{"sideEffects", "Some"}});
  EXPECT_EQ(call("POST", std::string(kPodsOfShop) + "?dryRun=All", pod_json("p")).code, 400);
}

// --- over HTTPS

class HttpsCallerTest : public testing::Test {
 protected:
  HttpsCallerTest() {
    http_server::ServerOptions options;
    options.certificate = http_server::Certificate{identity.certificate + identity.ca, identity.key};
    server.emplace(std::move(options), [](const http_server::Request& request) {
      return http_server::Response{.status = request.path == "/ok" ? 200 : 404, .body = request.query + request.body};
    });
    EXPECT_TRUE(server->start());
  }
  base::Result<std::string> call(const std::string& host, const std::string& ca, const std::string& path = "/ok") {
    const WebhookCaller caller = https_caller({{"hook.ops.svc:443", "127.0.0.1:" + std::to_string(server->port())}});
    return caller({host, path + "?timeout=1s", ca, base::milliseconds(2000), "body"});
  }

  const base::TimePoint now = base::SystemClock().now();
  const http_server::ServerIdentity identity = *http_server::make_server_identity({"hook.ops.svc"}, now);
  std::optional<http_server::Server> server;
};

TEST_F(HttpsCallerTest, FindsServices) {
  const auto answer = call("hook.ops.svc:443", identity.ca);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(*answer, "timeout=1sbody");
}

TEST_F(HttpsCallerTest, TrustsOnlyTheAuthorityOfTheConfiguration) {
  const auto other = http_server::make_server_identity({"hook.ops.svc"}, now);
  EXPECT_FALSE(call("hook.ops.svc:443", other->ca));
  EXPECT_FALSE(call("127.0.0.1:" + std::to_string(server->port()), identity.ca)) << "it is for another name";
}

TEST_F(HttpsCallerTest, AcceptsOnlyASuccess) { EXPECT_FALSE(call("hook.ops.svc:443", identity.ca, "/missing")); }

}  // namespace mutating_test
}  // namespace simulator
