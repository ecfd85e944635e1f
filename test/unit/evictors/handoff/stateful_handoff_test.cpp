#include "evictors/handoff/stateful_handoff.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "evictors/handoff/adapter.hpp"
#include "test/unit/evictors/objects.hpp"

/// The evictor stateful-handoff and its adapters that are driven by annotations on the pod.
namespace stateful_handoff_test {

using namespace evictors_test;
using api::EvacuationPhase;
using evictors::NextMove;
using evictors::ResponseClass;
using evictors::Rollback;
using evictors::Support;
using evictors::handoff::StatefulHandoff;

using Strings = std::vector<std::pair<std::string, std::string>>;

const std::string kRoll = "strimzi.io/manual-rolling-update";
const std::string kTokenKey = "evacuator.dev/evacuation-token";
const std::string kStarted = "drain.planetscale.com/started";
const std::string kAcknowledged = "drain.planetscale.com/acknowledged";
const std::string kFinished = "drain.planetscale.com/finished";

api::Pod labelled(Strings labels, Strings annotations = {}) {
  api::Pod result = pod(std::move(annotations));
  result.meta.labels = api::StringMap(std::move(labels));
  return result;
}

api::Pod kafka(Strings annotations = {}) {
  return labelled({{"strimzi.io/kind", "Kafka"}, {"strimzi.io/name", "my-kafka"}}, std::move(annotations));
}
api::Pod tablet(Strings annotations = {}) {
  annotations.emplace_back("drain.planetscale.com/supported", "");
  return pod(std::move(annotations));
}

/// Pod as tidb-operator v2 creates it, with the labels of v1 in addition to its own.
api::Pod tikv_v2(const char* component = "tikv") {
  return labelled({{"app.kubernetes.io/component", component},
                   {"app.kubernetes.io/managed-by", "tidb-operator"},
                   {"pingcap.com/component", component},
                   {"pingcap.com/managed-by", "tidb-operator"}});
}

api::Evacuation with_adapter(const char* adapter, EvacuationPhase phase) {
  auto of = evacuation(phase);
  of.status.evictor = "stateful-handoff";
  of.status.adapter = adapter;
  return of;
}

api::Json patched_annotations(const evictors::EvictionStep& plan) {
  return plan.action ? api::Json::parse(plan.action->request.body)["metadata"]["annotations"] : api::Json();
}

struct CapacityCase {
  const char* name;
  api::Pod target;
  bool wants_capacity;
};
class HandoffCapacity : public testing::TestWithParam<CapacityCase> {};

TEST_P(HandoffCapacity, IsNeededByOwnersThatStartASurgePod) {
  auto of = evacuation(EvacuationPhase::kPending);
  of.spec.evictors = {{"stateful-handoff", {}}};
  EXPECT_EQ(StatefulHandoff().needs_capacity(context(of, GetParam().target)), GetParam().wants_capacity);
}

const std::pair<std::string, std::string> kModeRequired{"handoff.evacuator.dev/mode", "required"};

INSTANTIATE_TEST_SUITE_P(
    Pods, HandoffCapacity,
    testing::Values(CapacityCase{"Strimzi", kafka(), false}, CapacityCase{"Vitess", tablet(), false},
                    CapacityCase{"Couchbase", labelled({{"app", "couchbase"}, {"couchbase_cluster", "cb"}}), true},
                    CapacityCase{"Generic", pod({kModeRequired}), false},
                    CapacityCase{"GenericThatSaysSo",
                                 pod({kModeRequired, {"handoff.evacuator.dev/second-copy", "true"}}), true},
                    CapacityCase{"NobodysPod", pod(), false}),
    [](const auto& test) { return test.param.name; });

std::string adapter_by_itself(const api::Pod& of) {
  auto phase = evacuation(EvacuationPhase::kPreparing);
  phase.spec.evictors = {{"stateful-handoff", {}}};
  const auto probe = StatefulHandoff().probe(context(phase, of));
  return probe.support == Support::kSupported ? probe.adapter : "unsupported";
}

evictors::CallResult denial(int code, const std::string& text) {
  return kube::Response{
      code,
      R"({"kind":"Status","status":"Failure","message":"admission webhook \"h\" denied the request: )" + text + R"("})",
      {},
      ""};
}

// --- choice of the adapter

struct AdapterRow {
  const char* what;
  api::Pod target;
  const char* adapter;
};

