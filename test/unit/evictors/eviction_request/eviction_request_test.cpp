#include "evictors/eviction_request/eviction_request.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "evictors/eviction_request/request_state.hpp"
#include "evictors/registry.hpp"
#include "test/unit/evictors/objects.hpp"

namespace eviction_request_test {

using namespace evictors_test;
using api::EvacuationPhase;
using api::Json;
using api::OutcomeKind;
using base::seconds;
using evictors::Document;
using evictors::NextMove;
using evictors::ResponseClass;
using evictors::Rollback;
using evictors::Support;
using evictors::eviction_request::EvictionByRequest;

constexpr const char* kServed =
    R"({"kind":"APIResourceList","resources":[{"name":"evictionrequests"},{"name":"evictions"}]})";
constexpr const char* kOurs = "evacuator.dev/evacuation-controller";

api::Pod responsive(std::vector<api::PodResponder> responders = {{"acme.io/db", 10000}}) {
  api::Pod result = pod();
  result.eviction_responders = std::move(responders);
  return result;
}

Json condition(const char* type, const char* status, const char* reason, const char* message = "") {
  return {{"type", type}, {"status", status}, {"reason", reason}, {"message", message}};
}

/// Our EvictionRequest as the server returns it after a controller has accepted it.
Json request(Json conditions = Json::array(), const char* intent = "Eviction") {
  return {
      {"kind", "EvictionRequest"},
      {"metadata",
       {{"name", "evac-e5b3"}, {"uid", "r-1"}, {"generation", 1}, {"creationTimestamp", "2026-11-21T12:00:00Z"}}},
      {"spec", {{"requester", kOurs}, {"intent", intent}, {"target", {{"pod", {{"name", "web-1"}, {"uid", kUid}}}}}}},
      {"status", {{"observedGeneration", 1}, {"conditions", std::move(conditions)}}}};
}

Json withdrawn(Json conditions = Json::array(), int observed = 2) {
  Json result = request(std::move(conditions), "Withdrawn");
  result["metadata"]["generation"] = 2;
  result["status"]["observedGeneration"] = observed;
  return result;
}

Json unseen(Json object) {
  object["status"] = Json::object();
  return object;
}

Json eviction(const char* name, Json conditions = Json::array(), Json requesters = Json::array()) {
  return {{"metadata",
           {{"name", name}, {"uid", std::string(name) + "-uid"}, {"creationTimestamp", "2026-11-21T12:00:01Z"}}},
          {"spec", {{"target", {{"pod", {{"name", "web-1"}, {"uid", kUid}}}}}}},
          {"status",
           {{"conditions", std::move(conditions)},
            {"requesters", std::move(requesters)},
            {"targetResponders", Json::array({{{"name", "acme.io/db"}, {"priority", 10000}, {"state", "Active"}}})},
            {"responders", Json::array({{{"name", "acme.io/db"},
                                         {"startTime", "2026-11-21T12:00:01Z"},
                                         {"heartbeatTime", "2026-11-21T12:03:00Z"},
                                         {"expectedCompletionTime", "2026-11-21T12:30:00Z"},
                                         {"message", "copying shard 3"}}})}}}};
}

Document api_document(int status = 200, std::string body = kServed) { return {"api", status, std::move(body)}; }
Document review(std::string name, int status, std::string body) { return {std::move(name), status, std::move(body)}; }
Document request_document(const Json& object) { return {"request", 200, object.dump()}; }
Document no_request() { return {"request", 404, "{}"}; }
Document evictions_document(const std::vector<Json>& items, const char* name = "evictions") {
  return {name, 200, Json{{"kind", "EvictionList"}, {"items", items}}.dump()};
}

/// An Evacuation with this evictor, 30 seconds after its start.
api::Evacuation chosen(EvacuationPhase phase) {
  auto of = evacuation(phase);
  of.status.evictor = EvictionByRequest::kName;
  of.status.in_progress_since = kNoon;
  of.status.phase_entered_at = kNoon;
  of.status.request_sent_at = kNoon;
  return of;
}

/// State of one case. The context refers to its members.
struct Case {
  explicit Case(api::Evacuation its_evacuation, std::vector<Document> its_documents = {},
                api::Pod its_pod = responsive())
      : of(std::move(its_evacuation)), documents(std::move(its_documents)), target(std::move(its_pod)) {}

  evictors::EvictorContext context(base::TimePoint now = kNoon + seconds(30)) const {
    evictors::EvictorContext made{of, gone ? nullptr : &target, now, {}, "v1"};
    for (const auto& choice : of.spec.evictors) {
      if (choice.name == EvictionByRequest::kName) made.parameters = choice.parameters;
    }
    made.documents = documents;
    made.unavailable_until = unavailable_until;
    return made;
  }

