// Tests of the suite's own tools. They need no cluster and run with `ctest`.

#include <gtest/gtest.h>

#include <csignal>

#include "test/e2e/foresight/oracle.hpp"
#include "test/e2e/harness/await.hpp"
#include "test/e2e/harness/environment.hpp"
#include "test/e2e/harness/kubectl.hpp"
#include "test/e2e/harness/process.hpp"
#include "test/e2e/peers/handoff.hpp"
#include "test/e2e/peers/hook_service.hpp"

namespace e2e {
namespace harness_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::filesystem::path temporary(const char* name) {
  return std::filesystem::path(::testing::TempDir()) / (std::string(name) + "." + std::to_string(getpid()));
}

// ---------------------------------------------------------------- process

TEST(Run, GivesOutputErrorsAndExitCode) {
  const Finished done = run({"sh", "-c", "cat; echo oops >&2; exit 3"}, "hello");
  EXPECT_EQ(done.out, "hello");
  EXPECT_EQ(done.err, "oops\n");
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_FALSE(done.ok());
}

TEST(Run, KillsAfterTheTimeout) {
  const Finished done = run({"sleep", "60"}, {}, seconds(0));
  EXPECT_TRUE(done.timed_out);
  EXPECT_EQ(done.exit_code, 128 + SIGKILL);
}

TEST(Run, SaysWhenThereIsNoSuchProgram) { EXPECT_EQ(run({"/no/such/program"}).exit_code, 127); }

TEST(Run, AddsToTheEnvironment) {
  EXPECT_EQ(run({"sh", "-c", "printf %s \"$E2E_X\""}, {}, seconds(5), {{"E2E_X", "y"}}).out, "y");
}

TEST(ProcessGroup, EndsWithItsOwner) {
  const auto log = temporary("group.log");
  {
    Process child({.argv = {"sh", "-c", "sleep 60 & echo $!; wait"}, .environment = {}, .log = log, .errors = {}});
    await(
        "the grandchild", [&](std::string&) { return read_file(log).find('\n') != std::string::npos; }, seconds(10));
  }
  const pid_t grandchild = std::stoi(read_file(log));
  EXPECT_TRUE(await(
      "the grandchild to be gone",
      [&](std::string&) {
        return ::kill(grandchild, 0) != 0 ||
               read_file("/proc/" + std::to_string(grandchild) + "/stat").find(") Z") != std::string::npos;
      },
      seconds(10)));
  std::filesystem::remove(log);
}

TEST(ProcessGroup, ReadsItsInputAndExits) {
  const auto log = temporary("input.log");
  Process child({.argv = {"sh", "-c", "read line; echo got $line; exit 5"},
                 .environment = {},
                 .log = log,
                 .errors = {},
                 .with_input = true});
  child.tell("hello");
  EXPECT_TRUE(child.wait(seconds(10)));
  EXPECT_EQ(child.exit_code(), 5);
  EXPECT_EQ(read_file(log), "got hello\n");
  std::filesystem::remove(log);
}

TEST(Await, ReportsTheLastObservation) {
  try {
    await(
        "rain",
        [](std::string& seen) {
          seen = "sun";
          return false;
        },
        milliseconds(1));
    FAIL();
  } catch (const Failure& e) {
    EXPECT_NE(std::string(e.what()).find("rain"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("sun"), std::string::npos);
  }
}

TEST(FreePort, IsNeverTheSameTwiceAndNoneThatTheKernelGivesAway) {
  std::set<std::uint16_t> ports;
  for (int i = 0; i < 50; ++i) ports.insert(free_port());
  EXPECT_EQ(ports.size(), 50U);
  EXPECT_LT(*ports.rbegin(), 20000);
}

TEST(MinorOf, ReadsTheServersVersion) {
  EXPECT_EQ(minor_of(R"({"major":"1","minor":"20","gitVersion":"v1.20.2"})"), 20);
  EXPECT_EQ(minor_of(R"({"major":"1","minor":"36+","gitVersion":"v1.36.0-gke.1"})"), 36);
  EXPECT_THROW(minor_of("no"), Failure);
}

// ---------------------------------------------------------------- kubectl tables

TEST(Table, CutsCellsAtTheTitles) {
  const auto rows = parse_table(
      "NAME   POD     NODE   LAST CYCLE   AGE\n"
      "a      web-1          5s           1m\n"
      "b-2            n-1                 2m\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0], (Row{{"NAME", "a"}, {"POD", "web-1"}, {"NODE", ""}, {"LAST CYCLE", "5s"}, {"AGE", "1m"}}));
  EXPECT_EQ(rows[1], (Row{{"NAME", "b-2"}, {"POD", ""}, {"NODE", "n-1"}, {"LAST CYCLE", ""}, {"AGE", "2m"}}));
}

TEST(Table, KnowsTheTitlesInOrder) {
  EXPECT_EQ(table_titles("NAME   LAST CYCLE   AGE\nx"), (std::vector<std::string>{"NAME", "LAST CYCLE", "AGE"}));
  EXPECT_TRUE(table_titles("").empty());
}

// ---------------------------------------------------------------- handoff operator

Json pod_with(const std::map<std::string, std::string>& annotations) {
  Json pod = {{"metadata", {{"name", "db-0"}, {"annotations", Json::object()}}}};
  for (const auto& [key, value] : annotations) pod["metadata"]["annotations"]["handoff.evacuator.dev/" + key] = value;
  return pod;
}

struct AnswerCase {
  const char* name;
  std::map<std::string, std::string> annotations;
  std::map<std::string, std::string> want;  ///< empty if no answer is expected
  bool says_ready = true;
};

class AnswerTest : public ::testing::TestWithParam<AnswerCase> {};

TEST_P(AnswerTest, SaysTheNextThing) {
  const AnswerCase& c = GetParam();
  const auto got = next_answer(pod_with(c.annotations), {.progress = {0, 50}, .says_ready = c.says_ready}, "NOW");
  if (c.want.empty()) {
    EXPECT_FALSE(got) << got->dump();
    return;
  }
  Json want = Json::object();
  for (const auto& [key, value] : c.want) want["handoff.evacuator.dev/" + key] = value;
  ASSERT_TRUE(got);
  EXPECT_EQ(got->at("metadata").at("annotations"), want);
}

INSTANTIATE_TEST_SUITE_P(
    HandoffOperator, AnswerTest,
    ::testing::Values(
        AnswerCase{"NothingUnasked", {{"mode", "required"}}, {}},
        AnswerCase{"AckFirst", {{"request", "u.1"}}, {{"ack", "u.1@NOW"}}},
        AnswerCase{"AckOfAnOldTokenDoesNotCount", {{"request", "u.2"}, {"ack", "u.1@T"}}, {{"ack", "u.2@NOW"}}},
        AnswerCase{"ThenProgress", {{"request", "u.1"}, {"ack", "u.1@T"}}, {{"progress", "u.1@0"}}},
        AnswerCase{
            "StepByStep", {{"request", "u.1"}, {"ack", "u.1@T"}, {"progress", "u.1@0"}}, {{"progress", "u.1@50"}}},
        AnswerCase{"ReadyAtTheEnd",
                   {{"request", "u.1"}, {"ack", "u.1@T"}, {"progress", "u.1@50"}},
                   {{"ready-to-evict", "u.1"}}},
        AnswerCase{"HeartbeatWhenItNeverGetsReady",
                   {{"request", "u.1"}, {"ack", "u.1@T"}, {"progress", "u.1@50"}},
                   {{"heartbeat", "u.1@NOW"}},
                   false},
        AnswerCase{"SilentOnceReady",
                   {{"request", "u.1"}, {"ack", "u.1@T"}, {"progress", "u.1@50"}, {"ready-to-evict", "u.1"}},
                   {}},
        AnswerCase{"AbortBeatsAll", {{"request", "u.1"}, {"ack", "u.1@T"}, {"abort", "u.1"}}, {{"aborted", "u.1"}}},
        AnswerCase{"SilentOnceAborted", {{"request", "u.1"}, {"abort", "u.1"}, {"aborted", "u.1"}}, {}}),
    [](const auto& test) { return std::string(test.param.name); });

// ---------------------------------------------------------------- oracles

WatchEvent revision(const std::string& pod, const std::string& phase, const char* type = "MODIFIED") {
  return {{},
          type,
          {{"metadata", {{"uid", "evac-" + pod}, {"namespace", "shop"}}},
           {"spec", {{"podRef", {{"name", pod}}}}},
           {"status", {{"phase", phase}}}}};
}

const std::map<std::string, Place> kPlaces{
    {"shop/a", {"n1", "web"}}, {"shop/b", {"n1", "web"}}, {"shop/c", {"n2", "api"}}};

TEST(Slots, CountsHoldersAfterEachRevision) {
  const auto report = count_slots({revision("a", "Pending"), revision("a", "Preparing"), revision("c", "Evicting"),
                                   revision("a", "Succeeded"), revision("b", "Requesting")},
                                  kPlaces, {.total = 2, .per_node = 1, .per_namespace = 2, .per_workload = 1});
  EXPECT_TRUE(report.violations.empty());
  EXPECT_EQ(report.most_total, 2);
  EXPECT_EQ(report.most_per_node, 1);
  EXPECT_EQ(report.most_per_namespace, 2);
  EXPECT_EQ(report.revisions, 5);
}

struct ViolationCase {
  const char* name;
  std::vector<WatchEvent> events;
  SlotLimits limits;
  std::size_t want;
};

class ViolationTest : public ::testing::TestWithParam<ViolationCase> {};

TEST_P(ViolationTest, IsFound) {
  EXPECT_EQ(count_slots(GetParam().events, kPlaces, GetParam().limits).violations.size(), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Slots, ViolationTest,
    ::testing::Values(
        ViolationCase{"Total", {revision("a", "Preparing"), revision("c", "Aborting")}, {.total = 1}, 1},
        ViolationCase{"Node", {revision("a", "Preparing"), revision("b", "InProgress")}, {.per_node = 1}, 1},
        ViolationCase{"Namespace", {revision("a", "Preparing"), revision("c", "InProgress")}, {.per_namespace = 1}, 1},
        ViolationCase{"VerifyingKeepsTheWorkloadsSlot",
                      {revision("a", "Verifying"), revision("b", "Preparing")},
                      {.per_workload = 1},
                      1},
        ViolationCase{"VerifyingFreesTheOthers",
                      {revision("a", "Verifying"), revision("b", "Preparing")},
                      {.total = 1, .per_node = 1},
                      0},
        ViolationCase{"DeletedOnesFreeTheirSlots",
                      {revision("a", "Evicting"), revision("a", "Evicting", "DELETED"), revision("b", "Evicting")},
                      {.total = 1},
                      0},
        ViolationCase{"BackoffAndPendingHoldNone",
                      {revision("a", "Backoff"), revision("b", "Pending"), revision("c", "Evicting")},
                      {.total = 1},
                      0}),
    [](const auto& test) { return std::string(test.param.name); });

PodCall eviction(const std::string& uid, int code, const std::string& user = "op") {
  return {{}, PodCall::Kind::kEvict, user, "shop", "web-1", uid, code};
}

struct MisdeedCase {
  const char* name;
  std::vector<PodCall> calls;
  std::size_t want;
};

class MisdeedTest : public ::testing::TestWithParam<MisdeedCase> {};

TEST_P(MisdeedTest, IsFound) {
  const auto found = misdeeds(GetParam().calls, "op");
  EXPECT_EQ(found.size(), GetParam().want) << (found.empty() ? "" : found.front());
}

INSTANTIATE_TEST_SUITE_P(
    Records, MisdeedTest,
    ::testing::Values(MisdeedCase{"NoneAfterRefusals", {eviction("u", 429), eviction("u", 429), eviction("u", 201)}, 0},
                      MisdeedCase{"TwoGrants", {eviction("u", 201), eviction("u", 201)}, 1},
                      MisdeedCase{"NoPrecondition", {eviction("", 429)}, 1},
                      MisdeedCase{"ADelete", {{{}, PodCall::Kind::kDelete, "op", "shop", "web-1", "u", 403}}, 1},
                      MisdeedCase{"OthersMay",
                                  {eviction("u", 201, "admin"),
                                   eviction("u", 201, "admin"),
                                   {{}, PodCall::Kind::kDelete, "admin", "shop", "w", "", 200}},
                                  0}),
    [](const auto& test) { return std::string(test.param.name); });

struct EvictionsCase {
  const char* name;
  std::vector<PodCall> calls;
  std::size_t want;
};

PodCall cut_off(const std::string& uid) {
  PodCall call = eviction(uid, 500);
  call.cut_off = true;
  return call;
}

class EvictionsTest : public ::testing::TestWithParam<EvictionsCase> {};

TEST_P(EvictionsTest, OfAAndBAreCompared) {
  EXPECT_EQ(unlike_evictions_of({"a", "b"}, GetParam().calls).size(), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Records, EvictionsTest,
    ::testing::Values(EvictionsCase{"BothGranted", {eviction("a", 429), eviction("a", 201), eviction("b", 201)}, 0},
                      EvictionsCase{"OneNeverAsked", {eviction("a", 201)}, 1},
                      EvictionsCase{"OneFailed", {eviction("a", 201), eviction("b", 500)}, 1},
                      EvictionsCase{"OneCutOffHalfWay", {eviction("a", 201), cut_off("b")}, 0},
                      EvictionsCase{"AnotherPod", {eviction("a", 201), eviction("b", 201), eviction("c", 201)}, 1}),
    [](const auto& test) { return std::string(test.param.name); });

WatchEvent pod_seen(const std::string& uid, bool ready, const char* type = "MODIFIED", bool leaving = false) {
  Json pod = {{"metadata", {{"uid", uid}, {"labels", {{"app", "web"}}}}},
              {"status", {{"conditions", Json::array({{{"type", "Ready"}, {"status", ready ? "True" : "False"}}})}}}};
  if (leaving) pod["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z";
  return {{}, type, std::move(pod)};
}

struct LeastCase {
  const char* name;
  std::vector<WatchEvent> events;
  std::optional<int> want;
};

class LeastReadyTest : public ::testing::TestWithParam<LeastCase> {};

TEST_P(LeastReadyTest, IsCountedAfterEachRevision) {
  EXPECT_EQ(least_ready(GetParam().events, "web", 2), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Pods, LeastReadyTest,
    ::testing::Values(LeastCase{"NeverEnough", {pod_seen("a", true), pod_seen("b", false)}, std::nullopt},
                      LeastCase{"FromTheFirstThatShowsEnough", {pod_seen("a", true), pod_seen("b", true)}, 2},
                      LeastCase{"ReplacedFirst",
                                {pod_seen("a", true), pod_seen("b", true), pod_seen("c", true),
                                 pod_seen("a", true, "MODIFIED", true), pod_seen("a", false, "DELETED")},
                                2},
                      LeastCase{"LeavingCountsNoMore",
                                {pod_seen("a", true), pod_seen("b", true), pod_seen("a", true, "MODIFIED", true),
                                 pod_seen("c", true)},
                                1},
                      LeastCase{
                          "UnreadyCountsNot", {pod_seen("a", true), pod_seen("b", true), pod_seen("b", false)}, 1},
                      LeastCase{"DeletedCountsNot",
                                {pod_seen("a", true), pod_seen("b", true), pod_seen("a", true, "DELETED"),
                                 pod_seen("b", true, "DELETED")},
                                0}),
    [](const auto& test) { return std::string(test.param.name); });

// ---------------------------------------------------------------- hook service

TEST(Hooks, AreNotDoneUntilReleased) {
  HookService service;
  const Api client(service.port());
  const std::string call = R"({"token":"u.1"})";
  EXPECT_EQ(client.request("POST", "/v1/hooks/pre", call).body, R"({"done":false,"retryAfterSeconds":1})");
  service.release("pre");
  EXPECT_EQ(client.request("POST", "/v1/hooks/pre", call).body, R"({"done":true})");
  EXPECT_EQ(client.request("POST", "/v1/hooks/post", call).body, R"({"done":false,"retryAfterSeconds":1})");
  EXPECT_EQ(client.request("POST", "/elsewhere", call).code, 404);
  ASSERT_EQ(service.calls("pre").size(), 2U);
  EXPECT_EQ(service.calls("pre").front().token, "u.1");
}

TEST(ParseTime, ReadsTheAuditLogsTimes) {
  const auto base = parse_time("2026-03-01T12:00:00Z");
  EXPECT_EQ(parse_time("2026-03-01T12:00:00.250000Z") - base, milliseconds(250));
  EXPECT_EQ(parse_time("2026-03-02T12:00:00Z") - base, std::chrono::hours(24));
  EXPECT_THROW(parse_time("yesterday"), Failure);
}

}  // namespace harness_test
}  // namespace e2e
