#include "kube/config/proxy_environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kube {
namespace proxy_environment_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct ProxyCase {
  const char* name;
  Environment environment;
  const char* server;
  const char* proxy;
};
void PrintTo(const ProxyCase& given, std::ostream* out) { *out << given.name; }

class ProxyOf : public ::testing::TestWithParam<ProxyCase> {};

TEST_P(ProxyOf, TheEnvironment) {
  const auto proxy = proxy_from_environment(GetParam().environment, *parse_url(GetParam().server));
  ASSERT_TRUE(proxy) << proxy.error().message;
  EXPECT_EQ(*proxy, GetParam().proxy);
}

Environment except(const char* list) { return {{"HTTPS_PROXY", "http://p:3128"}, {"NO_PROXY", list}}; }

INSTANTIATE_TEST_SUITE_P(
    Servers, ProxyOf,
    ::testing::Values(
        ProxyCase{"None", {}, "https://h", ""},
        ProxyCase{"Upper", {{"HTTPS_PROXY", "http://p:3128"}}, "https://h", "http://p:3128"},
        ProxyCase{"Lower", {{"https_proxy", "http://p:3128"}}, "https://h", "http://p:3128"},
        ProxyCase{
            "UpperFirst", {{"HTTPS_PROXY", "http://a:1"}, {"https_proxy", "http://b:1"}}, "https://h", "http://a:1"},
        ProxyCase{"EmptyIsUnset", {{"HTTPS_PROXY", ""}, {"https_proxy", "http://b:1"}}, "https://h", "http://b:1"},
        ProxyCase{"WithoutScheme", {{"HTTPS_PROXY", "p:3128"}}, "https://h", "http://p:3128"},
        ProxyCase{"OtherScheme", {{"HTTP_PROXY", "http://p:3128"}}, "https://h", ""},
        ProxyCase{"PlainHttp", {{"HTTP_PROXY", "http://p:3128"}}, "http://h", "http://p:3128"},
        ProxyCase{"Localhost", except(""), "https://localhost:6443", ""},
        ProxyCase{"Loopback4", except(""), "https://127.1.2.3:6443", ""},
        ProxyCase{"Loopback6", except(""), "https://[::1]:6443", ""},
        ProxyCase{"AllExcepted", except("*"), "https://h", ""},
        ProxyCase{"Name", except("a.example, h.example"), "https://h.example", ""},
        ProxyCase{"SubDomain", except("example"), "https://api.h.example", ""},
        ProxyCase{"OtherName", except("h.example"), "https://oh.example", "http://p:3128"},
        ProxyCase{"Case", except("H.Example"), "https://h.eXample", ""},
        ProxyCase{"DotIsSubDomainsOnly", except(".h.example"), "https://h.example", "http://p:3128"},
        ProxyCase{"DotSubDomain", except(".h.example"), "https://a.h.example", ""},
        ProxyCase{"StarDot", except("*.h.example"), "https://a.h.example", ""},
        ProxyCase{"Port", except("h:6443"), "https://h:6443", ""},
        ProxyCase{"OtherPort", except("h:6443"), "https://h", "http://p:3128"},
        ProxyCase{"Address", except("10.0.0.1"), "https://10.0.0.1:6443", ""},
        ProxyCase{"AddressAndPort", except("[fd00::1]:6443"), "https://[fd00::1]:6443", ""},
        ProxyCase{"Address6", except("fd00::1"), "https://[fd00:0::1]:6443", ""},
        ProxyCase{"Cidr", except("10.96.0.0/12"), "https://10.111.0.1", ""},
        ProxyCase{"OtherCidr", except("10.96.0.0/12"), "https://10.112.0.1", "http://p:3128"},
        ProxyCase{"Cidr6", except("fd00::/8"), "https://[fd12::1]", ""},
        ProxyCase{"Cidr4IsNoCidr6", except("0.0.0.0/0"), "https://[fd12::1]", "http://p:3128"},
        ProxyCase{"NamesEndNoAddress", except("0.0.1"), "https://10.0.0.1", "http://p:3128"},
        ProxyCase{"NoSenseForAName", except(",/,:,[,]:,10.0.0.0/x,*.,."), "https://h", "http://p:3128"},
        ProxyCase{"NoSense", except(",/,:,[,]:,10.0.0.0/x,10.0.0.0/999,*.,."), "https://10.0.0.1", "http://p:3128"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(ProxyEnvironment, NamesTheVariableAndNotItsSecret) {
  for (const char* value : {"socks5://u:SECRET@p:1", "https://u:SECRET@p:1", "http://u:SECRET@", "http://p:99999"}) {
    const auto proxy = proxy_from_environment({{"https_proxy", value}}, *parse_url("https://h:6443"));
    ASSERT_FALSE(proxy) << value;
    EXPECT_THAT(proxy.error().message,
                AllOf(HasSubstr("https_proxy: "), HasSubstr("h:6443"), Not(HasSubstr("SECRET"))));
  }
}

}  // namespace proxy_environment_test
}  // namespace kube
