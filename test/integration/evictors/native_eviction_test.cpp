#include "simulator/eviction_request/native_eviction.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "kube/request.hpp"
#include "simulator/objects.hpp"
#include "test/integration/rig/rig.hpp"

/// Scenarios 38 to 42: the EvictionRequest API with Evacuator as requester and as responder.
namespace native_eviction_test {

using api::Json;
using base::minutes;
using base::seconds;
using integration::Rig;
using Phase = api::EvacuationPhase;
using testing::HasSubstr;

const std::string kScript = "simulator.evacuator.dev/responders";
const std::string kDefaultResponder(simulator::eviction_request::kImperativeResponder);
const simulator::User kAlice{"alice", {}, "kubectl"};

class Native : public Rig {
 protected:
  enum class Api { kNotServed, kStorageOnly, kAlive };

  /// Creates cluster and operator. Returns the name of the first web pod, which has the responder acme.io/db.
  std::string begin(Api api, const std::string& script = "", simulator::eviction_request::Options options = {},
                    std::set<std::string> left_out = {}) {
    if (responders.is_null()) responders = Json::array({{{"name", "acme.io/db"}, {"priority", 10000}}});
    if (api != Api::kNotServed) simulator::eviction_request::serve(*server, options);
    if (api == Api::kAlive) simulator::eviction_request::run(*cluster, *server, options, std::move(left_out));
    std::vector<std::pair<std::string, std::string>> annotations;
    if (!script.empty()) annotations.emplace_back(kScript, script);
    stage(3, std::move(annotations));
    start_operator();
    return pods().front();
  }

  std::vector<simulator::Object> requests() const { return cluster->store().list(kube::kEvictionRequests, "shop"); }
  std::vector<simulator::Object> native_evictions() const {
    return cluster->store().list(kube::kNativeEvictions, "shop");
  }
  /// Returns the number of the operator's calls on EvictionRequests.
  int calls(const std::string& verb) const {
    int count = 0;
    for (const auto& entry : server->journal().entries())
      count += entry.user != "alice" && entry.resource == "evictionrequests" && entry.verb == verb ? 1 : 0;
    return count;
  }

  /// Creates another requester's EvictionRequest for the pod. `draft` uses the field names of the API's drafts.
  void request_by_alice(const std::string& pod, bool draft = false) {
    const Json body = {{"apiVersion", "lifecycle.k8s.io/v1alpha1"},
                       {"kind", "EvictionRequest"},
                       {"metadata", {{"name", "alice-" + pod}}},
                       {"spec",
                        {{"target", {{"pod", {{"name", pod}, {"uid", pod_uid(pod)}}}}},
                         {draft ? "requesterName" : "requester", "acme.io/alice"},
                         {"intent", "Eviction"}}}};
    const auto answer = server->handle(kube::create_request(kube::kEvictionRequests, "shop", body), kAlice);
    ASSERT_EQ(answer.status, 201) << answer.body;
  }
  void withdraw_by_alice(const std::string& pod) {
    const Json patch = {{"spec", {{"intent", "Withdrawn"}}}};
    const auto answer = server->handle(
        kube::patch_request(kube::kEvictionRequests, {"shop", "alice-" + pod}, kube::PatchType::kMerge, patch), kAlice);
    ASSERT_EQ(answer.status, 200) << answer.body;
  }

  void expect_end(const std::string& name, Phase phase, const std::string& why) {
    ASSERT_TRUE(run_to_end(name, std::chrono::hours(6)))
        << api::to_string(this->phase(name)) << " " << get(name).status.message;
    EXPECT_EQ(this->phase(name), phase) << get(name).status.message;
    EXPECT_EQ(reason(name), why) << get(name).status.message;
  }
  void expect_nothing_left() {
    settle();
    for (const auto& each : requests()) ADD_FAILURE() << "left: " << each->dump();
    for (const auto& each : native_evictions()) ADD_FAILURE() << "left: " << each->dump();
  }
  std::string progress_message(const std::string& name) const {
    const auto evacuation = get(name);
    const auto* found = api::find_condition(evacuation.status.conditions, "Progressing");
    return found ? found->message : "";
  }
  /// Returns the only Evacuation of the pod, empty if none.
  std::string evacuation_of(const std::string& pod) const {
    for (const auto& each : cluster->store().list(kube::kEvacuations, "shop")) {
      if (api::text_at(*each, {"spec", "podRef", "name"}) == pod) return api::text_at(*each, {"metadata", "name"});
    }
    return "";
  }
  Json our_entry() const {
    for (const auto& eviction : native_evictions()) {
      for (const Json& each : (*eviction)["status"].value("responders", Json::array())) {
        if (each["name"] == "evacuator.dev/responder") return each;
      }
    }
    return nullptr;
  }
};

// --- as requester

TEST_F(Native, S38_AbsentFallsBackAfter60s) {
  const std::string pod = begin(Api::kStorageOnly);
  const auto began = clock.now();
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kInProgress; }, seconds(10)));
  EXPECT_EQ(get(name).status.evictor, "eviction-request");
  ASSERT_TRUE(run_until([&] { return get(name).status.evictor == "eviction-api"; }, seconds(120)));
  EXPECT_GE(clock.now() - began, base::Duration(seconds(60)));
  EXPECT_LE(clock.now() - began, base::Duration(seconds(75)));
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(get(name).status.attempt, 2);
  expect_nothing_left();

  const int posted = calls("create");
  const std::string next = evacuate(pods().front());
  expect_end(next, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(calls("create"), posted + 1) << "a manual one finds it out for itself alone";
}

