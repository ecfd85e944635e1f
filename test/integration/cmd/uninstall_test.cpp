// `evacuator uninstall` against the simulated API server over HTTP: with a running operator, without one, and with one
// that hangs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cmd/cli.hpp"
#include "simulator/http_server.hpp"
#include "test/integration/rig/rig.hpp"

namespace integration {
namespace uninstall_test {

using api::Json;
using testing::HasSubstr;
using testing::IsEmpty;
using Phase = api::EvacuationPhase;

const simulator::User kAdmin{"alice", {}, "kubectl"};

class Uninstall : public Rig {
 protected:
  Uninstall() : http_(*server, {}) {
    const auto started = http_.start();
    EXPECT_TRUE(started) << started.error().message;
    kubeconfig_ = testing::TempDir() + "uninstall-" + std::to_string(http_.port()) + ".kubeconfig";
    std::ofstream(kubeconfig_) << http_.kubeconfig();
  }
  ~Uninstall() override {
    http_.stop();
    std::filesystem::remove(kubeconfig_);
  }

  int run(std::vector<std::string> args) {
    out_ = err_ = "";
    cmd::plugin::Io io{.out = [&](std::string_view text) { out_ += text; },
                       .err = [&](std::string_view text) { err_ += text; },
                       .nap =
                           [&](base::milliseconds time) {
                             renew_lease();
                             run_for(time);
                             return false;
                           },
                       .ask = [&](std::string_view) { return answer_; },
                       .clock = clock};
    args.insert(args.begin(), "uninstall");
    args.insert(args.end(), {"--kubeconfig", kubeconfig_});
    return cmd::plugin::run(args, io);
  }

  /// Creates an operator and its Lease.
  void start() {
    add({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "evacuator-system"}}}});
    add({{"apiVersion", "coordination.k8s.io/v1"},
         {"kind", "Lease"},
         {"metadata", {{"name", "evacuator"}, {"namespace", "evacuator-system"}}},
         {"spec",
          {{"holderIdentity", "replica-1"},
           {"leaseDurationSeconds", 15},
           {"renewTime", base::format_time(clock.now())}}}});
    start_operator();
  }
  /// Stops the operator and waits until its Lease has expired.
  void kill_operator() {
    stop_operator();
    run_for(base::minutes(5));
  }

  void make_policy() {
    add({{"apiVersion", "evacuator.dev/v1alpha1"},
         {"kind", "DeschedulerPolicy"},
         {"metadata", {{"name", "fresh"}}},
         {"spec",
          {{"mode", "DryRun"},
           {"strategies", Json::array({{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 30}}}}})}}}});
  }
  /// Starts a handoff. Returns the pod.
  std::string hand_off() {
    const std::string pod = pods()[0];
    const std::string name = evacuate(pod);
    EXPECT_TRUE(run_until([&] { return !annotation(pod, "handoff.evacuator.dev/request").empty(); }, base::minutes(1)));
    return pod;
  }

  std::size_t left(const kube::ResourceType& type) const { return cluster->store().list(type, "").size(); }

  /// Deletes a CRD like `kubectl delete -k config/default`. Returns true once it is gone.
  bool delete_definition(const std::string& name) {
    kube::Request request;
    request.method = "DELETE";
    request.path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + name;
    EXPECT_EQ(server->handle(request, kAdmin).status, 200);
    run_for(base::seconds(10));
    server->finish_terminating();
    request.method = "GET";
    return server->handle(request, kAdmin).status == 404;
  }

  bool renews_ = true;  ///< whether the operator renews its Lease
  std::optional<std::string> answer_;
  std::string out_;
  std::string err_;

 private:
  void renew_lease() {
    if (!replica || !renews_) return;
    edit(
        kube::kLeases, "evacuator", [&](Json& object) { object["spec"]["renewTime"] = base::format_time(clock.now()); },
        "evacuator-system");
  }

  simulator::HttpServer http_;
  std::string kubeconfig_;
};

const std::vector<std::pair<std::string, std::string>> kHandsOff = {{"handoff.evacuator.dev/mode", "required"}};

