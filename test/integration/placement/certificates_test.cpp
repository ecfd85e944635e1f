// The webhook's certificates on a simulated API server, on virtual time.

#include "controllers/webhooks/certificates.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/base64.hpp"
#include "controllers/webhooks/ca_bundle.hpp"
#include "kube/client.hpp"
#include "simulator/api/server.hpp"
#include "simulator/cluster.hpp"
#include "simulator/objects.hpp"
#include "test/fakes/mortal_transport.hpp"
#include "test/fakes/temp_folder.hpp"

namespace integration {
namespace certificates_test {

using api::Json;
using controllers::webhooks::CertificateOptions;
using controllers::webhooks::Certificates;
using controllers::webhooks::kMutating;
using controllers::webhooks::kValidating;
using std::chrono::hours;

constexpr kube::ResourceType kSecrets{"", "v1", "secrets", "Secret"};
constexpr const char* kName = "evacuator-webhook.evacuator-system.svc";

/// One process with the certificate of its webhook.
struct Replica {
  Replica(simulator::ApiServer& server, const base::Clock& clock, const std::string& cert_file = "",
          const std::string& key_file = "")
      : transport(server, {"operator", {}, "evacuator"}),
        client(transport, nullptr),
        certificates(
            client, clock, clock,
            CertificateOptions{
                .ns = "evacuator-system", .rules = {.names = {kName}}, .cert_file = cert_file, .key_file = key_file},
            [this](const http_server::ServerIdentity& identity) { return take(identity); }, {}) {
    transport.lie = [this](const kube::Request& request) -> std::optional<kube::Response> {
      const bool is_secret = request.path.find("/secrets/") != std::string::npos;
      if (!refused.contains(request.method) && !(is_secret && refused.contains(request.method + " secrets")))
        return std::nullopt;
      return kube::Response{403, R"({"kind":"Status","code":403,"reason":"Forbidden","message":"not you"})", {}, {}};
    };
  }

  base::Status take(const http_server::ServerIdentity& identity) {
    if (!serves_new) return base::invalid("no new one");
    served.push_back(identity.certificate);
    return base::Done{};
  }
  std::string serves() const { return served.empty() ? "" : served.back(); }

  fakes::MortalTransport transport;
  std::set<std::string> refused{};  ///< refused methods: PUT writes the Secret, PATCH the configuration
  bool serves_new = true;           ///< whether the server accepts another certificate
  kube::Client client;
  std::vector<std::string> served;
  Certificates certificates;
};

class WebhookCertificates : public testing::Test {
 protected:
  WebhookCertificates() { EXPECT_TRUE(cluster.add(simulator::objects::name_space("evacuator-system"))); }

  void install(const std::string& service = "evacuator-webhook") {
    const Json configuration = {
        {"apiVersion", "admissionregistration.k8s.io/v1"},
        {"kind", "MutatingWebhookConfiguration"},
        {"metadata", {{"name", "evacuator-placement"}}},
        {"webhooks",
         Json::array({{{"name", "placement.evacuator.dev"},
                       {"clientConfig", {{"service", {{"namespace", "evacuator-system"}, {"name", service}}}}}}})}};
    const auto answer = server.handle(kube::create_request(kMutating, "", configuration), {});
    ASSERT_EQ(answer.status, 201) << answer.body;
  }
  Json object(const kube::ResourceType& type, const api::ObjectKey& key) {
    const auto found = cluster.store().get(type, key);
    return found ? *found : Json();
  }
  Json secret() { return object(kSecrets, {"evacuator-system", "evacuator-webhook-tls"}); }
  std::string data(const char* name) { return *base::decode_base64(secret()["data"].value(name, "")); }
  std::string ca_bundle() {
    const Json found = object(kMutating, {"", "evacuator-placement"});
    return *base::decode_base64(found["webhooks"][0]["clientConfig"].value("caBundle", ""));
  }
  void set_ca_bundle(const std::string& text) {
    const auto done = cluster.store().mutate(kMutating, {"", "evacuator-placement"}, simulator::Part::kAll,
                                             [&](Json& found) -> base::Status {
                                               found["webhooks"][0]["clientConfig"]["caBundle"] = text;
                                               return base::Done{};
                                             });
    EXPECT_TRUE(done);
  }
  void set_secret(const std::function<void(Json&)>& change) {
    const auto done = cluster.store().mutate(kSecrets, {"evacuator-system", "evacuator-webhook-tls"},
                                             simulator::Part::kAll, [&](Json& found) -> base::Status {
                                               change(found);
                                               return base::Done{};
                                             });
    EXPECT_TRUE(done);
  }
  /// Runs both replicas, the leader first, and advances the clock by `time` in steps of a minute.
  void pass(base::Duration time) {
    for (const base::TimePoint end = clock.now() + time; clock.now() < end;) {
      clock.advance(base::minutes(1));
      look();
    }
  }
  void look() {
    leader.certificates.refresh(true);
    standby.certificates.refresh(false);
  }