void expect_adapters(const std::vector<AdapterRow>& rows) {
  for (const AdapterRow& row : rows) EXPECT_EQ(adapter_by_itself(row.target), row.adapter) << row.what;
}

TEST(HandoffAdapterChoice, FollowsLabelsAndAnnotationsOfThePod) {
  expect_adapters({
      {"our protocol before all others",
       labelled({{"strimzi.io/kind", "Kafka"}, {"strimzi.io/name", "a-kafka"}}, {handoff("mode", "required")}),
       "generic"},
      {"kafka", kafka(), "strimzi"},
      {"zookeeper", labelled({{"strimzi.io/kind", "Kafka"}, {"strimzi.io/name", "a-zookeeper"}}), "strimzi"},
      {"a name that is only the suffix", labelled({{"strimzi.io/kind", "Kafka"}, {"strimzi.io/name", "-kafka"}}),
       "unsupported"},
      {"another Strimzi kind", labelled({{"strimzi.io/kind", "KafkaConnect"}, {"strimzi.io/name", "a-kafka"}}),
       "unsupported"},
      {"Couchbase of the operator", labelled({{"app", "couchbase"}, {"couchbase_cluster", "cb"}}), "couchbase"},
      {"somebody's own Couchbase", labelled({{"app", "couchbase"}}), "unsupported"},
      {"Vitess", tablet(), "vitess"},
      {"TiKV of operator v2, as its newPod labels it", tikv_v2(), "tikv-v2"},
      {"TiKV of operator v2 without the recommended labels",
       labelled({{"pingcap.com/component", "tikv"}, {"pingcap.com/managed-by", "tidb-operator"}}), "tikv-v2"},
      {"TiKV of operator v2 without its own label of the manager",
       labelled({{"pingcap.com/component", "tikv"}, {"app.kubernetes.io/managed-by", "tidb-operator"}}), "tikv-v2"},
      {"PD of operator v2", tikv_v2("pd"), "unsupported"},
      {"TiKV", labelled({{"app.kubernetes.io/component", "tikv"}, {"app.kubernetes.io/managed-by", "tidb-operator"}}),
       "tikv"},
      {"TiKV by hand", labelled({{"app.kubernetes.io/component", "tikv"}}), "unsupported"},
      {"anything else", pod(), "unsupported"},
  });
}

TEST(HandoffAdapterChoice, FollowsLabelsOfPostgresPods) {
  expect_adapters({
      {"CloudNativePG replica", labelled({{"cnpg.io/cluster", "pg"}, {"cnpg.io/instanceRole", "replica"}}),
       "cloudnative-pg"},
      {"CloudNativePG primary without opt-in",
       labelled({{"cnpg.io/cluster", "pg"}, {"cnpg.io/instanceRole", "primary"}}), "unsupported"},
      {"CloudNativePG replica of 1.20", labelled({{"cnpg.io/cluster", "pg"}, {"role", "replica"}}), "cloudnative-pg"},
      {"CloudNativePG instance between roles", labelled({{"cnpg.io/cluster", "pg"}, {"cnpg.io/podRole", "instance"}}),
       "cloudnative-pg"},
      {"CloudNativePG pooler",
       labelled({{"cnpg.io/cluster", "pg"}, {"cnpg.io/podRole", "pooler"}, {"cnpg.io/poolerName", "rw"}}),
       "unsupported"},
      {"CloudNativePG pooler of an older version", labelled({{"cnpg.io/cluster", "pg"}, {"cnpg.io/poolerName", "rw"}}),
       "unsupported"},
      {"CloudNativePG Job",
       labelled({{"cnpg.io/cluster", "pg"}, {"cnpg.io/jobRole", "join"}, {"cnpg.io/instanceName", "pg-2"}}),
       "unsupported"},
      {"a pod that only names its CloudNativePG cluster", labelled({{"cnpg.io/cluster", "pg"}}), "unsupported"},
      {"EDB replica",
       labelled({{"k8s.enterprisedb.io/cluster", "pg"}, {"k8s.enterprisedb.io/instanceRole", "replica"}}),
       "cloudnative-pg"},
      {"EDB pooler", labelled({{"k8s.enterprisedb.io/cluster", "pg"}, {"k8s.enterprisedb.io/poolerName", "rw"}}),
       "unsupported"},
      {"Zalando member between roles", labelled({{"cluster-name", "pg"}, {"application", "spilo"}}), "patroni"},
      {"Zalando pooler",
       labelled({{"cluster-name", "pg"}, {"spilo-role", "master"}, {"connection-pooler", "pg-pooler"}}), "unsupported"},
      {"Zalando backup Job",
       labelled({{"cluster-name", "pg"}, {"application", "spilo"}, {"job-name", "logical-backup"}}), "unsupported"},
      {"somebody's cluster-name", labelled({{"cluster-name", "pg"}}), "unsupported"},
      {"PGO instance between roles",
       labelled({{"postgres-operator.crunchydata.com/cluster", "pg"},
                 {"postgres-operator.crunchydata.com/instance", "pg-a"},
                 {"postgres-operator.crunchydata.com/data", "postgres"}}),
       "pgo"},
      {"PGO pgBouncer",
       labelled({{"postgres-operator.crunchydata.com/cluster", "pg"},
                 {"postgres-operator.crunchydata.com/role", "pgbouncer"}}),
       "unsupported"},
      {"Zalando replica", labelled({{"cluster-name", "pg"}, {"spilo-role", "replica"}}), "patroni"},
      {"a cluster label that would break a URL", labelled({{"cnpg.io/cluster", "../../secrets"}}), "unsupported"},
      {"PGO replica",
       labelled({{"postgres-operator.crunchydata.com/cluster", "pg"},
                 {"postgres-operator.crunchydata.com/instance", "pg-a"},
                 {"postgres-operator.crunchydata.com/role", "replica"}}),
       "pgo"},
  });
}

