#include "test/builders/bench_cluster.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <openssl/sha.h>

namespace builders {
namespace bench_cluster_test {

std::string sha256_of(const std::string& text) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  std::string hex;
  for (const unsigned char byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

struct CheckSums {
  int nodes;
  std::size_t pods;
  std::int64_t cpu_milli;
  std::int64_t memory;
  int spread;
  int anti_affine;
  std::string sha256;
};

class BenchClusterTest : public testing::TestWithParam<CheckSums> {};

TEST_P(BenchClusterTest, AgreesWithThePublishedSums) {
  const CheckSums& want = GetParam();
  const BenchCluster cluster = bench_cluster(want.nodes);
  EXPECT_EQ(cluster.nodes.size(), static_cast<std::size_t>(want.nodes));
  EXPECT_EQ(cluster.pods.size(), want.pods);
  CheckSums got{want.nodes, cluster.pods.size(), 0, 0, 0, 0, sha256_of(check_lines(want.nodes))};
  for (const auto& pod : cluster.pods) {
    got.cpu_milli += api::amount_of(pod->containers.at(0).requests, "cpu").milli();
    got.memory += api::amount_of(pod->containers.at(0).requests, "memory").units();
    got.spread += pod->topology_spread.empty() ? 0 : 1;
    got.anti_affine += pod->affinity ? 1 : 0;
  }
  EXPECT_EQ(got.cpu_milli, want.cpu_milli);
  EXPECT_EQ(got.memory, want.memory);
  EXPECT_EQ(got.spread, want.spread);
  EXPECT_EQ(got.anti_affine, want.anti_affine);
  EXPECT_EQ(got.sha256, want.sha256);
}

INSTANTIATE_TEST_SUITE_P(Sizes, BenchClusterTest,
                         testing::Values(CheckSums{100, 3000, 750000, 2013265920000, 750, 300,
                                                   "8200223fbbb4c7874f53888abf3e2f6f55bfd9dd40295e89852906b9eb253b9f"},
                                         CheckSums{1000, 30000, 7500000, 20132659200000, 7500, 3000,
                                                   "750626a77b294574ad0cb33af0b6f299d3fd6dd63421623ad85f2aec07bb10a7"},
                                         CheckSums{5000, 150000, 37500000, 100663296000000, 37500, 15000,
                                                   "baf75ff4338ec35a2fc0a8d99a3e09957ccf29bebe3a92e58bfcd0623c584efd"}),
                         [](const auto& test) { return fmt::format("Of{}Nodes", test.param.nodes); });

TEST(BenchClusterTest, ListsPodsLikeAStore) {
  const BenchCluster cluster = bench_cluster(40);
  for (std::size_t i = 1; i < cluster.pods.size(); ++i) {
    EXPECT_LT(cluster.pods[i - 1]->meta.key(), cluster.pods[i]->meta.key());
  }
}

}  // namespace bench_cluster_test
}  // namespace builders