  base::ManualClock clock{*base::parse_time("2026-11-21T12:00:00Z")};
  simulator::Cluster cluster{clock};
  simulator::ApiServer server{cluster.store()};
  Replica leader{server, clock};
  Replica standby{server, clock};
};

TEST_F(WebhookCertificates, TheLeaderMakesThemAndTheStandbyServesTheSame) {
  install();
  standby.certificates.refresh(false);
  EXPECT_EQ(standby.serves(), "") << "only the leader makes one";
  EXPECT_NE(standby.certificates.problem(), "");
  leader.certificates.refresh(true);
  EXPECT_EQ(leader.certificates.problem(), "");
  EXPECT_TRUE(leader.certificates.in_force());
  clock.advance(Certificates::kRetryInterval);
  standby.certificates.refresh(false);
  EXPECT_EQ(standby.serves(), leader.serves());
  EXPECT_EQ(data("tls.crt"), leader.serves());
  EXPECT_EQ(ca_bundle(), data("ca.crt"));
}

/// Two webhooks, three configurations, one certificate.
TEST_F(WebhookCertificates, TheLeaderHasAllConfigurationsTrustIt) {
  const char* admission = "evacuator-admission-webhook.evacuator-system.svc";
  const auto install_admission = [&](const kube::ResourceType& type) {
    const Json client = {{"service", {{"namespace", "evacuator-system"}, {"name", "evacuator-admission-webhook"}}}};
    const Json configuration = {{"apiVersion", "admissionregistration.k8s.io/v1"},
                                {"kind", type.kind},
                                {"metadata", {{"name", "evacuator-admission"}}},
                                {"webhooks", Json::array({{{"name", "a.evacuator.dev"}, {"clientConfig", client}},
                                                          {{"name", "b.evacuator.dev"}, {"clientConfig", client}}})}};
    EXPECT_EQ(server.handle(kube::create_request(type, "", configuration), {}).status, 201);
  };
  CertificateOptions options{.ns = "evacuator-system",
                             .configuration = "evacuator-placement",
                             .admission_configuration = "evacuator-admission",
                             .rules = {.names = {kName, admission}}};
  Certificates certificates(leader.client, clock, clock, options,
                            [&](const http_server::ServerIdentity& identity) { return leader.take(identity); }, {});
  install();
  install_admission(kMutating);
  certificates.refresh(true);
  EXPECT_TRUE(certificates.in_force()) << "the hints of the placement webhook are given";
  EXPECT_EQ(certificates.problem(),
            "ValidatingWebhookConfiguration evacuator-admission is not installed: the webhook is not called");
  install_admission(kValidating);
  clock.advance(Certificates::kRetryInterval);
  certificates.refresh(true);
  EXPECT_EQ(certificates.problem(), "");
  for (const kube::ResourceType& type : {kMutating, kValidating}) {
    const Json found = object(type, {"", "evacuator-admission"});
    for (const Json& webhook : found["webhooks"])
      EXPECT_EQ(*base::decode_base64(webhook["clientConfig"].value("caBundle", "")), data("ca.crt")) << webhook;
  }
}

TEST_F(WebhookCertificates, NothingIsInForceWithoutAConfiguration) {
  look();
  EXPECT_FALSE(leader.certificates.in_force());
  EXPECT_EQ(leader.certificates.problem(),
            "MutatingWebhookConfiguration evacuator-placement is not installed: the webhook is not called");
  install();
  clock.advance(Certificates::kRetryInterval);
  look();
  EXPECT_TRUE(leader.certificates.in_force());
  EXPECT_EQ(leader.certificates.problem(), "");
}

TEST_F(WebhookCertificates, RotateWithoutAMomentInWhichWhatIsServedIsNotTrusted) {
  install();
  look();
  const std::string first = leader.serves();
  const auto is_trusted = [&](const Replica& replica) {
    for (const char* name : {"ca.crt", "next-ca.crt", "previous-ca.crt"}) {
      const std::string ca = data(name);
      if (ca.empty() || ca_bundle().find(ca) == std::string::npos) continue;
      for (const auto& [certificate, key] : {std::pair("tls.crt", "tls.key"), std::pair("next.crt", "next.key")}) {
        if (replica.serves() == data(certificate) &&
            http_server::check_identity({ca, data(certificate), data(key)}, {}).ok())
          return true;
      }
    }
    return replica.serves() == first && ca_bundle().find(data("previous-ca.crt")) != std::string::npos;
  };
  clock.advance(hours(24 * 60) - base::minutes(5));
  look();
  EXPECT_EQ(leader.serves(), first);
  for (int minute = 0; minute < 60; ++minute) {
    pass(base::minutes(1));
    EXPECT_TRUE(is_trusted(leader)) << "minute " << minute;
    EXPECT_TRUE(is_trusted(standby)) << "minute " << minute;
  }
  EXPECT_NE(leader.serves(), first);
  EXPECT_EQ(standby.serves(), leader.serves());
  EXPECT_EQ(leader.served.size(), 2U);
}

TEST_F(WebhookCertificates, ABrokenSecretIsMadeAgain) {
  install();
  look();
  const std::string first = leader.serves();
  set_secret([](Json& found) { found["data"]["tls.key"] = "bm9uZQ=="; });
  clock.advance(Certificates::kCheckInterval);
  standby.certificates.refresh(false);
  EXPECT_EQ(standby.serves(), first) << "it goes on with what it has";
  EXPECT_NE(standby.certificates.problem(), "");
  leader.certificates.refresh(true);
  EXPECT_NE(leader.serves(), first);
  EXPECT_EQ(leader.certificates.problem(), "");
  EXPECT_EQ(ca_bundle(), data("ca.crt") + data("previous-ca.crt"));
  set_secret([](Json& found) { found["data"] = "none"; });
  clock.advance(Certificates::kCheckInterval);
  leader.certificates.refresh(true);
  EXPECT_EQ(data("tls.crt"), leader.serves());
}

TEST_F(WebhookCertificates, ADeletedSecretIsMadeAgain) {
  install();
  look();
  ASSERT_TRUE(cluster.store().remove(kSecrets, {"evacuator-system", "evacuator-webhook-tls"}));
  clock.advance(Certificates::kCheckInterval);
  look();
  EXPECT_EQ(data("tls.crt"), leader.serves());
  EXPECT_EQ(ca_bundle(), data("ca.crt"));
}

TEST_F(WebhookCertificates, OfTwoThatThinkTheyLeadOneIsFirst) {
  install();
  leader.certificates.refresh(true);
  Replica other(server, clock);
  other.certificates.refresh(true);
  EXPECT_EQ(other.serves(), leader.serves());
  EXPECT_EQ(ca_bundle(), data("ca.crt"));
}

TEST_F(WebhookCertificates, ACaBundleThatOthersChangedIsPutRight) {
  install();
  look();
  set_ca_bundle("b3RoZXI=");
  clock.advance(Certificates::kCheckInterval);
  standby.certificates.refresh(false);
  EXPECT_FALSE(standby.certificates.in_force());
  leader.certificates.refresh(true);
  EXPECT_EQ(ca_bundle(), data("ca.crt"));
  EXPECT_TRUE(leader.certificates.in_force());
}

TEST_F(WebhookCertificates, AreNotInForceOnceWhatIsServedHasExpired) {
  install();
  look();
  ASSERT_TRUE(leader.certificates.in_force());
  leader.refused = {"PUT"};
  clock.advance(hours(24 * 89));
  look();
  EXPECT_TRUE(leader.certificates.in_force()) << "it is valid, and the API server trusts it";
  EXPECT_NE(leader.certificates.problem(), "");
  clock.advance(hours(48));
  EXPECT_FALSE(leader.certificates.in_force()) << "also before the next look";
  look();
  EXPECT_FALSE(leader.certificates.in_force());
  EXPECT_FALSE(standby.certificates.in_force());
  leader.refused.clear();
  clock.advance(Certificates::kCheckInterval);
  look();
  EXPECT_TRUE(leader.certificates.in_force());
}

TEST_F(WebhookCertificates, GoByTheConfigurationThoughTheSecretCannotBeRead) {
  install();
  look();
  leader.refused = {"GET secrets"};
  clock.advance(Certificates::kCheckInterval);
  look();
  EXPECT_TRUE(leader.certificates.in_force());
  set_ca_bundle("b3RoZXI=");
  clock.advance(Certificates::kRetryInterval);
  leader.certificates.refresh(true);
  EXPECT_FALSE(leader.certificates.in_force());
  EXPECT_EQ(ca_bundle(), "other") << "which authorities to write is not known";
  set_ca_bundle(secret()["data"]["ca.crt"]);
  clock.advance(Certificates::kRetryInterval);
  leader.certificates.refresh(true);
  EXPECT_TRUE(leader.certificates.in_force());
  ASSERT_TRUE(cluster.store().remove(kMutating, {"", "evacuator-placement"}));
  clock.advance(Certificates::kRetryInterval);
  leader.certificates.refresh(true);
  EXPECT_FALSE(leader.certificates.in_force());
}

TEST_F(WebhookCertificates, AreServedByANewLeaderThatCannotWrite) {
  install();
  look();
  clock.advance(hours(24 * 61));
  Replica fresh(server, clock);
  fresh.refused = {"PUT"};
  fresh.certificates.refresh(true);
  EXPECT_EQ(fresh.serves(), data("tls.crt"));
  EXPECT_TRUE(fresh.certificates.in_force());
  EXPECT_NE(fresh.certificates.problem().find("writing it"), std::string::npos) << fresh.certificates.problem();
  set_ca_bundle("");
  clock.advance(Certificates::kRetryInterval);
  fresh.certificates.refresh(true);
  EXPECT_EQ(ca_bundle(), data("ca.crt")) << "the configuration can be written";
}

TEST_F(WebhookCertificates, AreServedThoughTheNextOneCannotTakeTheirPlace) {
  install();
  look();
  clock.advance(hours(24 * 60));
  look();  // the new certificate is staged
  ASSERT_NE(data("next.crt"), "");
  leader.refused = {"PUT"};
  pass(base::minutes(20));
  EXPECT_EQ(leader.serves(), data("tls.crt"));
  EXPECT_EQ(ca_bundle(), data("ca.crt") + data("next-ca.crt"));
  EXPECT_TRUE(leader.certificates.in_force());
  leader.refused.clear();
  pass(base::minutes(2));
  EXPECT_EQ(data("next.crt"), "") << "it is rotated";
  EXPECT_EQ(leader.serves(), data("tls.crt"));
}

TEST_F(WebhookCertificates, OfAFormerStandbyAreNotRotatedBeforeThatAuthorityIsTrusted) {
  install();
  look();
  const std::string first = data("tls.crt");
  clock.advance(hours(24 * 60));
  standby.certificates.refresh(false);
  leader.refused = {"PATCH"};
  leader.certificates.refresh(true);
  ASSERT_NE(data("next.crt"), "");
  clock.advance(base::minutes(11));
  standby.certificates.refresh(true);
  EXPECT_EQ(standby.serves(), first);
  EXPECT_EQ(data("tls.crt"), first);
  EXPECT_EQ(ca_bundle(), data("ca.crt") + data("next-ca.crt"));
  clock.advance(Certificates::kCheckInterval);
  standby.certificates.refresh(true);
  EXPECT_EQ(data("next.crt"), "") << "everybody trusts it by now";
}

TEST_F(WebhookCertificates, AreNotRotatedOnOutdatedTrust) {
  install();
  look();
  const std::string first = data("tls.crt");
  clock.advance(hours(24 * 60));
  look();  // staged and trusted
  leader.refused = {"GET"};
  clock.advance(base::minutes(11));
  leader.certificates.refresh(true);
  set_ca_bundle(secret()["data"]["ca.crt"]);
  leader.refused.clear();
  clock.advance(Certificates::kRetryInterval);
  leader.certificates.refresh(true);
  EXPECT_EQ(leader.serves(), first);
  EXPECT_EQ(ca_bundle(), data("ca.crt") + data("next-ca.crt"));
}

TEST_F(WebhookCertificates, AreNotInForceUnderAnotherName) {
  install("another");
  look();
  EXPECT_FALSE(leader.certificates.in_force());
  EXPECT_EQ(
      leader.certificates.problem(),
      "MutatingWebhookConfiguration evacuator-placement: the certificate is not for another.evacuator-system.svc");
}

TEST_F(WebhookCertificates, ThatTheServerDoesNotTakeAreTriedAgain) {
  install();
  leader.serves_new = false;
  leader.certificates.refresh(true);
  EXPECT_FALSE(leader.certificates.in_force());
  EXPECT_EQ(leader.certificates.problem(), "serving it: no new one");
  leader.serves_new = true;
  clock.advance(Certificates::kRetryInterval);
  leader.certificates.refresh(true);
  EXPECT_EQ(leader.serves(), data("tls.crt"));
  EXPECT_TRUE(leader.certificates.in_force());
}

/// Files as cert-manager writes them.
class WebhookFiles : public WebhookCertificates {
 protected:
  http_server::ServerIdentity made(base::Duration age, const std::string& name = kName) const {
    return *http_server::make_server_identity({name}, clock.now() - age, "cert-manager", hours(24 * 90));
  }
  void write(const http_server::ServerIdentity& identity) {
    folder.write("tls.crt", identity.certificate + identity.ca);
    folder.write("tls.key", identity.key);
  }
  void begin() {
    install();
    set_ca_bundle("b3RoZXI=");  // a foreign bundle, known to the injector only
  }
  /// Returns the state after the next check.
  bool in_force() {
    clock.advance(Certificates::kCheckInterval);
    files.certificates.refresh(true);
    return files.certificates.in_force();
  }

