#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/evacuation/audit_records.hpp"
#include "controllers/operator/audit_config.hpp"
#include "controllers/operator/audit_trail.hpp"
#include "telemetry/audit/file_sink.hpp"
#include "telemetry/audit/verify.hpp"
#include "test/builders/origin.hpp"
#include "test/fakes/temp_folder.hpp"

namespace audit_test {

using namespace controllers;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Phase = api::EvacuationPhase;

const base::TimePoint kNoon = *base::parse_time("2026-11-21T12:00:00Z");

api::Evacuation evacuation(Phase phase = Phase::kRequesting) {
  api::Evacuation made;
  made.meta.ns = "shop";
  made.meta.name = "web-1-7c1a8c1e";
  made.meta.uid = "e-1";
  made.spec.pod_ref = {"web-1", {"7c1a8c1e"}};
  made.spec.node_name = {"node-a"};
  builders::set_policy(made, "balance");
  made.status.phase = phase;
  made.status.reason = "Because";
  made.status.attempt = 1;
  made.status.token = "e-1.1";
  return made;
}

std::vector<std::string> words(const std::vector<audit::Record>& records) {
  std::vector<std::string> all;
  for (const audit::Record& each : records) all.push_back(each.action + "/" + each.decision + "/" + each.reason);
  return all;
}

TEST(RecordsOfAnEvacuationMadeByHand, NameItsPolicyOnlyAsClaimed) {
  api::Evacuation before = evacuation(Phase::kPending);
  before.status.conditions.clear();
  api::Evacuation after = before;
  after.status.phase = Phase::kPreparing;
  const auto records = evacuation::records_of_status(before, after);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].policy.name, "");
  EXPECT_EQ(records[0].detail.at("claimedPolicy"), "balance");
}

struct StatusCase {
  const char* name;
  std::function<void(api::Evacuation& before, api::Evacuation& after)> edit;
  std::vector<std::string> want;
};
class RecordsOfStatus : public testing::TestWithParam<StatusCase> {};
TEST_P(RecordsOfStatus, FollowFromTheTwoStates) {
  api::Evacuation before = evacuation();
  api::Evacuation after = evacuation();
  GetParam().edit(before, after);
  const auto records = evacuation::records_of_status(before, after);
  EXPECT_EQ(words(records), GetParam().want);
  for (const audit::Record& each : records) {
    EXPECT_EQ(each.object, (audit::ObjectRef{"Evacuation", "shop", "web-1-7c1a8c1e", "e-1"}));
    EXPECT_EQ(each.detail.at("pod"), "web-1");
    EXPECT_EQ(each.policy.name, "balance");
  }
}

api::EvacuationIntent intent(bool resolved = false) { return {"PostEviction", "e-1.1", kNoon, resolved, "", "rv=5"}; }
api::Blocker blocker(const char* kind, const char* name) {
  api::Blocker made;
  made.kind = kind;
  made.name = name;
  made.message = "full";
  return made;
}
void cancel_condition(api::Evacuation& of, api::ConditionStatus status, const char* reason) {
  of.status.conditions.push_back({"CancelAccepted", status, reason, "", 0, {}});
}

TEST(RecordOfTakeover, HasTheCompleteLastTransition) {
  api::Evacuation found = evacuation(Phase::kEvicting);
  found.status.reason = "EvictionGranted";
  found.status.history = {{kNoon, "Preparing", "Requesting", "Prepared", "", 1, "first"},
                          {kNoon, "Requesting", "Evicting", "EvictionGranted", "the server granted it", 1, "first"}};
  const audit::Record record = evacuation::record_of_takeover(found);
  EXPECT_THAT(words({record}), ElementsAre("EvacuationTakenOver/Noted/EvictionGranted"));
  EXPECT_EQ(record.detail.at("from"), "Requesting");
  EXPECT_EQ(record.detail.at("to"), "Evicting");
  EXPECT_EQ(record.detail.at("at"), "2026-11-21T12:00:00Z");
  EXPECT_EQ(record.detail.at("by"), "first");
  EXPECT_EQ(record.detail.at("message"), "the server granted it");
}