  api::Evacuation of;
  std::vector<Document> documents;
  api::Pod target;
  bool gone = false;
  std::optional<base::TimePoint> unavailable_until;
};

const EvictionByRequest evictor;

std::vector<std::string> read_names(const Case& c) {
  std::vector<std::string> names;
  for (const auto& read : evictor.reads(c.context())) names.push_back(read.name + " " + read.request.target());
  return names;
}

using Names = std::vector<std::string>;
const std::string kApiRead = "api /apis/lifecycle.k8s.io/v1alpha1";
const std::string kRequestRead = "request /apis/lifecycle.k8s.io/v1alpha1/namespaces/shop/evictionrequests/evac-e5b3";

// --- reads

TEST(EvictionRequestReads, NothingForPodsOutOfScope) {
  EXPECT_EQ(read_names(Case(evacuation(EvacuationPhase::kPreparing), {}, pod())), Names{});
  Case lately_dead(evacuation(EvacuationPhase::kPreparing));
  lately_dead.unavailable_until = kNoon + seconds(100);
  EXPECT_EQ(read_names(lately_dead), Names{});
}

TEST(EvictionRequestReads, ReadsTheApiFirstAndTheRequestIfItIsServed) {
  EXPECT_EQ(read_names(Case(evacuation(EvacuationPhase::kPreparing))), Names{kApiRead});
  const std::string review = " /apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  EXPECT_EQ(
      read_names(Case(evacuation(EvacuationPhase::kPreparing), {api_document()})),
      (Names{kApiRead, kRequestRead, "may create evictionrequests" + review, "may patch evictionrequests" + review,
             "may delete evictionrequests" + review, "may list evictions" + review}));
  EXPECT_EQ(read_names(Case(evacuation(EvacuationPhase::kPreparing), {api_document(404)})), Names{kApiRead});
}

/// An Eviction gets its status before its labels. An empty list for our label does not prove that there is no Eviction.
TEST(EvictionRequestReads, LooksAtAllEvictionsBeforeItBelievesThatThereIsNone) {
  const auto names =
      read_names(Case(chosen(EvacuationPhase::kAborting), {request_document(withdrawn()), evictions_document({})}));
  ASSERT_EQ(names.size(), 3u);
  EXPECT_TRUE(names[2].starts_with("all evictions /apis/lifecycle.k8s.io/v1alpha1/namespaces/shop/evictions"))
      << names[2];
  EXPECT_EQ(names[2].find("labelSelector"), std::string::npos) << names[2];
  const auto ended = read_names(
      Case(chosen(EvacuationPhase::kAborting),
           {request_document(withdrawn()),
            evictions_document({eviction("pod-1-web-1", Json::array({{{"type", "Failed"}, {"status", "True"}}}))})}));
  EXPECT_EQ(ended.size(), 3u) << "the newest one may have none, too";
  const auto seen = read_names(Case(chosen(EvacuationPhase::kAborting),
                                    {request_document(withdrawn()), evictions_document({eviction("pod-1-web-1")})}));
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_EQ(read_names(Case(chosen(EvacuationPhase::kAborting), {request_document(request()), evictions_document({})}))
                .size(),
            2u)
      << "it still asks";
}

TEST(EvictionRequestReads, FollowsTheEvictionsOfItsOwnKeyWhileItWorks) {
  const auto names = read_names(Case(chosen(EvacuationPhase::kInProgress)));
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(names[0], kRequestRead);
  EXPECT_NE(names[1].find("evictions /apis/lifecycle.k8s.io/v1alpha1/namespaces/shop/evictions?"), std::string::npos);
  EXPECT_NE(names[1].find("evacuator.dev%2Fevacuation-controller%20in%20"), std::string::npos) << names[1];
  EXPECT_NE(names[1].find("requesterresponder"), std::string::npos) << "the drafts' spelling, too";
  Case gone(chosen(EvacuationPhase::kVerifying));
  gone.gone = true;
  EXPECT_EQ(read_names(gone).size(), 2u);
}

// --- probe

struct ProbeCase {
  const char* name;
  api::Pod target;
  std::vector<Document> documents;
  bool listed;
  Support want;
  const char* reason;
};

class EvictionRequestProbe : public testing::TestWithParam<ProbeCase> {};