TEST_F(Uninstall, WithItsOperatorRevertsUnfinishedEvacuationsAndLeavesNothing) {
  stage(3, kHandsOff);
  start();
  make_policy();
  const std::string pod = hand_off();
  ASSERT_EQ(run({"--yes"}), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("deschedulerpolicy.evacuator.dev/fresh deleted"));
  EXPECT_THAT(out_, HasSubstr("in namespace shop cancelled and deleted"));
  EXPECT_THAT(out_, HasSubstr("kubectl delete -k config/default"));
  EXPECT_THAT(out_, testing::Not(HasSubstr("released without an operator")));
  EXPECT_EQ(left(kube::kPolicies) + left(kube::kEvacuations), 0U);
  EXPECT_EQ(annotation(pod, "handoff.evacuator.dev/request"), "") << "the operator has taken its marks back";
  EXPECT_TRUE(pod_exists(pod));
  EXPECT_TRUE(delete_definition("evacuations.evacuator.dev"));
  EXPECT_TRUE(delete_definition("deschedulerpolicies.evacuator.dev"));
}

TEST_F(Uninstall, WorksWhenTheOperatorIsGoneAlready) {
  stage(3, kHandsOff);
  start();
  const std::string pod = hand_off();
  kill_operator();
  ASSERT_EQ(run({"--yes"}), 0) << err_;
  EXPECT_THAT(err_, HasSubstr("has not renewed its Lease evacuator-system/evacuator"));
  EXPECT_THAT(out_, HasSubstr("released without an operator: phase"));
  EXPECT_THAT(out_, HasSubstr("pod " + pod));
  EXPECT_EQ(left(kube::kEvacuations), 0U);
  EXPECT_TRUE(pod_exists(pod));
  EXPECT_TRUE(delete_definition("evacuations.evacuator.dev"));
}

/// Without `uninstall`, the finalizers of its objects block the deletion of a CRD.
TEST_F(Uninstall, IsNeededSinceADefinitionWaitsForTheFinalizersOfItsObjects) {
  stage(3, kHandsOff);
  start();
  (void)hand_off();
  kill_operator();
  EXPECT_FALSE(delete_definition("evacuations.evacuator.dev"));
  ASSERT_EQ(run({"--yes"}), 0) << err_;
  server->finish_terminating();
  EXPECT_EQ(left(kube::kEvacuations), 0U) << "also when the definition is being deleted";
}

TEST_F(Uninstall, DryRunPrintsTheStepsAndChangesNothing) {
  stage(3, kHandsOff);
  start();
  make_policy();
  (void)hand_off();
  ASSERT_EQ(run({"--dry-run"}), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("(dry run) 1 DeschedulerPolicies are deleted."));
  EXPECT_THAT(out_, HasSubstr("(dry run) 1 Evacuations are deleted; 1 are unfinished and are cancelled first."));
  EXPECT_EQ(left(kube::kPolicies), 1U);
  EXPECT_EQ(left(kube::kEvacuations), 1U);
}

TEST_F(Uninstall, AsksFirst) {
  stage();
  make_policy();
  EXPECT_EQ(run({}), 1);
  EXPECT_THAT(err_, HasSubstr("cannot prompt without a terminal; use --yes"));
  answer_ = "n";
  EXPECT_EQ(run({}), 1);
  EXPECT_THAT(err_, HasSubstr("Nothing was changed."));
  EXPECT_EQ(left(kube::kPolicies), 1U);
  answer_ = "y";
  EXPECT_EQ(run({}), 0) << err_;
  EXPECT_EQ(left(kube::kPolicies), 0U);
}

TEST_F(Uninstall, NamesUnfinishedObjectsAfterTheTimeout) {
  stage(3, kHandsOff);
  start();
  const std::string pod = hand_off();
  EXPECT_EQ(run({"--yes", "--timeout", "10s"}), 1);
  EXPECT_THAT(err_, HasSubstr("1 Evacuations have not ended within 10s"));
  EXPECT_THAT(err_, HasSubstr(" in namespace shop: Aborting"));
  EXPECT_EQ(left(kube::kEvacuations), 1U) << "an operator that runs is not overtaken";
  EXPECT_EQ(run({"--yes"}), 0) << err_;
  EXPECT_EQ(annotation(pod, "handoff.evacuator.dev/request"), "");
}

