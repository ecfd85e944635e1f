// The admission webhooks of a passive installation, on a simulated API server.

#include "controllers/webhooks/stand_aside.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "controllers/webhooks/ca_bundle.hpp"
#include "kube/client.hpp"
#include "simulator/api/server.hpp"
#include "simulator/cluster.hpp"
#include "test/fakes/mortal_transport.hpp"

namespace integration {
namespace stand_aside_test {

using api::Json;
using controllers::webhooks::aside_patch;
using controllers::webhooks::kMutating;
using controllers::webhooks::kValidating;
using controllers::webhooks::ServingState;
using controllers::webhooks::StandAside;

constexpr const char* kName = "evacuator-admission-webhook.second.svc";

Json webhook(const std::string& name, const std::string& ns, const Json& selector = {}) {
  Json made = {{"name", name},
               {"clientConfig", {{"service", {{"namespace", ns}, {"name", "evacuator-admission-webhook"}}}}}};
  if (!selector.is_null()) made["objectSelector"] = selector;
  return made;
}

Json configuration(const kube::ResourceType& type, Json webhooks) {
  return {{"apiVersion", "admissionregistration.k8s.io/v1"},
          {"kind", type.kind},
          {"metadata", {{"name", "evacuator-admission"}}},
          {"webhooks", std::move(webhooks)}};
}

class AdmissionStandsAside : public testing::Test {
 protected:
  AdmissionStandsAside() {
    transport.lie = [this](const kube::Request& request) -> std::optional<kube::Response> {
      if (request.method == "GET") ++looks;
      if (request.method != "PATCH" || !is_refused) return std::nullopt;
      return kube::Response{403, R"({"kind":"Status","code":403,"reason":"Forbidden","message":"not you"})", {}, {}};
    };
  }

  void install(const kube::ResourceType& type, const Json& webhooks) {
    const auto answer = server.handle(kube::create_request(type, "", configuration(type, webhooks)), {});
    ASSERT_EQ(answer.status, 201) << answer.body;
  }
  Json selector(const kube::ResourceType& type, int index = 0) {
    const auto found = cluster.store().get(type, {"", "evacuator-admission"});
    if (!found) return "not there";
    const Json& webhook = found->at("webhooks").at(index);
    return webhook.contains("objectSelector") ? webhook.at("objectSelector") : Json();
  }
  /// Returns true if the selector matches no object, whatever its labels are.
  static bool selects_nothing(const Json& selector) {
    const Json& all = selector.value("matchExpressions", Json::array());
    const auto has = [&](const char* op) {
      return std::ranges::any_of(all, [&](const Json& each) {
        return each["key"] == "evacuator.dev/another-installation-serves" && each["operator"] == op;
      });
    };
    return has("Exists") && has("DoesNotExist");
  }

  base::ManualClock clock{*base::parse_time("2026-11-26T12:00:00Z")};
  simulator::Cluster cluster{clock};
  simulator::ApiServer server{cluster.store()};
  fakes::MortalTransport transport{server, {"operator", {}, "evacuator"}};
  kube::Client client{transport, nullptr};
  bool is_refused = false;
  int looks = 0;
  StandAside aside{client, clock, {.configuration = "evacuator-admission", .names = {kName, "127.0.0.1"}}, {}};
};

TEST_F(AdmissionStandsAside, WhileAnotherInstallationServesTheCluster) {
  install(kMutating, Json::array({webhook("a.evacuator.dev", "second"), webhook("b.evacuator.dev", "second")}));
  install(kValidating, Json::array({webhook("c.evacuator.dev", "second")}));
  aside.refresh(ServingState::kUnknown);
  EXPECT_EQ(looks, 0);
  aside.refresh(ServingState::kStaysOut);
  EXPECT_TRUE(selects_nothing(selector(kMutating, 0))) << selector(kMutating, 0);
  EXPECT_TRUE(selects_nothing(selector(kMutating, 1))) << selector(kMutating, 1);
  EXPECT_TRUE(selects_nothing(selector(kValidating))) << selector(kValidating);
  aside.refresh(ServingState::kServes);
  EXPECT_EQ(selector(kMutating, 0), Json::object());
  EXPECT_EQ(selector(kMutating, 1), Json::object());
  EXPECT_EQ(selector(kValidating), Json::object());
}

TEST_F(AdmissionStandsAside, ChecksOncePerMinute) {
  install(kMutating, Json::array({webhook("a.evacuator.dev", "second")}));
  aside.refresh(ServingState::kStaysOut);
  const int before = looks;
  clock.advance(StandAside::kCheckInterval - base::seconds(1));
  aside.refresh(ServingState::kStaysOut);
  EXPECT_EQ(looks, before);
  ASSERT_TRUE(cluster.store().remove(kMutating, {"", "evacuator-admission"}));
  install(kMutating, Json::array({webhook("a.evacuator.dev", "second")}));
  clock.advance(base::seconds(1));
  aside.refresh(ServingState::kStaysOut);
  EXPECT_TRUE(selects_nothing(selector(kMutating))) << "somebody has installed it again";
}

/// With kustomize both installations use the same name for their configuration. The newer one determines which pods are
/// reviewed.
TEST_F(AdmissionStandsAside, ExceptForTheOtherInstallationsConfiguration) {
  install(kMutating, Json::array({webhook("a.evacuator.dev", "first")}));
  aside.refresh(ServingState::kStaysOut);
  EXPECT_EQ(selector(kMutating), Json());
}

TEST_F(AdmissionStandsAside, KeepsOtherRequirementsOfTheSelector) {
  const Json others = {{"matchLabels", {{"team", "shop"}}},
                       {"matchExpressions", Json::array({{{"key", "x"}, {"operator", "Exists"}}})}};
  install(kMutating, Json::array({webhook("a.evacuator.dev", "second", others)}));
  aside.refresh(ServingState::kStaysOut);
  EXPECT_TRUE(selects_nothing(selector(kMutating)));
  EXPECT_EQ(selector(kMutating)["matchLabels"], others["matchLabels"]);
  EXPECT_EQ(selector(kMutating)["matchExpressions"].size(), 3U);
  aside.refresh(ServingState::kServes);
  EXPECT_EQ(selector(kMutating), others);
}

TEST_F(AdmissionStandsAside, OnceItMay) {
  install(kMutating, Json::array({webhook("a.evacuator.dev", "second")}));
  is_refused = true;
  aside.refresh(ServingState::kStaysOut);
  EXPECT_EQ(selector(kMutating), Json());
  is_refused = false;
  clock.advance(StandAside::kRetryInterval);
  aside.refresh(ServingState::kStaysOut);
  EXPECT_TRUE(selects_nothing(selector(kMutating)));
}

TEST(AsidePatch, IsEmptyForOtherObjects) {
  for (const Json& each : {Json(), Json::object(), Json{{"webhooks", 1}}, Json{{"webhooks", {1, nullptr}}}})
    EXPECT_FALSE(aside_patch(each, {kName}, true)) << each;
}

TEST(AsidePatch, TreatsAnInvalidSelectorAsMissing) {
  for (const Json& broken : {Json(1), Json::array(), Json{{"matchExpressions", "x"}}}) {
    const auto patch =
        aside_patch(configuration(kMutating, Json::array({webhook("a", "second", broken)})), {kName}, true);
    ASSERT_TRUE(patch) << broken;
    EXPECT_EQ(patch->at(1)["value"]["matchExpressions"].size(), 2U) << *patch;
  }
}

}  // namespace stand_aside_test
}  // namespace integration
