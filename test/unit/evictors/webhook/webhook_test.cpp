#include "evictors/webhook/webhook.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "evictors/registry.hpp"
#include "evictors/webhook/contract.hpp"
#include "test/unit/evictors/objects.hpp"

namespace webhook_test {

using namespace evictors_test;
using api::EvacuationPhase;
using api::Json;
using evictors::NextMove;
using evictors::ResponseClass;
using evictors::Rollback;
using evictors::Support;
using evictors::webhook::parse_service_status;
using evictors::webhook::ServiceState;
using evictors::webhook::WebhookEvictor;
using testing::HasSubstr;

Json honest(const std::string& state = "InProgress", const std::string& evict_by = "controller") {
  return {{"apiVersion", "evacuator.dev/webhook/v1"}, {"token", kToken}, {"state", state}, {"evictBy", evict_by}};
}

// --- response body, including hostile ones

TEST(WebhookStatus, ReadsEveryField) {
  Json body = honest("Failed");
  body.update({{"progress", 40},
               {"expectedCompletion", "2026-11-21T12:30:00Z"},
               {"message", "no\nroom"},
               {"reason", "NoRoom"},
               {"retryable", true},
               {"target", "node-b"},
               {"heartbeat", "7"},
               {"somethingNew", {1, 2}}});
  const auto got = parse_service_status(body.dump(), kToken);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(*got, (evictors::webhook::ServiceStatus{ServiceState::kFailed, evictors::webhook::EvictBy::kController, 40,
                                                    *base::parse_time("2026-11-21T12:30:00Z"), "no room", "NoRoom",
                                                    true, "node-b", "7"}));
}

struct BadBody {
  const char* name;
  std::string body;
  const char* complaint;
  base::ErrorCode code = base::ErrorCode::kInvalid;
};

std::string with(const char* field, const Json& value) {
  Json body = honest();
  body[field] = value;
  return body.dump();
}
std::string without(const char* field) {
  Json body = honest();
  body.erase(field);
  return body.dump();
}

TEST(WebhookStatus, ReportsInvalidFields) {
  const BadBody cases[] = {
      {"html", "<html>login</html>", "not valid JSON"},
      {"empty", "", "not valid JSON"},
      {"array", "[]", "not a JSON object"},
      {"huge", with("message", std::string(300'000, 'x')), "bytes, more than 65536"},
      {"deep", std::string(300, '[') + std::string(300, ']'), "not valid JSON"},
      {"twice", R"({"token":"a","token":"b"})", "not valid JSON"},
      {"no version", without("apiVersion"), "apiVersion: is required"},
      {"other version", with("apiVersion", "evacuator.dev/webhook/v2"), "apiVersion: must be",
       base::ErrorCode::kConflict},
      {"no token", without("token"), "token: is required"},
      {"other token", with("token", "else.1"), "about \"else.1\"", base::ErrorCode::kConflict},
      {"longer token", with("token", "e5b3.10"), "token", base::ErrorCode::kConflict},
      {"no state", without("state"), "state: must be one of"},
      {"unknown state", with("state", "Dancing"), "not \"Dancing\""},
      {"state of a wrong type", with("state", 3), "state: must be a string"},
      {"unknown evictBy", with("evictBy", "nobody"), "evictBy"},
      {"progress as text", with("progress", "half"), "progress: must be a whole number"},
      {"wild progress", with("progress", 1'000'000'000), "from 0 to 100"},
      {"negative progress", with("progress", -1), "from 0 to 100"},
      {"huge progress", with("progress", 18446744073709551615ULL), "from 0 to 100"},
      {"fraction", with("progress", 0.5), "whole number"},
      {"time", with("expectedCompletion", "soon"), "expectedCompletion: must be an RFC 3339 time"},
      {"reason", with("reason", "no camel case"), "reason: must be one CamelCase word"},
      {"retryable", with("retryable", "yes"), "retryable: must be true or false"},
      {"ready, but evicts itself", honest("ReadyToEvict", "service").dump(),
       "ReadyToEvict requires evictBy controller"},
      {"moved, but we evict", honest("Moved").dump(), "Moved requires evictBy service"},
  };
  for (const BadBody& each : cases) {
    const auto got = parse_service_status(each.body, kToken);
    ASSERT_FALSE(got) << each.name;
    EXPECT_THAT(got.error().message, HasSubstr(each.complaint)) << each.name;
    EXPECT_EQ(got.error().code, each.code) << each.name;
    EXPECT_LT(got.error().message.size(), 600u) << each.name;
  }
}

TEST(WebhookStatus, StatesGoForwardOnly) {
  using evictors::webhook::may_follow;
  const ServiceState all[] = {ServiceState::kAccepted, ServiceState::kInProgress, ServiceState::kReadyToEvict,
                              ServiceState::kMoved, ServiceState::kFailed};
  std::string allowed;
  for (const ServiceState before : all) {
    for (const ServiceState after : all) {
      if (may_follow(before, after))
        allowed += std::string(to_string(before)) + ">" + std::string(to_string(after)) + " ";
    }
  }
  EXPECT_EQ(allowed,
            "Accepted>Accepted Accepted>InProgress Accepted>ReadyToEvict Accepted>Moved Accepted>Failed "
            "InProgress>InProgress InProgress>ReadyToEvict InProgress>Moved InProgress>Failed "
            "ReadyToEvict>InProgress ReadyToEvict>ReadyToEvict ReadyToEvict>Moved ReadyToEvict>Failed "
            "Moved>Moved Failed>Failed ");
}

// --- the evictor

/// State of an Evacuation with the evictor chosen and the result of the last read.
struct Stage {
  explicit Stage(EvacuationPhase phase = EvacuationPhase::kInProgress) : of(evacuation(phase)) {
    of.status.evictor = "webhook";
  }
  Stage& answered(int status, std::string body) {
    documents = {{"status", status, std::move(body)}};
    return *this;
  }
  Stage& says(const Json& body) { return answered(200, body.dump()); }
  Stage& ref(const std::string& name, const std::string& value) {
    of.status.refs.emplace_back(name, value);
    return *this;
  }
  Stage& sent(const char* action, bool resolved = true) {
    of.status.intent = api::EvacuationIntent{action, kToken, kNoon, resolved, resolved ? "Applied" : "", ""};
    return *this;
  }
  evictors::EvictorContext context() {
    auto result = evictors_test::context(of, target, now);
    result.parameters = {{"service", "mover"}, {"x-speed", "fast"}};
    result.documents = documents;
    result.services = services;
    return result;
  }

  api::Evacuation of;
  api::Pod target = pod();
  base::TimePoint now = kNoon;
  std::vector<evictors::Document> documents;
  std::vector<std::string> services = {"mover"};
};

TEST(Webhook, IsOnlyChosenByName) {
  EXPECT_FALSE(WebhookEvictor().traits().automatic);
  for (const auto& choice : evictors::EvictorRegistry::builtin().chain({})) EXPECT_NE(choice.name, "webhook");
}

TEST(Webhook, ChecksItsParameters) {
  const auto complaints = [](std::vector<std::pair<std::string, std::string>> parameters) {
    std::string all;
    for (const auto& error : WebhookEvictor().validate(parameters, api::FieldPath("p")))
      all += error.to_string() + "\n";
    return all;
  };
  EXPECT_EQ(complaints({{"service", "mover"}, {"x-speed", "fast"}}), "");
  EXPECT_THAT(complaints({}), HasSubstr("p.service: is required"));
  EXPECT_THAT(complaints({{"service", ""}}), HasSubstr("p.service: is required"));
  EXPECT_THAT(complaints({{"service", "mover"}, {"url", "https://evil"}}), HasSubstr("p.url: unknown parameter"));
}

TEST(Webhook, NeedsAConfiguredService) {
  Stage stage;
  stage.services = {"other"};
  const auto probe = WebhookEvictor().probe(stage.context());
  EXPECT_EQ(probe.support, Support::kUnsupported);
  EXPECT_THAT(probe.reason, HasSubstr("service mover is not in the operator's configuration: add it under services"));
  EXPECT_TRUE(WebhookEvictor().reads(stage.context()).empty());
  stage.services = {"mover"};
  EXPECT_EQ(WebhookEvictor().probe(stage.context()).support, Support::kSupported);
  EXPECT_EQ(WebhookEvictor().probe(stage.context()).adapter, "mover");
}

TEST(Webhook, ReadsTheStatusOfItsToken) {
  Stage stage;
  const auto reads = WebhookEvictor().reads(stage.context());
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].service, "mover");
  EXPECT_EQ(reads[0].request.method, "GET");
  EXPECT_EQ(reads[0].request.path, "/v1/evacuations/e5b3.1");
  stage.of.spec.dry_run = true;
  EXPECT_TRUE(WebhookEvictor().reads(stage.context()).empty()) << "a dry run never reaches the service";
}

TEST(Webhook, StartsWithEverythingTheServiceNeeds) {
  Stage stage(EvacuationPhase::kRequesting);
  stage.target.node_name = {"node-a"};
  stage.of.spec.reason = "drain";
  const auto plan = WebhookEvictor().plan(stage.context());
  ASSERT_EQ(plan.next, NextMove::kAct);
  EXPECT_EQ(plan.action->name, "StartEvacuation");
  EXPECT_EQ(plan.action->service, "mover");
  EXPECT_EQ(plan.action->request.path, "/v1/evacuations/e5b3.1");
  const Json body = Json::parse(plan.action->request.body);
  EXPECT_EQ(body["apiVersion"], "evacuator.dev/webhook/v1");
  EXPECT_EQ(body["token"], kToken);
  EXPECT_EQ(body["pod"], (Json{{"namespace", "shop"}, {"name", "web-1"}, {"uid", kUid}, {"node", "node-a"}}));
  EXPECT_EQ(body["parameters"], (Json{{"speed", "fast"}}));
  EXPECT_EQ(body["reason"], "drain");
  EXPECT_EQ(body["deadline"], "2026-11-21T13:00:00Z");
}

struct PlanRow {
  const char* name;
  EvacuationPhase phase;
  int code;
  Json body;
  NextMove next;
  const char* action = "";
  const char* known = "";
};

TEST(Webhook, TakesTheNextStep) {
  const PlanRow rows[] = {
      {"preparing", EvacuationPhase::kPreparing, 404, {}, NextMove::kProceed},
      {"start lost", EvacuationPhase::kRequesting, 404, {}, NextMove::kAct, "StartEvacuation"},
      {"start in effect", EvacuationPhase::kRequesting, 200, honest("Accepted"), NextMove::kWait},
      {"no answer yet", EvacuationPhase::kRequesting, 0, "connection refused", NextMove::kAct, "StartEvacuation"},
      {"html", EvacuationPhase::kRequesting, 200, "<html>", NextMove::kAct, "StartEvacuation"},
      {"known and silent", EvacuationPhase::kRequesting, 0, "refused", NextMove::kWait, "", "InProgress"},
      {"ready", EvacuationPhase::kRequesting, 200, honest("ReadyToEvict"), NextMove::kAct, "PostEviction"},
      {"running", EvacuationPhase::kInProgress, 200, honest(), NextMove::kWait},
      {"ready in progress", EvacuationPhase::kInProgress, 200, honest("ReadyToEvict"), NextMove::kAct, "PostEviction"},
      {"moved", EvacuationPhase::kInProgress, 200, honest("Moved", "service"), NextMove::kWait},
      {"failed", EvacuationPhase::kInProgress, 200, honest("Failed"), NextMove::kWait},
      {"ready of another token", EvacuationPhase::kInProgress, 200,
       Json::parse(R"({"apiVersion":"evacuator.dev/webhook/v1","token":"x.1","state":"ReadyToEvict"})"),
       NextMove::kWait},
  };
  for (const PlanRow& row : rows) {
    Stage stage(row.phase);
    stage.answered(row.code, row.body.is_string() ? row.body.get<std::string>() : row.body.dump());
    if (*row.known) stage.ref("state", row.known);
    const auto plan = WebhookEvictor().plan(stage.context());
    EXPECT_EQ(plan.next, row.next) << row.name;
    EXPECT_EQ(plan.action ? plan.action->name : "", row.action) << row.name;
  }
}

TEST(Webhook, ShowsTheStatusOfTheService) {
  Stage stage;
  Json body = honest();
  body.update({{"progress", 30}, {"target", "node-b"}, {"expectedCompletion", "2026-11-21T12:30:00Z"}});
  const auto seen = WebhookEvictor().observe(stage.says(body).context());
  EXPECT_TRUE(seen.requested && seen.acknowledged && !seen.ready && !seen.failed);
  EXPECT_EQ(seen.progress, 30);
  EXPECT_EQ(seen.target.value, "node-b");
  body["message"] = "half way";
  EXPECT_NE(WebhookEvictor().observe(Stage().says(body).context()).alive, seen.alive) << "a changing message is life";
  EXPECT_TRUE(WebhookEvictor().observe(Stage().says(honest("ReadyToEvict")).context()).ready);
}

std::string failure_of(Stage& stage) {
  const auto seen = WebhookEvictor().observe(stage.context());
  return seen.failed ? seen.failed->reason + (seen.failed->retryable ? "+" : "") : "";
}

TEST(Webhook, EndsFailedAttemptsWithAReason) {
  Json no_capacity = honest("Failed");
  no_capacity.update({{"reason", "NoRoom"}, {"retryable", true}});
  EXPECT_EQ(failure_of(Stage().says(no_capacity)), "NoRoom+");
  EXPECT_EQ(failure_of(Stage().says(honest("Failed"))), "ServiceFailed");
  EXPECT_EQ(failure_of(Stage().ref("state", "InProgress").says(honest("Accepted"))), "ContractViolation");
  EXPECT_EQ(failure_of(Stage().ref("evictBy", "service").says(honest())), "ContractViolation");
  EXPECT_EQ(failure_of(Stage().answered(200, with("token", "else.1"))), "ContractViolation");
  EXPECT_EQ(failure_of(Stage().ref("state", "InProgress").answered(404, "")), "TokenForgotten+");
  EXPECT_EQ(failure_of(Stage().ref("state", "ReadyToEvict").says(honest())), "") << "withdrawn, not backwards";
}

TEST(Webhook, ToleratesInvalidAndMissingAnswersForAWhile) {
  const auto failure = [](int code, const std::string& body, base::seconds later) {
    Stage stage;
    stage.ref("state", "InProgress").ref("troubleSince", base::format_time(kNoon)).answered(code, body);
    stage.now = kNoon + later;
    return failure_of(stage);
  };
  EXPECT_EQ(failure(200, "<html>", base::seconds(59)), "");
  EXPECT_EQ(failure(200, "<html>", base::seconds(60)), "BadAnswer+");
  EXPECT_EQ(failure(200, with("progress", 1'000'000'000), base::seconds(60)), "BadAnswer+");
  EXPECT_EQ(failure(0, "timed out", base::seconds(299)), "");
  EXPECT_EQ(failure(0, "timed out", base::seconds(300)), "ServiceUnreachable+");
  EXPECT_EQ(failure(503, "busy", base::seconds(300)), "ServiceUnreachable+");

  Stage first;
  first.ref("state", "InProgress").answered(0, "timed out");
  const auto seen = WebhookEvictor().observe(first.context());
  EXPECT_EQ(seen.refs, (evictors::Refs{{"troubleSince", "2026-11-21T12:00:00Z"}}));
  Stage again;
  const auto healed =
      WebhookEvictor().observe(again.ref("troubleSince", "2026-11-21T12:00:00Z").says(honest()).context());
  EXPECT_THAT(healed.refs, testing::Contains(std::pair<std::string, std::string>{"troubleSince", ""}));
}

TEST(Webhook, TrustsMovedOnlyForALimitedTime) {
  const auto failure = [](base::seconds later) {
    Stage stage;
    stage.ref("movedSince", base::format_time(kNoon)).says(honest("Moved", "service"));
    stage.now = kNoon + later;
    return failure_of(stage);
  };
  EXPECT_EQ(failure(base::seconds(119)), "");
  EXPECT_EQ(failure(base::seconds(120)), "MovedButPodRemains");
}

// --- answers to the start

evictors::Action start_action() {
  evictors::Action action;
  action.name = "StartEvacuation";
  return action;
}

TEST(Webhook, ClassifiesTheAnswerToAStart) {
  struct Row {
    int code;
    std::string body;
    ResponseClass want;
  };
  const Row rows[] = {
      {200, honest("Accepted").dump(), ResponseClass::kApplied},
      {202, honest("Accepted").dump(), ResponseClass::kApplied},
      {200, "<html>login</html>", ResponseClass::kUnknown},
      {200, with("token", "else.1"), ResponseClass::kPermanent},
      {302, "", ResponseClass::kUnknown},
      {400, "bad", ResponseClass::kPermanent},
      {400, "<html>a proxy's page</html>", ResponseClass::kUnknown},
      {401, "", ResponseClass::kAuth},
      {403, "", ResponseClass::kForbidden},
      {403, " <!DOCTYPE html>", ResponseClass::kUnknown},
      {404, "", ResponseClass::kPermanent},
      {409, "not now", ResponseClass::kRetryLater},
      {410, "aborted", ResponseClass::kPermanent},
      {422, "", ResponseClass::kPermanent},
      {429, "", ResponseClass::kThrottled},
      {500, "", ResponseClass::kUnknown},
      {503, "", ResponseClass::kUnknown},
  };
  Stage stage(EvacuationPhase::kRequesting);
  for (const Row& row : rows) {
    const auto verdict =
        WebhookEvictor().classify(stage.context(), start_action(), kube::Response{row.code, row.body, {}, ""});
    EXPECT_EQ(verdict.answer, row.want) << row.code << " " << row.body;
    if (is_blocked(row.want)) {
      ASSERT_TRUE(verdict.blocker) << row.code;
      EXPECT_EQ(verdict.blocker->name, "mover");
    }
  }
  const auto error = [&](base::ErrorCode code) {
    return WebhookEvictor().classify(stage.context(), start_action(), base::Error{code, "x"}).answer;
  };
  EXPECT_EQ(error(base::ErrorCode::kUnavailable), ResponseClass::kWebhookDown);
  EXPECT_EQ(error(base::ErrorCode::kOutcomeUnknown), ResponseClass::kUnknown);
  EXPECT_EQ(error(base::ErrorCode::kInvalid), ResponseClass::kPermanent) << "the service was taken off";
}

// --- undo

TEST(Webhook, UndoesAnAttemptThatTheServiceMayHaveBegun) {
  struct Row {
    const char* name;
    Stage stage;
    Rollback want;
    bool deletes;
  };
  Row rows[] = {
      {"never asked", Stage(EvacuationPhase::kAborting).answered(404, ""), Rollback::kNothingToDo, false},
      {"running", Stage(EvacuationPhase::kAborting).sent("StartEvacuation").says(honest()), Rollback::kPending, true},
      {"lost answer, maybe on its way",
       Stage(EvacuationPhase::kAborting).sent("StartEvacuation", false).answered(404, ""), Rollback::kPending, false},
      {"forgotten", Stage(EvacuationPhase::kAborting).ref("state", "InProgress").answered(404, ""), Rollback::kComplete,
       false},
      {"silent", Stage(EvacuationPhase::kAborting).ref("state", "InProgress").answered(0, "refused"),
       Rollback::kPending, true},
      {"just told",
       Stage(EvacuationPhase::kAborting)
           .ref("state", "InProgress")
           .ref("abortSent", "2026-11-21T12:00:00Z")
           .says(honest()),
       Rollback::kPending, false},
      {"refused to stop",
       Stage(EvacuationPhase::kAborting).ref("state", "InProgress").ref("abortRefused", "true").says(honest()),
       Rollback::kPending, false},
  };
  for (Row& row : rows) {
    EXPECT_EQ(WebhookEvictor().undone(row.stage.context()), row.want) << row.name;
    const auto actions = WebhookEvictor().undo(row.stage.context());
    EXPECT_EQ(!actions.empty(), row.deletes) << row.name;
    if (!actions.empty()) {
      EXPECT_EQ(actions[0].request.method, "DELETE") << row.name;
      EXPECT_EQ(actions[0].request.path, "/v1/evacuations/e5b3.1") << row.name;
    }
  }
  Stage late(EvacuationPhase::kAborting);
  late.sent("StartEvacuation", false).answered(404, "");
  late.now = kNoon + base::seconds(35);
  EXPECT_EQ(WebhookEvictor().undone(late.context()), Rollback::kComplete) << "nothing can be on its way any more";
}

}  // namespace webhook_test
