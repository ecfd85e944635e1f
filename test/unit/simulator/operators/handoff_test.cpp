#include "simulator/operators/handoff_script.hpp"

#include "api/meta/well_known.hpp"
#include "simulator/operators/background_protocol.hpp"
#include "simulator/registry/registry.hpp"
#include "test/unit/simulator/world.hpp"

namespace simulator {
namespace handoff_test {

using api::Json;
namespace names = api::well_known;

// --- scripts

struct ParseCase {
  const char* name;
  const char* text;
  const char* want_error;  ///< Empty if the script is valid
};
class HandoffScriptParse : public testing::TestWithParam<ParseCase> {};

TEST_P(HandoffScriptParse, ReadsOrExplains) {
  const auto script = HandoffScript::parse(GetParam().text);
  EXPECT_EQ(script ? "" : script.error().message, GetParam().want_error);
}

INSTANTIATE_TEST_SUITE_P(
    Handoff, HandoffScriptParse,
    testing::Values(
        ParseCase{"Empty", "", ""}, ParseCase{"Usual", "ack=1s, heartbeat=10s,progress=2s , ready=20s", ""},
        ParseCase{"Flags", "stale-token, answers-after-abort, unchanged-heartbeat, skew=-10m, silent-after=ack", ""},
        ParseCase{"PlainSeconds", "ack=0.5", ""}, ParseCase{"TrailingComma", "ack=1s,", ""},
        ParseCase{"UnknownWord", "akc=1s", "handoff script: \"akc\" is no word of a handoff script"},
        ParseCase{"BadTime", "ready=soon", "handoff script: ready: \"soon\" is no duration, such as 2s or 1m30s"},
        ParseCase{"NegativeTime", "ready=-1s", "handoff script: ready: \"-1s\" is no duration, such as 2s or 1m30s"},
        ParseCase{"BadSkew", "skew=x", "handoff script: skew: \"x\" is no duration, such as -10m"}),
    [](const auto& test) { return test.param.name; });

TEST(HandoffScriptTest, ParsesTheFailure) {
  const auto script = HandoffScript::parse("failed=15s:RetryableBusy:disk full: 99 %");
  ASSERT_TRUE(script.ok());
  EXPECT_EQ(script->failed, base::Duration(seconds(15)));
  EXPECT_EQ(script->fail_reason, "RetryableBusy");
  EXPECT_EQ(script->fail_message, "disk full: 99 %");
}

// --- decisions by second

/// Expected answers of the operator to a request made at 0 s, as "<second> <key>=<value>". T stands for the token.
struct DecideCase {
  const char* name;
  const char* script;
  std::string phase;  ///< request-phase. "pre+5" becomes migrate after 5 s.
  int abort_at;       ///< -1 for never
  int until;
  std::vector<std::string> want;
};

std::string shortened(std::string key, std::string value) {
  key.erase(0, std::string_view(names::kHandoffPrefix).size());
  if (const auto at = value.find("uid-1.2"); at != std::string::npos) value.replace(at, 7, "T");
  if (const auto at = value.find("2026-11-21T12:"); at != std::string::npos)
    value = value.substr(0, at) + value.substr(at + 14, 5);
  return key + "=" + value;
}

class HandoffDecide : public testing::TestWithParam<DecideCase> {};

TEST_P(HandoffDecide, AnswersAsListed) {
  const DecideCase& c = GetParam();
  const HandoffScript script = *HandoffScript::parse(c.script);
  const base::TimePoint start = *base::parse_time("2026-11-21T12:30:00Z");
  HandoffMemory memory;
  std::vector<std::string> said;
  for (int second = 0; second <= c.until; ++second) {
    api::StringMap annotations{{std::string(names::kHandoffRequest), "uid-1.2"},
                               {std::string(names::kHandoffRequestPhase), c.phase.substr(0, c.phase.find('+'))}};
    if (c.phase == "pre+5" && second >= 5) annotations = annotations.with(names::kHandoffRequestPhase, "migrate");
    if (c.abort_at >= 0 && second >= c.abort_at) annotations = annotations.with(names::kHandoffAbort, "uid-1.2");
    const HandoffStep step = handoff_decide(script, annotations, memory, start + seconds(second));
    for (const auto& [key, value] : step.annotations)
      said.push_back(std::to_string(second) + " " + shortened(key, value.value_or("(removed)")));
    if (step.delete_pod) said.push_back(std::to_string(second) + " delete");
    EXPECT_TRUE(!step.due || *step.due > start + seconds(second)) << "a due time in the past would never end";
  }
  EXPECT_EQ(said, c.want);
}

INSTANTIATE_TEST_SUITE_P(
    Handoff, HandoffDecide,
    testing::Values(
        DecideCase{"NothingWithoutAScript", "", "migrate", -1, 60, {}},
        DecideCase{"Plain", "ack=1s, ready=3s", "migrate", -1, 60, {"1 ack=T@30:01", "3 ready-to-evict=T"}},
        DecideCase{"NoAckNoReady", "ready=3s", "migrate", -1, 60, {}},
        DecideCase{"Heartbeats",
                   "ack=0s, heartbeat=4s",
                   "migrate",
                   -1,
                   9,
                   {"0 ack=T@30:00", "4 heartbeat=T@30:04", "8 heartbeat=T@30:08"}},
        DecideCase{"FrozenHeartbeat",
                   "ack=0s, heartbeat=4s, unchanged-heartbeat",
                   "migrate",
                   -1,
                   9,
                   {"0 ack=T@30:00", "4 heartbeat=T@30:04", "8 heartbeat=T@30:04"}},
        DecideCase{"Progress",
                   "ack=0s, progress=2s, ready=4s",
                   "migrate",
                   -1,
                   20,
                   {"0 ack=T@30:00", "2 expected-completion=T@30:04", "2 progress=T@50",
                    "4 expected-completion=T@30:04", "4 progress=T@100", "4 progress=T@100", "4 ready-to-evict=T"}},
        DecideCase{"ProgressWithoutAnEnd",
                   "ack=0s, progress=5s",
                   "migrate",
                   -1,
                   10,
                   {"0 ack=T@30:00", "5 progress=T@10", "10 progress=T@20"}},
        DecideCase{"PrePhase",
                   "ack=1s, pre-done=2s, ready=3s",
                   "pre+5",
                   -1,
                   20,
                   {"1 ack=T@30:01", "2 pre-done=T", "8 ready-to-evict=T"}},
        DecideCase{"PreOnly", "ack=1s, pre-done=2s, ready=3s", "pre", -1, 20, {"1 ack=T@30:01", "2 pre-done=T"}},
        DecideCase{"Revokes",
                   "ack=0s, ready=2s, revoke=3s",
                   "migrate",
                   -1,
                   20,
                   {"0 ack=T@30:00", "2 ready-to-evict=T", "5 ready-to-evict=(removed)"}},
        DecideCase{"Fails",
                   "ack=0s, failed=2s:RetryableBusy:disk full",
                   "migrate",
                   -1,
                   20,
                   {"0 ack=T@30:00", "2 failed=T:RetryableBusy:disk full"}},
        DecideCase{
            "ConfirmsAnAbort", "ack=1s, ready=30s, aborted=2s", "migrate", 5, 60, {"1 ack=T@30:01", "7 aborted=T"}},
        DecideCase{"IgnoresAnAbort", "ack=1s, ready=8s", "migrate", 5, 60, {"1 ack=T@30:01"}},
        DecideCase{"AnswersAfterAbort",
                   "ack=6s, ready=8s, aborted=1s, answers-after-abort",
                   "migrate",
                   2,
                   60,
                   {"3 aborted=T", "6 ack=T@30:06", "8 ready-to-evict=T"}},
        DecideCase{"StaleToken",
                   "ack=1s, ready=2s, stale-token",
                   "migrate",
                   -1,
                   60,
                   {"1 ack=uid-1.1@30:01", "2 ready-to-evict=uid-1.1"}},
        DecideCase{"ClockSkew", "ack=1s, skew=-10m", "migrate", -1, 60, {"1 ack=T@20:01"}},
        DecideCase{"OwnerDeletes", "ack=1s, owner-deletes=4s", "migrate", -1, 60, {"1 ack=T@30:01", "4 delete"}},
        DecideCase{"SilentAfterAck",
                   "ack=1s, heartbeat=1s, ready=4s, aborted=1s, silent-after=ack",
                   "migrate",
                   20,
                   60,
                   {"1 ack=T@30:01"}},
        DecideCase{"SilentAfterThreeAnswers",
                   "ack=1s, heartbeat=2s, ready=20s, silent-after=3",
                   "migrate",
                   -1,
                   60,
                   {"1 ack=T@30:01", "2 heartbeat=T@30:02", "4 heartbeat=T@30:04"}}),
    [](const auto& test) { return test.param.name; });

TEST(HandoffDecideTest, ANewTokenStartsOver) {
  const HandoffScript script = *HandoffScript::parse("ack=0s");
  HandoffMemory memory;
  const auto annotations = [](const char* token) {
    return api::StringMap{{std::string(names::kHandoffRequest), token}};
  };
  EXPECT_EQ(handoff_decide(script, annotations("u.1"), memory, {}).annotations.size(), 1U);
  EXPECT_EQ(handoff_decide(script, annotations("u.1"), memory, {}).annotations.size(), 0U);
  EXPECT_EQ(handoff_decide(script, annotations("u.2"), memory, {}).annotations.size(), 1U);
}

TEST(HandoffDecideTest, WritesAGuardedMergePatch) {
  HandoffStep step;
  step.annotations = {{"handoff.evacuator.dev/ack", "u.1@x"}, {"handoff.evacuator.dev/ready-to-evict", std::nullopt}};
  EXPECT_EQ(
      handoff_merge_patch(step, "uid-9"),
      Json::parse(
          R"({"metadata":{"uid":"uid-9","annotations":{"handoff.evacuator.dev/ack":"u.1@x","handoff.evacuator.dev/ready-to-evict":null}}})"));
}

// --- in the cluster

void add_database(World& world, const char* script) {
  world.add_nodes(1);
  Json db = objects::stateful_set("shop", "db", 1, "100m", "64Mi");
  objects::annotate_pods(db, names::kHandoffMode, "required");
  if (script) objects::annotate_pods(db, behaviour::kHandoff, script);
  world.add(db);
  world.advance(seconds(5));
}

std::string answer(World& world, std::string_view key) {
  return api::text_at(*world.pod("db-0"), {"metadata", "annotations", key});
}

TEST(HandoffOperatorTest, AnswersOnThePod) {
  World world;
  add_database(world, "ack=1s, heartbeat=10s, ready=20s");
  world.annotate(kube::kPods, "shop", "db-0", names::kHandoffRequest, "e-1.1");
  world.advance(seconds(1));
  EXPECT_EQ(answer(world, names::kHandoffAck), "e-1.1@2026-11-21T12:00:06Z");
  EXPECT_EQ(answer(world, names::kHandoffReadyToEvict), "");
  world.advance(seconds(19));
  EXPECT_EQ(answer(world, names::kHandoffReadyToEvict), "e-1.1");
  EXPECT_EQ(answer(world, names::kHandoffHeartbeat), "e-1.1@2026-11-21T12:00:25Z");
}

TEST(HandoffOperatorTest, StopsAnsweringWhenTheRequestIsWithdrawn) {
  World world;
  add_database(world, "ack=1s, heartbeat=1s");
  world.annotate(kube::kPods, "shop", "db-0", names::kHandoffRequest, "e-1.1");
  world.advance(seconds(5));
  world.unannotate(kube::kPods, "shop", "db-0", names::kHandoffRequest);
  const std::string last = answer(world, names::kHandoffHeartbeat);
  world.advance(seconds(30));
  EXPECT_EQ(answer(world, names::kHandoffHeartbeat), last);
}

TEST(HandoffOperatorTest, MayDeleteThePodItself) {
  World world;
  add_database(world, "ack=1s, owner-deletes=5s");
  const std::string before = uid_of(*world.pod("db-0"));
  world.annotate(kube::kPods, "shop", "db-0", names::kHandoffRequest, "e-1.1");
  world.advance(seconds(10));
  EXPECT_NE(uid_of(*world.pod("db-0")), before);
  EXPECT_EQ(answer(world, names::kHandoffAck), "") << "the successor knows nothing of it";
}

TEST(HandoffOperatorTest, UsesTheClustersScriptForPodsWithoutOne) {
  ClusterOptions options;
  options.handoff_script = "ack=2s";
  World world(options);
  add_database(world, nullptr);
  world.annotate(kube::kPods, "shop", "db-0", names::kHandoffRequest, "e-1.1");
  world.advance(seconds(2));
  EXPECT_NE(answer(world, names::kHandoffAck), "");
}

TEST(HandoffOperatorTest, ReportsAnInvalidScript) {
  World world;
  add_database(world, "akc=1s");
  world.annotate(kube::kPods, "shop", "db-0", names::kHandoffRequest, "e-1.1");
  world.advance(seconds(2));
  EXPECT_EQ(answer(world, names::kHandoffAck), "");
}

TEST(HandoffOperatorTest, IgnoresAPodWithoutAnOperator) {
  World world;
  add_database(world, nullptr);
  world.annotate(kube::kPods, "shop", "db-0", names::kHandoffRequest, "e-1.1");
  world.advance(minutes(5));
  EXPECT_EQ(answer(world, names::kHandoffAck), "");
}

// --- upstream's background protocol

std::optional<Denial> ask_to_evict(World& world, const std::string& pod, bool dry_run = false) {
  const User user;
  ServedResource resource;
  resource.plural = "pods";
  const AdmissionRequest request{user, "create", resource, "eviction", {"shop", pod}, nullptr, nullptr, dry_run};
  return background_webhook(world.cluster.store()).review(request);
}

void add_machine(World& world, const char* intention) {
  world.add_nodes(2);
  Json vm = objects::replica_set("shop", "vm", 1, "100m", "64Mi");
  objects::annotate_pods(vm, names::kRequestEvictOnly, "");
  if (intention) objects::annotate_pods(vm, behaviour::kBackground, intention);
  world.add(vm);
  world.advance(seconds(5));
}

TEST(BackgroundProtocolTest, AnswersMarksAndMoves) {
  World world;
  add_machine(world, "move=10s");
  const std::string pod = world.pod_names().front();
  const auto first = ask_to_evict(world, pod);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->code, 429);
  EXPECT_EQ(first->message, "Eviction triggered evacuation of pod \"shop/" + pod + "\"");
  EXPECT_TRUE(behaviour::is_set(*world.pod(pod), names::kEvictionInProgress));
  const auto second = ask_to_evict(world, pod);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->message, "Evacuation in progress: Eviction triggered evacuation of pod \"shop/" + pod + "\"");
  world.advance(seconds(9));
  EXPECT_TRUE(world.pod(pod));
  world.advance(seconds(10));
  EXPECT_FALSE(world.pod(pod));
  EXPECT_EQ(world.ready_pods(), 1);
}

