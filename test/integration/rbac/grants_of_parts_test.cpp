// Grants of config/ for parts of the operator that no scenario covers. Each test sends requests to a simulated server,
// so that test/integration/rbac/recorder.cpp records them.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "controllers/evacuation/origin/keys.hpp"
#include "controllers/observability/access_reviews.hpp"
#include "simulator/objects.hpp"
#include "test/integration/rig/rig.hpp"
#include "usage/sources/koordinator.hpp"
#include "usage/sources/metrics_server.hpp"

namespace integration::rbac {
namespace {

using api::Json;
using testing::IsEmpty;
using testing::SizeIs;

class GrantsOfParts : public Rig {
 protected:
  /// Serves a kind of an aggregated server or a foreign CRD, with one object.
  void serve(const kube::ResourceType& type, Json object) {
    const Json any = {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
    const Json version = {
        {"name", type.version}, {"served", true}, {"storage", true}, {"schema", {{"openAPIV3Schema", any}}}};
    ASSERT_TRUE(server->install_crd({{"apiVersion", "apiextensions.k8s.io/v1"},
                                     {"kind", "CustomResourceDefinition"},
                                     {"metadata", {{"name", fmt::format("{}.{}", type.plural, type.group)}}},
                                     {"spec",
                                      {{"group", type.group},
                                       {"scope", type.namespaced ? "Namespaced" : "Cluster"},
                                       {"names", {{"plural", type.plural}, {"kind", type.kind}}},
                                       {"versions", Json::array({version})}}}}));
    object["apiVersion"] = type.api_version();
    object["kind"] = type.kind;
    const auto created = cluster->store().create(type, std::move(object));
    ASSERT_TRUE(created) << created.error().message;
  }

  fakes::MortalTransport transport{*server, {"system:serviceaccount:evacuator-system:evacuator", {}, "evacuator"}};
  kube::Client client{transport, nullptr};
};

TEST_F(GrantsOfParts, MetricsServerIsReadWithThoseOfUsageMetricsServer) {
  const Json measured = {{"timestamp", "2026-11-21T12:00:00Z"}, {"window", "10s"}};
  Json node = measured;
  node["metadata"]["name"] = "node-a";
  node["usage"] = {{"cpu", "250m"}, {"memory", "1Gi"}};
  serve({"metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", false}, node);
  Json pod = measured;
  pod["metadata"] = {{"namespace", "shop"}, {"name", "web-1"}};
  pod["containers"] = Json::array({{{"name", "app"}, {"usage", {{"cpu", "100m"}, {"memory", "64Mi"}}}}});
  serve({"metrics.k8s.io", "v1beta1", "pods", "PodMetrics"}, pod);
  const auto samples = usage::MetricsServer(client).sample();
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_THAT(samples->problems, IsEmpty());
  EXPECT_THAT(samples->nodes, SizeIs(1));
  EXPECT_THAT(samples->pods, SizeIs(1));
}

TEST_F(GrantsOfParts, NodeMetricsAreReadWithThatOfUsageKoordinator) {
  const Json used = {{"nodeUsage", {{"resources", {{"cpu", "250m"}, {"memory", "1Gi"}}}}}};
  serve(
      {"slo.koordinator.sh", "v1alpha1", "nodemetrics", "NodeMetric", false},
      {{"metadata", {{"name", "node-a"}}}, {"status", {{"updateTime", "2026-11-21T12:00:00Z"}, {"nodeMetric", used}}}});
  const auto samples = usage::Koordinator(client, "").sample();
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_THAT(samples->nodes, SizeIs(1));
}

/// The simulated server has no authenticator, so the test answers the reviews.
TEST_F(GrantsOfParts, MetricsClientsAreReviewedWithThoseOfMetricsAuth) {
  transport.lie = [](const kube::Request& request) -> std::optional<kube::Response> {
    Json answer = Json::parse(request.body);
    const bool is_token = request.path.ends_with("/tokenreviews");
    answer["status"] = is_token ? Json{{"authenticated", true}, {"user", {{"username", "prometheus"}}}}
                                : Json{{"allowed", answer["spec"]["user"] == "prometheus"}};
    return kube::Response{201, answer.dump(), {}, "application/json"};
  };
  controllers::AccessReviews reviews(client, clock, {});
  EXPECT_EQ(reviews.may_get("/metrics", "token"), controllers::Access::kAllowed);
}

TEST_F(GrantsOfParts, SigningKeysAreMadeReadAndRotatedWithThoseOfSigning) {
  add(simulator::objects::name_space("evacuator-system"));
  base::ManualClock time{kNoon};
  controllers::SecretKeys keys(client, time, {.ns = "evacuator-system"}, {});
  keys.refresh(true);
  ASSERT_NE(keys.keys(), nullptr) << keys.problem();
  const std::string first = keys.keys()->current.id();
  time.advance(base::minutes(60 * 24 * 31));
  keys.refresh(true);
  EXPECT_EQ(keys.problem(), "");
  EXPECT_NE(keys.keys()->current.id(), first) << "a month later there is another one";
}

}  // namespace
}  // namespace integration::rbac
