// kubectl-evacuator from its arguments to its exit code, against the simulated API server over HTTP, with the real
// Evacuation controller. Virtual time advances while the plugin waits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/json/json_access.hpp"
#include "cmd/cli.hpp"
#include "cmd/drain/request.hpp"
#include "cmd/plugin/commands.hpp"
#include "kube/kubevirt.hpp"
#include "simulator/http_server.hpp"
#include "simulator/kubevirt/kubevirt.hpp"
#include "simulator/objects.hpp"
#include "test/integration/rig/rig.hpp"

namespace integration {
namespace plugin_test {

namespace objects = simulator::objects;
using api::Json;
using testing::AllOf;
using testing::HasSubstr;

struct Ran {
  int code = -1;
  std::string out;
  std::string err;
};
class Plugin : public Rig {
 protected:
  Plugin() : http_(*server, {}) {
    const auto started = http_.start();
    EXPECT_TRUE(started) << started.error().message;
    kubeconfig_ = testing::TempDir() + "plugin-" + std::to_string(http_.port()) + ".kubeconfig";
    std::ofstream(kubeconfig_) << http_.kubeconfig();
  }
  ~Plugin() override {
    http_.stop();
    std::filesystem::remove(kubeconfig_);
  }

  cmd::plugin::Io io_of(Ran& ran) {
    return {.out = [&ran](std::string_view text) { ran.out += text; },
            .err = [&ran](std::string_view text) { ran.err += text; },
            .nap = [](base::milliseconds) { return false; },
            .ask = [this](std::string_view) { return answer_; },
            .screen = screen_,
            .clock = clock};
  }

  base::Result<std::unique_ptr<cmd::plugin::Session>> connect(cmd::plugin::Io& io) const {
    cmd::plugin::GlobalFlags flags;
    flags.kubeconfig = kubeconfig_;
    return cmd::plugin::Session::connect(flags, io);
  }

  /// Runs the plugin in namespace shop unless the arguments specify another one. `after_nap` receives the number of the
  /// wait and returns true to simulate Ctrl-C.
  Ran run(std::vector<std::string> args, const std::function<bool(int)>& after_nap = {}) {
    Ran ran;
    int naps = 0;
    cmd::plugin::Io io = io_of(ran);
    io.nap = [&](base::milliseconds time) {
      if (time > base::milliseconds(0)) run_for(time);
      return after_nap && time > base::milliseconds(0) && after_nap(++naps);
    };
    args.insert(args.end(), {"--kubeconfig", kubeconfig_});
    ran.code = cmd::plugin::run(args, io);
    return ran;
  }
  Ran in_shop(std::vector<std::string> args, const std::function<bool(int)>& after_nap = {}) {
    args.insert(args.end(), {"-n", "shop"});
    return run(std::move(args), after_nap);
  }

  std::vector<api::Evacuation> evacuations() const {
    std::vector<api::Evacuation> all;
    for (const auto& object : cluster->store().list(kube::kEvacuations, ""))
      if (auto each = api::decode_evacuation(*object)) all.push_back(*std::move(each));
    return all;
  }
  std::string node_of(const std::string& pod) const {
    const auto object = cluster->store().get(kube::kPods, {"shop", pod});
    return object ? (*object)["spec"].value("nodeName", "") : "";
  }
  Json node(const std::string& name) const { return *cluster->store().get(kube::kNodes, {"", name}); }
  bool is_cordoned(const std::string& name) const { return node(name)["spec"].value("unschedulable", false); }
  std::vector<std::string> pods_on(const std::string& name) const {
    std::vector<std::string> found;
    for (const std::string& pod : pods())
      if (node_of(pod) == name) found.push_back(pod);
    return found;
  }

  std::optional<std::string> answer_;
  std::optional<cmd::plugin::ScreenSize> screen_;

