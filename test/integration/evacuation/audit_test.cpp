#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "controllers/operator/operator.hpp"
#include "kube/runtime/events.hpp"
#include "simulator/faults.hpp"
#include "simulator/objects.hpp"
#include "telemetry/audit/file_sink.hpp"
#include "telemetry/audit/query.hpp"
#include "telemetry/audit/verify.hpp"
#include "test/fakes/temp_folder.hpp"
#include "test/integration/rig/rig.hpp"

/// The complete operator on the simulated cluster with its audit log. Events can be read back, and the hash chain is
/// intact.
namespace audit_test {

using api::Json;
using integration::Rig;
using testing::Contains;
using testing::IsSupersetOf;
using testing::Not;
using Phase = api::EvacuationPhase;

/// A sink on a disk that may be full.
class Disk final : public audit::Sink {
 public:
  Disk(std::string path, const bool& full) : inner_({.path = std::move(path)}), full_(full) {}
  std::string_view name() const override { return inner_.name(); }
  base::Result<audit::Opened> open() override { return inner_.open(); }
  base::Status append(const audit::Line& line) override {
    if (full_) return base::unavailable("No space left on device");
    return inner_.append(line);
  }
  base::Status sync() override { return inner_.sync(); }

 private:
  audit::FileSink inner_;
  const bool& full_;
};

/// One process with operator and audit log.
struct Process {
  Process(simulator::ApiServer& server, const base::ManualClock& clock, const std::string& identity,
          const std::string& path, const bool& disk_full, bool stops_admissions)
      : transport(server, {"system:serviceaccount:evacuator-system:evacuator", {}, "evacuator"}),
        client(transport, nullptr),
        events(client, clock, kube::EventOptions{.instance = identity}, {}) {
    std::vector<std::unique_ptr<audit::Sink>> sinks;
    sinks.push_back(std::make_unique<Disk>(path, disk_full));
    log = std::make_unique<audit::Log>(std::move(sinks), audit::LogOptions{.actor = "evacuator/" + identity}, clock,
                                       metrics, base::Log());
    controllers::OperatorConfig config;
    config.leader_election.ns = "evacuator-system";
    if (stops_admissions) config.audit.on_failure = controllers::OperatorConfig::OnAuditFailure::kStopAdmissions;
    const auto discovery = kube::discover(client);
    EXPECT_TRUE(discovery) << discovery.error().message;
    op.emplace(controllers::Operator::Dependencies{.client = client,
                                                   .clock = clock,
                                                   .discovery = *discovery,
                                                   .config = config,
                                                   .identity = identity,
                                                   .may_act = [] { return true; },
                                                   .events = events,
                                                   .metrics = metrics,
                                                   .log = {},
                                                   .audit = *log});
  }

  fakes::MortalTransport transport;
  kube::Client client;
  base::Metrics metrics;
  kube::EventRecorder events;
  std::unique_ptr<audit::Log> log;
  std::optional<controllers::Operator> op;
};

class Audited : public Rig {
 protected:
  Audited() {
    simulator::Webhook listener;
    listener.name = "listener.test";
    listener.review = [this](const simulator::AdmissionRequest& request) -> std::optional<simulator::Denial> {
      if (request.subresource == "eviction")
        tokens_.insert((*request.object)["metadata"]["annotations"].value("evacuator.dev/evacuation-token", ""));
      return std::nullopt;
    };
    server->add_webhook(listener);
  }

  void start(const std::string& identity) {
    process_.reset();
    process_ = std::make_unique<Process>(*server, clock, identity, path_, disk_full_, stops_admissions_);
  }

  /// Like Rig::run_until(), with the complete operator.
  bool drive_until(const std::function<bool()>& condition, base::Duration limit = std::chrono::hours(1)) {
    const base::TimePoint end = clock.now() + limit;
    for (;;) {
      for (bool busy = true; busy;) {
        busy = !cluster->run_until_quiet();
        busy |= process_->op->step();
        process_->log->tick();
        process_->events.drain();
      }
      if (condition()) return true;
      if (clock.now() >= end) return false;
      base::TimePoint next = clock.now() + base::seconds(5);
      for (const auto due : {process_->op->next_due(), cluster->next_due()}) {
        if (due && *due > clock.now()) next = std::min(next, *due);
      }
      cluster->advance(next - clock.now());
    }
  }