INSTANTIATE_TEST_SUITE_P(
    Audit, RecordsOfStatus,
    testing::Values(
        StatusCase{"SayNothingOfProgress", [](auto&, auto& after) { after.status.progress = 50; }, {}},
        StatusCase{"ATransition",
                   [](auto& before, auto&) { before.status.phase = Phase::kPreparing; },
                   {"PhaseChanged/Proceeded/Because"}},
        StatusCase{"ANewAttemptInTheSamePhase",
                   [](auto&, auto& after) { after.status.attempt = 2; },
                   {"PhaseChanged/Proceeded/Because"}},
        StatusCase{"Success",
                   [](auto&, auto& after) { after.status.phase = Phase::kSucceeded; },
                   {"EvacuationFinished/Succeeded/Because"}},
        StatusCase{"Failure",
                   [](auto&, auto& after) { after.status.phase = Phase::kFailed; },
                   {"EvacuationFinished/Failed/Because"}},
        StatusCase{"ACancelThatHasWorked",
                   [](auto&, auto& after) {
                     after.status.phase = Phase::kCancelled;
                     cancel_condition(after, api::ConditionStatus::kTrue, "Accepted");
                   },
                   {"CancelAccepted/Allowed/Accepted", "EvacuationFinished/Cancelled/Because"}},
        StatusCase{"ACancelThatCameTooLate",
                   [](auto&, auto& after) { cancel_condition(after, api::ConditionStatus::kFalse, "PointOfNoReturn"); },
                   {"CancelRefused/Refused/PointOfNoReturn"}},
        StatusCase{"ACancelOnlyOnce",
                   [](auto& before, auto& after) {
                     cancel_condition(before, api::ConditionStatus::kFalse, "PointOfNoReturn");
                     cancel_condition(after, api::ConditionStatus::kFalse, "PointOfNoReturn");
                   },
                   {}},
        StatusCase{"AnIntent",
                   [](auto&, auto& after) { after.status.intent = intent(); },
                   {"CallIntended/Planned/PostEviction"}},
        StatusCase{"AnIntentOnlyOnce",
                   [](auto& before, auto& after) { before.status.intent = after.status.intent = intent(); },
                   {}},
        StatusCase{"NotTheResolution",
                   [](auto& before, auto& after) {
                     before.status.intent = intent();
                     after.status.intent = intent(true);
                   },
                   {}},
        StatusCase{"WhatHoldsAWaitingOne",
                   [](auto& before, auto& after) {
                     before.status.phase = after.status.phase = Phase::kPending;
                     after.status.blocked_by = {blocker("Limit", "node")};
                   },
                   {"EvacuationHeld/Held/Limit"}},
        StatusCase{"AHoldOnlyOnce",
                   [](auto& before, auto& after) {
                     before.status.phase = after.status.phase = Phase::kPending;
                     before.status.blocked_by = after.status.blocked_by = {blocker("Limit", "node")};
                     after.status.blocked_by.front().message = "other numbers";
                   },
                   {}},
        StatusCase{"NoHoldWhereTheAnswerTellsIt",
                   [](auto&, auto& after) { after.status.blocked_by = {blocker("PodDisruptionBudget", "web")}; },
                   {}}),
    [](const auto& test) { return test.param.name; });

struct AnswerCase {
  const char* name;
  int code;  ///< 0 if no answer came
  const char* response_class;
  std::string_view want;
};
class RecordOfAnswer : public testing::TestWithParam<AnswerCase> {};
TEST_P(RecordOfAnswer, HasTheServersDecision) {
  evictors::Action action;
  action.name = "PostEviction";
  action.request.method = "POST";
  action.request.path = "/api/v1/namespaces/shop/pods/web-1/eviction";
  const evictors::CallResult answer = GetParam().code == 0
                                          ? evictors::CallResult(base::unavailable("connection refused"))
                                          : evictors::CallResult(kube::Response{GetParam().code, "", {}, ""});
  const api::LastResponse meaning{GetParam().code, GetParam().response_class, "the words", kNoon};
  const auto record = evacuation::record_of_answer(evacuation(), action, answer, meaning);
  EXPECT_EQ(record.action, "CallAnswered");
  EXPECT_EQ(record.decision, GetParam().want);
  EXPECT_EQ(record.reason, GetParam().response_class);
  EXPECT_EQ(record.detail.at("token"), "e-1.1");
  EXPECT_EQ(record.detail.at("request"), "POST /api/v1/namespaces/shop/pods/web-1/eviction");
  EXPECT_EQ(record.detail.at("code"), std::to_string(GetParam().code));
  EXPECT_EQ(record.detail.at("message"), "the words");
}
INSTANTIATE_TEST_SUITE_P(Audit, RecordOfAnswer,
                         testing::Values(AnswerCase{"Granted", 201, "Granted", audit::decision::kAllowed},
                                         AnswerCase{"Blocked", 429, "PDBBlocked", audit::decision::kRefused},
                                         AnswerCase{"InBackground", 429, "AcceptedInBackground",
                                                    audit::decision::kAllowed},
                                         AnswerCase{"Forbidden", 403, "Forbidden", audit::decision::kRefused},
                                         AnswerCase{"Lost", 0, "Unknown", audit::decision::kFailed}),
                         [](const auto& test) { return test.param.name; });