 private:
  simulator::HttpServer http_;
  std::string kubeconfig_;
};

TEST_F(Plugin, PodAsksUnderTheUsualNameAndWaits) {
  stage();
  start_operator();
  const std::string pod = pods().front();
  const std::string uid = pod_uid(pod);
  const Ran ran = in_shop({"pod", pod, "--reason", "old rack", "--wait", "--timeout", "5m"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const std::string name = api::evacuation_name(pod, {uid});
  EXPECT_THAT(ran.out, AllOf(HasSubstr("evacuation.evacuator.dev/" + name + " created"), HasSubstr("Succeeded"),
                             HasSubstr("1 of 1 pods gone")));
  EXPECT_EQ(phase(name), api::EvacuationPhase::kSucceeded);
  EXPECT_EQ(get(name).spec.reason, "old rack");
  EXPECT_FALSE(pod_exists(pod));
}

TEST_F(Plugin, PodReportsExistingEvacuations) {
  stage();
  const std::string pod = pods().front();
  EXPECT_EQ(in_shop({"pod", pod}).code, 0);
  const Ran again = in_shop({"pod", "pod/" + pod});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.out, HasSubstr("pod/" + pod + " is already being evacuated: evacuation.evacuator.dev/"));
  EXPECT_EQ(evacuations().size(), 1U);
}

TEST_F(Plugin, PodTriesAgainAfterAnEndWithoutLosingTheOldStory) {
  stage();
  start_operator();
  const std::string pod = pods().front();
  budget("web", "web", 3);
  ASSERT_EQ(in_shop({"pod", pod}).code, 0);
  ASSERT_EQ(in_shop({"cancel", "pod/" + pod}).code, 0);
  settle();
  const Ran again = in_shop({"pod", pod});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.out, HasSubstr("-2 created"));
  EXPECT_EQ(evacuations().size(), 2U);
}

TEST_F(Plugin, PodContinuesAfterAMissingOneAndReportsIt) {
  stage();
  const Ran ran = in_shop({"pod", "nope", pods().front(), "-o", "name"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("Error from server (NotFound): pods \"nope\" not found"));
  EXPECT_THAT(ran.out, HasSubstr("evacuation.evacuator.dev/web-"));
}

TEST_F(Plugin, PodTakesSelectorsEvictorsAndDryRuns) {
  stage();
  const Ran dry = in_shop({"pod", "-l", "app=web", "--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("created (dry run)"));
  const Ran asked = in_shop({"pod", "-l", "app=web", "--dry-run=server", "-o", "json"});
  EXPECT_EQ(Json::parse(asked.out)["items"].size(), 3U);
  EXPECT_TRUE(evacuations().empty());
  EXPECT_EQ(in_shop({"pod", "-l", "app=web", "--evictor", "eviction-api", "--grace-period", "7"}).code, 0);
  ASSERT_EQ(evacuations().size(), 3U);
  EXPECT_EQ(evacuations()[0].spec.evictors[0].name, "eviction-api");
  EXPECT_EQ(evacuations()[0].spec.grace_period_seconds, 7);
}

TEST_F(Plugin, PodStopsWaitingAtItsTimeoutAndKeepsTheEvacuation) {
  stage();
  budget("web", "web", 3);
  start_operator();
  const Ran ran = in_shop({"pod", pods().front(), "--wait", "--timeout", "20s"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("timed out after 20s"));
  EXPECT_THAT(ran.out, HasSubstr("PDB web (needs 3, has 3)"));
  EXPECT_FALSE(api::is_terminal(evacuations()[0].status.phase));
}

TEST_F(Plugin, PodOfAGroupIsRefusedWithTheFlagForTheGroup) {
  stage(3, {{"evacuator.dev/group", "trainer"}});
  start_operator();
  const auto names = pods();
  const Ran ran = in_shop({"pod", names[0]});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("pod/" + names[0] +
                                       " is not evacuated: PodGroup trainer leaves as a whole, and these members"),
                             HasSubstr(names[1] + " (" + node_of(names[1]) + ")"),
                             HasSubstr("kubectl evacuator pod " + names[0] + " -n shop --whole-group"),
                             HasSubstr("kubectl annotate pod " + names[0] + " -n shop evacuator.dev/group=")));
  EXPECT_TRUE(evacuations().empty());
}

TEST_F(Plugin, PodAsksForItsWholeGroupAndWaitsForAll) {
  stage(3, {{"evacuator.dev/group", "trainer"}});
  start_operator();
  const auto names = pods();
  const Ran ran = in_shop({"pod", names[0], "--whole-group", "--wait", "--timeout", "10m"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("PodGroup trainer leaves as a whole: also requested for " + names[1]),
                             HasSubstr("3 of 3 pods gone")));
  for (const std::string& name : names) EXPECT_FALSE(pod_exists(name));
}

TEST_F(Plugin, PodCompletesAGroupOfWhichSomeAreAskedAndPrintsObjects) {
  stage(3, {{"evacuator.dev/group", "trainer"}});
  const auto names = pods();
  evacuate(names[1]);
  const Ran ran = in_shop({"pod", names[0], "--whole-group", "-o", "json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(Json::parse(ran.out)["items"].size(), 2U);
  EXPECT_EQ(evacuations().size(), 3U);
  EXPECT_EQ(in_shop({"pod", names[0]}).code, 0);  // every member has an Evacuation now, so nothing is refused
  const Ran all = in_shop({"pod", "-l", "app=web"});
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(evacuations().size(), 3U);
}

TEST_F(Plugin, PodRefusesAnIncompleteGroupAndContinuesWithTheRest) {
  stage(2);
  const auto names = pods();
  annotate(names[0], "evacuator.dev/group", "trainer");
  Json null_recorder = objects::pod("shop", "nowhere", "900", "1Mi");
  null_recorder["metadata"]["annotations"]["evacuator.dev/group"] = "trainer";
  add(null_recorder);
  settle();
  const Ran ran = in_shop({"pod", names[0], names[1], "--whole-group"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("nowhere of its members cannot leave: it is not scheduled yet"));
  ASSERT_EQ(evacuations().size(), 1U);
  EXPECT_EQ(evacuations()[0].spec.pod_ref.name, names[1]);
}

TEST_F(Plugin, NodeRefusesHalfAGroupAndBringsTheRestAlong) {
  stage(3, {{"evacuator.dev/group", "trainer"}});
  start_operator();
  const Ran refused = run({"node", "node-a"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("leaves with PodGroup trainer as a whole"), HasSubstr("(node-b)"),
                                 HasSubstr("kubectl evacuator node node-a --whole-group")));
  EXPECT_FALSE(is_cordoned("node-a"));
  EXPECT_TRUE(evacuations().empty());
  const Ran ran = run({"node", "node-a", "--whole-group", "--timeout", "30m"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("leaves node-b with PodGroup trainer"));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("3 of 3 pods gone"), HasSubstr("node/node-a evacuated")));
  EXPECT_TRUE(pods_on("node-a").empty());
  for (const auto& each : evacuations()) EXPECT_EQ(each.meta.labels.value(cmd::plugin::kDrainLabel), "node-a");
}

TEST_F(Plugin, NodeContinuesWithALeavingGroup) {
  stage(3, {{"evacuator.dev/group", "trainer"}});
  start_operator();
  const Ran first = run({"node", "node-a", "--whole-group"}, [](int naps) { return naps == 1; });
  EXPECT_EQ(first.code, 130);
  EXPECT_THAT(first.err, HasSubstr("node node-a --whole-group"));
  const Ran second = run({"node", "node-a", "--timeout", "30m"});
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(evacuations().size(), 3U);
}

TEST_F(Plugin, NodeCordonsMovesEverythingAndEnds) {
  stage(9);
  start_operator();
  const Ran ran = run({"node", "node-a", "--timeout", "30m"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("node/node-a cordoned"), HasSubstr("node/node-a evacuated")));
  EXPECT_TRUE(is_cordoned("node-a"));
  EXPECT_TRUE(pods_on("node-a").empty());
  EXPECT_EQ(pods().size(), 9U);
  for (const auto& each : evacuations()) EXPECT_EQ(each.meta.labels.value(cmd::plugin::kDrainLabel), "node-a");
}

TEST_F(Plugin, NodeRefusesWhatKubectlRefusesAndTouchesNothing) {
  stage();
  Json bare = objects::pod("shop", "bare", "10m", "1Mi");
  bare["spec"]["nodeName"] = "node-a";
  add(bare);
  add(objects::daemon_set("shop", "log", "10m", "1Mi"));
  run_for(base::seconds(60));
  const Ran ran = run({"node", "node-a"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("shop/bare  has no controller"), HasSubstr("managed by a DaemonSet"),
                             HasSubstr("kubectl evacuator node node-a --force --ignore-daemonsets")));
  EXPECT_FALSE(is_cordoned("node-a"));
  EXPECT_TRUE(evacuations().empty());
  start_operator();
  const Ran forced = run({"node", "node-a", "--force", "--ignore-daemonsets", "--timeout", "30m"});
  EXPECT_EQ(forced.code, 0) << forced.err;
  EXPECT_THAT(forced.err, HasSubstr("pod/shop/bare: nothing will recreate it"));
  EXPECT_FALSE(pod_exists("bare"));
}

TEST_F(Plugin, NodeShowsItsOrderInADryRun) {
  stage();
  add(objects::stateful_set("shop", "db", 3, "10m", "1Mi"));
  run_for(base::seconds(60));
  const Ran ran = run({"node", "node-a", "--dry-run"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_LT(ran.out.find("web-"), ran.out.find("stateful"));
  EXPECT_FALSE(is_cordoned("node-a"));
  EXPECT_TRUE(evacuations().empty());
}

TEST_F(Plugin, NodeKeepsEvacuationsOnCtrlCAndContinuesOnTheNextCall) {
  stage(9);
  start_operator();
  const Ran first = run({"node", "node-a"}, [](int naps) { return naps == 1; });
  EXPECT_EQ(first.code, 130);
  EXPECT_THAT(first.err, AllOf(HasSubstr("continue without this command"), HasSubstr("node node-a --cancel")));
  const std::size_t made = evacuations().size();
  const Ran second = run({"node", "node-a", "--timeout", "30m"});
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_THAT(second.out, AllOf(HasSubstr("already cordoned"), HasSubstr("node/node-a evacuated"),
                                HasSubstr(std::to_string(made) + " of " + std::to_string(made) + " pods gone")));
  EXPECT_EQ(evacuations().size(), made);
  EXPECT_TRUE(pods_on("node-a").empty());
}

TEST_F(Plugin, NodeCancelStopsItAndUncordonsWhenAskedTo) {
  stage(9);
  budget("web", "web", 9);
  start_operator();
  ASSERT_EQ(run({"node", "node-a", "--wait=false"}).code, 0);
  run_for(base::seconds(10));
  const Ran stays = run({"node", "node-a", "--cancel"});
  EXPECT_EQ(stays.code, 0);
  EXPECT_THAT(stays.err, HasSubstr("stays cordoned; to uncordon it: kubectl uncordon node-a"));
  settle();
  for (const auto& each : evacuations()) EXPECT_EQ(each.status.phase, api::EvacuationPhase::kCancelled);
  answer_ = "y";
  EXPECT_THAT(run({"node", "node-a", "--cancel"}).out, HasSubstr("node/node-a uncordoned"));
  EXPECT_FALSE(is_cordoned("node-a"));
  EXPECT_FALSE(node("node-a")["metadata"].value("annotations", Json::object()).contains(cmd::plugin::kCordonedBy));
}

TEST_F(Plugin, NodeUncordonsOnFailureOnlyWhatItCordoned) {
  stage(9);
  budget("web", "web", 9);
  start_operator();
  const Ran ran = run({"node", "node-a", "--timeout", "30s", "--uncordon-on-failure"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("timed out after 30s"));
  EXPECT_FALSE(is_cordoned("node-a"));
  settle();
  for (const auto& each : evacuations()) EXPECT_EQ(each.status.phase, api::EvacuationPhase::kCancelled);
  edit(
      kube::kNodes, "node-b", [](Json& object) { object["spec"]["unschedulable"] = true; }, "");
  const Ran theirs = run({"node", "node-b", "--timeout", "30s", "--uncordon-on-failure"});
  EXPECT_EQ(theirs.code, 1);
  EXPECT_TRUE(is_cordoned("node-b"));
}

TEST_F(Plugin, NodeNamesTheOnesThatExist) {
  stage();
  const Ran ran = run({"node", "node-z"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("Error from server (NotFound): nodes \"node-z\" not found"),
                             HasSubstr("There are: node-a, node-b, node-c")));
}

TEST_F(Plugin, StatusShowsEverythingOneNodeOnePodOnePolicy) {
  stage();
  budget("web", "web", 3);
  start_operator();
  const std::string pod = pods().front();
  ASSERT_EQ(in_shop({"pod", pod}).code, 0);
  run_for(base::seconds(5));
  const Ran all = run({"status", "-A"});
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_THAT(all.out, AllOf(HasSubstr("NAMESPACE"), HasSubstr(pod), HasSubstr("PDB web (needs 3, has 3)")));
  EXPECT_THAT(run({"status", "node/" + node_of(pod)}).out, HasSubstr("0 of 1 pods gone"));
  EXPECT_THAT(in_shop({"status", "pod/" + pod}).out, HasSubstr("held by PodDisruptionBudget web"));
  EXPECT_THAT(in_shop({"status", evacuations()[0].meta.name}).out, HasSubstr("being evacuated"));
  const Json json = Json::parse(run({"status", "-A", "-o", "json"}).out);
  EXPECT_EQ(json["progress"]["waiting"], 1);
  EXPECT_EQ(Json::parse(run({"status", "node/node-a", "-o", "json"}).out)["node"], "node-a");
  EXPECT_EQ(in_shop({"status", "nope"}).code, 1);
  EXPECT_EQ(run({"status", "policy/nope"}).code, 1);
}

TEST_F(Plugin, WatchShowsChangesUntilCtrlC) {
  stage();
  start_operator();
  const std::string pod = pods().front();
  ASSERT_EQ(in_shop({"pod", pod}).code, 0);
  // The watch runs in a thread of the server and may take real time. The user waits for the end.
  const Ran ran = run({"watch", "pod/" + pod, "-n", "shop"}, [&](int naps) {
    const auto all = evacuations();
    return naps > 200 || (naps > 5 && api::is_terminal(all[0].status.phase));
  });
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(pod));
}

TEST_F(Plugin, WatchRedrawsATableOnATerminal) {
  stage();
  ASSERT_EQ(in_shop({"pod", "-l", "app=web"}).code, 0);
  screen_ = cmd::plugin::ScreenSize{120, 5};
  const Ran ran = run({"watch", "-A"}, [](int naps) { return naps == 8; });
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("\033[5A\033[J"), HasSubstr("… and 1 more")));
}

TEST_F(Plugin, ApproveReleasesEvacuationsThatWaitForApproval) {
  stage();
  start_operator();
  const std::string name = evacuate(pods().front(), [](Json& spec) { spec["suspend"] = true; });
  run_for(base::seconds(5));
  EXPECT_EQ(get(name).status.blocked_by[0].kind, "Suspended");
  EXPECT_THAT(in_shop({"approve", name}).out, HasSubstr(name + " approved"));
  EXPECT_TRUE(run_to_end(name));
  EXPECT_EQ(phase(name), api::EvacuationPhase::kSucceeded);
  EXPECT_EQ(in_shop({"approve", name}).code, 1);
  EXPECT_THAT(in_shop({"approve", "--all"}).err, HasSubstr("No Evacuation waits for approval"));
}

/// Makes the Evacuation look as if the operator had created it and stored the proof.
void belong_to(Json& evacuation, const std::string& policy) {
  evacuation["metadata"]["labels"]["evacuator.dev/policy"] = policy;
  evacuation["spec"]["source"]["policy"] = policy;
  evacuation["status"]["conditions"] = Json::array({{{"type", "OriginVerified"},
                                                     {"status", "True"},
                                                     {"reason", "Signed"},
                                                     {"message", ""},
                                                     {"lastTransitionTime", "2026-11-21T12:00:00Z"}}});
}

TEST_F(Plugin, ApproveTakesNothingThatOnlySaysItIsOfThePolicy) {
  stage();
  const std::string name = evacuate(pods().front(), [](Json& spec) { spec["suspend"] = true; });
  edit(kube::kEvacuations, name, [](Json& object) {
    belong_to(object, "balance");
    object["status"]["conditions"][0]["status"] = "False";
  });
  EXPECT_THAT(run({"approve", "--policy", "balance"}).err, HasSubstr("No Evacuation waits for approval"));
  EXPECT_TRUE(get(name).spec.suspend);
}

TEST_F(Plugin, ApproveTakesAllOfOnePolicy) {
  stage();
  const char* policy = "other";
  for (const std::string& pod : pods()) {
    const std::string name = evacuate(pod, [](Json& spec) { spec["suspend"] = true; });
    edit(kube::kEvacuations, name, [&](Json& object) { belong_to(object, policy); });
    policy = "balance";
  }
  const Ran ran = run({"approve", "--policy", "balance", "-o", "json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(Json::parse(ran.out)["items"].size(), 2U);
  int released = 0;
  for (const auto& each : evacuations()) released += each.spec.suspend ? 0 : 1;
  EXPECT_EQ(released, 2);
}

TEST_F(Plugin, CancelStopsByNamePodAndSelection) {
  stage();
  budget("web", "web", 3);
  start_operator();
  ASSERT_EQ(in_shop({"pod", "-l", "app=web"}).code, 0);
  run_for(base::seconds(5));
  EXPECT_EQ(in_shop({"cancel"}).code, 1);
  EXPECT_EQ(in_shop({"cancel", "--all", "some"}).code, 1);
  EXPECT_THAT(in_shop({"cancel", "pod/" + pods()[0], "--reason", "no"}).out, HasSubstr("cancellation requested"));
  EXPECT_EQ(in_shop({"cancel", "--all"}).code, 0);
  settle();
  for (const auto& each : evacuations()) EXPECT_EQ(each.status.phase, api::EvacuationPhase::kCancelled);
  const Ran late = in_shop({"cancel", evacuations()[0].meta.name});
  EXPECT_EQ(late.code, 1);
  EXPECT_THAT(late.err, HasSubstr("has already ended (Cancelled)"));
  EXPECT_THAT(in_shop({"cancel", "--all"}).err, HasSubstr("There is nothing to cancel"));
}

TEST_F(Plugin, ExplainAsksThePoliciesOnTheLiveCluster) {
  stage();
  budget("web", "web", 3);
  const Json policy = {
      {"apiVersion", "evacuator.dev/v1alpha1"},
      {"kind", "DeschedulerPolicy"},
      {"metadata", {{"name", "tidy"}}},
      {"spec", {{"strategies", {{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 30}}}}}}}}};
  ASSERT_EQ(server->handle(kube::create_request(kube::kPolicies, "", policy), {}).status, 201);
  const std::string pod = pods().front();
  const Ran ran = in_shop({"explain", "pod/" + pod});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("policy tidy would move it, but takes no action (mode DryRun)"),
                             HasSubstr("tidy (DryRun) would move it to node-"), HasSubstr("PodLifeTime: "),
                             HasSubstr("web: 0 disruptions allowed now (needs 3")));
  const Json json = Json::parse(in_shop({"explain", pod, "-o", "json"}).out);
  EXPECT_EQ(json["policies"][0]["verdict"], "Nominates");
  EXPECT_EQ(json["disruptionBudgets"][0]["canNeverAllow"], true);
  EXPECT_TRUE(evacuations().empty());
}

TEST_F(Plugin, ExplainReadsTheOperatorsLimitsInItsNamespace) {
  stage();
  ASSERT_EQ(
      server->handle(kube::create_request(kube::kNamespaces, "", {{"metadata", {{"name", "movers"}}}}), {}).status,
      201);
  const Json map = {{"metadata", {{"name", "evacuator-1"}, {"labels", {{"app.kubernetes.io/name", "evacuator"}}}}},
                    {"data", {{"config.yaml", "logging: {level: info}\n"}}}};
  const kube::ResourceType maps{"", "v1", "configmaps", "ConfigMap"};
  const std::string assumed = "the default limits are assumed";
  Json dashboards = map;
  dashboards["metadata"]["name"] = "evacuator-dashboards";
  dashboards["data"] = {{"overview.json", "{}"}};
  ASSERT_EQ(server->handle(kube::create_request(maps, "movers", dashboards), {}).status, 201);
  EXPECT_THAT(in_shop({"explain", pods().front(), "--operator-namespace", "movers"}).out, HasSubstr(assumed));
  ASSERT_EQ(server->handle(kube::create_request(maps, "movers", map), {}).status, 201);
  EXPECT_THAT(in_shop({"explain", pods().front()}).out, HasSubstr(assumed));
  const Ran ran = in_shop({"explain", pods().front(), "--operator-namespace", "movers"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, testing::Not(HasSubstr(assumed)));
}

TEST_F(Plugin, ExplainRemembersAPodThatIsGone) {
  stage();
  start_operator();
  const std::string pod = pods().front();
  ASSERT_EQ(in_shop({"pod", pod, "--reason", "old rack", "--wait"}).code, 0);
  const Ran ran = in_shop({"explain", pod});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("it was evacuated"), HasSubstr("old rack"), HasSubstr("replaced by web-")));
  const std::string heir = get(evacuations()[0].meta.name).status.outcome->replacement->name;
  EXPECT_THAT(in_shop({"explain", heir}).out, HasSubstr("pod " + pod + " of node"));
  EXPECT_EQ(in_shop({"explain", "never-was"}).code, 1);
}

TEST_F(Plugin, WarnsWhenNoOperatorRuns) {
  stage();
  EXPECT_THAT(in_shop({"pod", pods().front()}).err,
              HasSubstr("no operator holds the Lease evacuator-system/evacuator"));
}

/// Returns the same samples at each call.
class FixedSource final : public usage::Source {
 public:
  explicit FixedSource(usage::Samples samples) : samples_(std::move(samples)) {}
  base::Result<usage::Samples> sample() override { return samples_; }
  base::Result<std::vector<usage::Series>> history(base::TimePoint, base::TimePoint, base::Duration) override {
    return base::Error{base::ErrorCode::kUnsupported, "none"};
  }