TEST_P(EvictionRequestProbe, Decides) {
  const auto& p = GetParam();
  Case c(evacuation(EvacuationPhase::kPreparing), p.documents, p.target);
  if (p.listed) c.of.spec.evictors = {{"eviction-request", {}}};
  const auto probe = evictor.probe(c.context());
  EXPECT_EQ(probe.support, p.want) << probe.reason;
  EXPECT_NE(probe.reason.find(p.reason), std::string::npos) << probe.reason;
}

api::Pod grouped() {
  api::Pod result = responsive();
  result.has_scheduling_group = true;
  return result;
}

INSTANTIATE_TEST_SUITE_P(
    Table, EvictionRequestProbe,
    testing::Values(
        ProbeCase{"TakesPodsWithResponders", responsive(), {api_document()}, false, Support::kSupported, ""},
        ProbeCase{"LeavesOtherPodsAlone", pod(), {api_document()}, false, Support::kUnsupported, "evictionResponders"},
        ProbeCase{"TakesThemWhenListed", pod(), {api_document()}, true, Support::kSupported, ""},
        ProbeCase{"DoesNotAskItself",
                  responsive({{"evacuator.dev/responder", 10000}}),
                  {api_document()},
                  false,
                  Support::kUnsupported,
                  "Evacuator is the only responder"},
        ProbeCase{
            "RefusesSchedulingGroups", grouped(), {api_document()}, true, Support::kUnsupported, "schedulingGroup"},
        ProbeCase{"WaitsForItsReads", responsive(), {}, false, Support::kUnavailable, "not checked yet"},
        ProbeCase{"NeedsTheApi", responsive(), {api_document(404)}, true, Support::kUnsupported, "does not serve"},
        ProbeCase{"NeedsBothKinds",
                  responsive(),
                  {api_document(200, R"({"resources":[{"name":"evictionrequests"}]})")},
                  true,
                  Support::kUnsupported,
                  "does not serve"},
        ProbeCase{
            "BelievesNoHtml", responsive(), {api_document(200, "<html>")}, true, Support::kUnsupported, "does not"},
        ProbeCase{"NeedsRbac", responsive(), {api_document(403)}, true, Support::kUnsupported, "RBAC"},
        ProbeCase{"NeedsEachVerb",
                  responsive(),
                  {api_document(), review("may create evictionrequests", 201, R"({"status":{"allowed":true}})"),
                   review("may delete evictionrequests", 201, R"({"status":{"allowed":false}})")},
                  false,
                  Support::kUnsupported,
                  "RBAC does not allow to delete evictionrequests in namespace shop"},
        ProbeCase{
            "TriesWhereReviewsAreNoClearAnswer",
            responsive(),
            {api_document(), review("may create evictionrequests", 403, "forbidden"),
             review("may patch evictionrequests", 201, "<html>"), review("may delete evictionrequests", 201, "[]"),
             review("may list evictions", 201, R"({"status":{"allowed":"no"}})")},
            false,
            Support::kSupported,
            ""},
        ProbeCase{
            "TriesWhereDiscoveryHasNoClearAnswer", responsive(), {api_document(503)}, true, Support::kSupported, ""}),
    [](const auto& test) { return test.param.name; });

TEST(EvictionRequestProbe, IsUnavailableWhileNoControllerHandlesRequests) {
  Case c(evacuation(EvacuationPhase::kPreparing));
  c.unavailable_until = kNoon + seconds(200);
  const auto probe = evictor.probe(c.context());
  EXPECT_EQ(probe.support, Support::kUnavailable);
  EXPECT_EQ(probe.until, kNoon + seconds(200));
  EXPECT_TRUE(probe.hold) << "responders are not passed over";
}

TEST(EvictionRequestProbe, RefusesEvacuationsMadeForAnEvictionRequest) {
  Case c(evacuation(EvacuationPhase::kPreparing), {api_document()});
  c.of.meta.annotations = api::StringMap{{"evacuator.dev/native-eviction", "pod-1-web-1"}};
  c.of.spec.evictors = {{"eviction-request", {}}};
  EXPECT_EQ(evictor.probe(c.context()).support, Support::kUnsupported);
}

TEST(EvictionRequestProbe, AllowsTimeForEveryResponder) {
  Case c(evacuation(EvacuationPhase::kPreparing), {api_document()}, responsive({{"a.io/x", 1}, {"b.io/y", 2}}));
  EXPECT_EQ(evictor.probe(c.context()).total, seconds(3600 + 2 * 1200));
  c.of.spec.timeouts.total = seconds(100);
  EXPECT_EQ(evictor.probe(c.context()).total, seconds(100)) << "the spec's word is final";
}