api::DeschedulerPolicy policy(std::int64_t generation = 1) {
  api::DeschedulerPolicy made;
  made.meta.name = "balance";
  made.meta.generation = generation;
  return made;
}

api::RefusedPod refusal(std::string uid, std::string reason = "PerCycleLimit") {
  return {"shop", "web-" + uid, std::move(uid), "node-a", "PodLifeTime", std::move(reason), "7 of 7"};
}

api::PlannedMove move(std::string uid, std::string why = "61s old") {
  return {"shop", "web-" + uid, std::move(uid), "node-a", "node-b", "PodLifeTime", std::move(why)};
}

TEST(CycleRecords, ReportOnlyChangesSinceTheLastCycle) {
  CycleMemory memory;
  CycleOutcome first;
  first.moves = {move("u1")};
  first.refusals = {refusal("u2"), refusal("u3")};
  EXPECT_THAT(words(news_of_cycle(policy(), first, memory)),
              ElementsAre("PodNominated/Planned/PodLifeTime", "PodRefused/Refused/PerCycleLimit",
                          "PodRefused/Refused/PerCycleLimit"));
  CycleOutcome second = first;
  second.moves.front().reason = "121s old";  // a change of numbers in the text is not a new record
  second.refusals[1].message = "8 of 8";
  EXPECT_THAT(news_of_cycle(policy(), second, memory), IsEmpty());
}

TEST(CycleRecords, ReportAChangedReasonAndAReturn) {
  CycleMemory memory;
  CycleOutcome outcome;
  outcome.refusals = {refusal("u2")};
  news_of_cycle(policy(), outcome, memory);
  outcome.refusals = {refusal("u2", "NodeFit")};
  EXPECT_THAT(words(news_of_cycle(policy(), outcome, memory)), ElementsAre("PodRefused/Refused/NodeFit"));
  outcome.refusals = {};
  EXPECT_THAT(news_of_cycle(policy(), outcome, memory), IsEmpty());
  outcome.refusals = {refusal("u2", "NodeFit")};
  EXPECT_THAT(news_of_cycle(policy(), outcome, memory), SizeIs(1));
}

TEST(CycleRecords, StartAgainWithAnotherEditionOfThePolicy) {
  CycleMemory memory;
  CycleOutcome outcome;
  outcome.refusals = {refusal("u2")};
  news_of_cycle(policy(1), outcome, memory);
  const auto news = news_of_cycle(policy(2), outcome, memory);
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(news.front().policy, (audit::PolicyRef{"balance", 2}));
}