 private:
  usage::Samples samples_;
};

TEST_F(Plugin, UsageKnowsNodesByTheirAddressesAsTheOperatorDoes) {
  stage();
  edit(
      kube::kNodes, "node-a",
      [](Json& node) {
        node["status"]["addresses"] = Json::array({{{"type", "InternalIP"}, {"address", "10.0.0.7"}}});
      },
      "");
  add({{"apiVersion", "evacuator.dev/v1alpha1"},
       {"kind", "DeschedulerPolicy"},
       {"metadata", {{"name", "even"}}},
       {"spec",
        {{"usageSources", Json::array({{{"name", "server"}, {"type", "MetricsServer"}}})},
         {"strategies", Json::array({{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 900}}}}})}}}});
  usage::Samples samples;
  samples.columns = {{"cpu", usage::Unit::kAmount}};
  samples.nodes = {{"10.0.0.7:9100", clock.now(), {2}}, {"NODE-B", clock.now(), {-1}}, {"other", clock.now(), {1}}};
  Ran ran;
  cmd::plugin::Io io = io_of(ran);
  const auto session = connect(io);
  ASSERT_TRUE(session) << session.error().message;
  cmd::plugin::UsageOptions options;
  options.make_source = [&](auto&, const auto&) { return std::make_unique<FixedSource>(samples); };
  EXPECT_EQ(cmd::plugin::run_usage(**session, options), cmd::plugin::kDone) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Warning: 1 of 3 are not nodes of this cluster: other\n"));
  EXPECT_THAT(ran.out, testing::ContainsRegex("node-a +2000m \\(25%\\) +0s +-\n"));
  EXPECT_THAT(ran.out, testing::ContainsRegex("node-b .* no usable value\n"));
  EXPECT_THAT(ran.out, testing::ContainsRegex("node-c .* the source has no data for it\n"));
}

