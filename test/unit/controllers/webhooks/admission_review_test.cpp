#include "controllers/webhooks/admission_review.hpp"

#include <gmock/gmock.h>

#include "base/base64.hpp"

namespace controllers::webhooks {
namespace admission_review_test {

using api::Json;

Json review() {
  return {{"apiVersion", "admission.k8s.io/v1"},
          {"kind", "AdmissionReview"},
          {"request",
           {{"uid", "r-1"},
            {"operation", "CREATE"},
            {"namespace", "shop"},
            {"resource", {{"group", "evacuator.dev"}, {"version", "v1alpha1"}, {"resource", "evacuations"}}},
            {"userInfo", {{"username", "alice"}, {"groups", Json::array({"dev"})}}},
            {"object", {{"kind", "Evacuation"}}},
            {"oldObject", nullptr},
            {"dryRun", true}}}};
}

TEST(AdmissionReviews, AreRead) {
  const auto read = parse_admission_review(review().dump());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->uid, "r-1");
  EXPECT_EQ(read->operation, "CREATE");
  EXPECT_EQ(read->ns, "shop");
  EXPECT_TRUE(read->is_about("evacuator.dev", "evacuations"));
  EXPECT_EQ(read->user["username"], "alice");
  EXPECT_EQ(read->object["kind"], "Evacuation");
  EXPECT_TRUE(read->old_object.is_null());
  EXPECT_TRUE(read->dry_run);
}

TEST(AdmissionReviews, AboutSubresourcesAreNotAboutTheObject) {
  Json body = review();
  body["request"]["subResource"] = "status";
  EXPECT_FALSE(parse_admission_review(body.dump())->is_about("evacuator.dev", "evacuations"));
}

struct BadReview {
  const char* name;
  std::string body;
};
void PrintTo(const BadReview& given, std::ostream* out) { *out << given.name; }
class BadAdmissionReviews : public testing::TestWithParam<BadReview> {};
/// A body that does not look like a review, or has too many parts, is not parsed.
TEST(AdmissionReview, IsLookedAtBeforeItIsParsed) {
  const std::string head = R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":)";
  EXPECT_TRUE(is_review_shaped(head + "{}}"));
  EXPECT_TRUE(is_review_shaped(" \n" + head + "{\"note\":\"" + std::string(400'000, ',') + "\"}}"))
      << "commas in a text";
  EXPECT_TRUE(is_review_shaped(head + R"({"a":"\"[[[","b":1}})"));
  EXPECT_FALSE(is_review_shaped(""));
  EXPECT_FALSE(is_review_shaped("[" + head + "{}}]"));
  EXPECT_FALSE(is_review_shaped(R"({"apiVersion":"v1","kind":"Pod"})"));
  std::string heavy = head + "[1";
  for (std::size_t i = 0; i < kMaxReviewElements; ++i) heavy += ",1";
  EXPECT_FALSE(is_review_shaped(heavy + "]}"));
  EXPECT_FALSE(parse_admission_review(heavy + "]}"));
}

TEST_P(BadAdmissionReviews, AreRefused) { EXPECT_FALSE(parse_admission_review(GetParam().body)); }

std::string changed(const Json& patch) {
  Json body = review();
  body.merge_patch(patch);
  return body.dump();
}
INSTANTIATE_TEST_SUITE_P(
    Bodies, BadAdmissionReviews,
    testing::Values(BadReview{"nothing", ""}, BadReview{"a page", "<html>"}, BadReview{"a list", "[]"},
                    BadReview{"a text", "\"x\""}, BadReview{"deep", std::string(5000, '[')},
                    BadReview{"beta", changed({{"apiVersion", "admission.k8s.io/v1beta1"}})},
                    BadReview{"no request", changed({{"request", nullptr}})},
                    BadReview{"a request that is none", changed({{"request", 7}})},
                    BadReview{"no uid", changed({{"request", {{"uid", nullptr}}}})},
                    BadReview{"a uid that is none", changed({{"request", {{"uid", 7}}}})},
                    BadReview{"a long uid", changed({{"request", {{"uid", std::string(129, 'u')}}}})}));

TEST(AdmissionReviews, HaveNoObjectIfItIsOfAnotherType) {
  const auto read = parse_admission_review(changed({{"request", {{"object", "x"}, {"userInfo", 3}}}}));
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->object.is_null());
  EXPECT_TRUE(read->user.is_null());
}

TEST(AdmissionAnswers, Allow) {
  const Json patch = Json::array({{{"op", "remove"}, {"path", "/a"}}});
  const Json said = Json::parse(allow("r-1", patch, {"careful", std::string(300, 'w')}));
  EXPECT_EQ(said["apiVersion"], "admission.k8s.io/v1");
  EXPECT_EQ(said["response"]["uid"], "r-1");
  EXPECT_EQ(said["response"]["allowed"], true);
  EXPECT_EQ(Json::parse(*base::decode_base64(said["response"]["patch"].get<std::string>())), patch);
  EXPECT_EQ(said["response"]["warnings"], Json::array({"careful", std::string(kMaxWarning, 'w')}));
  EXPECT_FALSE(Json::parse(allow("r-1", nullptr))["response"].contains("patch"));
  EXPECT_FALSE(Json::parse(allow("r-1", Json::array()))["response"].contains("warnings"));
}

TEST(AdmissionAnswers, DenyInWholeCharacters) {
  std::string text(kMaxMessage - 1, 'a');
  text += "ä and more";
  const Json status = Json::parse(deny("r-1", {text}))["response"]["status"];
  EXPECT_EQ(status["code"], 422);
  EXPECT_EQ(status["reason"], "Invalid");
  EXPECT_EQ(status["message"], std::string(kMaxMessage - 1, 'a'));
}

}  // namespace admission_review_test
}  // namespace controllers::webhooks
