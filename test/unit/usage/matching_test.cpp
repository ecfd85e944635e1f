#include "usage/matching.hpp"

#include <gtest/gtest.h>

#include "test/unit/usage/parse/text_of.hpp"

namespace usage_matching_test {

using usage_test::joined;
using usage_test::text_of;

const std::vector<usage::NodeNames> kNodes = {{"n1", {"10.0.0.1", "Host-1", "fe80::1"}},
                                              {"n2", {"10.0.0.2", "10.9.9.9"}},
                                              {"n3.example.com", {"10.0.0.3", "10.9.9.9"}},
                                              {"twin.a", {}},
                                              {"twin.b", {"twin"}},
                                              {"evil", {"10.0.0.2", "n2", "n3", "n2.example.com"}}};

struct MatchCase {
  const char* name;
  std::string instance;
  std::string want;
};
class NodeMatcher : public testing::TestWithParam<MatchCase> {};
TEST_P(NodeMatcher, FindsTheNode) {
  const usage::NodeMatcher matcher(kNodes);
  EXPECT_EQ(matcher.match(GetParam().instance), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(
    Usage, NodeMatcher,
    testing::Values(MatchCase{"Name", "n1", "n1"}, MatchCase{"NameWithPort", "n1:9100", "n1"},
                    MatchCase{"Ip", "10.0.0.1", "n1"}, MatchCase{"IpWithPort", "10.0.0.1:9100", "n1"},
                    MatchCase{"Ipv6", "fe80::1", "n1"}, MatchCase{"Ipv6WithPort", "[FE80::1]:9100", "n1"},
                    MatchCase{"HostNameInAnyCase", "HOST-1:9100", "n1"},
                    MatchCase{"DomainAdded", "n2.example.com", "n2"},
                    MatchCase{"DomainLeftOut", "n3", "n3.example.com"}, MatchCase{"OtherDomain", "n3.example.org", ""},
                    MatchCase{"AddressOfTwo", "10.9.9.9", ""},
                    MatchCase{"AddressThatAnotherListsToo", "10.0.0.2:9100", ""}, MatchCase{"Stranger", "n9", ""},
                    MatchCase{"StrangeIp", "10.0.0.9", ""}, MatchCase{"Nothing", "", ""},
                    MatchCase{"NameThatAnotherLists", "n2:9100", "n2"},
                    MatchCase{"ShortNameThatAnotherLists", "n3:9100", "n3.example.com"},
                    MatchCase{"NameWithDomainThatAnotherLists", "n2.example.com", "n2"},
                    MatchCase{"ShortNameOfTwoThatOneLists", "twin:9100", "twin.b"}),
    [](const auto& test) { return test.param.name; });

usage::Samples::Node sample(const std::string& name, double value) { return {name, {}, {value}}; }

TEST(MatchNodes, RenamesSortsAndReportsUnknownNodes) {
  usage::Samples samples;
  samples.columns = {{"cpu", usage::Unit::kAmount}};
  samples.nodes = {sample("n2", 2), sample("host-1", 1), sample("zzz", 9)};
  usage::match_nodes(samples, usage::NodeMatcher(kNodes));
  EXPECT_EQ(text_of(samples), "n1=1 n2=2");
  EXPECT_EQ(joined(samples.problems), "1 of 3 are not nodes of this cluster: zzz");
}

/// A node that lists another node's address must not take over its usage. The problem names both nodes.
TEST(MatchNodes, AnAddressOfTwoNodesIsReportedWithBoth) {
  usage::Samples samples;
  samples.columns = {{"cpu", usage::Unit::kAmount}};
  samples.nodes = {sample("10.0.0.2:9100", 2), sample("n3:9100", 3), sample("zzz", 9)};
  usage::match_nodes(samples, usage::NodeMatcher(kNodes));
  EXPECT_EQ(text_of(samples), "n3.example.com=3");
  EXPECT_EQ(joined(samples.problems),
            "1 of 3 are not nodes of this cluster: zzz; 1 of 3 are addresses that two nodes share: 10.0.0.2:9100 (n2 "
            "and evil)");
}

TEST(MatchNodes, TwoOfOneNodeAreNone) {
  usage::Samples samples;
  samples.columns = {{"cpu", usage::Unit::kAmount}};
  samples.nodes = {sample("10.0.0.1", 2), sample("n1", 1)};
  usage::match_nodes(samples, usage::NodeMatcher(kNodes));
  EXPECT_EQ(text_of(samples), "n1=?");
  EXPECT_EQ(joined(samples.problems), "more than one value for n1");
}

TEST(MatchNodes, HistoriesKeepUnambiguousSeries) {
  std::vector<usage::Series> series = {{"n2", "cpu", {}, {}, {2}},
                                       {"n1", "cpu", {}, {}, {1}},
                                       {"host-1", "cpu", {}, {}, {1}},
                                       {"n1", "memory", {}, {}, {3}},
                                       {"zzz", "cpu", {}, {}, {9}}};
  usage::match_nodes(series, usage::NodeMatcher(kNodes));
  ASSERT_EQ(series.size(), 2U);
  EXPECT_EQ(series[0].node + "/" + series[0].resource, "n2/cpu");
  EXPECT_EQ(series[1].node + "/" + series[1].resource, "n1/memory");
}

}  // namespace usage_matching_test