TEST_F(Plugin, RefusesFlagsThatContradict) {
  EXPECT_EQ(run({}).code, 1);
  EXPECT_THAT(run({"nonsense"}).err, HasSubstr("unknown command \"nonsense\""));
  EXPECT_THAT(run({"pod"}).err, HasSubstr("no pods are selected"));
  EXPECT_THAT(run({"pod", "x", "-A"}).err, HasSubstr("use -n instead of -A"));
  EXPECT_THAT(run({"pod", "x", "--timeout", "soon"}).err, HasSubstr("--timeout: \"soon\" is not a duration"));
  EXPECT_THAT(run({"status", "-A", "-n", "x"}).err, HasSubstr("mutually exclusive"));
  EXPECT_THAT(run({"watch", "-o", "json"}).err, HasSubstr("kubectl get evacuations -w"));
  EXPECT_THAT(run({"node", "x", "--uncordon"}).err, HasSubstr("requires --cancel"));
  EXPECT_THAT(run({"status", "secret/x"}).err, HasSubstr("use pod/, node/"));
  EXPECT_EQ(run({"--help"}).code, 0);
}

TEST_F(Plugin, SaysThatTheKindsAreMissing) {
  simulator::Cluster bare(clock);
  simulator::ApiServer plain(bare.store());
  simulator::HttpServer http(plain, {});
  ASSERT_TRUE(http.start());
  const std::string file = testing::TempDir() + "plugin-bare.kubeconfig";
  std::ofstream(file) << http.kubeconfig();
  Ran ran;
  cmd::plugin::Io io{.out = [&](std::string_view text) { ran.out += text; },
                     .err = [&](std::string_view text) { ran.err += text; },
                     .nap = [](base::milliseconds) { return true; },
                     .ask = [](std::string_view) { return std::nullopt; },
                     .clock = clock};
  EXPECT_EQ(cmd::plugin::run({"status", "--kubeconfig", file}, io), 1);
  EXPECT_THAT(ran.err, HasSubstr("custom resources are not installed"));
  std::filesystem::remove(file);
}