  void make_policy() {
    const Json policy = {{"apiVersion", "evacuator.dev/v1alpha1"},
                         {"kind", "DeschedulerPolicy"},
                         {"metadata", {{"name", "fresh"}}},
                         {"spec",
                          {{"mode", "Automatic"},
                           {"schedule", {{"interval", "1m"}}},
                           {"strategies", {{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 30}}}}}},
                           {"limits", {{"perCycle", {{"total", 1}}}}}}}};
    const auto answer = server->handle(kube::create_request(kube::kPolicies, "", policy), {"alice", {}, "kubectl"});
    ASSERT_EQ(answer.status, 201) << answer.body;
  }

  std::vector<audit::Record> records(const audit::Filter& filter = {}) const {
    const auto found = audit::query({path_}, filter);
    EXPECT_TRUE(found) << found.error().message;
    std::vector<audit::Record> all;
    for (const auto& line : found->lines) all.push_back(line.record);
    return all;
  }
  std::vector<std::string> actions(const audit::Filter& filter = {}) const {
    std::vector<std::string> all;
    for (const audit::Record& record : records(filter)) all.push_back(record.action + "/" + record.decision);
    return all;
  }
  void expect_intact() const {
    const auto report = audit::verify({path_});
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->intact()) << (report->broken ? report->broken->problem : "torn");
  }
  bool has_recorded_event(const std::string& reason) const {
    for (const auto& event : cluster->store().list(kube::kEvents, "evacuator-system")) {
      if ((*event).value("reason", "") == reason) return true;
    }
    return false;
  }

  const fakes::TempFolder folder_;
  const std::string path_ = folder_.file("audit.log");
  bool disk_full_ = false;
  bool stops_admissions_ = false;
  std::set<std::string> tokens_;  ///< tokens of the evictions that the API server received
  std::unique_ptr<Process> process_;
};

TEST_F(Audited, AFullEvacuationLeavesAVerifiableChain) {
  stage(3);
  start("first");
  make_policy();
  ASSERT_TRUE(drive_until([&] { return !records({.action = "EvacuationFinished"}).empty(); }));
  expect_intact();

  const auto finished = records({.action = "EvacuationFinished"}).front();
  EXPECT_EQ(finished.decision, audit::decision::kSucceeded);
  EXPECT_EQ(finished.policy.name, "fresh");
  EXPECT_EQ(finished.policy.generation, 1);
  const std::string pod = finished.detail.at("pod");
  EXPECT_THAT(actions({.pod = pod}),
              IsSupersetOf({"PodNominated/Planned", "EvacuationCreated/Allowed", "PhaseChanged/Proceeded",
                            "CallIntended/Planned", "CallAnswered/Allowed", "EvacuationFinished/Succeeded"}));
  EXPECT_THAT(actions(), Contains("CyclePlanned/Planned"));
  EXPECT_THAT(actions(), Contains("PodRefused/Refused"));  // one record per cycle: the other pods hit the limit
}

TEST_F(Audited, EveryEvictionOfTheApiServersLogIsFoundByItsToken) {
  stage(3);
  start("first");
  make_policy();
  ASSERT_TRUE(drive_until([&] { return records({.action = "EvacuationFinished"}).size() >= 2; }));
  ASSERT_GE(tokens_.size(), 2u);
  for (const std::string& token : tokens_) {
    int intended = 0;
    int answered = 0;
    for (const audit::Record& record : records()) {
      const auto at = record.detail.find("token");
      if (at == record.detail.end() || at->second != token) continue;
      intended += record.action == "CallIntended" ? 1 : 0;
      answered += record.action == "CallAnswered" ? 1 : 0;
    }
    EXPECT_EQ(intended, 1) << token;
    EXPECT_EQ(answered, 1) << token;
  }
}

