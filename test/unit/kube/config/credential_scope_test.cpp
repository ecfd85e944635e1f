#include "kube/config/credential_scope.hpp"

#include <gtest/gtest.h>

namespace credential_scope_test {

struct ScopeCase {
  const char* name;
  std::optional<std::string> servers;
  kube::CredentialTarget target;
  const char* refusal;  ///< Reason of the refusal, empty if the credential is sent
};

class CredentialScope : public testing::TestWithParam<ScopeCase> {};

TEST_P(CredentialScope, DecidesWhetherAServerMayBeSentIt) {
  const auto sent = kube::may_send_credentials(GetParam().servers, GetParam().target, "Secret ns/a");
  EXPECT_EQ(sent ? "" : sent.error().message, GetParam().refusal);
}

const kube::CredentialTarget kProm{"https://prom.monitoring:9090/prefix"};
constexpr const char* kNotListed =
    "Secret ns/a is not for this server: its key \"for\" does not list https://prom.monitoring:9090";
constexpr const char* kNoKey =
    "Secret ns/a does not contain the servers that its credentials are for: add the key \"for\" with the value "
    "https://prom.monitoring:9090";

INSTANTIATE_TEST_SUITE_P(
    Kube, CredentialScope,
    testing::Values(
        ScopeCase{"Listed", "https://prom.monitoring:9090", kProm, ""},
        ScopeCase{"ListedAmongOthers", "https://a, https://b:1\nhttps://prom.monitoring:9090/\n", kProm, ""},
        ScopeCase{"NamesHaveNoCase", "https://PROM.monitoring:9090", kProm, ""},
        ScopeCase{"PortsOfTheScheme", "https://a:443 http://b:80", {"https://a"}, ""},
        ScopeCase{"Ipv6", "https://[FD00::1]:9090", {"https://[fd00::1]:9090/x"}, ""},
        ScopeCase{"NoKey", std::nullopt, kProm, kNoKey}, ScopeCase{"EmptyKey", " \n", kProm, kNoKey},
        ScopeCase{"AnotherHost", "https://prom.other:9090", kProm, kNotListed},
        ScopeCase{"AnotherPort", "https://prom.monitoring", kProm, kNotListed},
        ScopeCase{"AnotherScheme", "http://prom.monitoring:9090", kProm, kNotListed},
        ScopeCase{
            "AHostThatBeginsLikeIt",
            "https://prom.monitoring:9090",
            {"https://prom.monitoring.evil:9090"},
            "Secret ns/a is not for this server: its key \"for\" does not list https://prom.monitoring.evil:9090"},
        ScopeCase{"AUserThatLooksLikeIt",
                  "https://good",
                  {"https://good:443@evil"},
                  "Secret ns/a is not for this server: its key \"for\" does not list https://evil:443"},
        ScopeCase{"NoWildcards", "https://*:9090", kProm,
                  "Secret ns/a: entry 1 of its key \"for\" must be scheme://host[:port], such as "
                  "https://prometheus.monitoring:9090"},
        ScopeCase{"APathIsNoLimit", "https://a https://prom.monitoring:9090/only", kProm,
                  "Secret ns/a: entry 2 of its key \"for\" must be scheme://host[:port], such as "
                  "https://prometheus.monitoring:9090"},
        ScopeCase{"NoScheme", "prom.monitoring:9090", kProm,
                  "Secret ns/a: entry 1 of its key \"for\" must be scheme://host[:port], such as "
                  "https://prometheus.monitoring:9090"},
        ScopeCase{"HttpThatIsNotPermitted",
                  "https://a:80",
                  {"http://a"},
                  "Secret ns/a is not for this server: its key \"for\" does not list http://a:80 (http does not "
                  "protect credentials: prefer https)"},
        ScopeCase{"HttpThatIsPermitted", "http://a", {"http://a"}, ""},
        ScopeCase{"AnyCertificateIsLikeHttp",
                  "https://a:9090",
                  {"https://a:9090", "", false},
                  "Secret ns/a is not for this server: its key \"for\" does not list http://a:9090 (http, because any "
                  "certificate is accepted: insecureSkipVerify)"},
        ScopeCase{"AnyCertificateThatIsPermitted", "http://a:9090", {"https://a:9090", "", false}, ""},
        ScopeCase{"ACertificateOfAnother",
                  "https://10.0.0.1",
                  {"https://10.0.0.1", "evil.example"},
                  "Secret ns/a is not for this server: its key \"for\" does not list https://evil.example:443"},
        ScopeCase{
            "ACertificateOfAnotherThatIsNamed", "https://10.0.0.1 https://prom", {"https://10.0.0.1", "prom"}, ""}),
    [](const auto& test) { return test.param.name; });

}  // namespace credential_scope_test
