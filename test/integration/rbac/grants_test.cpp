// The operator under an API server that enforces the roles of config/, complete and with one grant removed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "controllers/operator/operator.hpp"
#include "kube/runtime/events.hpp"
#include "kube/runtime/leader_election.hpp"
#include "simulator/objects.hpp"
#include "test/integration/rbac/grants.hpp"
#include "test/integration/rig/rig.hpp"

namespace integration::rbac {
namespace {

using api::Json;
using testing::HasSubstr;

constexpr const char* kOperatorUser = "system:serviceaccount:evacuator-system:evacuator";

/// Returns the server's message for a missing right.
std::string refusal_of(const Access& access) {
  return fmt::format("{} is forbidden: User \"{}\" cannot {} resource \"{}\" in API group \"{}\"", access.resource,
                     kOperatorUser, access.verb, access.resource, access.group);
}

kube::Response forbidden(const std::string& message) {
  const Json body = {{"kind", "Status"}, {"apiVersion", "v1"},    {"status", "Failure"},
                     {"code", 403},      {"reason", "Forbidden"}, {"message", message}};
  return {.status = 403, .body = body.dump(), .retry_after = {}, .content_type = "application/json"};
}

/// A cluster with a policy that moves one pod per minute, and a complete operator with exactly these rights.
class Play final : public Rig {
 public:
  explicit Play(std::set<Access> granted)
      : granted_(std::move(granted)),
        transport_(*server, {kOperatorUser, {}, "evacuator"}),
        client_(transport_, nullptr),
        log_(base::Log::to_stderr(base::LogLevel::kDebug, base::LogFormat::kText)),
        events_(client_, clock, kube::EventOptions{.instance = "replica-1"}, log_),
        elector_(client_, clock, {.identity = "replica-1"}, {[] {}, [] {}}, log_,
                 [this] { return clock.now().time_since_epoch(); }) {
    server->abilities().streamed_lists = false;  // with streamed lists, the right to watch replaces the right to list
    transport_.lie = [this](const kube::Request& request) -> std::optional<kube::Response> {
      const auto missing = missing_for(request);
      return missing ? std::optional(forbidden(refusal_of(*missing))) : std::nullopt;
    };
    transport_.refuse_watch = [this](const kube::Request& request) -> std::optional<base::Error> {
      const auto missing = missing_for(request);
      if (!missing) return std::nullopt;
      return base::Error{base::ErrorCode::kForbidden, refusal_of(*missing)};
    };
  }
  void TestBody() override {}

  /// Returns everything that an administrator can read at the end: the log (a refused Event appears at level debug),
  /// the policy, the Evacuations, the readiness.
  std::string run() {
    add({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "evacuator-system"}}}});
    serve_resource_claims();
    stage();
    add_pod_with_a_claim();
    make_policy();
    testing::internal::CaptureStderr();
    elector_.step();
    auto discovery = kube::discover(client_);
    EXPECT_TRUE(discovery) << discovery.error().message;
    op_.emplace(controllers::Operator::Dependencies{.client = client_,
                                                    .clock = clock,
                                                    .discovery = *discovery,
                                                    .config = {},
                                                    .identity = "replica-1",
                                                    .may_act = [] { return true; },
                                                    .events = events_,
                                                    .metrics = metrics_,
                                                    .log = log_});
    drive(*op_, events_, base::minutes(6));
    elector_.step();
    elector_.release();
    std::string told = testing::internal::GetCapturedStderr();
    if (const auto ready = op_->ready(); !ready) told += ready.error().message + "\n";
    for (const auto& type : {kube::kPolicies, kube::kEvacuations}) {
      for (const auto& object : cluster->store().list(type, ""))
        told += object->value("status", Json::object()).dump() + "\n";
    }
    std::erase(told, '\\');  // removes the escapes of nested quotes
    return told;
  }

  std::set<Access> used;

 private:
  std::optional<Access> missing_for(const kube::Request& request) {
    std::optional<Access> missing;
    for (const Access& each : accesses_of(request)) {
      used.insert(each);
      if (!missing && !granted_.contains(each)) missing = each;
    }
    return missing;
  }

  /// Available on servers since 1.34.
  void serve_resource_claims() {
    const Json any = {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
    ASSERT_TRUE(server->install_crd(
        {{"apiVersion", "apiextensions.k8s.io/v1"},
         {"kind", "CustomResourceDefinition"},
         {"metadata", {{"name", "resourceclaims.resource.k8s.io"}}},
         {"spec",
          {{"group", "resource.k8s.io"},
           {"scope", "Namespaced"},
           {"names", {{"plural", "resourceclaims"}, {"kind", "ResourceClaim"}}},
           {"versions",
            {{{"name", "v1"}, {"served", true}, {"storage", true}, {"schema", {{"openAPIV3Schema", any}}}}}}}}}));
  }

  void add_pod_with_a_claim() {
    Json set = simulator::objects::stateful_set("shop", "db", 1, "100m", "64Mi");
    simulator::objects::add_claim(set, "data", "1Gi", false);
    add(std::move(set));
    ASSERT_TRUE(run_until([&] { return pods("db").size() == 1; }, base::minutes(2)));
  }

  void make_policy() {
    add({{"apiVersion", "evacuator.dev/v1alpha1"},
         {"kind", "DeschedulerPolicy"},
         {"metadata", {{"name", "fresh"}}},
         {"spec",
          {{"mode", "Automatic"},
           {"schedule", {{"interval", "1m"}}},
           {"strategies", Json::array({{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 30}}}}})},
           {"limits", {{"perCycle", {{"total", 1}}}}},
           {"evacuation", {{"ttlSecondsAfterFinished", 60}}}}}});
  }

  const std::set<Access> granted_;
  fakes::MortalTransport transport_;
  kube::Client client_;
  base::Log log_;
  base::Metrics metrics_;
  kube::EventRecorder events_;
  kube::LeaderElector elector_;
  std::optional<controllers::Operator> op_;
};