TEST(HandoffAdapterChoice, EvictsTikvOfOperatorV2WithItsOwnGracePeriodOnly) {
  auto of = evacuation(EvacuationPhase::kRequesting);
  const api::Pod target = tikv_v2();
  const auto plan = StatefulHandoff().plan(context(of, target));
  ASSERT_TRUE(plan.action);
  EXPECT_EQ(plan.action->name, "PostEviction");
  EXPECT_EQ(plan.action->request.body.find("gracePeriodSeconds"), std::string::npos);
  EXPECT_TRUE(StatefulHandoff().owner_decides(context(of, target)));
  of.spec.grace_period_seconds = 30;
  const auto probe = StatefulHandoff().probe(context(of, target));
  EXPECT_EQ(probe.support, Support::kUnsupported);
  EXPECT_NE(probe.reason.find("gracePeriodSeconds"), std::string::npos) << probe.reason;
  EXPECT_TRUE(StatefulHandoff().owner_decides(context(of, target))) << "no other evictor cuts it short";
  for (const char* other : {"pd", "tidb", "tiflash"}) {
    const api::Pod free = tikv_v2(other);
    EXPECT_FALSE(StatefulHandoff().owner_decides(context(of, free))) << other;
  }
}

TEST(HandoffMark, ByEvictionIsSupportedOnlyWithTheWebhook) {
  auto of = with_adapter("strimzi", EvacuationPhase::kRequesting);
  const api::Pod target = kafka();
  auto asked = context(of, target);
  asked.parameters = {{"request", "eviction"}};
  const auto plan = StatefulHandoff().plan(asked);
  ASSERT_TRUE(plan.action);
  EXPECT_EQ(api::Json::parse(plan.action->request.body)["deleteOptions"]["preconditions"]["resourceVersion"], "0")
      << "the API server refuses it where the webhook lets it through";
  EXPECT_FALSE(StatefulHandoff().observe(asked).failed);
  const auto let_through = [&](base::TimePoint now) {
    asked.now = now;
    const auto meaning = StatefulHandoff().classify(
        asked, *plan.action, kube::Response{409, R"({"kind":"Status","reason":"Conflict","code":409})", {}, ""});
    for (const auto& ref : meaning.refs) of.status.refs = {ref};
    return meaning.answer;
  };
  EXPECT_EQ(let_through(kNoon), ResponseClass::kRetryLater) << "one call that bypasses the webhook is no verdict";
  EXPECT_EQ(let_through(kNoon + base::seconds(29)), ResponseClass::kRetryLater);
  EXPECT_EQ(let_through(kNoon + base::seconds(30)), ResponseClass::kConflict);
  EXPECT_EQ(let_through(kNoon - base::seconds(3600)), ResponseClass::kRetryLater) << "by a clock that was ahead";
  EXPECT_EQ(let_through(kNoon - base::seconds(3570)), ResponseClass::kConflict);
  of.status.intent = api::EvacuationIntent{"PostEviction", kToken, kNoon, true, "Conflict", "mark=absent"};
  const auto failed = StatefulHandoff().observe(asked).failed;
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->reason, "WebhookLetsThrough");
  EXPECT_FALSE(failed->retryable);
  const api::Pod marked = kafka({{kRoll, "true"}});
  auto rolled = context(of, marked);
  rolled.parameters = {{"request", "eviction"}};
  EXPECT_FALSE(StatefulHandoff().observe(rolled).failed) << "with deny.eviction=false the webhook still marks the pod";
  EXPECT_TRUE(StatefulHandoff().observe(rolled).requested);
}