TEST(EvictionRequestParameters, AreChecked) {
  const auto complaints = [](std::vector<std::pair<std::string, std::string>> parameters) {
    return evictor.validate(parameters, api::FieldPath("p")).size();
  };
  EXPECT_EQ(complaints({{"livenessSeconds", "5"}}), 0u);
  EXPECT_EQ(complaints({{"livenessSeconds", "0"}}), 1u);
  EXPECT_EQ(complaints({{"livenessSeconds", "1m"}}), 1u);
  EXPECT_EQ(complaints({{"liveness", "5"}}), 1u);
}

TEST(EvictionRequestRegistry, ComesAfterTheProtocolsAndBeforeThePlainEviction) {
  const auto names = evictors::EvictorRegistry::builtin().names();
  const auto at = [&](const char* name) { return std::find(names.begin(), names.end(), name) - names.begin(); };
  EXPECT_LT(at("annotation"), at("eviction-request"));
  EXPECT_LT(at("eviction-request"), at("eviction-api"));
}

// --- the request

TEST(EvictionRequestPlan, PostsOneRequestOfAFixedName) {
  Case c(chosen(EvacuationPhase::kRequesting), {api_document(), no_request()});
  c.of.spec.reason = "too old";
  const auto plan = evictor.plan(c.context());
  ASSERT_EQ(plan.next, NextMove::kAct);
  EXPECT_EQ(plan.action->name, "CreateEvictionRequest");
  EXPECT_EQ(plan.action->request.method, "POST");
  EXPECT_EQ(plan.action->request.target(), "/apis/lifecycle.k8s.io/v1alpha1/namespaces/shop/evictionrequests");
  EXPECT_EQ(Json::parse(plan.action->request.body), Json::parse(R"({
    "apiVersion": "lifecycle.k8s.io/v1alpha1", "kind": "EvictionRequest",
    "metadata": {"name": "evac-e5b3", "namespace": "shop", "labels": {"evacuator.dev/evacuation-uid": "e5b3"},
      "annotations": {"evacuator.dev/evacuation-token": "e5b3.1", "evacuator.dev/reason": "too old"}},
    "spec": {"intent": "Eviction", "requester": "evacuator.dev/evacuation-controller",
      "target": {"pod": {"name": "web-1", "uid": "7c1a8c1e-0000-4000-8000-000000000001"}}}})"));
}

TEST(EvictionRequestPlan, DoesNotRepeatARequestThatIsInEffect) {
  EXPECT_EQ(evictor.plan(Case(chosen(EvacuationPhase::kRequesting), {request_document(request())}).context()).next,
            NextMove::kWait);
  EXPECT_EQ(evictor.plan(Case(chosen(EvacuationPhase::kInProgress)).context()).next, NextMove::kWait);
  EXPECT_EQ(evictor.plan(Case(chosen(EvacuationPhase::kPreparing)).context()).next, NextMove::kProceed);
}

TEST(EvictionRequestPlan, SendsADryRunAsOne) {
  Case c(chosen(EvacuationPhase::kRequesting), {no_request()});
  c.of.spec.dry_run = true;
  const auto plan = evictor.plan(c.context());
  ASSERT_TRUE(plan.action);
  EXPECT_EQ(plan.action->request.query, "dryRun=All");
  EXPECT_EQ(evictor.classify(c.context(), *plan.action, kube::Response{201, request().dump(), {}, ""}).answer,
            ResponseClass::kAcceptedInBackground);
}

struct AnswerCase {
  const char* name;
  const char* action;
  int code;
  std::string body;
  std::vector<Document> documents;
  ResponseClass want;
};

class EvictionRequestAnswer : public testing::TestWithParam<AnswerCase> {};

TEST_P(EvictionRequestAnswer, IsClassified) {
  const auto& p = GetParam();
  const Case c(chosen(EvacuationPhase::kRequesting), p.documents);
  evictors::Action action;
  action.name = p.action;
  EXPECT_EQ(evictor.classify(c.context(), action, kube::Response{p.code, p.body, {}, ""}).answer, p.want);
}

const std::string kConflictBody =
    R"({"kind":"Status","status":"Failure","code":409,"reason":"AlreadyExists","message":"x"})";
const std::string kForbiddenBody =
    R"({"kind":"Status","status":"Failure","code":403,"reason":"Forbidden","message":"no"})";
const std::string kNotFoundBody =
    R"({"kind":"Status","status":"Failure","code":404,"reason":"NotFound","message":"x"})";