TEST(Grants, OfConfigDefaultAreEnoughToMovePods) {
  Play play(all_grants(default_roles()));
  const std::string told = play.run();
  EXPECT_THAT(told, testing::Not(HasSubstr("is forbidden: User"))) << told;
  EXPECT_THAT(told, HasSubstr("\"phase\":\"Succeeded\""));
  EXPECT_THAT(play.used, testing::Contains(Access{"", "persistentvolumeclaims", "get"})) << "of a pod with a claim";
}

TEST(Grants, EachThatIsMissingIsNamedToTheAdministrator) {
  const std::set<Access> all = all_grants(default_roles());
  Play complete(all);
  (void)complete.run();
  EXPECT_GT(complete.used.size(), 35U);
  std::vector<std::string> unnamed;  // collected, because a failure here would end the following runs
  for (const Access& each : complete.used) {
    std::set<Access> rest = all;
    rest.erase(each);
    Play play(rest);
    if (play.run().find(refusal_of(each)) == std::string::npos) unnamed.push_back(to_string(each));
  }
  EXPECT_THAT(unnamed, testing::IsEmpty());
}

class GrantsOfConfigDefault : public Rig {};

TEST_F(GrantsOfConfigDefault, LetNoHandoffWriteOnPodsAndTheRefusalNamesTheRole) {
  stage(2, {{"handoff.evacuator.dev/mode", "required"}});
  start_operator();
  const std::set<Access> granted = all_grants(default_roles());
  replica->transport.lie = [granted](const kube::Request& request) -> std::optional<kube::Response> {
    for (const Access& each : accesses_of(request)) {
      if (!granted.contains(each)) return forbidden(refusal_of(each));
    }
    return std::nullopt;
  };
  const std::string pod = pods()[0];
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_to_end(name, base::minutes(10)));
  EXPECT_EQ(phase(name), api::EvacuationPhase::kFailed);
  EXPECT_EQ(reason(name), "Forbidden");
  EXPECT_THAT(get(name).status.message, HasSubstr("config/optional/annotation-evictors.yaml"));
  EXPECT_TRUE(pod_exists(pod));
}

TEST(Grants, OfAnOptionalRoleAreNotInTheDefaultOne) {
  const std::set<Access> by_default = all_grants(default_roles());
  for (const Role& role : optional_roles()) {
    for (const Access& each : role.grants) {
      if (each.resource == "secrets") continue;  // limited to different names
      EXPECT_FALSE(by_default.contains(each)) << role.file << " grants \"" << to_string(each) << "\" a second time";
    }
  }
}

TEST(Grants, LeaveOutWhatAStolenTokenMustNotDo) {
  const std::set<Access> by_default = all_grants(default_roles());
  for (const Access& each : by_default) {
    EXPECT_FALSE(each.resource == "pods" && each.verb != "get" && each.verb != "list" && each.verb != "watch")
        << to_string(each);
    EXPECT_FALSE(each.resource == "pods/exec" || each.resource == "pods/proxy" ||
                 each.resource.ends_with("/finalizers"))
        << to_string(each);
    EXPECT_NE(each.verb, "*");
    EXPECT_NE(each.resource, "*");
  }
}

}  // namespace
}  // namespace integration::rbac