TEST(HandoffMark, IsRequestedAgainAfterItsDeadlineAndNamesTheBypass) {
  auto of = with_adapter("strimzi", EvacuationPhase::kRequesting);
  const api::Pod target = kafka();
  auto asked = context(of, target);
  asked.parameters = {{"request", "eviction"}};
  const auto plan = StatefulHandoff().plan(asked);
  ASSERT_TRUE(plan.action);
  const auto answered = [&](int code, const char* body) {
    return StatefulHandoff().classify(asked, *plan.action, kube::Response{code, body, {}, ""});
  };
  const char* conflict = R"({"kind":"Status","reason":"Conflict","code":409})";
  const char* budget =
      R"({"kind":"Status","code":429,"message":"Cannot evict pod as it would violate the pod's disruption budget."})";
  const std::string bypass = "the operator's webhook did not accept the eviction";
  EXPECT_EQ(answered(429, budget).message.find(bypass), std::string::npos) << "not known yet";
  const auto first = answered(409, conflict);
  EXPECT_EQ(first.retry_after, base::seconds(30)) << "each call may cost the budget one disruption";
  of.status.refs = first.refs;
  asked.now = kNoon + base::seconds(20);
  EXPECT_EQ(answered(409, conflict).retry_after, base::seconds(10));
  const auto refused = answered(429, budget);
  EXPECT_EQ(refused.answer, ResponseClass::kPdbBlocked);
  EXPECT_TRUE(refused.message.starts_with(bypass)) << refused.message;
  if (refused.blocker) {
    EXPECT_TRUE(refused.blocker->message.starts_with(bypass)) << refused.blocker->message;
  }
}

TEST(HandoffAdapterChoice, CanBeForcedButNeverPastARequiredHandoff) {
  const auto of = evacuation(EvacuationPhase::kPreparing);
  const api::Pod plain = pod();
  auto forced = context(of, plain);
  forced.parameters = {{"adapter", "strimzi"}};
  EXPECT_EQ(StatefulHandoff().probe(forced).adapter, "strimzi");
  const api::Pod required = pod({handoff("mode", "required")});
  for (const char* adapter : {"none", "strimzi", "vitess"}) {
    auto past = context(of, required);
    past.parameters = {{"adapter", adapter}};
    EXPECT_EQ(StatefulHandoff().probe(past).support, Support::kUnsupported) << adapter;
    EXPECT_EQ(StatefulHandoff().plan(past).next, NextMove::kWait) << adapter;
  }
}

TEST(HandoffAdapterChoice, IsFixedForTheAttempt) {
  const auto of = with_adapter("strimzi", EvacuationPhase::kInProgress);
  const api::Pod relabelled = pod({handoff("mode", "optional")});
  EXPECT_TRUE(StatefulHandoff().observe(context(of, relabelled)).vanished) << "strimzi's view, not generic's";
}

TEST(HandoffAdapters, HaveDistinctNamesAndDocumentedTimeouts) {
  const std::map<std::string_view, int> totals = {{"strimzi", 1800},       {"couchbase", 3600}, {"vitess", 1800},
                                                  {"cloudnative-pg", 600}, {"patroni", 1200},   {"pgo", 1200},
                                                  {"tikv", 1800}};
  std::set<std::string_view> seen;
  for (const auto& each : evictors::handoff::adapters()) {
    EXPECT_TRUE(seen.insert(each->name()).second) << each->name();
    const auto known = totals.find(each->name());
    if (known == totals.end()) continue;
    auto of = evacuation(EvacuationPhase::kPreparing);
    const api::Pod target = pod();
    EXPECT_EQ(each->probe(context(of, target)).total, base::seconds(known->second)) << each->name();
    EXPECT_TRUE(each->probe(context(of, target)).required) << each->name();
    of.spec.timeouts.total = base::seconds(7200);
    EXPECT_EQ(each->probe(context(of, target)).total, base::seconds(7200))
        << "the spec's own value wins: " << each->name();
  }
}