TEST(CycleRecords, AreBoundedWhateverTheClustersSize) {
  CycleMemory memory;
  CycleOutcome outcome;
  for (int i = 0; i < 150'000; ++i) outcome.refusals.push_back(refusal("u" + std::to_string(i)));
  outcome.summary.refused = {{"PerCycleLimit", 150'000}};
  EXPECT_THAT(news_of_cycle(policy(), outcome, memory), SizeIs(kMaxAuditedPods));
  EXPECT_LE(memory.seen.size(), kMaxAuditedPods);
  EXPECT_EQ(record_of_cycle(policy(), outcome).detail.at("refused"), "PerCycleLimit=150000");
}

TEST(CycleRecords, NameFailedCreations) {
  const base::Error error{base::ErrorCode::kForbidden, "quota"};
  api::Evacuation wanted = evacuation();
  const auto record = record_of_creation(policy(), move("u1"), wanted, &error);
  EXPECT_EQ(words({record}), (std::vector<std::string>{"EvacuationNotCreated/Refused/Forbidden"}));
  EXPECT_EQ(record.detail.at("message"), "quota");
}

/// Stores the records.
class MoodyRecorder final : public audit::Recorder {
 public:
  void record(audit::Record record) override { records.push_back(std::move(record)); }
  void watch(Health) override {}
  std::vector<audit::Record> records;
};

TEST(AuditTrail, KnowsTheEditionOfThePolicy) {
  MoodyRecorder recorder;
  AuditTrail trail(
      recorder, [](const std::string& name) { return name == "balance" ? 7 : 0; }, false);
  trail.on_status(evacuation(Phase::kPending), evacuation(), kNoon);
  ASSERT_THAT(recorder.records, SizeIs(1));
  EXPECT_EQ(recorder.records.front().policy, (audit::PolicyRef{"balance", 7}));
  EXPECT_EQ(recorder.records.front().time, kNoon);
}

TEST(AuditTrail, BlocksAdmissionsOnlyIfConfigured) {
  MoodyRecorder recorder;
  const auto none = [](const std::string&) { return 0; };
  AuditTrail lenient(recorder, none, false);
  AuditTrail strict(recorder, none, true);
  for (AuditTrail* each : {&lenient, &strict}) each->set_failure(base::unavailable("disk full"), kNoon);
  EXPECT_FALSE(lenient.admission_blocker());
  ASSERT_TRUE(strict.admission_blocker());
  EXPECT_EQ(strict.admission_blocker()->kind, "AuditLog");
  EXPECT_THAT(strict.admission_blocker()->message, HasSubstr("disk full"));
  strict.set_failure(std::nullopt, kNoon);
  EXPECT_FALSE(strict.admission_blocker());
}

TEST(AuditConfig, ReadsEveryField) {
  const auto config = parse_operator_config(R"(
audit:
  sinks: [File, Stdout]
  file: {path: /data/a.log, maxSize: 5Mi, maxFiles: 3}
  fsyncInterval: 0s
  bufferSize: 50
  onFailure: StopAdmissions
)");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(config->audit.to_file);
  EXPECT_TRUE(config->audit.to_stdout);
  EXPECT_EQ(config->audit.path, "/data/a.log");
  EXPECT_EQ(config->audit.max_size, 5 << 20);
  EXPECT_EQ(config->audit.max_files, 3);
  EXPECT_EQ(config->audit.fsync_interval, base::Duration::zero());
  EXPECT_EQ(config->audit.buffer_size, 50);
  EXPECT_EQ(config->audit.on_failure, OperatorConfig::OnAuditFailure::kStopAdmissions);
}

struct BadAudit {
  const char* name;
  const char* yaml;
  const char* complaint;
};
class BadAuditConfig : public testing::TestWithParam<BadAudit> {};
TEST_P(BadAuditConfig, NamesTheField) {
  const auto config = parse_operator_config(GetParam().yaml);
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().message, HasSubstr(GetParam().complaint));
}
INSTANTIATE_TEST_SUITE_P(
    Audit, BadAuditConfig,
    testing::Values(BadAudit{"Sink", "audit: {sinks: [Syslog]}", "audit.sinks: \"Syslog\" is not a sink"},
                    BadAudit{"SinksNoList", "audit: {sinks: File}", "audit.sinks"},
                    BadAudit{"Unknown", "audit: {files: {}}", "audit.files: unknown field"},
                    BadAudit{"UnknownInFile", "audit: {file: {size: 1Mi}}", "audit.file.size: unknown field"},
                    BadAudit{"Size", "audit: {file: {maxSize: big}}", "audit.file.maxSize"},
                    BadAudit{"SmallSize", "audit: {file: {maxSize: 1Ki}}", "audit.file.maxSize: must be from 1Mi"},
                    BadAudit{"Files", "audit: {file: {maxFiles: 0}}", "audit.file.maxFiles"},
                    BadAudit{"Path", "audit: {file: {path: /var/log/}}", "audit.file.path"},
                    BadAudit{"Fsync", "audit: {fsyncInterval: 1h}", "audit.fsyncInterval"},
                    BadAudit{"Buffer", "audit: {bufferSize: 1}", "audit.bufferSize"},
                    BadAudit{"OnFailure", "audit: {onFailure: Panic}", "audit.onFailure"},
                    BadAudit{"StopWithoutSink", "audit: {sinks: [], onFailure: StopAdmissions}",
                             "StopAdmissions requires a sink"}),
    [](const auto& test) { return test.param.name; });

TEST(AuditConfig, OpensTheConfiguredSinks) {
  const fakes::TempFolder folder;
  OperatorConfig config;
  config.audit.to_file = true;
  config.audit.to_stdout = false;
  config.audit.path = folder.file("audit.log");
  const base::ManualClock clock(kNoon);
  base::Metrics metrics;
  {
    const auto log = open_audit_log(config.audit, "replica-1", clock, metrics, {});
    log->record(record_of_configuration(config, "/etc/evacuator/config.yaml", "workers: 1"));
    log->record(record_of_leadership(config, true));
    EXPECT_FALSE(log->failure());
  }
  const auto report = audit::verify({config.audit.path});
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->intact());
  EXPECT_EQ(report->records, 3u);
}

}  // namespace audit_test