INSTANTIATE_TEST_SUITE_P(
    Table, EvictionRequestAnswer,
    testing::Values(
        AnswerCase{"Stored", "CreateEvictionRequest", 201, request().dump(), {}, ResponseClass::kApplied},
        AnswerCase{"ExistsLook", "CreateEvictionRequest", 409, kConflictBody, {no_request()}, ResponseClass::kConflict},
        AnswerCase{"StillBeingDeletedWait",
                   "CreateEvictionRequest",
                   409,
                   kConflictBody,
                   {request_document(withdrawn())},
                   ResponseClass::kRetryLater},
        AnswerCase{"Forbidden", "CreateEvictionRequest", 403, kForbiddenBody, {}, ResponseClass::kForbidden},
        AnswerCase{"Invalid",
                   "CreateEvictionRequest",
                   422,
                   R"({"kind":"Status","message":"spec.target"})",
                   {},
                   ResponseClass::kPermanent},
        AnswerCase{"HtmlIsNoYes", "CreateEvictionRequest", 200, "<html>", {}, ResponseClass::kUnknown},
        AnswerCase{"WithdrawnAGoneOne", "WithdrawEvictionRequest", 404, kNotFoundBody, {}, ResponseClass::kApplied},
        AnswerCase{"DeletedAGoneOne", "DeleteEvictionRequest", 404, kNotFoundBody, {}, ResponseClass::kApplied},
        AnswerCase{"AnotherUid", "DeleteEvictionRequest", 409, kConflictBody, {}, ResponseClass::kConflict}),
    [](const auto& test) { return test.param.name; });

// --- watching

evictors::Observation observe(const std::vector<Document>& documents, base::TimePoint now = kNoon + seconds(30)) {
  return evictor.observe(Case(chosen(EvacuationPhase::kInProgress), documents).context(now));
}

TEST(EvictionRequestObserve, MirrorsTheActiveResponder) {
  const auto seen = observe({request_document(request()), evictions_document({eviction("pod-1-web-1")})});
  EXPECT_TRUE(seen.requested && seen.acknowledged);
  EXPECT_FALSE(seen.failed);
  EXPECT_EQ(seen.expected_completion, *base::parse_time("2026-11-21T12:30:00Z"));
  EXPECT_EQ(seen.message, "responder acme.io/db (1 of 1): copying shard 3");
  EXPECT_NE(seen.alive.find("2026-11-21T12:03:00"), std::string::npos) << seen.alive;
  EXPECT_EQ(seen.refs,
            (evictors::Refs{{"evictionRequest", "evac-e5b3/r-1"}, {"eviction", "pod-1-web-1/pod-1-web-1-uid"}}));
}

TEST(EvictionRequestObserve, ReportsARequestThatNoControllerHandlesAsDead) {
  const std::vector<Document> silent = {request_document(unseen(request())), evictions_document({})};
  EXPECT_FALSE(observe(silent, kNoon + seconds(59)).failed);
  const auto seen = observe(silent, kNoon + seconds(60));
  ASSERT_TRUE(seen.failed);
  EXPECT_TRUE(seen.dead && seen.failed->try_next && seen.failed->retryable);
  EXPECT_EQ(seen.failed->complete_reason, "NativeFailed");
  Case hasty(chosen(EvacuationPhase::kInProgress), silent);
  hasty.of.spec.evictors = {{"eviction-request", {{"livenessSeconds", "1"}}}};
  EXPECT_FALSE(evictor.observe(hasty.context(kNoon + seconds(59))).failed) << "a minute at least";
  Case patient(chosen(EvacuationPhase::kInProgress), silent);
  patient.of.spec.evictors = {{"eviction-request", {{"livenessSeconds", "300"}}}};
  EXPECT_FALSE(evictor.observe(patient.context(kNoon + seconds(299))).failed);
  EXPECT_TRUE(evictor.observe(patient.context(kNoon + seconds(300))).failed);
}

TEST(EvictionRequestObserve, GivesARequestThatWasMadeAgainItsMinuteToo) {
  api::Json again = unseen(request());
  again["metadata"]["creationTimestamp"] = base::format_time(kNoon + seconds(59));
  const std::vector<Document> silent = {request_document(again), evictions_document({})};
  EXPECT_FALSE(observe(silent, kNoon + seconds(118)).failed);
  EXPECT_TRUE(observe(silent, kNoon + seconds(119)).failed);
}

struct FailureCase {
  const char* name;
  std::vector<Document> documents;
  const char* reason;  ///< Empty for no failure
  bool retryable;
  bool try_next;
};

class EvictionRequestFailure : public testing::TestWithParam<FailureCase> {};