TEST(StatefulHandoffParameters, AreChecked) {
  const auto complaints = [](Strings parameters) {
    return StatefulHandoff().validate(parameters, api::FieldPath("p")).size();
  };
  EXPECT_EQ(complaints({{"adapter", "strimzi"},
                        {"request", "eviction"},
                        {"switchover", "true"},
                        {"strict", "false"},
                        {"service", "patroni"},
                        {"clusterLabel", "example.com/cluster"},
                        {"roleLabel", "pg-role"},
                        {"requestedBy", "me"}}),
            0u);
  EXPECT_EQ(complaints({{"adapter", "oracle"}}), 1u);
  EXPECT_EQ(complaints({{"request", "please"}}), 1u);
  EXPECT_EQ(complaints({{"switchover", "yes"}}), 1u);
  EXPECT_EQ(complaints({{"speed", "fast"}}), 1u);
}

TEST(StatefulHandoff, OnlyMakesADryCallInADryRun) {
  auto of = with_adapter("strimzi", EvacuationPhase::kRequesting);
  of.spec.dry_run = true;
  const api::Pod target = kafka();
  const auto plan = StatefulHandoff().plan(context(of, target));
  ASSERT_EQ(plan.next, NextMove::kAct);
  EXPECT_EQ(plan.action->name, "PostEviction");
  EXPECT_EQ(plan.action->request.query, "dryRun=All");
}

// --- one mark: Strimzi, Couchbase, TiKV

TEST(MarkAdapter, SetsMarkAndTokenInOneGuardedPatch) {
  const auto of = with_adapter("strimzi", EvacuationPhase::kRequesting);
  const api::Pod target = kafka();
  const auto plan = StatefulHandoff().plan(context(of, target));
  ASSERT_EQ(plan.next, NextMove::kAct);
  EXPECT_EQ(plan.action->name, "SetMark");
  const auto body = api::Json::parse(plan.action->request.body);
  EXPECT_EQ(body["metadata"]["uid"], kUid);
  EXPECT_EQ(body["metadata"]["resourceVersion"], "41");
  EXPECT_EQ(patched_annotations(plan), (api::Json{{kRoll, "true"}, {kTokenKey, kToken}}));
  const api::Pod marked = kafka({{kRoll, "true"}, {kTokenKey, kToken}});
  EXPECT_EQ(StatefulHandoff().plan(context(of, marked)).next, NextMove::kWait) << "in effect";
}

TEST(MarkAdapter, NeverEvictsAndNoticesAMarkThatVanished) {
  const auto of = with_adapter("strimzi", EvacuationPhase::kInProgress);
  const api::Pod marked = kafka({{kRoll, "true"}, {kTokenKey, kToken}});
  EXPECT_EQ(StatefulHandoff().plan(context(of, marked)).next, NextMove::kWait);
  EXPECT_TRUE(StatefulHandoff().observe(context(of, marked)).acknowledged);
  const api::Pod bare = kafka({{kTokenKey, kToken}});
  EXPECT_TRUE(StatefulHandoff().observe(context(of, bare)).vanished);
}