TEST(BackgroundProtocolTest, AFailureRemovesTheMark) {
  World world;
  add_machine(world, "fail=5s");
  const std::string pod = world.pod_names().front();
  ASSERT_TRUE(ask_to_evict(world, pod));
  world.advance(seconds(5));
  ASSERT_TRUE(world.pod(pod));
  EXPECT_FALSE(behaviour::is_set(*world.pod(pod), names::kEvictionInProgress));
  EXPECT_TRUE(ask_to_evict(world, pod)) << "it may be asked again";
}

TEST(BackgroundProtocolTest, ASilentOwnerNeverFinishes) {
  World world;
  add_machine(world, "silent");
  const std::string pod = world.pod_names().front();
  ASSERT_TRUE(ask_to_evict(world, pod));
  world.advance(minutes(30));
  EXPECT_TRUE(behaviour::is_set(*world.pod(pod), names::kEvictionInProgress));
}

TEST(BackgroundProtocolTest, ADryRunMarksNothing) {
  World world;
  add_machine(world, nullptr);
  const std::string pod = world.pod_names().front();
  EXPECT_TRUE(ask_to_evict(world, pod, true));
  EXPECT_FALSE(behaviour::is_set(*world.pod(pod), names::kEvictionInProgress));
}

TEST(BackgroundProtocolTest, OtherPodsAreIgnored) {
  World world;
  world.add_nodes(1);
  world.add(objects::pod("shop", "plain", "", ""));
  world.advance(seconds(5));
  EXPECT_FALSE(ask_to_evict(world, "plain"));
  EXPECT_FALSE(ask_to_evict(world, "missing"));
}

}  // namespace handoff_test
}  // namespace simulator
