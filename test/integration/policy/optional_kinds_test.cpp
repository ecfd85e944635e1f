/// Optional kinds: the operator does not wait for a server that refuses them, and reports what it does not know.

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "api/meta/condition.hpp"
#include "controllers/operator/operator.hpp"
#include "kube/runtime/events.hpp"
#include "test/integration/rig/rig.hpp"

namespace optional_kinds_test {

using api::Json;
using testing::HasSubstr;

/// The complete operator on a server that answers lists of some kinds with an error.
class OptionalKinds : public integration::Rig {
 protected:
  OptionalKinds()
      : transport_(*server, {"system:serviceaccount:evacuator-system:evacuator", {}, "evacuator"}),
        client_(transport_, nullptr),
        events_(client_, clock, kube::EventOptions{.instance = "replica-1"}, {}) {
    transport_.lie = [this](const kube::Request& request) -> std::optional<kube::Response> {
      for (const auto& [plural, status] : answers) {
        if (request.path.ends_with("/" + plural)) return refusal(plural, status);
      }
      return std::nullopt;
    };
  }

  static kube::Response refusal(const std::string& plural, int status) {
    const Json body = {{"kind", "Status"},
                       {"apiVersion", "v1"},
                       {"status", "Failure"},
                       {"code", status},
                       {"reason", status == 403   ? "Forbidden"
                                  : status == 404 ? "NotFound"
                                                  : "ServiceUnavailable"},
                       {"message", plural + " is refused"}};
    return {.status = status, .body = body.dump(), .retry_after = {}, .content_type = "application/json"};
  }

  void start(bool has_devices = false) {
    auto discovery = kube::discover(client_);
    ASSERT_TRUE(discovery) << discovery.error().message;
    if (has_devices) discovery->resource_claims = kube::kResourceClaims;
    op_.emplace(controllers::Operator::Dependencies{.client = client_,
                                                    .clock = clock,
                                                    .discovery = *discovery,
                                                    .config = {},
                                                    .identity = "replica-1",
                                                    .may_act = [] { return true; },
                                                    .events = events_,
                                                    .metrics = metrics_,
                                                    .log = {}});
  }

  /// Serves PodGroups like Kubernetes 1.36 with the feature gate GenericWorkload.
  void serve_pod_groups() {
    Json version = {{"name", kube::kPodGroups.version}, {"served", true}, {"storage", true}};
    version["schema"]["openAPIV3Schema"] = {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
    const Json definition = {{"apiVersion", "apiextensions.k8s.io/v1"},
                             {"kind", "CustomResourceDefinition"},
                             {"metadata", {{"name", "podgroups.scheduling.k8s.io"}}},
                             {"spec",
                              {{"group", kube::kPodGroups.group},
                               {"scope", "Namespaced"},
                               {"names", {{"plural", kube::kPodGroups.plural}, {"kind", kube::kPodGroups.kind}}},
                               {"versions", Json::array({version})}}}};
    const auto installed = server->install_crd(definition);
    ASSERT_TRUE(installed) << installed.error().message;
  }
  void drive(base::Duration time) { Rig::drive(*op_, events_, time); }

  void make_policy() {
    add({{"apiVersion", "evacuator.dev/v1alpha1"},
         {"kind", "DeschedulerPolicy"},
         {"metadata", {{"name", "fresh"}}},
         {"spec",
          {{"mode", "DryRun"},
           {"schedule", {{"interval", "1m"}}},
           {"strategies", Json::array({{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 30}}}}})}}}});
  }
  api::DeschedulerPolicyStatus status() const { return policy_status("fresh"); }
  /// Returns the message of the condition Warnings while it is True, else an empty string.
  std::string warnings() const {
    const api::Condition found = policy_condition("fresh", "Warnings");
    return found.status == api::ConditionStatus::kTrue ? found.message : "";
  }

  std::map<std::string, int> answers;  ///< HTTP status by plural
  fakes::MortalTransport transport_;
  kube::Client client_;
  base::Metrics metrics_;
  kube::EventRecorder events_;
  std::optional<controllers::Operator> op_;
};

class RefusedKinds : public OptionalKinds, public testing::WithParamInterface<int> {};