TEST_F(Native, S38_WhatTheOperatorFoundHoldsForAllAndPassesOverNoResponder) {
  const std::string pod = begin(Api::kStorageOnly);
  const std::string name = evacuate_as_operator(pod);
  expect_end(name, Phase::kSucceeded, "Evicted");
  const int posted = calls("create");
  const std::string next = evacuate(pods().front());
  run_for(minutes(3));
  EXPECT_EQ(phase(next), Phase::kPreparing) << "the pod's responders are not passed over";
  EXPECT_EQ(calls("create"), posted);
  expect_end(next, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(calls("create"), posted + 1) << "it may have come to life";
}

/// One tenant must not decide for the whole cluster that EvictionRequests are not processed.
TEST_F(Native, S38_AttackWithASecondOfPatienceChangesNothingForOthers) {
  const std::string pod = begin(Api::kStorageOnly);
  const std::string name = evacuate(pod, [](Json& spec) {
    spec["evictors"] = Json::parse(R"([{"name": "eviction-request", "parameters": {"livenessSeconds": "1"}}])");
    spec["retry"] = {{"maxAttempts", 1}};
  });
  run_for(seconds(55));
  EXPECT_EQ(phase(name), Phase::kInProgress) << "a controller has a minute at least";
  expect_end(name, Phase::kFailed, "NativeFailed");
  const int posted = calls("create");
  const std::string other = evacuate_as_operator(pods().back());
  ASSERT_TRUE(run_until([&] { return phase(other) == Phase::kInProgress; }, seconds(10)));
  EXPECT_EQ(get(other).status.evictor, "eviction-request");
  EXPECT_EQ(calls("create"), posted + 1);
}

TEST_F(Native, S38_NotServedIsNotTried) {
  const std::string name = evacuate(begin(Api::kNotServed));
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(get(name).status.evictor, "eviction-api");
  EXPECT_EQ(get(name).status.attempt, 1);
}

TEST_F(Native, S38_WithoutFallbackItFailsWithoutAnAnswer) {
  const std::string pod = begin(Api::kStorageOnly);
  const std::string name = evacuate(pod, [](Json& spec) {
    spec["evictors"] = Json::parse(R"([{"name": "eviction-request", "parameters": {"livenessSeconds": "20"}}])");
    spec["retry"] = {{"maxAttempts", 1}};
  });
  expect_end(name, Phase::kFailed, "NativeFailed");
  EXPECT_TRUE(pod_exists(pod));
  EXPECT_TRUE(evictions().empty());
  expect_nothing_left();
}

TEST_F(Native, S39_SuccessByResponder) {
  const std::string pod = begin(Api::kAlive, "evict=90s, heartbeat=30s, eta=2m");
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return get(name).status.expected_completion_at.has_value(); }, seconds(60)));
  EXPECT_THAT(progress_message(name), HasSubstr("responder acme.io/db (1 of 2): at work"));
  EXPECT_EQ(condition(name, "HandoffAcknowledged"), "Acknowledged");
  const auto first_beat = get(name).status.last_heartbeat_at;
  ASSERT_TRUE(run_until([&] { return get(name).status.last_heartbeat_at > first_beat; }, seconds(60)));
  expect_end(name, Phase::kSucceeded, "MovedByOwner");
  EXPECT_TRUE(evictions().empty()) << "no second protocol on the pod";
  EXPECT_FALSE(pod_exists(pod));
  expect_nothing_left();
}

TEST_F(Native, S39_ThePlainEvictionIsTheLastResponder) {
  const std::string pod = begin(Api::kAlive, "decline=5s");
  budget("web", "web", 3);
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return progress_message(name).find("(2 of 2)") != std::string::npos; }, minutes(2)));
  ASSERT_TRUE(run_until([&] { return progress_message(name).find("429") != std::string::npos; }, minutes(10)))
      << "the budget's refusal is told: " << progress_message(name);
  edit(kube::kPdbs, "web", [](Json& pdb) { pdb["spec"]["minAvailable"] = 1; });
  expect_end(name, Phase::kSucceeded, "MovedByOwner");
  EXPECT_TRUE(evictions().empty());
}

