#include "controllers/policy/triggers.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace controllers {
namespace spikes_test {

/// Two nodes of four cores. n2 uses three cores and 60 % of its disk.
scheduling::MeasuredUsage measured() {
  scheduling::MeasuredUsage made;
  made.resources = {{"cpu", false}, {"disk", true}};
  for (const auto& [name, cpu, disk] :
       {std::tuple{"n1", 1000, 20'000}, std::tuple{"n2", 3000, 60'000}, std::tuple{"gone", 4000, 99'000}}) {
    scheduling::MeasuredUsage::Node node;
    node.name = name;
    node.now = {cpu, disk};
    made.nodes.push_back(node);
  }
  return made;
}

std::shared_ptr<const api::Node> find(const std::string& name) {
  if (name == "gone") return nullptr;
  auto node = std::make_shared<api::Node>();
  node->meta.name = name;
  node->allocatable = {{"cpu", *api::Quantity::parse("4")}};
  return node;
}

TEST(HighestPercent, IsOfTheNodeThatUsesMost) {
  EXPECT_DOUBLE_EQ(highest_percent(measured(), "cpu", find), 75);
  EXPECT_DOUBLE_EQ(highest_percent(measured(), "disk", find), 60);
  EXPECT_TRUE(std::isnan(highest_percent(measured(), "memory", find)));
}

TEST(HighestPercent, CountsNoNodeWithoutAGoodSample) {
  auto some = measured();
  some.nodes[1].problem = "its newest sample is 7m old";
  EXPECT_DOUBLE_EQ(highest_percent(some, "cpu", find), 25);
  some.nodes[0].now[0] = scheduling::kUnknownUsage;
  EXPECT_TRUE(std::isnan(highest_percent(some, "cpu", find)));
  some = measured();
  some.problem = "no answer";
  EXPECT_TRUE(std::isnan(highest_percent(some, "cpu", find)));
}

}  // namespace spikes_test
}  // namespace controllers