TEST(MarkAdapter, LeavesAnotherValueAlone) {
  for (const std::string& value : {std::string("false"), std::string("none"), std::string(300'000, 'x')}) {
    const auto of = with_adapter("strimzi", EvacuationPhase::kPreparing);
    const api::Pod target = kafka({{kRoll, value}});
    const auto seen = StatefulHandoff().observe(context(of, target));
    ASSERT_TRUE(seen.failed);
    EXPECT_EQ(seen.failed->reason, "MarkInUse");
    EXPECT_LT(seen.failed->message.size(), 300u);
    EXPECT_TRUE(StatefulHandoff().cleanup(context(of, target)).empty());
  }
}

TEST(MarkAdapter, RemovesOnlyItsOwnMark) {
  auto of = with_adapter("strimzi", EvacuationPhase::kAborting);
  of.status.request_sent_at = kNoon;
  const api::Pod ours = kafka({{kRoll, "true"}, {kTokenKey, "e5b3.1"}});
  ASSERT_EQ(StatefulHandoff().undo(context(of, ours)).size(), 1u);
  EXPECT_EQ(StatefulHandoff().undone(context(of, ours)), Rollback::kPending);
  const auto body = api::Json::parse(StatefulHandoff().undo(context(of, ours)).front().request.body);
  EXPECT_EQ(body["metadata"]["annotations"], (api::Json{{kRoll, nullptr}, {kTokenKey, nullptr}}));
  for (const Strings& foreign :
       {Strings{{kRoll, "true"}}, Strings{{kRoll, "true"}, {kTokenKey, "beef.1"}},
        Strings{{kRoll, "true"}, {kTokenKey, "e5b3"}}, Strings{{kRoll, "true"}, {kTokenKey, "e5b3.x"}}}) {
    const api::Pod theirs = kafka(foreign);
    EXPECT_TRUE(StatefulHandoff().undo(context(of, theirs)).empty());
    EXPECT_EQ(StatefulHandoff().undone(context(of, theirs)), Rollback::kNothingToDo);
    EXPECT_TRUE(StatefulHandoff().cleanup(context(of, theirs)).empty());
  }
  const api::Pod clean = kafka();
  EXPECT_EQ(StatefulHandoff().undone(context(of, clean)), Rollback::kComplete);
}

TEST(MarkAdapter, ReadsTheWebhooksTexts) {
  struct Row {
    const char* adapter;
    int code;
    const char* text;
    ResponseClass answer;
  };
  const std::vector<Row> rows = {
      {"strimzi", 500, "The pod will be rolled by the Strimzi Cluster Operator", ResponseClass::kAcceptedInBackground},
      {"strimzi", 429, "The pod will be rolled by the Strimzi Cluster Operator", ResponseClass::kRefusedByWebhook},
      {"strimzi", 500, "Something else", ResponseClass::kRefusedByWebhook},
      {"couchbase", 429, "Reschedule annotation added to pod", ResponseClass::kAcceptedInBackground},
      {"couchbase", 429, "Pod waiting to be rescheduled", ResponseClass::kAcceptedInBackground},
      {"couchbase", 404, "Pod has been rescheduled with the same name", ResponseClass::kGoneMaybe},
      {"couchbase", 404, "Pod has been rescheduled", ResponseClass::kGoneMaybe},
      {"couchbase", 500, "internal error", ResponseClass::kRefusedByWebhook},
      {"vitess", 500, "The pod will be rolled by the Strimzi Cluster Operator", ResponseClass::kRefusedByWebhook},
      {"none", 429, "Reschedule annotation added to pod", ResponseClass::kRefusedByWebhook},
  };
  for (const Row& row : rows) {
    const auto of = with_adapter(row.adapter, EvacuationPhase::kRequesting);
    const api::Pod target = pod();
    evictors::Action action;
    action.name = "PostEviction";
    const auto verdict = StatefulHandoff().classify(context(of, target), action, denial(row.code, row.text));
    EXPECT_EQ(verdict.answer, row.answer) << row.adapter << " " << row.code << " " << row.text;
  }
}

TEST(MarkAdapter, RecognizesTheOwnerOfAMarkSetByAnEviction) {
  auto of = with_adapter("couchbase", EvacuationPhase::kRequesting);
  const api::Pod bare = pod();
  auto seen = context(of, bare);
  seen.parameters = {{"request", "eviction"}};
  const auto plan = StatefulHandoff().plan(seen);
  ASSERT_EQ(plan.next, NextMove::kAct);
  EXPECT_EQ(plan.action->name, "PostEviction");
  const auto verdict =
      StatefulHandoff().classify(seen, *plan.action, denial(429, "Reschedule annotation added to pod"));
  EXPECT_EQ(verdict.refs, (evictors::Refs{{"mark", "ours"}}));

  const api::Pod marked = pod({{"cao.couchbase.com/reschedule", "true"}});
  of.status.phase = EvacuationPhase::kAborting;
  EXPECT_TRUE(StatefulHandoff().undo(context(of, marked)).empty()) << "no trace that it is ours";
  of.status.refs = {{"mark", "ours"}};
  EXPECT_EQ(StatefulHandoff().undo(context(of, marked)).size(), 1u);
  of.status.refs.clear();  // The answer was lost and the process died. The intent still proves that the mark is ours.
  of.status.intent = api::EvacuationIntent{"PostEviction", kToken, kNoon, false, "", plan.action->pre_state};
  EXPECT_EQ(StatefulHandoff().undo(context(of, marked)).size(), 1u);
  of.status.intent->token = "e5b3.0";
  EXPECT_TRUE(StatefulHandoff().undo(context(of, marked)).empty());
}

TEST(MarkAdapter, TikvAsksForDeletionAndDoesNotTouchAMereLeaderEviction) {
  const auto of = with_adapter("tikv", EvacuationPhase::kRequesting);
  const api::Pod bare = pod();
  EXPECT_EQ(patched_annotations(StatefulHandoff().plan(context(of, bare)))["tidb.pingcap.com/evict-leader"],
            "delete-pod");
  const api::Pod busy = pod({{"tidb.pingcap.com/evict-leader", "none"}});
  EXPECT_TRUE(StatefulHandoff().observe(context(of, busy)).failed);
}

// --- Vitess

TEST(VitessAdapter, GoesFromStartedOverFinishedToTheEviction) {
  auto of = with_adapter("vitess", EvacuationPhase::kRequesting);
  of.spec.reason = "node is full";
  const api::Pod bare = tablet();
  const auto start = StatefulHandoff().plan(context(of, bare));
  EXPECT_EQ(patched_annotations(start), (api::Json{{kStarted, "e5b3.1 node is full"}}));
  of.status.phase = EvacuationPhase::kInProgress;
  const api::Pod working = tablet({{kStarted, "e5b3.1 x"}, {kAcknowledged, "t"}});
  EXPECT_EQ(StatefulHandoff().plan(context(of, working)).next, NextMove::kWait);
  const auto seen = StatefulHandoff().observe(context(of, working));
  EXPECT_TRUE(seen.requested && seen.acknowledged && !seen.ready);
  const api::Pod drained = tablet({{kStarted, "e5b3.1 x"}, {kAcknowledged, "t"}, {kFinished, "t2"}});
  EXPECT_TRUE(StatefulHandoff().observe(context(of, drained)).ready);
  EXPECT_NE(StatefulHandoff().observe(context(of, drained)).alive, seen.alive);
  const auto evict = StatefulHandoff().plan(context(of, drained));
  ASSERT_EQ(evict.next, NextMove::kAct);
  EXPECT_EQ(evict.action->name, "PostEviction");
}

TEST(VitessAdapter, IgnoresTheResultOfAnOlderDrain) {
  const auto of = with_adapter("vitess", EvacuationPhase::kRequesting);
  const api::Pod stale = tablet({{kFinished, "yesterday"}});
  const auto seen = StatefulHandoff().observe(context(of, stale));
  EXPECT_FALSE(seen.ready);
  ASSERT_TRUE(seen.failed);
  EXPECT_EQ(seen.failed->reason, "FormerDrainNotCleared");
  EXPECT_TRUE(seen.failed->retryable);
}

TEST(VitessAdapter, AbortsOnlyItsOwnDrainAndWaitsForTheOperator) {
  auto of = with_adapter("vitess", EvacuationPhase::kAborting);
  of.status.request_sent_at = kNoon;
  const api::Pod ours = tablet({{kStarted, "e5b3.1 x"}, {kAcknowledged, "t"}});
  ASSERT_EQ(StatefulHandoff().undo(context(of, ours)).size(), 1u);
  const api::Pod clearing = tablet({{kAcknowledged, "t"}});
  EXPECT_EQ(StatefulHandoff().undone(context(of, clearing)), Rollback::kPending);
  EXPECT_TRUE(StatefulHandoff().undo(context(of, clearing)).empty());
  const api::Pod clear = tablet();
  EXPECT_EQ(StatefulHandoff().undone(context(of, clear)), Rollback::kComplete);
  const api::Pod theirs = tablet({{kStarted, "maintenance"}, {kAcknowledged, "t"}});
  EXPECT_TRUE(StatefulHandoff().undo(context(of, theirs)).empty());
  EXPECT_EQ(StatefulHandoff().undone(context(of, theirs)), Rollback::kNothingToDo);
}

TEST(VitessAdapter, BearsHostileValues) {
  const auto of = with_adapter("vitess", EvacuationPhase::kInProgress);
  const api::Pod huge = tablet({{kStarted, "e5b3.1"}, {kAcknowledged, std::string(300'000, 'x')}});
  EXPECT_LT(StatefulHandoff().observe(context(of, huge)).alive.size(), 64u);
}

}  // namespace stateful_handoff_test