TEST_F(Native, S39_InTheDraftsSpelling) {
  simulator::eviction_request::Options options;
  options.draft_names = true;
  const std::string name = evacuate(begin(Api::kAlive, "evict=20s", options));
  expect_end(name, Phase::kSucceeded, "MovedByOwner");
  expect_nothing_left();
}

TEST_F(Native, S39_TheAnswerToTheRequestIsLost) {
  const std::string pod = begin(Api::kAlive, "evict=20s");
  simulator::FaultRule rule;
  rule.effect = simulator::FaultEffect::kDropResponse;
  rule.verb = "create";
  rule.resource = "evictionrequests";
  rule.count = 1;
  server->faults().add(rule);
  const std::string name = evacuate(pod);
  expect_end(name, Phase::kSucceeded, "MovedByOwner");
  EXPECT_EQ(calls("create"), 1) << "looked first, did not ask twice";
}

TEST_F(Native, S39_ADryRunAsksAndChangesNothing) {
  const std::string pod = begin(Api::kAlive, "evict=20s");
  const std::string name = evacuate(pod, [](Json& spec) { spec["dryRun"] = true; });
  expect_end(name, Phase::kSucceeded, "DryRun");
  EXPECT_TRUE(requests().empty());
  run_for(minutes(2));
  EXPECT_TRUE(pod_exists(pod));
}

TEST_F(Native, S40_NoFurtherResponderLeavesNoChain) {
  const std::string pod = begin(Api::kAlive, "decline=30s", {}, {kDefaultResponder});  // the default responder is down
  const std::string name = evacuate(pod, [](Json& spec) { spec["retry"] = {{"maxAttempts", 1}}; });
  bool second = false;
  watcher = [&] { second |= native_evictions().size() > 1; };
  expect_end(name, Phase::kFailed, "NativeFailed");
  EXPECT_THAT(get(name).status.message, HasSubstr("NoFurtherResponder"));
  EXPECT_EQ(condition(name, "RollbackComplete"), "Complete");
  EXPECT_TRUE(second) << "the controller answered with pod-2, so that this is worth something";
  EXPECT_TRUE(pod_exists(pod));
  expect_nothing_left();
  run_for(minutes(60));
  expect_nothing_left();
  EXPECT_TRUE(pod_exists(pod));
}

TEST_F(Native, S41_TheOtherRequesterGoesOnAfterOurCancel) {
  const std::string pod = begin(Api::kAlive, "evict=10m, heartbeat=1m");
  request_by_alice(pod);
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return condition(name, "HandoffAcknowledged") == "Acknowledged"; }, minutes(1)));
  EXPECT_EQ(native_evictions().size(), 1u) << "one Eviction for both";
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(condition(name, "RollbackComplete"), "OtherRequestersRemain");
  ASSERT_EQ(requests().size(), 1u);
  EXPECT_EQ(api::text_at(*requests()[0], {"metadata", "name"}), "alice-" + pod);
  EXPECT_TRUE(pod_exists(pod));
  EXPECT_TRUE(run_until([&] { return !pod_exists(pod); }, minutes(15))) << "theirs";
}

TEST_F(Native, S41_CancelAloneStopsTheEviction) {
  const std::string pod = begin(Api::kAlive, "evict=10m, heartbeat=1m");
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return condition(name, "HandoffAcknowledged") == "Acknowledged"; }, minutes(1)));
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(condition(name, "RollbackComplete"), "Complete");
  expect_nothing_left();
  run_for(minutes(30));
  EXPECT_TRUE(pod_exists(pod));
}

TEST_F(Native, S42_InvalidAndThePodIsGone) {
  const std::string pod = begin(Api::kAlive, "evict=20s");
  const std::string name = evacuate(pod);
  bool done = false;
  replica->transport.before_each_call = [&](const kube::Request& request) {  // just before the request arrives
    if (done || request.method != "POST" || !request.path.ends_with("/evictionrequests")) return;
    done = true;
    ASSERT_TRUE(cluster->store().remove(kube::kPods, {"shop", pod}, {}, 0));
  };
  expect_end(name, Phase::kSucceeded, "GoneExternally");
  EXPECT_TRUE(done);
  expect_nothing_left();
}

