#include <gtest/gtest.h>

#include "test/builders/origin.hpp"
#include "test/unit/controllers/evacuation/phases/life.hpp"

/// onTimeout NextEvictor: which evictor may take over from which (T22: never for mode=required, never for VMs).
namespace evacuation_next_evictor_test {

using namespace evacuation_test;
using base::seconds;
using Phase = EvacuationPhase;
using Labels = std::vector<std::pair<std::string, std::string>>;
using Chain = std::vector<std::string>;

const std::pair<std::string, std::string> kBackground{"descheduler.alpha.kubernetes.io/request-evict-only", ""};
const std::pair<std::string, std::string> kDomain{"kubevirt.io/domain", "db"};
const Labels kLauncher = {{"kubevirt.io", "virt-launcher"}};
/// Strimzi was asked and does not answer.
const Annotations kRolling = {{"strimzi.io/manual-rolling-update", "true"},
                              {"evacuator.dev/evacuation-token", "e5b3.1"}};
const Labels kKafka = {{"strimzi.io/kind", "Kafka"}, {"strimzi.io/name", "log-kafka"}};

struct NextCase {
  const char* name;
  Labels labels;
  Annotations annotations;
  Chain chain;  ///< empty for the automatic choice
  std::string evictor;
  std::string adapter;
  std::string want;  ///< expected next evictor; empty if none, and the Evacuation fails
};

std::int32_t place_of(const std::string& evictor, const std::vector<api::EvictorChoice>& chain) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (chain[i].name == evictor) return static_cast<std::int32_t>(i);
  }
  return -1;
}

/// Returns a Life in its first attempt whose total timeout has expired.
Life overdue(const NextCase& c) {
  api::Pod pod = make_pod(c.annotations);
  pod.meta.labels = api::StringMap(Labels(c.labels));
  Life life(make_evacuation(), std::move(pod));
  life.seen.services = {"mover"};
  life.spec().on_timeout = api::OnTimeout::kNextEvictor;
  for (const auto& name : c.chain) {
    life.spec().evictors.push_back({name, {}});
    if (name == "webhook") life.spec().evictors.back().parameters = {{"service", "mover"}};
  }
  api::EvacuationStatus& status = life.status();
  status.phase = Phase::kInProgress;
  status.attempt = 1;
  status.token = "e5b3.1";
  status.evictor = c.evictor;
  status.adapter = c.adapter;
  status.evictor_index = place_of(c.evictor, life.registry().chain(life.spec().evictors));
  status.phase_entered_at = status.in_progress_since = status.request_sent_at = kNoon;
  status.deadline = kNoon + seconds(60);
  life.advance(seconds(61));
  return life;
}

class NextEvictor : public testing::TestWithParam<NextCase> {};