TEST_F(Audited, ARefusalIsRecordedOnceWhileItLasts) {
  stage(3);
  start("first");
  make_policy();
  drive_until([] { return false; }, std::chrono::minutes(10));
  expect_intact();
  EXPECT_GE(records({.action = "CyclePlanned"}).size(), 9u);
  std::size_t cycles = 0;
  for (const audit::Record& record : records({.action = "CyclePlanned"})) cycles += record.detail.at("refused") != "";
  EXPECT_GT(cycles, 5u);
  EXPECT_LT(records({.action = "PodRefused"}).size(), cycles * 2);
}

TEST_F(Audited, TheChainContinuesAcrossARestart) {
  stage(2, {{"handoff.evacuator.dev/mode", "required"},
            {"simulator.evacuator.dev/handoff", "ack=1s, progress=4s, heartbeat=10s, ready=60s, aborted=1s"}});
  start("first");
  const std::string name = evacuate(pods().front());
  ASSERT_TRUE(drive_until([&] { return phase(name) == Phase::kInProgress; }));
  process_.reset();
  start("second");
  ASSERT_TRUE(drive_until([&] { return api::is_terminal(phase(name)); }));
  expect_intact();
  EXPECT_THAT(actions({.actor = "first"}), Contains("PhaseChanged/Proceeded"));
  EXPECT_THAT(actions({.actor = "second"}),
              IsSupersetOf({"LogOpened/Noted", "EvacuationTakenOver/Noted", "EvacuationFinished/Succeeded"}));
}

TEST_F(Audited, AVerdictLostInACrashIsRecordedByTheNextProcess) {
  stage(3);
  start("first");
  auto& transport = process_->transport;
  transport.before_each_call = [&](const kube::Request& request) {
    const bool verdict = request.method == "PATCH" && request.body.find(R"("phase":"Succeeded")") != std::string::npos;
    if (verdict) transport.die();  // after this call
  };
  const std::string name = evacuate(pods().front());
  ASSERT_TRUE(drive_until([&] { return transport.dead(); }));
  ASSERT_EQ(phase(name), Phase::kSucceeded) << "stored, and then it died";
  ASSERT_TRUE(records({.action = "EvacuationFinished"}).empty());
  start("second");
  ASSERT_TRUE(drive_until([&] { return !records({.action = "EvacuationTakenOver"}).empty(); }));
  const auto detail = records({.action = "EvacuationTakenOver"}).front().detail;
  EXPECT_EQ(detail.at("from"), "Verifying");
  EXPECT_EQ(detail.at("to"), "Succeeded");
  EXPECT_EQ(detail.at("by"), "first");
  EXPECT_EQ(detail.at("at"), base::format_time(*get(name).status.finished_at));
  EXPECT_EQ(detail.at("outcome"), "Evicted");
  EXPECT_EQ(detail.at("replacement"), get(name).status.outcome->replacement->name);
  expect_intact();
}

// --- the answer to a status write is lost although the write succeeded

struct LostCase {
  simulator::FaultEffect effect;
  std::int64_t after;  ///< number of status writes that are answered first
  bool with_budget;    ///< whether a budget refuses the eviction for some time
};
class LostAnswer : public Audited, public testing::WithParamInterface<LostCase> {
 protected:
  /// Returns "from>to" of each transition in the log, in order.
  std::vector<std::string> transitions() const {
    std::vector<std::string> all;
    for (const audit::Record& record : records()) {
      if (record.action == "PhaseChanged" || record.action == "EvacuationFinished")
        all.push_back(record.detail.at("from") + ">" + record.detail.at("to"));
    }
    return all;
  }
};