TEST_F(Native, S42_InvalidAndThePodStays) {
  const std::string pod = begin(Api::kAlive);
  edit(kube::kPods, pod, [](Json& object) { object["spec"].erase("evictionResponders"); });
  edit(kube::kPods, pod, [](Json& object) { object["spec"]["schedulingGroup"] = {{"podGroupName", "g"}}; });
  const std::string name =
      evacuate(pod, [](Json& spec) { spec["evictors"] = Json::parse(R"([{"name": "eviction-request"}])"); });
  expect_end(name, Phase::kFailed, "NotEvictable");
  EXPECT_THAT(get(name).status.message, HasSubstr("schedulingGroup"));
  EXPECT_TRUE(requests().empty());
}

TEST_F(Native, PodsWithoutRespondersAreEvictedDirectly) {
  responders = Json::array();
  const std::string name = evacuate(begin(Api::kAlive));
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(calls("create"), 0);
}

// --- as responder

class Responder : public Native {
 protected:
  std::string begin_as_responder() {
    responds = true;
    responders = Json::array({{{"name", "evacuator.dev/responder"}, {"priority", 10000}}});
    return begin(Api::kAlive, "", {}, {"evacuator.dev/responder"});
  }
};

TEST_F(Responder, EvacuatesThePodWhenItHasItsTurn) {
  const std::string pod = begin_as_responder();
  budget("web", "web", 3);
  request_by_alice(pod);
  ASSERT_TRUE(run_until([&] { return !evacuation_of(pod).empty(); }, seconds(10)));
  const std::string name = evacuation_of(pod);
  EXPECT_EQ(get(name).spec.source.requester, "acme.io/alice");
  ASSERT_TRUE(run_until(
      [&] { return our_entry().value("message", "").find("PodDisruptionBudget") != std::string::npos; }, minutes(5)))
      << our_entry().dump();
  const std::string beat = our_entry().value("heartbeatTime", "");
  ASSERT_TRUE(run_until([&] { return our_entry().value("heartbeatTime", "") != beat; }, minutes(4)));
  edit(kube::kPdbs, "web", [](Json& pdb) { pdb["spec"]["minAvailable"] = 1; });
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(get(name).status.evictor, "eviction-api");
  ASSERT_TRUE(run_until([&] { return our_entry().contains("completionTime"); }, minutes(1))) << our_entry().dump();
  settle();
  EXPECT_EQ((*native_evictions().at(0))["status"]["targetResponders"][0]["state"], "Completed");
}

TEST_F(Responder, StopsWhenTheEvictionIsCalledOff) {
  const std::string pod = begin_as_responder();
  budget("web", "web", 3);
  request_by_alice(pod);
  ASSERT_TRUE(run_until([&] { return !evacuation_of(pod).empty(); }, seconds(10)));
  const std::string name = evacuation_of(pod);
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kRequesting; }, minutes(1)));
  withdraw_by_alice(pod);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_TRUE(pod_exists(pod));
}

TEST_F(Responder, StopsWhenTheEvictionWasDeletedDuringDowntime) {
  const std::string pod = begin_as_responder();
  budget("web", "web", 3);
  request_by_alice(pod);
  ASSERT_TRUE(run_until([&] { return !evacuation_of(pod).empty(); }, seconds(10)));
  const std::string name = evacuation_of(pod);
  stop_operator();
  ASSERT_TRUE(cluster->store().remove(kube::kEvictionRequests, {"shop", "alice-" + pod}));
  run_for(seconds(10));
  ASSERT_TRUE(native_evictions().empty());
  start_operator("replica-2");
  expect_end(name, Phase::kCancelled, "UserCancelled");
}

TEST_F(Responder, DeclinesWhenTheEvacuationFailed) {
  const std::string pod = begin_as_responder();
  budget("web", "web", 3);
  request_by_alice(pod);
  ASSERT_TRUE(run_until([&] { return !evacuation_of(pod).empty(); }, seconds(10)));
  const std::string name = evacuation_of(pod);
  cancel(name);
  ASSERT_TRUE(run_until([&] { return our_entry().contains("completionTime"); }, minutes(5))) << our_entry().dump();
  EXPECT_THAT(our_entry().value("message", ""), HasSubstr("declined"));
  EXPECT_TRUE(run_until(
      [&] { return (*native_evictions().at(0))["status"]["targetResponders"][1]["state"] == "Active"; }, minutes(1)))
      << "the next one has its turn";
}

TEST_F(Responder, DoesNotAnswerItself) {
  responders = Json::array(
      {{{"name", "evacuator.dev/responder"}, {"priority", 20000}}, {{"name", "acme.io/db"}, {"priority", 10000}}});
  responds = true;
  const std::string pod = begin(Api::kAlive, "evict=20s", {}, {"evacuator.dev/responder"});
  const std::string name = evacuate(pod);
  expect_end(name, Phase::kSucceeded, "MovedByOwner");
  EXPECT_EQ(get(name).status.evictor, "eviction-request");
  EXPECT_EQ(get(name).status.attempt, 1);
}

}  // namespace native_eviction_test
