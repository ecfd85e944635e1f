#include "kube/classify.hpp"
#include "api/core/protobuf/envelope.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kube/client.hpp"

namespace kube {
namespace classify_test {

using base::ErrorCode;
using ::testing::HasSubstr;

struct CodeCase {
  int status;
  const char* reason;
  ErrorCode want;
};
class CodeTest : public ::testing::TestWithParam<CodeCase> {};

TEST_P(CodeTest, BecomesOneMeaning) {
  const CodeCase& c = GetParam();
  const std::string body = std::string(R"({"kind":"Status","message":"m","reason":")") + c.reason + "\"}";
  const auto got = classify(Response{c.status, body, {}, "application/json"});
  ASSERT_FALSE(got);
  EXPECT_EQ(base::to_string(got.error().code), base::to_string(c.want));
  EXPECT_EQ(got.error().message, "m");
}

INSTANTIATE_TEST_SUITE_P(
    Classify, CodeTest,
    ::testing::Values(
        CodeCase{100, "", ErrorCode::kInvalid}, CodeCase{301, "", ErrorCode::kInvalid},
        CodeCase{302, "", ErrorCode::kInvalid}, CodeCase{304, "", ErrorCode::kInvalid},
        CodeCase{307, "", ErrorCode::kInvalid}, CodeCase{400, "BadRequest", ErrorCode::kInvalid},
        CodeCase{401, "Unauthorized", ErrorCode::kUnauthorized}, CodeCase{402, "", ErrorCode::kForbidden},
        CodeCase{403, "Forbidden", ErrorCode::kForbidden}, CodeCase{404, "NotFound", ErrorCode::kNotFound},
        CodeCase{405, "MethodNotAllowed", ErrorCode::kUnsupported},
        CodeCase{406, "NotAcceptable", ErrorCode::kUnsupported}, CodeCase{408, "", ErrorCode::kUnavailable},
        CodeCase{409, "AlreadyExists", ErrorCode::kAlreadyExists}, CodeCase{409, "Conflict", ErrorCode::kConflict},
        CodeCase{409, "", ErrorCode::kConflict}, CodeCase{410, "Expired", ErrorCode::kGone},
        CodeCase{410, "Gone", ErrorCode::kGone}, CodeCase{412, "", ErrorCode::kConflict},
        CodeCase{413, "RequestEntityTooLarge", ErrorCode::kInvalid},
        CodeCase{415, "UnsupportedMediaType", ErrorCode::kUnsupported}, CodeCase{418, "", ErrorCode::kInvalid},
        CodeCase{422, "Invalid", ErrorCode::kInvalid}, CodeCase{425, "", ErrorCode::kUnavailable},
        CodeCase{429, "TooManyRequests", ErrorCode::kThrottled},
        CodeCase{500, "InternalError", ErrorCode::kUnavailable}, CodeCase{501, "", ErrorCode::kUnsupported},
        CodeCase{502, "", ErrorCode::kOutcomeUnknown}, CodeCase{503, "ServiceUnavailable", ErrorCode::kUnavailable},
        CodeCase{504, "Timeout", ErrorCode::kOutcomeUnknown}, CodeCase{507, "", ErrorCode::kUnavailable},
        CodeCase{599, "", ErrorCode::kUnavailable}, CodeCase{0, "", ErrorCode::kInvalid}),
    [](const auto& test) { return "Http" + std::to_string(test.param.status) + test.param.reason; });

/// API servers send a metav1.Status with each 4xx except some 429. Any other body comes from a proxy and may be
/// transient.
TEST(Classify, TakesNoFinalWordFromAProxy) {
  for (const int status : {400, 402, 403, 405, 406, 407, 408, 409, 410, 411, 412, 413, 415, 418, 421, 422, 425, 451}) {
    for (const char* body : {"", "<html>no</html>", "access denied", R"({"error":"forbidden"})", R"({"kind":"Stat)"}) {
      const auto got = classify(Response{status, body, {}, "text/plain"});
      ASSERT_FALSE(got);
      EXPECT_EQ(base::to_string(got.error().code), "Unavailable") << status << " " << body;
      EXPECT_THAT(got.error().message, ::testing::AnyOf(HasSubstr("proxy"), HasSubstr("login page"))) << body;
    }
  }
  EXPECT_EQ(classify(Response{401, "", {}, ""}).error().code, ErrorCode::kUnauthorized);
  EXPECT_THAT(classify(Response{401, "", {}, ""}).error().message, HasSubstr("ServiceAccount token or kubeconfig"));
  EXPECT_EQ(classify(Response{404, "404 page not found\n", {}, "text/plain"}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(classify(Response{429, "", {}, ""}).error().code, ErrorCode::kThrottled);
}

TEST(Classify, PassesEverySuccessThrough) {
  for (const int status : {200, 201, 202, 204}) {
    const auto got = classify(Response{status, "{}", {}, "application/json"});
    ASSERT_TRUE(got);
    EXPECT_EQ(got->status, status);
    EXPECT_EQ(got->body, "{}");
  }
}

struct BodyCase {
  const char* name;
  Response response;
  const char* message;
};
class BodyTest : public ::testing::TestWithParam<BodyCase> {};

TEST_P(BodyTest, GivesAReadableMessage) {
  const auto got = classify(GetParam().response);
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Classify, BodyTest,
    ::testing::Values(
        BodyCase{"PlainTooManyRequests",
                 {429, "Too many requests, please try again later.\n", base::seconds(1), "text/plain"},
                 "HTTP 429: Too many requests, please try again later."},
        BodyCase{
            "Html", {502, "<html><body>Bad Gateway</body></html>", {}, "text/html"}, "an HTML page instead of JSON"},
        BodyCase{"HtmlWithoutType", {404, "  <!DOCTYPE html>", {}, ""}, "an HTML page instead of JSON"},
        BodyCase{"SuccessfulHtml",
                 {200, "<html>Please log in</html>", {}, "text/html; charset=utf-8"},
                 "check the server's URL"},
        BodyCase{"Empty", {503, "", {}, ""}, "HTTP 503 with an empty body"},
        BodyCase{
            "TruncatedJson", {500, R"({"kind":"Status","mess)", {}, "application/json"}, "not a Kubernetes Status"},
        BodyCase{"StatusWithoutMessage",
                 {403, R"({"kind":"Status","reason":"Forbidden"})", {}, "application/json"},
                 "HTTP 403 Forbidden"},
        BodyCase{"OtherJson", {500, R"({"error":"x"})", {}, "application/json"}, "not a Kubernetes Status"},
        BodyCase{"WrongTypes",
                 {403, R"({"kind":"Status","message":7,"reason":[],"details":"x","code":"y"})", {}, ""},
                 "HTTP 403"},
        BodyCase{"Redirect", {302, "", {}, ""}, "not supported"},
        BodyCase{"ControlCharacters", {500, "a\x01\x1b[31m\r\nb", {}, "text/plain"}, "HTTP 500: a [31m b"}),
    [](const auto& test) { return test.param.name; });

TEST(Classify, ReadsAStatusInProtobuf) {
  const std::string status(
      "\x1a\x04"
      "gone"
      "\x22\x07"
      "Expired"
      "\x2a\x07\x0a\x05web-1"
      "\x30\x9a\x03");
  const auto answer =
      classify({410, api::protobuf::seal("v1", "Status", status), {}, "application/vnd.kubernetes.protobuf"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kGone);
  EXPECT_EQ(answer.error().message, "gone");
  EXPECT_EQ(parse_status(api::protobuf::seal("v1", "Status", status)).name, "web-1");
  EXPECT_EQ(error_of_status(api::protobuf::seal("v1", "Status", status)).code, ErrorCode::kGone);
  const auto other = classify({503, api::protobuf::seal("v1", "Pod", ""), {}, "application/vnd.kubernetes.protobuf"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, "HTTP 503 with a body that is not a Kubernetes Status");
}

TEST(Classify, TruncatesLongText) {
  const auto got = classify(Response{500, std::string(100'000, 'x'), {}, "text/plain"});
  ASSERT_FALSE(got);
  EXPECT_LT(got.error().message.size(), 1100u);
}

TEST(Classify, SurvivesDeepNesting) {
  std::string deep(500'000, '[');
  EXPECT_FALSE(classify(Response{500, deep, {}, ""}));
  EXPECT_FALSE(classify(Response{500, R"({"kind":"Status","details":)" + std::string(400'000, '{'), {}, ""}));
}

std::optional<base::Duration> retry_after(std::optional<base::seconds> header, const std::string& details) {
  return classify(Response{429, R"({"kind":"Status","details":)" + details + "}", header, ""}).error().retry_after;
}

TEST(Classify, ReadsRetryAfterFromHeaderThenFromDetails) {
  EXPECT_EQ(retry_after(base::seconds(3), R"({"retryAfterSeconds":9})"), base::Duration(base::seconds(3)));
  EXPECT_EQ(retry_after({}, R"({"retryAfterSeconds":9})"), base::Duration(base::seconds(9)));
  EXPECT_EQ(retry_after({}, R"({"retryAfterSeconds":0})"), std::nullopt);
  EXPECT_EQ(retry_after(base::seconds(0), "{}"), std::nullopt) << "no delay was asked for";
  EXPECT_EQ(retry_after(base::seconds(0), R"({"retryAfterSeconds":9})"), base::Duration(base::seconds(9)));
  EXPECT_EQ(retry_after({}, R"({"retryAfterSeconds":-4})"), std::nullopt);
  EXPECT_EQ(retry_after({}, R"({"retryAfterSeconds":"9"})"), std::nullopt);
  EXPECT_EQ(retry_after({}, R"({"retryAfterSeconds":9223372036854775807})"), base::Duration(base::seconds(86'400)));
}

TEST(ErrorOfStatus, ReadsTheCodeOfAWatchError) {
  const base::Error gone = error_of_status(
      R"x({"kind":"Status","status":"Failure","message":"too old resource version: 1 (2)","reason":"Expired","code":410})x");
  EXPECT_EQ(gone.code, ErrorCode::kGone);
  EXPECT_EQ(gone.message, "too old resource version: 1 (2)");
}

TEST(ErrorOfStatus, OfAnotherObjectIsTransient) {
  EXPECT_EQ(error_of_status("{}").code, ErrorCode::kUnavailable);
  EXPECT_EQ(error_of_status("nonsense").code, ErrorCode::kUnavailable);
  EXPECT_EQ(error_of_status(R"({"kind":"Status"})").code, ErrorCode::kUnavailable);
}

TEST(ParseStatus, KeepsHostileNumbersInRange) {
  EXPECT_EQ(parse_status(R"({"kind":"Status","code":99999999999999})").code, 999);
  EXPECT_EQ(parse_status(R"({"kind":"Status","code":-1})").code, 0);
  EXPECT_FALSE(parse_status(std::string(2 << 20, ' ') + R"({"kind":"Status"})").is_status);
}

TEST(Classify, DoesNotTreatAnHtmlPageAsNotFound) {
  const auto page = classify(Response{404, "<html>no such site</html>", {}, "text/html"});
  EXPECT_EQ(page.error().code, ErrorCode::kUnavailable);
  const auto path = classify(Response{404, "404 page not found\n", {}, "text/plain"});
  EXPECT_EQ(path.error().code, ErrorCode::kNotFound) << "what a server says of a group that it does not have";
}

struct NameCase {
  const char* name;
  Request request;
  const char* want;
};
class NamedObject : public ::testing::TestWithParam<NameCase> {};

TEST_P(NamedObject, IsReadFromThePath) { EXPECT_EQ(object_named_by(GetParam().request), GetParam().want); }

Request get_path(std::string path) {
  Request request;
  request.path = std::move(path);
  return request;
}

INSTANTIATE_TEST_SUITE_P(
    Classify, NamedObject,
    ::testing::Values(
        NameCase{"Pod", get_request(kPods, {"shop", "web-1"}), "web-1"},
        NameCase{"Node", get_request(kNodes, {"", "node-a"}), "node-a"},
        NameCase{"Namespace", get_request(kNamespaces, {"", "shop"}), "shop"},
        NameCase{"Status", patch_request(kEvacuations, {"shop", "ev"}, PatchType::kMerge, {}, "status"), "ev"},
        NameCase{"Eviction", eviction_request({"shop", "web-1"}, {.uid = "u"}, "v1"), "web-1"},
        NameCase{"Policy", get_request(kPolicies, {"", "p"}), "p"}, NameCase{"List", list_request(kPods, {}), ""},
        NameCase{"ListOfANamespace", list_request(kPods, {.ns = "shop"}), ""},
        NameCase{"Create", create_request(kEvacuations, "shop", {}), ""},
        NameCase{"Discovery", get_path("/apis/policy/v1"), ""}, NameCase{"Version", get_path("/version"), ""},
        NameCase{"ForeignSubresource",
                 get_path("/apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachineinstances/db/evacuate/cancel"),
                 ""},
        NameCase{"Empty", get_path(""), ""}, NameCase{"Slashes", get_path("///"), ""}),
    [](const auto& test) { return test.param.name; });

struct AbsenceCase {
  const char* name;
  int status;
  const char* body;
  bool doubtful;
};
class Absence : public ::testing::TestWithParam<AbsenceCase> {};

TEST_P(Absence, IsAcceptedOnlyWithTheObjectsName) {
  const auto& [name, status, body, doubtful] = GetParam();
  const auto doubt = doubtful_absence(get_request(kPods, {"shop", "web-1"}), Response{status, body, {}, ""});
  EXPECT_EQ(doubt.has_value(), doubtful);
  EXPECT_TRUE(!doubt || doubt->code == ErrorCode::kUnavailable);
}

INSTANTIATE_TEST_SUITE_P(
    Classify, Absence,
    ::testing::Values(
        AbsenceCase{"Named", 404,
                    R"({"kind":"Status","reason":"NotFound","code":404,"details":{"name":"web-1","kind":"pods"}})",
                    false},
        AbsenceCase{"NamedOtherwise", 404,
                    R"({"kind":"Status","reason":"NotFound","details":{"name":"shop","kind":"namespaces"}})", true},
        AbsenceCase{"WholeResource", 404,
                    R"({"kind":"Status","message":"the server could not find the requested resource","details":{}})",
                    true},
        AbsenceCase{"Page", 404, "<html>not here</html>", true},
        AbsenceCase{"MuxText", 404, "404 page not found\n", true}, AbsenceCase{"Nothing", 404, "", true},
        AbsenceCase{"OtherJson", 404, R"({"details":{"name":"web-1"}})", true},
        AbsenceCase{"NameOfWrongType", 404, R"({"kind":"Status","details":{"name":["web-1"]}})", true},
        AbsenceCase{"OtherCode", 403, "<html/>", false}, AbsenceCase{"Success", 200, "{}", false}),
    [](const auto& test) { return test.param.name; });

/// Requests for a list, for discovery or for a subresource.
class PathAbsence : public ::testing::TestWithParam<AbsenceCase> {};

TEST_P(PathAbsence, IsOnlyWhatAServerSaysOfAPath) {
  const auto& [name, status, body, doubtful] = GetParam();
  Request log = get_request(kPods, {"shop", "web-1"});
  log.path += "/log";
  const auto doubt = doubtful_absence(log, Response{status, body, {}, ""});
  EXPECT_EQ(doubt.has_value(), doubtful);
  EXPECT_TRUE(!doubt || doubt->code == ErrorCode::kUnavailable);
  log.method = "POST";
  EXPECT_FALSE(doubtful_absence(log, Response{status, body, {}, ""})) << "a read has to follow anyway";
}

INSTANTIATE_TEST_SUITE_P(
    Classify, PathAbsence,
    ::testing::Values(
        AbsenceCase{"Named", 404, R"({"kind":"Status","reason":"NotFound","details":{"name":"web-1"}})", false},
        AbsenceCase{"NamedOtherwise", 404, R"({"kind":"Status","reason":"NotFound","details":{"name":"web-2"}})", true},
        AbsenceCase{"WholeResource", 404,
                    R"({"kind":"Status","message":"the server could not find the requested resource","details":{}})",
                    false},
        AbsenceCase{"MuxText", 404, "404 page not found\n", false}, AbsenceCase{"Nothing", 404, "", true},
        AbsenceCase{"OtherText", 404, "default backend - 404", true},
        AbsenceCase{"Page", 404, "<html>not here</html>", true},
        AbsenceCase{"OtherJson", 404, R"({"error":"no such route"})", true},
        AbsenceCase{"OtherCode", 403, "<html/>", false}),
    [](const auto& test) { return test.param.name; });

}  // namespace classify_test
struct ForbiddenCase {
  const char* name;
  base::Error error;
  bool is_right_missing;
};
class Forbidden : public testing::TestWithParam<ForbiddenCase> {};

TEST_P(Forbidden, ConcernsAllObjectsOnlyIfThePermissionIsMissing) {
  EXPECT_EQ(kube::is_right_missing(GetParam().error), GetParam().is_right_missing);
}

INSTANTIATE_TEST_SUITE_P(
    Of, Forbidden,
    testing::Values(
        ForbiddenCase{"Rbac",
                      {base::ErrorCode::kForbidden,
                       "nodes \"n\" is forbidden: User \"u\" cannot patch resource \"nodes\" in API group \"\""},
                      true},
        ForbiddenCase{"Quota", {base::ErrorCode::kForbidden, "\"e\" is forbidden: exceeded quota: evacuations"}, false},
        ForbiddenCase{"Webhook", {base::ErrorCode::kForbidden, "admission webhook denied: you cannot resource"}, false},
        ForbiddenCase{"CutShort", {base::ErrorCode::kForbidden, "User cannot"}, false},
        ForbiddenCase{"CutShorter", {base::ErrorCode::kForbidden, "User cannot patch"}, false},
        ForbiddenCase{"AnotherCode", {base::ErrorCode::kInvalid, "cannot patch resource"}, false}),
    [](const auto& test) { return test.param.name; });

}  // namespace kube