TEST_P(NextEvictor, IsOneThatMayTakeOverFromTheFirst) {
  Life life = overdue(GetParam());
  const auto chain = life.registry().chain(life.spec().evictors);
  const std::int32_t before = life.status().evictor_index;
  ASSERT_GE(before, 0);
  const controllers::evacuation::Decision decision =
      controllers::evacuation::decide(life.seen, life.registry(), life.now);
  const auto& status = decision.status;
  EXPECT_EQ(status.reason, "ProgressTimeout");
  const Phase leads_to = status.abort ? status.abort->next : status.phase;
  if (GetParam().want.empty()) {
    EXPECT_EQ(leads_to, Phase::kFailed);
    EXPECT_EQ(status.evictor_index, before);
    EXPECT_NE(status.message.find("no other evictor is available"), std::string::npos) << status.message;
  } else {
    EXPECT_NE(leads_to, Phase::kFailed) << status.message;
    EXPECT_EQ(chain.at(static_cast<std::size_t>(status.evictor_index)).name, GetParam().want);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Chains, NextEvictor,
    testing::Values(
        NextCase{
            "VmIsNotHandedToTheBackgroundProtocol", kLauncher, {kDomain, kBackground}, {}, "kubevirt", "eviction", ""},
        NextCase{"VmWithoutTheBackgroundMarkIsNotEvictedEither", kLauncher, {kDomain}, {}, "kubevirt", "eviction", ""},
        NextCase{"VmStaysEvenIfTheChainNamesAnnotation",
                 kLauncher,
                 {kDomain, kBackground},
                 {"kubevirt", "annotation"},
                 "kubevirt",
                 "migration",
                 ""},
        NextCase{"VmStaysEvenIfTheChainNamesEvictionApi",
                 kLauncher,
                 {kDomain},
                 {"kubevirt", "eviction-api"},
                 "kubevirt",
                 "eviction",
                 ""},
        NextCase{"VmThatLostItsLabelsStays", {}, {kDomain}, {}, "kubevirt", "eviction", ""},
        NextCase{"VmMayGoToAServiceThatIsNamed",
                 kLauncher,
                 {kDomain},
                 {"kubevirt", "webhook"},
                 "kubevirt",
                 "eviction",
                 "webhook"},
        NextCase{"VmDoesNotSlipThroughAServiceToAnEviction",
                 kLauncher,
                 {kDomain},
                 {"kubevirt", "webhook", "eviction-api"},
                 "webhook",
                 "mover",
                 ""},
        NextCase{"RequiredHandoffStays", {}, {handoff("mode", "required")}, {}, "annotation", "generic", ""},
        NextCase{"HandoffOfUnknownModeStays", {}, {}, {}, "annotation", "generic", ""},
        NextCase{
            "OptionalHandoffIsEvicted", {}, {handoff("mode", "optional")}, {}, "annotation", "generic", "eviction-api"},
        NextCase{"RequiredHandoffStaysEvenIfTheChainNamesEvictionApi",
                 {},
                 {handoff("mode", "required")},
                 {"stateful-handoff", "eviction-api"},
                 "stateful-handoff",
                 "generic",
                 ""},
        NextCase{"PodOfAnAdapterStays", kKafka, kRolling, {}, "stateful-handoff", "strimzi", ""},
        NextCase{"PodOfAnAdapterStaysEvenIfTheChainNamesEvictionApi",
                 kKafka,
                 kRolling,
                 {"stateful-handoff", "eviction-api"},
                 "stateful-handoff",
                 "strimzi",
                 ""},
        NextCase{"PodOfAnAdapterThatLostItsLabelsStays", {}, kRolling, {}, "stateful-handoff", "strimzi", ""},
        NextCase{"PodWithoutAdapterMayBeEvicted",
                 {},
                 {},
                 {"stateful-handoff", "eviction-api"},
                 "stateful-handoff",
                 "none",
                 "eviction-api"},
        NextCase{"PodMovedInTheBackgroundStays", {}, {kBackground}, {}, "annotation", "background", ""},
        NextCase{"PlainPodGoesFromAServiceToAnEviction",
                 {},
                 {},
                 {"webhook", "eviction-api"},
                 "webhook",
                 "mover",
                 "eviction-api"},
        NextCase{"RequiredHandoffStaysThoughTheChainLeavesItsOwnerOut",
                 {},
                 {handoff("mode", "required")},
                 {"webhook", "eviction-api"},
                 "webhook",
                 "mover",
                 ""},
        NextCase{"RequiredHandoffIsNotForAServiceToDecide",
                 {},
                 {handoff("mode", "required")},
                 {"annotation", "webhook"},
                 "annotation",
                 "generic",
                 ""},
        NextCase{"OptionalHandoffMayBeEvictedByAChainThatLeavesItsOwnerOut",
                 {},
                 {handoff("mode", "optional")},
                 {"webhook", "eviction-api"},
                 "webhook",
                 "mover",
                 "eviction-api"},
        NextCase{"TheLastOfTheChainHasNone", {}, {}, {"eviction-api", "webhook"}, "webhook", "mover", ""}),
    [](const auto& test) { return test.param.name; });

TEST(NextEvictorMessage, WaitsBrieflyAfterARefusedCall) {
  Life life = overdue({"", {}, {}, {"stateful-handoff", "eviction-api"}, "stateful-handoff", "none", ""});
  life.status().last_response = api::LastResponse{};
  life.status().last_response->code = 429;
  life.status().last_response->time = life.now;
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kBackoff);
  EXPECT_EQ(life.status().next_action_at, life.now + base::milliseconds(200));
}

TEST(NextEvictorMessage, NamesTheEvictorThatDecides) {
  Life life = overdue({"", kLauncher, {kDomain}, {"kubevirt", "eviction-api"}, "kubevirt", "eviction", ""});
  const auto decision = controllers::evacuation::decide(life.seen, life.registry(), life.now);
  EXPECT_NE(decision.status.message.find(
                "eviction-api: only the pod's owner releases it, which must be requested by kubevirt"),
            std::string::npos)
      << decision.status.message;
}

