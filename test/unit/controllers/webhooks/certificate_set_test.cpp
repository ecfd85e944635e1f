#include "controllers/webhooks/certificate_set.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "controllers/webhooks/ca_bundle.hpp"

namespace controllers::webhooks {
namespace certificate_set_test {

using api::Json;
using std::chrono::hours;

const base::TimePoint kNoon = *base::parse_time("2026-11-21T12:00:00Z");
const CertificateRules kRules{.names = {"evacuator-webhook.evacuator-system.svc", "127.0.0.1"}};

CertificateSet made_at(base::TimePoint time, const CertificateRules& rules = kRules) {
  return *after_step(CertificateStep::kMake, nullptr, rules, time);
}

TEST(NextStep, CreatesAMissingCertificate) {
  EXPECT_EQ(next_step(nullptr, kRules, true, kNoon), CertificateStep::kMake);
}

struct AgeCase {
  const char* name;
  hours age;
  CertificateStep want;
};
class AgeTest : public testing::TestWithParam<AgeCase> {};

TEST_P(AgeTest, Decides) {
  const CertificateSet set = made_at(kNoon - GetParam().age);
  EXPECT_EQ(next_step(&set, kRules, true, kNoon), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Ages, AgeTest,
                         testing::Values(AgeCase{"New", hours(0), CertificateStep::kKeep},
                                         AgeCase{"NotYetDue", hours(24 * 60 - 1), CertificateStep::kKeep},
                                         AgeCase{"Due", hours(24 * 60), CertificateStep::kStage},
                                         AgeCase{"Expired", hours(24 * 90), CertificateStep::kMake},
                                         AgeCase{"MadeByAClockThatIsAhead", -hours(20), CertificateStep::kKeep},
                                         AgeCase{"NotValidYet", -hours(48), CertificateStep::kMake}),
                         [](const auto& test) { return test.param.name; });

TEST(Rotation, TrustsTheNextAuthorityBeforeItServesItsCertificate) {
  const CertificateSet first = made_at(kNoon);
  const base::TimePoint due = kNoon + kRules.rotate_after;
  const CertificateSet staged = *after_step(CertificateStep::kStage, &first, kRules, due);
  EXPECT_EQ(staged.current.certificate, first.current.certificate);
  EXPECT_EQ(staged.trusted(), first.current.ca + staged.next->ca);
  EXPECT_EQ(next_step(&staged, kRules, true, due + kOverlap - base::seconds(1)), CertificateStep::kKeep);
  EXPECT_EQ(next_step(&staged, kRules, false, due + kOverlap), CertificateStep::kKeep) << "nobody trusts it yet";
  EXPECT_EQ(next_step(&staged, kRules, true, due + kOverlap), CertificateStep::kPromote);

  const CertificateSet promoted = *after_step(CertificateStep::kPromote, &staged, kRules, due + kOverlap);
  EXPECT_EQ(promoted.current.certificate, staged.next->certificate);
  EXPECT_EQ(promoted.trusted(), promoted.current.ca + first.current.ca) << "a replica may serve the old one still";
  EXPECT_EQ(next_step(&promoted, kRules, true, due + kOverlap), CertificateStep::kKeep);
}

TEST(Rotation, ServesTheCurrentCertificateUntilTheNextIsTrusted) {
  const CertificateSet first = made_at(kNoon);
  const CertificateSet staged = *after_step(CertificateStep::kStage, &first, kRules, kNoon + kRules.rotate_after);
  EXPECT_EQ(next_step(&staged, kRules, false, kNoon + hours(24 * 89)), CertificateStep::kKeep);
  EXPECT_EQ(next_step(&staged, kRules, false, kNoon + kRules.valid_for), CertificateStep::kMake);
}

TEST(Rotation, ForgetsAnAuthorityThatHasExpired) {
  const CertificateSet first = made_at(kNoon);
  CertificateSet second = made_at(kNoon + hours(24 * 80));
  second.previous_ca = first.current.ca;
  const CertificateSet staged = *after_step(CertificateStep::kStage, &second, kRules, kNoon + hours(24 * 140));
  EXPECT_EQ(staged.previous_ca, "");
}

TEST(NewCertificate, KeepsTheAuthorityOfTheOneBeforeTrusted) {
  const CertificateSet first = made_at(kNoon);
  const CertificateSet second = *after_step(CertificateStep::kMake, &first, kRules, kNoon + hours(1));
  EXPECT_EQ(second.trusted(), second.current.ca + first.current.ca);
}

struct DamageCase {
  const char* name;
  void (*damage)(CertificateSet& set);
  const char* problem;
};
class DamageTest : public testing::TestWithParam<DamageCase> {};

TEST_P(DamageTest, LeadsToANewCertificate) {
  CertificateSet set = made_at(kNoon);
  GetParam().damage(set);
  EXPECT_EQ(why_unusable(set, kRules, kNoon), GetParam().problem);
  EXPECT_EQ(next_step(&set, kRules, true, kNoon), CertificateStep::kMake);
}

INSTANTIATE_TEST_SUITE_P(
    Damages, DamageTest,
    testing::Values(DamageCase{"NoKey", [](auto& set) { set.current.key = ""; }, "the key is none in PEM"},
                    DamageCase{"AnotherKey", [](auto& set) { set.current.key = made_at(kNoon).current.key; },
                               "the key is not the certificate's"},
                    DamageCase{"AnotherAuthority", [](auto& set) { set.current.ca = made_at(kNoon).current.ca; },
                               "the authority has not signed the certificate"},
                    DamageCase{"NoCertificate", [](auto& set) { set.current.certificate = "x"; },
                               "the certificate is none in PEM"},
                    // Its age, which decides about rotation, would be negative.
                    DamageCase{"OfTheFuture", [](auto& set) { set = made_at(kNoon + hours(48)); },
                               "it is not valid before 2026-11-22T12:00:00Z"},
                    DamageCase{"OtherNames", [](auto& set) { set = made_at(kNoon, {.names = {"localhost"}}); },
                               "the certificate is not for evacuator-webhook.evacuator-system.svc"}),
    [](const auto& test) { return test.param.name; });

TEST(Secret, KeepsWhatItHolds) {
  const CertificateSet first = made_at(kNoon);
  CertificateSet set = *after_step(CertificateStep::kStage, &first, kRules, kNoon + hours(2000));
  set.previous_ca = made_at(kNoon).current.ca;
  const Json secret = encode_certificates(nullptr, "evacuator-system", "tls", set);
  EXPECT_EQ(secret["type"], "kubernetes.io/tls");
  const auto read = decode_certificates(secret);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->trusted(), set.trusted());
  EXPECT_EQ(read->current.key, set.current.key);
  EXPECT_EQ(read->next->key, set.next->key);
}

TEST(Secret, LosesTheStagedOneWhenThatIsPromoted) {
  const CertificateSet first = made_at(kNoon);
  const CertificateSet staged = *after_step(CertificateStep::kStage, &first, kRules, kNoon);
  Json secret = encode_certificates(nullptr, "ns", "tls", staged);
  secret["metadata"]["annotations"]["of"] = "others";
  const CertificateSet promoted = *after_step(CertificateStep::kPromote, &staged, kRules, kNoon);
  secret = encode_certificates(std::move(secret), "ns", "tls", promoted);
  EXPECT_FALSE(secret["data"].contains("next.key"));
  EXPECT_EQ(secret["metadata"]["annotations"]["of"], "others");
}

TEST(Secret, SaysWhichPartMakesNoSense) {
  const auto read = decode_certificates({{"data", {{"tls.key", "***"}}}});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "data[tls.key] is not valid Base64");
}

TEST(CaBundle, IsWrittenWhereItDiffers) {
  Json configuration = {{"metadata", {{"resourceVersion", "7"}}},
                        {"webhooks", Json::array({{{"name", "a"}, {"clientConfig", Json::object()}},
                                                  {{"name", "b"}, {"clientConfig", {{"caBundle", "b3RoZXI="}}}}})}};
  EXPECT_FALSE(trusts(configuration, "")) << "one has none";
  const auto patch = ca_patch(configuration, "ours");
  ASSERT_TRUE(patch);
  EXPECT_EQ(patch->size(), 3U) << "guarded by the version";
  configuration = configuration.patch(*patch);
  EXPECT_EQ(configuration["webhooks"][1]["clientConfig"]["caBundle"], "b3Vycw==");
  EXPECT_EQ(ca_patch(configuration, "ours"), std::nullopt);
  EXPECT_TRUE(trusts(configuration, "ours"));
  EXPECT_TRUE(trusts(configuration, ""));
  EXPECT_FALSE(trusts(configuration, "theirs"));
}

TEST(CaBundle, IsNotTrustedIfInvalidOrForeign) {
  for (const char* bundle : {"", "***"}) {
    const Json configuration = {{"webhooks", Json::array({{{"clientConfig", {{"caBundle", bundle}}}}})}};
    EXPECT_FALSE(trusts(configuration, "")) << bundle;
  }
  EXPECT_FALSE(trusts({{"webhooks", Json::array()}}, ""));
}

TEST(CalledNames, AreThoseOfServicesAndUrls) {
  const Json configuration = {
      {"webhooks",
       Json::array({{{"clientConfig", {{"service", {{"name", "hook"}, {"namespace", "system"}, {"port", 443}}}}}},
                    {{"clientConfig", {{"url", "https://[::1]:9443/x"}}}},
                    {{"clientConfig", {{"url", "https://hook.example/x"}}}},
                    {{"clientConfig", {{"url", "ftp://other"}}}},
                    {{"clientConfig", 7}}})}};
  EXPECT_EQ(called_names(configuration), (std::vector<std::string>{"::1", "hook.example", "hook.system.svc"}));
}

}  // namespace certificate_set_test
}  // namespace controllers::webhooks