TEST_P(LostAnswer, OfAStatusWriteLeavesNoGapInTheLog) {
  stage(3);
  add(simulator::objects::name_space("evacuator-system"));
  if (GetParam().with_budget) budget("web", "web", 3);
  start("first");
  simulator::FaultRule lost{GetParam().effect};
  lost.verb = "patch";
  lost.resource = "evacuations";
  lost.subresource = "status";
  lost.count = 1;
  lost.after = GetParam().after;
  server->faults().add(lost);
  const std::string name = evacuate(pods().front());
  drive_until([] { return false; }, std::chrono::minutes(2));
  if (GetParam().with_budget) edit(kube::kPdbs, "web", [](Json& pdb) { pdb["spec"]["minAvailable"] = 1; });
  ASSERT_TRUE(drive_until([&] { return has_ended(name); }));
  drive_until([] { return false; }, std::chrono::minutes(1));
  expect_intact();
  std::string at = "Pending";
  for (const std::string& each : transitions()) {
    EXPECT_EQ(each.substr(0, each.find('>')), at) << "a transition is missing";
    at = each.substr(each.find('>') + 1);
  }
  EXPECT_EQ(at, "Succeeded");
  EXPECT_EQ(records({.action = "EvacuationFinished"}).size(), 1U);
  int intended = 0;
  for (const audit::Record& record : records()) {
    if (record.action == "CallIntended") ++intended;
    if (record.action != "CallAnswered") continue;
    EXPECT_GE(intended, 1) << "by the log somebody else has evicted the pod";
    --intended;
  }
  bool is_final = false;
  for (const auto& event : cluster->store().list(kube::kEvents, "shop"))
    is_final |= (*event).value("reason", "") == "Evicted";
  EXPECT_TRUE(is_final);
}