TEST_P(EvictionRequestFailure, IsRecognised) {
  const auto& p = GetParam();
  const auto seen = observe(p.documents);
  ASSERT_EQ(seen.failed.has_value(), *p.reason != 0) << (seen.failed ? seen.failed->reason : "");
  if (!seen.failed) return;
  EXPECT_EQ(seen.failed->reason, p.reason);
  EXPECT_EQ(seen.failed->retryable, p.retryable);
  EXPECT_EQ(seen.failed->try_next, p.try_next);
}

Json failed_because(const char* reason) { return Json::array({condition("Failed", "True", reason)}); }

Json foreign() {
  Json result = request();
  result["spec"]["requester"] = "acme.io/x";
  return result;
}

Json of_a_draft() {
  Json result = request();
  result["spec"].erase("requester");
  result["spec"]["requesterName"] = kOurs;
  return result;
}

INSTANTIATE_TEST_SUITE_P(
    Table, EvictionRequestFailure,
    testing::Values(
        FailureCase{"NoFurtherResponder",
                    {request_document(request(failed_because("NoFurtherResponder")))},
                    "NoFurtherResponder",
                    true,
                    false},
        FailureCase{"SomebodyWithdrew",
                    {request_document(request(failed_because("CanceledDueToNoRequesters")))},
                    "CanceledDueToNoRequesters",
                    true,
                    false},
        FailureCase{
            "Invalid", {request_document(request(failed_because("EvictionInvalid")))}, "EvictionInvalid", false, true},
        FailureCase{"TheChainGoesOnBehindAHealthyRequest",
                    {request_document(request()),
                     evictions_document({eviction("pod-1-web-1", failed_because("NoFurtherResponder")),
                                         eviction("pod-2-web-1")})},
                    "NoFurtherResponder",
                    true,
                    false},
        FailureCase{"InProgress",
                    {request_document(request(Json::array({condition("Failed", "False", "AwaitingEviction")}))),
                     evictions_document({eviction("pod-1-web-1")})},
                    "",
                    false,
                    false},
        FailureCase{"TargetEvictedButThePodLives",
                    {request_document(request(Json::array({condition("TargetEvicted", "True", "PodDeleted")})))},
                    "",
                    false,
                    false},
        FailureCase{"Vanished", {no_request()}, "RequestVanished", true, false},
        FailureCase{"Withdrawn", {request_document(withdrawn())}, "RequestWithdrawn", true, false},
        FailureCase{"SomebodyElsesObject", {request_document(foreign())}, "NameTaken", false, true},
        FailureCase{"TheDraftsFieldNames", {request_document(of_a_draft())}, "", false, false},
        FailureCase{"Unreadable", {{"request", 200, "<html>"}}, "", false, false},
        FailureCase{"NoAnswer", {{"request", 0, "timeout"}}, "", false, false}),
    [](const auto& test) { return test.param.name; });

TEST(EvictionRequestFailure, IgnoresAnOldEvictionOfAnotherRequester) {
  Json old = eviction("pod-1-web-1", failed_because("NoFurtherResponder"));
  old["metadata"]["creationTimestamp"] = "2026-11-21T11:00:00Z";
  const std::vector<Document> documents = {request_document(request()),
                                           evictions_document({old, eviction("pod-2-web-1")})};
  EXPECT_FALSE(observe(documents).failed);
  Case joined(chosen(EvacuationPhase::kInProgress), documents);
  joined.of.status.refs = {{"eviction", "pod-1-web-1/pod-1-web-1-uid"}};
  EXPECT_TRUE(evictor.observe(joined.context()).failed) << "unless it is the one that was joined";
}

TEST(EvictionRequestObserve, DetectsThatTheApiWasRemovedBeforeTheCall) {
  const auto seen = evictor.observe(Case(chosen(EvacuationPhase::kRequesting), {api_document(404)}).context());
  ASSERT_TRUE(seen.failed);
  EXPECT_TRUE(seen.failed->try_next);
}

// --- undo

struct UndoCase {
  const char* name;
  std::vector<Document> documents;
  std::vector<std::pair<std::string, std::string>> refs;
  const char* undo;  ///< Name of the action, empty for none
  Rollback want;
  const char* cleanup;  ///< Name of the action, empty for none
};

class EvictionRequestUndo : public testing::TestWithParam<UndoCase> {};

std::string first_name(const std::vector<evictors::Action>& actions) {
  return actions.empty() ? std::string() : actions.front().name;
}