  fakes::TempFolder folder;
  Replica files{server, clock, folder.file("tls.crt"), folder.file("tls.key")};
};

TEST_F(WebhookFiles, AreServedAndReadAgain) {
  begin();
  write(made(hours(1)));
  EXPECT_TRUE(in_force());
  EXPECT_EQ(files.certificates.problem(), "");
  write(made(hours(0)));
  EXPECT_TRUE(in_force());
  EXPECT_EQ(files.served.size(), 2U);
}

TEST_F(WebhookFiles, ThatHaveExpiredAreNotInForce) {
  begin();
  const base::TimePoint expired = clock.now() - hours(24);
  write(made(hours(24 * 91)));
  EXPECT_FALSE(in_force());
  EXPECT_EQ(files.certificates.problem(),
            "webhook.certFile and keyFile: it has expired at " + base::format_time(expired));
  EXPECT_EQ(files.serves(), "");
}

TEST_F(WebhookFiles, AreInForceUntilTheyExpire) {
  begin();
  write(made(hours(0)));
  EXPECT_TRUE(in_force());
  clock.advance(hours(24 * 89));
  EXPECT_TRUE(in_force());
  clock.advance(hours(24));
  EXPECT_FALSE(in_force());
}

struct BadFiles {
  const char* name;
  void (*damage)(http_server::ServerIdentity& identity, const http_server::ServerIdentity& other);
  const char* problem;
};
class WebhookBadFiles : public WebhookFiles, public testing::WithParamInterface<BadFiles> {};

TEST_P(WebhookBadFiles, AreReportedAndThePreviousOnesStay) {
  begin();
  const http_server::ServerIdentity good = made(hours(1));
  http_server::ServerIdentity bad = good;
  GetParam().damage(bad, made(hours(1)));
  write(bad);
  EXPECT_FALSE(in_force());
  EXPECT_EQ(files.serves(), "");
  write(good);
  EXPECT_TRUE(in_force());
  write(bad);
  EXPECT_TRUE(in_force()) << "the good one is served";
  EXPECT_EQ(files.certificates.problem(), GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(
    Damages, WebhookBadFiles,
    testing::Values(BadFiles{"AnotherKey", [](auto& identity, const auto& other) { identity.key = other.key; },
                             "webhook.certFile and keyFile: the key is not the certificate's"},
                    BadFiles{"NoKey", [](auto& identity, const auto&) { identity.key = ""; },
                             "webhook.certFile and keyFile: the key is none in PEM"},
                    BadFiles{"NoCertificate",
                             [](auto& identity, const auto&) { identity.certificate = identity.ca = "x"; },
                             "webhook.certFile and keyFile: the certificate is none in PEM"}),
    [](const auto& test) { return test.param.name; });

TEST_F(WebhookFiles, ForAnotherNameAreNotInForce) {
  begin();
  write(made(hours(1), "localhost"));
  EXPECT_FALSE(in_force());
  EXPECT_EQ(files.certificates.problem(),
            "MutatingWebhookConfiguration evacuator-placement: the certificate is not for " + std::string(kName));
}

TEST_F(WebhookFiles, MissingFilesAreReported) {
  begin();
  EXPECT_FALSE(in_force());
  EXPECT_EQ(files.certificates.problem().rfind("webhook.certFile: ", 0), 0U) << files.certificates.problem();
}

}  // namespace certificates_test
}  // namespace integration