std::vector<LostCase> lost_cases() {
  std::vector<LostCase> all;
  for (const auto effect : {simulator::FaultEffect::kDropResponse, simulator::FaultEffect::kCutAnswer}) {
    for (std::int64_t after = 0; after < 5; ++after) all.push_back({effect, after, false});
    for (std::int64_t after = 0; after < 7; ++after) all.push_back({effect, after, true});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(AtEach, LostAnswer, testing::ValuesIn(lost_cases()), [](const auto& test) {
  const LostCase& lost = test.param;
  const bool cut = lost.effect == simulator::FaultEffect::kCutAnswer;
  return std::string(cut ? "Cut" : "Dropped") + std::to_string(lost.after) + (lost.with_budget ? "WithABudget" : "");
});

TEST_F(Audited, ACancelIsRecordedWithItsFate) {
  stage(2, {{"handoff.evacuator.dev/mode", "required"},
            {"simulator.evacuator.dev/handoff", "ack=1s, heartbeat=10s, aborted=2s"}});
  start("first");
  const std::string name = evacuate(pods().front());
  ASSERT_TRUE(drive_until([&] { return phase(name) == Phase::kInProgress; }));
  cancel(name);
  ASSERT_TRUE(drive_until([&] { return api::is_terminal(phase(name)); }));
  expect_intact();
  EXPECT_THAT(actions(), IsSupersetOf({"CancelAccepted/Allowed", "EvacuationFinished/Cancelled"}));
}

TEST_F(Audited, NothingIsAdmittedWhileTheLogFailsIfSoConfigured) {
  stops_admissions_ = true;
  stage(3);
  add(simulator::objects::name_space("evacuator-system"));  // namespace of the Lease and of the Events about it
  start("first");
  disk_full_ = true;
  process_->log->record({});
  const std::string name = evacuate(pods().front());
  drive_until([] { return false; }, std::chrono::minutes(5));
  EXPECT_EQ(phase(name), Phase::kPending);
  ASSERT_FALSE(get(name).status.blocked_by.empty());
  EXPECT_EQ(get(name).status.blocked_by.front().kind, "AuditLog");
  EXPECT_EQ(condition(name, "SlotAcquired"), "WaitingAuditLog");
  EXPECT_TRUE(has_recorded_event("AuditLogFailing"));
  EXPECT_EQ(granted(), 0u);

  disk_full_ = false;
  ASSERT_TRUE(drive_until([&] { return api::is_terminal(phase(name)); }, std::chrono::minutes(10)));
  EXPECT_EQ(phase(name), Phase::kSucceeded);
  EXPECT_TRUE(has_recorded_event("AuditLogRecovered"));
  expect_intact();
  EXPECT_THAT(actions(), IsSupersetOf({"EvacuationHeld/Held", "EvacuationFinished/Succeeded"}));
}

TEST_F(Audited, APolicysDeletionIsTheReasonOfItsEvacuations) {
  stage(3);
  budget("web", "web", 3);
  start("first");
  make_policy();
  ASSERT_TRUE(drive_until([&] { return !records({.action = "CallAnswered"}).empty(); }));
  const auto gone = server->handle(kube::delete_request(kube::kPolicies, {"", "fresh"}, ""), {"alice", {}, "kubectl"});
  ASSERT_EQ(gone.status, 200) << gone.body;
  ASSERT_TRUE(drive_until([&] { return !records({.action = "EvacuationFinished"}).empty(); }));
  const auto finished = records({.action = "EvacuationFinished"}).front();
  EXPECT_EQ(finished.decision, audit::decision::kCancelled);
  EXPECT_EQ(finished.reason, "PolicyDeleted");
  EXPECT_EQ(finished.detail.at("message"), "policy fresh was deleted");
}

TEST_F(Audited, ThePolicySaysThatTheLogFails) {
  stage(3);
  start("first");
  make_policy();
  ASSERT_TRUE(drive_until([&] { return !records({.action = "CyclePlanned"}).empty(); }));
  const auto failing = [&] { return api::is_true(policy_status("fresh").conditions, "AuditLogFailing"); };
  EXPECT_FALSE(failing());
  disk_full_ = true;
  EXPECT_TRUE(drive_until(failing, std::chrono::minutes(5)));
  disk_full_ = false;
  EXPECT_TRUE(drive_until([&] { return !failing(); }, std::chrono::minutes(5)));
}

TEST_F(Audited, NothingIsNominatedWhereTheServerForbidsUsToMovePods) {
  stage(3);
  start("first");
  bool is_forbidden = true;
  int refused = 0;
  process_->transport.lie = [&](const kube::Request& request) -> std::optional<kube::Response> {
    if (request.path.find("/eviction") == std::string::npos || !is_forbidden) return std::nullopt;
    ++refused;
    return kube::Response{403,
                          R"({"kind":"Status","status":"Failure","code":403,"reason":"Forbidden",
      "message":"pods \"web\" is forbidden: User \"evacuator\" cannot create resource \"pods/eviction\""})",
                          {},
                          ""};
  };
  make_policy();
  ASSERT_TRUE(drive_until([&] { return !records({.action = "EvacuationFinished"}).empty(); }));
  EXPECT_EQ(records({.action = "EvacuationFinished"}).front().reason, "Forbidden");
  const int refused_at_the_end = refused;
  drive_until([] { return false; }, std::chrono::minutes(5));
  EXPECT_EQ(refused, refused_at_the_end) << "a cycle a minute, and none of them made another one";
  const api::Condition degraded = policy_condition("fresh", "Degraded");
  EXPECT_EQ(degraded.status, api::ConditionStatus::kTrue);
  EXPECT_NE(degraded.message.find("namespace shop"), std::string::npos) << degraded.message;
  EXPECT_NE(degraded.message.find("pods/eviction"), std::string::npos) << degraded.message;
  is_forbidden = false;
  ASSERT_TRUE(drive_until([&] { return granted() > 0; })) << "tried again after a while";
}

TEST_F(Audited, EvacuationsContinueWhileTheLogFailsByDefault) {
  stage(3);
  start("first");
  disk_full_ = true;
  process_->log->record({});
  const std::string name = evacuate(pods().front());
  ASSERT_TRUE(drive_until([&] { return api::is_terminal(phase(name)); }));
  EXPECT_EQ(phase(name), Phase::kSucceeded);
  EXPECT_THAT(actions(), Not(Contains("EvacuationFinished/Succeeded")));
  disk_full_ = false;
  drive_until([] { return false; }, base::seconds(10));
  expect_intact();
  EXPECT_THAT(actions(), Contains("EvacuationFinished/Succeeded"));
}

}  // namespace audit_test