TEST_P(EvictionRequestUndo, WithdrawsThenWaitsThenDeletes) {
  const auto& p = GetParam();
  Case c(chosen(EvacuationPhase::kAborting), p.documents);
  c.of.status.refs = p.refs;
  EXPECT_EQ(first_name(evictor.undo(c.context())), p.undo);
  EXPECT_EQ(evictor.undone(c.context()), p.want);
  EXPECT_EQ(first_name(evictor.cleanup(c.context())), p.cleanup);
}

const Json kOthers =
    Json::array({{{"name", kOurs}, {"intent", "Withdrawn"}}, {{"name", "acme.io/x"}, {"intent", "Eviction"}}});
const Json kCanceled = failed_because("CanceledDueToNoRequesters");

INSTANTIATE_TEST_SUITE_P(
    Table, EvictionRequestUndo,
    testing::Values(
        UndoCase{"StillAsking",
                 {request_document(request()), evictions_document({eviction("pod-1-web-1")})},
                 {},
                 "WithdrawEvictionRequest",
                 Rollback::kPending,
                 "DeleteEvictionRequest"},
        UndoCase{"WithdrawnButNotTakenIn",
                 {request_document(withdrawn(Json::array(), 1)), evictions_document({eviction("pod-1-web-1")})},
                 {},
                 "",
                 Rollback::kPending,
                 "DeleteEvictionRequest"},
        UndoCase{"TakenInButNotCanceledYet",
                 {request_document(withdrawn()), evictions_document({eviction("pod-1-web-1")})},
                 {},
                 "",
                 Rollback::kPending,
                 "DeleteEvictionRequest"},
        UndoCase{"Canceled",
                 {request_document(withdrawn(kCanceled)), evictions_document({eviction("pod-1-web-1", kCanceled)}),
                  evictions_document({eviction("pod-1-web-1", kCanceled)}, "all evictions")},
                 {},
                 "",
                 Rollback::kComplete,
                 "DeleteEvictionRequest"},
        UndoCase{"TheSecondOfTheChainMayHaveNoLabelsYet",
                 {request_document(withdrawn(kCanceled)), evictions_document({eviction("pod-1-web-1", kCanceled)})},
                 {},
                 "",
                 Rollback::kPending,
                 "DeleteEvictionRequest"},
        UndoCase{"TheSecondOfTheChainHasNoLabelsYet",
                 {request_document(withdrawn(kCanceled)), evictions_document({eviction("pod-1-web-1", kCanceled)}),
                  evictions_document({eviction("pod-1-web-1", kCanceled), eviction("pod-2-web-1")}, "all evictions")},
                 {},
                 "",
                 Rollback::kPending,
                 "DeleteEvictionRequest"},
        UndoCase{"TheSecondOfTheChainIsNotCanceledYet",
                 {request_document(withdrawn(kCanceled)),
                  evictions_document({eviction("pod-1-web-1", kCanceled), eviction("pod-2-web-1")})},
                 {},
                 "",
                 Rollback::kPending,
                 "DeleteEvictionRequest"},
        UndoCase{"NoneHasItsLabelsYet",
                 {request_document(withdrawn()), evictions_document({})},
                 {},
                 "",
                 Rollback::kPending,
                 "DeleteEvictionRequest"},
        UndoCase{"OneWithoutLabelsIsAtWork",
                 {request_document(withdrawn()), evictions_document({}),
                  evictions_document({eviction("pod-1-web-1")}, "all evictions")},
                 {},
                 "",
                 Rollback::kPending,
                 "DeleteEvictionRequest"},
        UndoCase{"OneWithoutLabelsIsForOthers",
                 {request_document(withdrawn()), evictions_document({}),
                  evictions_document({eviction("pod-1-web-1", Json::array(), kOthers)}, "all evictions")},
                 {},
                 "",
                 Rollback::kOthersRemain,
                 "DeleteEvictionRequest"},
        UndoCase{"NoneWasMade",
                 {request_document(withdrawn()), evictions_document({}), evictions_document({}, "all evictions")},
                 {},
                 "",
                 Rollback::kComplete,
                 "DeleteEvictionRequest"},
        UndoCase{"OthersGoOn",
                 {request_document(withdrawn()), evictions_document({eviction("pod-1-web-1", Json::array(), kOthers)})},
                 {},
                 "",
                 Rollback::kOthersRemain,
                 "DeleteEvictionRequest"},
        UndoCase{"NobodyEverTookItUp",
                 {request_document(unseen(withdrawn())), evictions_document({})},
                 {},
                 "",
                 Rollback::kComplete,
                 "DeleteEvictionRequest"},
        UndoCase{"InvalidFromTheStart",
                 {request_document(withdrawn(failed_because("EvictionInvalid"), 1))},
                 {},
                 "",
                 Rollback::kComplete,
                 "DeleteEvictionRequest"},
        UndoCase{"Deleted", {no_request()}, {{"evictionRequest", "evac-e5b3/r-1"}}, "", Rollback::kComplete, ""},
        UndoCase{"DeletedWhileOthersGoOn",
                 {no_request()},
                 {{"evictionRequest", "evac-e5b3/r-1"}, {"otherRequesters", "remain"}},
                 "",
                 Rollback::kOthersRemain,
                 ""},
        UndoCase{"NeverMade", {no_request()}, {}, "", Rollback::kNothingToDo, ""},
        UndoCase{"SomebodyElsesObjectIsLeftAlone", {request_document(foreign())}, {}, "", Rollback::kNothingToDo, ""},
        UndoCase{"UnreadableIsNotGone",
                 {{"request", 503, ""}},
                 {{"evictionRequest", "evac-e5b3/r-1"}},
                 "",
                 Rollback::kPending,
                 "DeleteEvictionRequest"}),
    [](const auto& test) { return test.param.name; });