TEST_P(RefusedKinds, DoNotStopPlansAndAreNamed) {
  for (const char* plural :
       {"storageclasses", "csinodes", "resourceclaims", "volumeattachments", "csidrivers", "csistoragecapacities"})
    answers[plural] = GetParam();
  stage();
  make_policy();
  start(true);
  drive(base::minutes(2));
  EXPECT_TRUE(op_->ready());
  EXPECT_EQ(status().plan.size(), 3U);
  EXPECT_THAT(warnings(), HasSubstr("storageclasses are not known, so unbound PersistentVolumeClaims exclude no node: "
                                    "listing: GET /apis/storage.k8s.io/v1/storageclasses: storageclasses is refused"));
  EXPECT_THAT(warnings(), HasSubstr("csinodes are not known, so the number of volumes per node is not limited"));
  EXPECT_THAT(warnings(), HasSubstr("resourceclaims are not known, so pods with devices cannot be moved"));
  EXPECT_THAT(warnings(), HasSubstr("volumeattachments are not known, so volumes of deleted pods are not counted"));
  EXPECT_THAT(warnings(),
              HasSubstr("csidrivers are not known, so all drivers are assumed to have enough storage capacity"));
  EXPECT_THAT(
      warnings(),
      HasSubstr("csistoragecapacities are not known, so storage capacity does not limit the provisioning of volumes"));
}

INSTANTIATE_TEST_SUITE_P(OptionalKinds, RefusedKinds, testing::Values(403, 404),
                         [](const auto& test) { return test.param == 403 ? "TheRoleIsOlder" : "TheServerIsOlder"; });

TEST_F(OptionalKinds, AreKnownAsSoonAsTheRoleIsFixed) {
  answers = {{"csinodes", 403}};
  stage();
  make_policy();
  start();
  drive(base::minutes(2));
  EXPECT_THAT(warnings(), HasSubstr("csinodes are not known"));
  answers.clear();
  drive(base::minutes(3));
  EXPECT_EQ(warnings(), "");
  EXPECT_EQ(status().plan.size(), 3U);
}

TEST_F(OptionalKinds, AreWaitedForWhileTheServerIsAway) {
  answers = {{"storageclasses", 503}};
  stage();
  make_policy();
  start();
  drive(base::minutes(2));
  EXPECT_FALSE(op_->ready());
  EXPECT_THAT(op_->ready().error().message, HasSubstr("storageclasses: not listed yet"));
  EXPECT_FALSE(status().last_cycle);
  answers.clear();
  drive(base::minutes(2));
  EXPECT_TRUE(op_->ready());
  EXPECT_EQ(status().plan.size(), 3U);
  EXPECT_EQ(warnings(), "");
}

TEST_F(OptionalKinds, APodGroupThatLeavesAsAWholeKeepsItsPods) {
  serve_pod_groups();
  stage();
  const auto group = [&](const char* mode) {
    const Json object = {{"apiVersion", kube::kPodGroups.api_version()},
                         {"kind", "PodGroup"},
                         {"metadata", {{"name", "gang"}, {"namespace", "shop"}}},
                         {"spec", {{"disruptionMode", {{mode, Json::object()}}}}}};
    static_cast<void>(cluster->store().remove(kube::kPodGroups, {"shop", "gang"}));
    const auto answer =
        server->handle(kube::create_request(kube::kPodGroups, "shop", object), {"admin", {}, "kubectl"});
    ASSERT_EQ(answer.status, 201) << answer.body;
  };
  edit(kube::kPods, pods().front(), [](Json& pod) { pod["spec"]["schedulingGroup"] = {{"podGroupName", "gang"}}; });
  make_policy();
  start();
  drive(base::minutes(2));
  EXPECT_EQ(status().plan.size(), 2U) << "the group is not known";
  group("all");
  drive(base::minutes(2));
  EXPECT_EQ(status().plan.size(), 2U);
  group("single");
  drive(base::minutes(2));
  EXPECT_EQ(status().plan.size(), 3U);
}

TEST_F(OptionalKinds, AllOthersAreNot) {
  answers = {{"nodes", 403}};
  stage();
  make_policy();
  start();
  drive(base::minutes(2));
  EXPECT_THAT(op_->ready().error().message, HasSubstr("nodes: not listed yet"));
  EXPECT_FALSE(status().last_cycle);
}

}  // namespace optional_kinds_test
