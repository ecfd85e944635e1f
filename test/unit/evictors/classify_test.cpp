#include "evictors/classify.hpp"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

namespace classify_test {

using evictors::CallResult;
using evictors::Classification;
using Class = evictors::ResponseClass;
using api::Json;
using base::seconds;

CallResult answer(int code, std::string body, std::optional<seconds> retry_after = {}) {
  return kube::Response{code, std::move(body), retry_after, "application/json"};
}

std::string status(int code, const std::string& reason, const std::string& message, Json details = nullptr) {
  Json body = {{"kind", "Status"},    {"apiVersion", "v1"}, {"metadata", Json::object()},
               {"status", "Failure"}, {"message", message}, {"code", code}};
  if (!reason.empty()) body["reason"] = reason;
  if (!details.is_null()) body["details"] = details;
  return body.dump();
}

Json cause(const std::string& reason, const std::string& message) {
  return {{"causes", {{{"reason", reason}, {"message", message}}}}};
}

const std::string kDeniedBy = "admission webhook \"guard.example.com\" denied the request: ";
const std::string kBudgetMessage = "Cannot evict pod as it would violate the pod's disruption budget.";

/// An HTML page of a proxy is no refusal by the API server, for any call and code. 408 and 425 are none with a Status
/// either.
TEST(ProxyPage, IsNoRefusal) {
  for (const int code : {400, 402, 403, 405, 406, 407, 408, 409, 410, 411, 413, 415, 418, 421, 422, 425, 451}) {
    for (const char* body : {"", "<html>forbidden</html>", "access denied", R"({"error":"uid is forbidden"})"}) {
      EXPECT_EQ(to_string(evictors::classify_eviction(answer(code, body)).answer), "Unknown") << code << " " << body;
      EXPECT_EQ(to_string(evictors::classify_call(answer(code, body)).answer), "Unknown") << code << " " << body;
      EXPECT_EQ(to_string(evictors::classify_patch(answer(code, body)).answer), "Unknown") << body;
    }
  }
  for (const int code : {408, 425})
    EXPECT_EQ(to_string(evictors::classify_eviction(answer(code, status(code, "Timeout", "later"))).answer), "Unknown");
}

struct AnswerCase {
  const char* name;
  CallResult given;
  Class want;
  const char* blocker_kind = "";
  const char* blocker_name = "";
};

class EvictionAnswer : public testing::TestWithParam<AnswerCase> {};

TEST_P(EvictionAnswer, HasOneMeaning) {
  const AnswerCase& c = GetParam();
  const Classification got = evictors::classify_eviction(c.given);
  EXPECT_EQ(to_string(got.answer), to_string(c.want)) << got.message;
  EXPECT_EQ(got.blocker ? got.blocker->kind : "", c.blocker_kind);
  EXPECT_EQ(got.blocker ? got.blocker->name : "", c.blocker_name);
  EXPECT_LE(got.message.size(), 512u);
}

INSTANTIATE_TEST_SUITE_P(
    EvictionAnswers, EvictionAnswer,
    testing::Values(
        AnswerCase{"Created", answer(201, R"({"kind":"Status","status":"Success","code":201})"), Class::kGranted},
        AnswerCase{"BudgetSpent",
                   answer(429, status(429, "TooManyRequests", kBudgetMessage,
                                      cause("DisruptionBudget",
                                            "The disruption budget web needs 3 healthy pods and has 3 currently"))),
                   Class::kPdbBlocked, "PodDisruptionBudget", "web"},
        AnswerCase{
            "BudgetFailedSync",
            answer(429, status(429, "TooManyRequests", kBudgetMessage,
                               cause("DisruptionBudget",
                                     "The disruption budget web does not allow evicting pods currently because it "
                                     "failed sync: found no controllers"))),
            Class::kPdbBlocked, "PodDisruptionBudget", "web"},
        AnswerCase{"BudgetStillProcessed",
                   answer(429, status(429, "TooManyRequests", kBudgetMessage,
                                      cause("DisruptionBudget",
                                            "The disruption budget web is still being processed by the server."))),
                   Class::kPdbBlocked, "PodDisruptionBudget", "web"},
        AnswerCase{"BudgetWithoutCause", answer(429, status(429, "TooManyRequests", kBudgetMessage)),
                   Class::kPdbBlocked, "PodDisruptionBudget", ""},
        AnswerCase{"KubeVirtTextWithoutCapability",
                   answer(429, status(429, "", kDeniedBy + "Eviction triggered evacuation of VMI \"ns/vm\"")),
                   Class::kRefusedByWebhook, "Webhook", "guard.example.com"},
        AnswerCase{"RoleNotSettled", answer(429, status(429, "", kDeniedBy + "Eviction request for target Pod")),
                   Class::kRetryLater, "Webhook", "guard.example.com"},
        AnswerCase{"NotLiveMigratable",
                   answer(429, status(429, "",
                                      kDeniedBy + "VMI vm is configured with an eviction strategy but is not "
                                                  "live-migratable")),
                   Class::kNotEvictable},
        AnswerCase{"HotplugPod",
                   answer(429, status(429, "", kDeniedBy + "cannot evict hotplug pod: hp associated with")),
                   Class::kNotEvictable},
        AnswerCase{"UnknownDenial429", answer(429, status(429, "", kDeniedBy + "not on Fridays")),
                   Class::kRefusedByWebhook, "Webhook", "guard.example.com"},
        AnswerCase{"UnknownDenial403", answer(403, status(403, "Forbidden", kDeniedBy + "not on Fridays")),
                   Class::kRefusedByWebhook, "Webhook", "guard.example.com"},
        AnswerCase{"UnknownDenial400", answer(400, status(400, "", kDeniedBy + "no")), Class::kRefusedByWebhook,
                   "Webhook", "guard.example.com"},
        AnswerCase{"Strimzi500",
                   answer(500, status(500, "", kDeniedBy + "The pod will be rolled by the Strimzi Cluster Operator")),
                   Class::kRefusedByWebhook, "Webhook", "guard.example.com"},
        AnswerCase{"Couchbase404", answer(404, status(404, "", kDeniedBy + "Pod has been rescheduled")),
                   Class::kGoneMaybe},
        AnswerCase{"PriorityAndFairness", answer(429, "Too many requests, please try again later.", seconds(1)),
                   Class::kThrottled, "Throttled", "api-server"},
        AnswerCase{
            "MultiPdb",
            answer(500, status(500, "InternalError",
                               "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
                               "not support.")),
            Class::kMultiPdb, "PodDisruptionBudget", ""},
        AnswerCase{
            "WebhookDown",
            answer(500, status(500, "InternalError",
                               "Internal error occurred: failed calling webhook \"guard.example.com\": connection "
                               "refused")),
            Class::kWebhookDown, "Webhook", "guard.example.com"},
        AnswerCase{"Other500", answer(500, status(500, "InternalError", "etcd is unhappy")), Class::kUnknown},
        AnswerCase{"BadGateway", answer(502, "<html>Bad Gateway</html>"), Class::kUnknown},
        AnswerCase{"Unavailable", answer(503, "busy"), Class::kUnknown},
        AnswerCase{"PdbUpdateConflicts504",
                   answer(504, status(504, "Timeout", "couldn't update PodDisruptionBudget \"web\" due to conflicts")),
                   Class::kUnknown},
        AnswerCase{"LostAnswer", CallResult(base::Error{base::ErrorCode::kOutcomeUnknown, "connection reset"}),
                   Class::kUnknown},
        AnswerCase{"NoConnection", CallResult(base::unavailable("no route to host")), Class::kUnknown},
        AnswerCase{"NotFound", answer(404, status(404, "NotFound", "pods \"web-1\" not found", {{"kind", "pods"}})),
                   Class::kGoneMaybe},
        AnswerCase{"UidConflict",
                   answer(409, status(409, "Conflict",
                                      "Operation cannot be fulfilled on Pod \"web-1\": the UID in the "
                                      "precondition (a) does not match the UID in record (b).")),
                   Class::kConflict},
        AnswerCase{
            "NamespaceTerminating",
            answer(403, status(403, "Forbidden", "forbidden", cause("NamespaceTerminating", "shop is terminating"))),
            Class::kNamespaceTerminating, "Namespace", ""},
        AnswerCase{"BrokenPdb",
                   answer(403, status(403, "Forbidden", "pdb disruptions allowed is negative",
                                      cause("DisruptionBudget", "The disruption budget web is broken"))),
                   Class::kPdbBroken, "PodDisruptionBudget", "web"},
        AnswerCase{
            "Rbac",
            answer(403, status(403, "Forbidden", "pods \"web-1\" is forbidden: User \"x\" cannot create resource")),
            Class::kForbidden},
        AnswerCase{"BadRequest", answer(400, status(400, "BadRequest", "name in URL does not match")),
                   Class::kPermanent},
        AnswerCase{"NoDryRunWebhook",
                   answer(400, status(400, "BadRequest", "admission webhook \"x\" does not support dry run")),
                   Class::kPermanent},
        AnswerCase{"Unprocessable", answer(422, status(422, "Invalid", "invalid")), Class::kPermanent},
        AnswerCase{"Unauthorized", answer(401, status(401, "Unauthorized", "Unauthorized")), Class::kAuth},
        AnswerCase{"LoginPageWith200", answer(200, "<html>please log in</html>"), Class::kUnknown},
        AnswerCase{"Redirect", answer(302, ""), Class::kUnknown},
        AnswerCase{"EmptyBody429", answer(429, ""), Class::kThrottled, "Throttled", "api-server"},
        AnswerCase{"DetailsOfWrongType", answer(429, R"({"kind":"Status","message":7,"details":[1,{"causes":"x"}]})"),
                   Class::kThrottled, "Throttled", "api-server"},
        AnswerCase{
            "CausesOfWrongType",
            answer(429, R"({"kind":"Status","details":{"causes":[3,null,{"reason":4}],"retryAfterSeconds":"9"}})"),
            Class::kThrottled, "Throttled", "api-server"}),
    [](const auto& test) { return test.param.name; });

TEST(ClassifyEviction, ReadsTheNumbersOfTheBudget) {
  const Classification got = evictors::classify_eviction(answer(
      429,
      status(429, "TooManyRequests", kBudgetMessage,
             cause("DisruptionBudget", "The disruption budget web-pdb needs 3 healthy pods and has 2 currently"))));
  ASSERT_TRUE(got.blocker);
  EXPECT_EQ(got.blocker->desired_healthy, 3);
  EXPECT_EQ(got.blocker->current_healthy, 2);
  EXPECT_EQ(got.message, "The disruption budget web-pdb needs 3 healthy pods and has 2 currently");
}

TEST(ClassifyEviction, AcceptsTheBackgroundTextOnlyWhenEnabled) {
  const std::array accepted = {
      evictors::KnownText{429, evictors::kEvacuationTriggered, Class::kAcceptedInBackground, seconds(0)}};
  const std::string text = "Evacuation in progress: Eviction triggered evacuation of VMI \"ns/vm\"";
  EXPECT_EQ(evictors::classify_eviction(answer(429, status(429, "", kDeniedBy + text)), accepted).answer,
            Class::kAcceptedInBackground);
  EXPECT_EQ(evictors::classify_eviction(answer(500, status(500, "", kDeniedBy + text)), accepted).answer,
            Class::kRefusedByWebhook);
}

TEST(ClassifyEviction, HonoursRetryAfterFromHeaderAndBody) {
  EXPECT_EQ(evictors::classify_eviction(answer(429, "Too many requests", seconds(7))).retry_after, seconds(7));
  EXPECT_EQ(evictors::classify_eviction(answer(429, status(429, "", "busy", {{"retryAfterSeconds", 9}}))).retry_after,
            seconds(9));
  EXPECT_EQ(evictors::classify_eviction(answer(429, status(429, "", "busy", {{"retryAfterSeconds", -4}}))).retry_after,
            std::nullopt);
}

TEST(ClassifyEviction, WaitsTenSecondsForABudgetStillBeingProcessed) {
  const Classification got = evictors::classify_eviction(answer(
      429, status(429, "", kBudgetMessage,
                  cause("DisruptionBudget", "The disruption budget web is still being processed by the server."))));
  EXPECT_EQ(got.retry_after, seconds(10));
}

TEST(ClassifyEviction, TruncatesLongMessagesBetweenCharacters) {
  std::string long_text(511, 'a');
  long_text += "\xC3\xA4\xC3\xA4";
  const Classification got = evictors::classify_eviction(answer(422, status(422, "Invalid", long_text)));
  EXPECT_EQ(got.message, std::string(511, 'a'));
}

TEST(ClassifyEviction, TruncatesNamesFromForeignText) {
  const std::string name(100'000, 'a');
  const std::string budget = "The disruption budget " + name + " needs 3 healthy pods and has 3 currently";
  for (const CallResult& refusal :
       {answer(429, status(429, "", "admission webhook \"" + name + "\" denied the request: no")),
        answer(500, status(500, "", "failed calling webhook \"" + name + "\": timeout")),
        answer(429, status(429, "TooManyRequests", kBudgetMessage, cause("DisruptionBudget", budget)))}) {
    const Classification got = evictors::classify_eviction(refusal);
    ASSERT_TRUE(got.blocker);
    EXPECT_EQ(got.blocker->name, name.substr(0, 253)) << "it is stored in the status";
  }
}

TEST(ClassifyEviction, SurvivesEveryByteSequence) {
  std::string garbage;
  for (int i = 0; i < 4096; ++i) garbage += static_cast<char>((i * 37) ^ (i >> 3));
  for (const int code : {0, 100, 200, 301, 400, 403, 404, 409, 418, 422, 429, 499, 500, 504, 999, -1}) {
    (void)evictors::classify_eviction(answer(code, garbage));
    (void)evictors::classify_eviction(answer(code, std::string(2 << 20, '{')));
    (void)evictors::classify_patch(answer(code, garbage));
  }
}

TEST(ClassifyPatch, DistinguishesStoredChangedAndRefused) {
  const auto of = [](const CallResult& given) { return evictors::classify_patch(given).answer; };
  EXPECT_EQ(of(answer(200, R"({"kind":"Pod"})")), Class::kApplied);
  EXPECT_EQ(of(answer(409, status(409, "Conflict", "the object has been modified"))), Class::kConflict);
  EXPECT_EQ(of(answer(422, status(422, "Invalid", "metadata.uid: Invalid value: field is immutable"))),
            Class::kConflict);
  EXPECT_EQ(of(answer(422, status(422, "Invalid", "annotations too large"))), Class::kPermanent);
  EXPECT_EQ(of(answer(404, status(404, "NotFound", "pods \"web-1\" not found"))), Class::kGoneMaybe);
  EXPECT_EQ(of(answer(403, status(403, "Forbidden", "cannot patch resource \"pods\""))), Class::kForbidden);
  EXPECT_EQ(of(answer(429, "busy")), Class::kThrottled);
  EXPECT_EQ(of(CallResult(base::Error{base::ErrorCode::kOutcomeUnknown, "reset"})), Class::kUnknown);
}

struct DelayCase {
  const char* name;
  Class answer;
  int consecutive;
  std::optional<seconds> retry_after;
  seconds want;  ///< Delay without the jitter of up to 20 %
};

class BlockedDelay : public testing::TestWithParam<DelayCase> {};

TEST_P(BlockedDelay, GrowsToItsBound) {
  const DelayCase& c = GetParam();
  for (const std::uint64_t seed : {0ULL, 1ULL, 77ULL, ~0ULL}) {
    const base::Duration got = evictors::blocked_delay({c.answer, "", c.retry_after, {}}, c.consecutive, seed);
    EXPECT_GE(got, c.want);
    EXPECT_LE(got, base::Duration(c.want) * 12 / 10);
    EXPECT_EQ(got, evictors::blocked_delay({c.answer, "", c.retry_after, {}}, c.consecutive, seed));
  }
}

INSTANTIATE_TEST_SUITE_P(Protocols65, BlockedDelay,
                         testing::Values(DelayCase{"PdbFirst", Class::kPdbBlocked, 1, {}, seconds(5)},
                                         DelayCase{"PdbThird", Class::kPdbBlocked, 3, {}, seconds(20)},
                                         DelayCase{"PdbBound", Class::kPdbBlocked, 1000, {}, seconds(60)},
                                         DelayCase{"PdbAsksForTen", Class::kPdbBlocked, 1, seconds(10), seconds(10)},
                                         DelayCase{"MultiPdb", Class::kMultiPdb, 1, {}, seconds(60)},
                                         DelayCase{"WebhookDownSecond", Class::kWebhookDown, 2, {}, seconds(20)},
                                         DelayCase{"WebhookDownBound", Class::kWebhookDown, 9, {}, seconds(120)},
                                         DelayCase{"RefusedBound", Class::kRefusedByWebhook, 9, {}, seconds(300)},
                                         DelayCase{"ThrottledByHeader", Class::kThrottled, 9, seconds(7), seconds(7)},
                                         DelayCase{"ThrottledHeaderZero", Class::kThrottled, 9, seconds(0), seconds(1)},
                                         DelayCase{"UnknownFirst", Class::kUnknown, 1, {}, seconds(1)},
                                         DelayCase{"ConsecutiveZero", Class::kPdbBlocked, 0, {}, seconds(5)}),
                         [](const auto& test) { return test.param.name; });

/// A webhook that performs a handoff before it allows the eviction answers 429 meanwhile. With retries every five
/// minutes the eviction would be late.
TEST(BlockedDelays, OfAWebhooks429AreShort) {
  const auto delay = [](int code, int consecutive) {
    const auto refused = evictors::classify_eviction(answer(code, status(code, "", kDeniedBy + "leaders are moving")));
    return evictors::blocked_delay(refused, consecutive, 0);
  };
  EXPECT_LE(delay(429, 1), seconds(12));
  EXPECT_GE(delay(429, 1), seconds(10));
  EXPECT_LE(delay(429, 1000), seconds(72));
  EXPECT_GE(delay(403, 1), seconds(30));
  EXPECT_GE(delay(403, 1000), seconds(300));
}

TEST(ResponseClassNames, AreDistinct) {
  std::set<std::string_view> seen;
  for (int i = 0; i <= static_cast<int>(Class::kPermanent); ++i) seen.insert(to_string(static_cast<Class>(i)));
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(Class::kPermanent) + 1);
}

}  // namespace classify_test