TEST(EvictionRequestUndo, TouchesOnlyItsOwnObject) {
  Case c(chosen(EvacuationPhase::kAborting), {request_document(request())});
  const auto withdrawal = evictor.undo(c.context()).at(0).request;
  EXPECT_EQ(withdrawal.method, "PATCH");
  EXPECT_EQ(Json::parse(withdrawal.body),
            Json::parse(R"({"metadata": {"uid": "r-1"}, "spec": {"intent": "Withdrawn"}})"));
  const auto removal = evictor.cleanup(c.context()).at(0).request;
  EXPECT_EQ(removal.method, "DELETE");
  EXPECT_EQ(Json::parse(removal.body)["preconditions"]["uid"], "r-1");
}

TEST(EvictionRequestUndo, RecordsOtherRequestersBeforeItDeletes) {
  Case c(chosen(EvacuationPhase::kAborting),
         {request_document(withdrawn()), evictions_document({eviction("pod-1-web-1", Json::array(), kOthers)})});
  const auto action = evictor.cleanup(c.context()).at(0);
  const auto verdict = evictor.classify(c.context(), action, kube::Response{200, R"({"kind":"Status"})", {}, ""});
  EXPECT_EQ(verdict.refs, (evictors::Refs{{"otherRequesters", "remain"}}));
}

// --- verification after the pod has left

struct VerifyCase {
  const char* name;
  std::vector<Document> documents;
  seconds after;  ///< Time since the pod left
  std::optional<OutcomeKind> kind;
  bool unfinished;
  bool deletes;
};

class EvictionRequestVerify : public testing::TestWithParam<VerifyCase> {};

TEST_P(EvictionRequestVerify, CleansUp) {
  const auto& p = GetParam();
  Case c(chosen(EvacuationPhase::kVerifying), p.documents);
  c.gone = true;
  const auto arrival = evictor.verify(c.context(kNoon + p.after));
  EXPECT_EQ(arrival.kind, p.kind);
  EXPECT_EQ(arrival.unfinished, p.unfinished);
  EXPECT_EQ(arrival.action.has_value(), p.deletes);
  EXPECT_EQ(arrival.state, evictors::Verification::State::kByOwner);
}

const Json kEvicted =
    Json::array({condition("TargetEvicted", "True", "PodDeleted"), condition("Failed", "False", "Succeeded")});

INSTANTIATE_TEST_SUITE_P(
    Table, EvictionRequestVerify,
    testing::Values(
        VerifyCase{
            "OnceItIsSaid", {request_document(request(kEvicted))}, seconds(5), OutcomeKind::kMovedByOwner, true, true},
        VerifyCase{"NotTooEarly", {request_document(request())}, seconds(5), {}, true, false},
        VerifyCase{"OrAfterAWhile", {request_document(request())}, seconds(30), {}, true, true},
        VerifyCase{"AGoneTargetIsNoSuccessOfOurs",
                   {request_document(request(failed_because("EvictionInvalid")))},
                   seconds(1),
                   OutcomeKind::kGoneExternally,
                   true,
                   true},
        VerifyCase{"UnreadableIsNotDoneThoughTheAnswerToItsCreationWasLost",
                   {{"request", 503, ""}},
                   seconds(60),
                   {},
                   true,
                   false},
        VerifyCase{"AndIsDone", {no_request()}, seconds(6), {}, false, false},
        VerifyCase{"LeavesOthersAlone", {request_document(foreign())}, seconds(60), {}, false, false}),
    [](const auto& test) { return test.param.name; });

}  // namespace eviction_request_test
