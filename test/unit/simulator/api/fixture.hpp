#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/json/yaml.hpp"
#include "simulator/api/server.hpp"

namespace simulator {

/// API server with the namespaces default and shop, without controllers, on a clock that does not advance.
class ApiFixture : public testing::Test {
 protected:
  using Json = api::Json;

  explicit ApiFixture(ApiServerOptions options = {}) : server(store, std::move(options)) {
    for (const char* name : {"default", "shop"}) must("POST", "/api/v1/namespaces", {{"metadata", {{"name", name}}}});
  }

  /// Answer with its body as JSON.
  struct Reply {
    int code = 0;
    Json body;
    std::optional<base::seconds> retry_after;
    std::string text;
    std::string message() const { return body.value("message", ""); }
  };

  Reply send(kube::Request request) {
    const kube::Response response = server.handle(request, user);
    return {response.status, Json::parse(response.body, nullptr, false), response.retry_after, response.body};
  }
  Reply call(const std::string& method, const std::string& target, const Json& body = nullptr,
             const std::string& type = "application/json") {
    kube::Request request;
    request.method = method;
    request.path = target.substr(0, target.find('?'));
    if (target.find('?') != std::string::npos) request.query = target.substr(target.find('?') + 1);
    if (!body.is_null()) request.body = body.dump();
    if (!body.is_null()) request.content_type = type;
    return send(request);
  }
  /// Sends a request that must succeed and returns its body.
  Json must(const std::string& method, const std::string& target, const Json& body = nullptr,
            const std::string& type = "application/json") {
    Reply reply = call(method, target, body, type);
    EXPECT_GE(reply.code, 200) << method << " " << target;
    EXPECT_LT(reply.code, 300) << method << " " << target << ": " << reply.body.dump();
    return reply.body;
  }
  Reply merge(const std::string& target, const Json& patch) {
    return call("PATCH", target, patch, "application/merge-patch+json");
  }

  static Json pod_json(const std::string& name, Json labels = {{"app", "web"}}) {
    return {{"metadata", {{"name", name}, {"labels", std::move(labels)}}},
            {"spec", {{"containers", Json::array({{{"name", "c"}, {"image", "i:1"}}})}}}};
  }
  static std::string path_of(const std::string& pod) { return "/api/v1/namespaces/shop/pods/" + pod; }

  /// Creates a running pod on node n1, ready or not, as kubelet and scheduler would leave it.
  void run_pod(const std::string& name, bool ready = true, Json labels = {{"app", "web"}},
               const std::string& phase = "Running") {
    must("POST", "/api/v1/namespaces/shop/pods", pod_json(name, std::move(labels)));
    ASSERT_TRUE(store.mutate(kube::kPods, {"shop", name}, Part::kAll, [&](Json& pod) -> base::Status {
      pod["spec"]["nodeName"] = "n1";
      pod["status"]["phase"] = phase;
      pod["status"]["conditions"] = Json::array({{{"type", "Ready"}, {"status", ready ? "True" : "False"}}});
      return base::Done{};
    }));
  }

  void install_crds() {
    for (const char* file : {"evacuator.dev_evacuations.yaml", "evacuator.dev_deschedulerpolicies.yaml",
                             "evacuator.dev_resourceadvices.yaml"}) {
      std::ifstream in(std::string(EVACUATOR_SOURCE_DIR) + "/crds/" + file);
      std::stringstream text;
      text << in.rdbuf();
      auto documents = api::parse_yaml(text.str());
      ASSERT_TRUE(documents) << documents.error().message;
      auto installed = server.install_crd(documents->at(0));
      ASSERT_TRUE(installed) << installed.error().message;
    }
  }
  static Json evacuation(const std::string& name) {
    return {{"apiVersion", "evacuator.dev/v1alpha1"},
            {"kind", "Evacuation"},
            {"metadata", {{"name", name}}},
            {"spec", {{"podRef", {{"name", "p"}}}}}};
  }
  static constexpr const char* kEvacs = "/apis/evacuator.dev/v1alpha1/namespaces/shop/evacuations";

  User user{"tester", {}, "curl/8"};
  base::ManualClock clock{*base::parse_time("2026-11-21T10:00:00Z")};
  Store store{clock, 7};
  ApiServer server;
};

}  // namespace simulator