TEST(NextEvictorMessage, SaysThatNoAttemptIsLeft) {
  Life life = overdue({"", {}, {handoff("mode", "optional")}, {}, "annotation", "generic", ""});
  life.spec().retry.max_attempts = 1;
  const auto decision = controllers::evacuation::decide(life.seen, life.registry(), life.now);
  EXPECT_NE(decision.status.message.find("no attempt remains"), std::string::npos) << decision.status.message;
}

TEST(NextEvictor, NoEvictionOfTikvUnderOperatorV2WithAShorterGracePeriod) {
  for (const bool named : {false, true}) {
    Life life;
    api::Pod pod = make_pod();
    pod.meta.labels = api::StringMap({{"app.kubernetes.io/component", "tikv"},
                                      {"app.kubernetes.io/managed-by", "tidb-operator"},
                                      {"pingcap.com/component", "tikv"},
                                      {"pingcap.com/managed-by", "tidb-operator"}});
    life.set_pod(pod);
    if (named) life.spec().evictors = {{"stateful-handoff", {}}, {"eviction-api", {}}};
    life.spec().grace_period_seconds = 30;
    life.tick();
    EXPECT_EQ(life.phase(), EvacuationPhase::kFailed);
    EXPECT_EQ(life.status().reason, "NotEvictable");
    EXPECT_NE(life.status().message.find("spec.gracePeriodSeconds would stop TiKV"), std::string::npos)
        << life.status().message;
  }
}

/// GET deschedulerpolicies/safe fails once with 500 while the evictor is chosen.
TEST(NextEvictor, NoPlainEvictionWhileThePolicysHooksCannotBeRead) {
  for (const bool is_broker : {true, false}) {
    Life life;
    api::Pod pod = make_pod();
    if (is_broker) pod.meta.labels = api::StringMap(Labels(kKafka));
    life.set_pod(pod);
    builders::set_policy(life.seen.evacuation, "safe");
    life.spec().evictors = {{"stateful-handoff", {}}, {"eviction-api", {}}};
    life.seen.documents["stateful-handoff"] = {{"policy", 500, "etcdserver: leader changed"}};
    life.tick();
    EXPECT_EQ(life.phase(), Phase::kPreparing);
    EXPECT_EQ(life.last.status.evictor, "") << "neither is chosen";
    life.seen.documents["stateful-handoff"] = {
        {"policy", 200, R"({"kind":"DeschedulerPolicy","metadata":{"name":"safe"},"spec":{}})"}};
    life.advance(seconds(10));
    life.tick();
    EXPECT_EQ(life.last.status.evictor, is_broker ? "stateful-handoff" : "eviction-api") << life.last.status.message;
  }
}

/// A policy that cannot be read at the deadline ends only the attempt. The pod stays.
TEST(NextEvictor, IsLookedForAgainWhereOneIsHeldUp) {
  for (const bool last_attempt : {false, true}) {
    Life life;
    builders::set_policy(life.seen.evacuation, "safe");
    life.spec().evictors = {{"annotation", {}}, {"stateful-handoff", {}}, {"eviction-api", {}}};
    life.spec().on_timeout = api::OnTimeout::kNextEvictor;
    life.spec().retry.max_attempts = last_attempt ? 2 : 3;
    auto& status = life.status();
    status.phase = Phase::kPreparing;
    status.attempt = 1;
    status.token = "e5b3.1";
    status.evictor = "annotation";
    status.adapter = "generic";
    status.phase_entered_at = kNoon;
    status.deadline = kNoon + seconds(60);
    life.set_pod(make_pod({handoff("mode", "optional")}));
    const auto wanted = controllers::evacuation::wanted_reads(life.seen, life.registry(), life.now);
    EXPECT_TRUE(wanted.contains("stateful-handoff")) << "its policy is read in Preparing, too";
    life.seen.documents["stateful-handoff"] = {{"policy", 500, "etcdserver: leader changed"}};
    life.status().phase = Phase::kInProgress;
    life.status().in_progress_since = life.status().request_sent_at = kNoon;
    life.advance(seconds(61));
    const auto decision = controllers::evacuation::decide(life.seen, life.registry(), life.now);
    const Phase leads_to = decision.status.abort ? decision.status.abort->next : decision.status.phase;
    EXPECT_EQ(leads_to, Phase::kBackoff) << decision.status.message;
    EXPECT_NE(decision.status.message.find("no other evictor is available"), std::string::npos);
  }
}

}  // namespace evacuation_next_evictor_test