/// The operator's Lease is expired when uninstall begins, or does not exist (--leader-elect=false).
TEST_F(Uninstall, DoesNotReleaseObjectsThatALiveOperatorReverts) {
  stage(3, kHandsOff);
  start();
  for (const bool renews : {true, false}) {
    SCOPED_TRACE(renews ? "the Lease is renewed again" : "no Lease is renewed");
    const std::string pod = hand_off();
    edit(
        kube::kLeases, "evacuator",
        [&](Json& object) { object["spec"]["renewTime"] = base::format_time(clock.now() - base::minutes(10)); },
        "evacuator-system");
    renews_ = renews;
    ASSERT_EQ(run({"--yes"}), 0) << err_;
    EXPECT_THAT(err_, HasSubstr("has not renewed its Lease"));
    EXPECT_THAT(out_, testing::Not(HasSubstr("released without an operator:")));
    EXPECT_EQ(annotation(pod, "handoff.evacuator.dev/request"), "") << "the operator has taken its marks back";
    EXPECT_EQ(left(kube::kEvacuations), 0U);
  }
}

/// Between the deletion of a policy and the garbage collection none of its Evacuations may begin.
TEST_F(Uninstall, AdmitsNothingOfThePoliciesThatItDeletes) {
  stage(3);
  start();
  add({{"apiVersion", "evacuator.dev/v1alpha1"},
       {"kind", "DeschedulerPolicy"},
       {"metadata", {{"name", "calm"}}},
       {"spec", {{"suspend", true}, {"strategies", Json::array({{{"name", "PodLifeTime"}}})}}}});
  for (const std::string& pod : pods())
    (void)evacuate_as_operator(pod, [](Json& spec) { spec["source"] = {{"policy", "calm"}}; });
  run_for(base::seconds(30));
  ASSERT_EQ(left(kube::kEvacuations), 3U);
  std::size_t not_cancelled = 0;
  simulator::Webhook guard;
  guard.name = "guard.of.policies";
  guard.review = [&](const simulator::AdmissionRequest& request) -> std::optional<simulator::Denial> {
    if (request.verb != "delete" || request.resource.plural != kube::kPolicies.plural) return std::nullopt;
    for (const auto& each : cluster->store().list(kube::kEvacuations, "shop"))
      not_cancelled += each->value(Json::json_pointer("/spec/cancel/requested"), false) ? 0 : 1;
    return std::nullopt;
  };
  server->add_webhook(guard);
  ASSERT_EQ(run({"--yes"}), 0) << err_;
  EXPECT_EQ(not_cancelled, 0U) << "when the policy is deleted";
  EXPECT_THAT(out_, HasSubstr("cancelled and deleted"));
  EXPECT_EQ(left(kube::kPolicies) + left(kube::kEvacuations), 0U);
  EXPECT_EQ(granted(), 0U);
}

TEST_F(Uninstall, SucceedsIfNothingIsInstalled) {
  ASSERT_TRUE(delete_definition("evacuations.evacuator.dev"));
  ASSERT_TRUE(delete_definition("deschedulerpolicies.evacuator.dev"));
  EXPECT_EQ(run({"--yes"}), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("are not installed in this cluster: there is nothing to remove"));
}

TEST_F(Uninstall, AppliesToTheWholeCluster) {
  EXPECT_EQ(run({"-n", "shop"}), 1);
  EXPECT_THAT(err_, HasSubstr("uninstall applies to the whole cluster"));
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(Uninstall, NamesTheTaintsThatNoOperatorTakesOff) {
  stage();
  edit(
      kube::kNodes, "node-b",
      [](Json& node) {
        node["spec"]["taints"] =
            Json::array({{{"key", "evacuator.dev/loaded"}, {"value", "p"}, {"effect", "PreferNoSchedule"}}});
      },
      "");
  EXPECT_EQ(run({"--yes"}), 0) << err_;
  EXPECT_THAT(err_, HasSubstr("1 nodes still have a taint of Evacuator"));
  EXPECT_THAT(err_, HasSubstr("kubectl taint nodes --all evacuator.dev/loaded:PreferNoSchedule-"));
}

}  // namespace uninstall_test
}  // namespace integration