/// A node with two virtual machines: one migrates with its disks, the other would be shut down.
class PluginMachines : public Plugin {
 protected:
  void machines_on_one_node(const char* other_strategy) {
    ASSERT_TRUE(simulator::kubevirt::install(*cluster, *server, "v1.9.0"));
    add(objects::name_space("shop"));
    add(objects::node("node-a", "8", "64Gi"));
    add(objects::kubevirt("v1.9.0"));
    add(objects::virtual_machine("shop", "db", "1Gi", "LiveMigrate"));
    if (other_strategy) add(objects::virtual_machine("shop", "web", "1Gi", other_strategy));
    run_for(base::seconds(30));
    Json disks = objects::pod("shop", "hp-volume-1", "100m", "64Mi");
    disks["metadata"]["labels"]["kubevirt.io"] = "hotplug-disk";
    disks["spec"]["volumes"] = Json::array({{{"name", "hotplug-disks"}, {"emptyDir", Json::object()}}});
    add(std::move(disks));
    run_for(base::seconds(10));
    for (const char* node : {"node-b", "node-c"}) add(objects::node(node, "8", "64Gi"));
    start_operator();
  }
  std::string machine_node(const char* name) const {
    return api::text_at(*cluster->store().get(kube::kVmis, {"shop", name}), {"status", "nodeName"});
  }
};

TEST_F(PluginMachines, MigrateWithoutAFlagForTheirLaunchersEmptyDirs) {
  machines_on_one_node(nullptr);
  const Ran ran = run({"node", "node-a", "--timeout", "10m"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("hp-volume-1  attaches disks to a virtual machine"), HasSubstr("evacuated")));
  EXPECT_NE(machine_node("db"), "node-a");
  EXPECT_EQ(node_of("hp-volume-1"), "node-a") << "not by us";
}

TEST_F(PluginMachines, AreNotShutDownWithoutTheFlag) {
  machines_on_one_node("None");
  const Ran ran = run({"node", "node-a", "--timeout", "10m"});
  EXPECT_EQ(ran.code, 1) << ran.out;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("runs a virtual machine that cannot be migrated: the guest is shut down"),
                             HasSubstr("--delete-emptydir-data"), HasSubstr("because of 1 pods")));
  EXPECT_TRUE(evacuations().empty());
}

}  // namespace plugin_test
}  // namespace integration
