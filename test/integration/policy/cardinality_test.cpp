/// Number of series of /metrics, which every scraper has to store.

#include <gmock/gmock.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "simulator/objects.hpp"
#include "test/integration/rig/rig.hpp"

namespace cardinality_test {

using api::Json;
using base::minutes;

class Cardinality : public integration::Rig {
 protected:
  void policy(const std::string& name, const std::string& mode) {
    const Json strategies = Json::array(
        {{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 30}}}},
         {{"name", "LowNodeUtilization"},
          {"args",
           {{"thresholds", {{"cpu", 20}, {"memory", 20}}}, {"targetThresholds", {{"cpu", 60}, {"memory", 60}}}}}},
         {{"name", "RemoveDuplicates"}}});
    add({{"apiVersion", "evacuator.dev/v1alpha1"},
         {"kind", "DeschedulerPolicy"},
         {"metadata", {{"name", name}}},
         {"spec", {{"mode", mode}, {"schedule", {{"interval", "1h"}}}, {"strategies", strategies}}}});
  }
  /// Adds nodes up to a total of `count`.
  void nodes(int count) {
    for (int i = static_cast<int>(cluster->store().list(kube::kNodes, "").size()); i < count; ++i)
      add(simulator::objects::node(fmt::format("more-{:04}", i), "8", "16Gi"));
  }
  std::size_t series() const {
    std::istringstream lines(replica->metrics.render());
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line);) count += !line.empty() && line.front() != '#';
    return count;
  }
  std::size_t cycles() const {
    std::istringstream lines(replica->metrics.render());
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line);) count += line.starts_with("evacuator_policy_cycles_total{");
    return count;
  }
};

TEST_F(Cardinality, OfAThousandNodesAndTwoHundredPoliciesIsBounded) {
  constexpr std::size_t kPolicies = 200;
  constexpr std::size_t kMaxPerPolicy = 30;
  constexpr std::size_t kMaxOfOthers = 300;
  stage(6);
  nodes(23);
  start_operator();
  policy("acting", "Automatic");
  ASSERT_TRUE(run_until([&] { return cycles() == 1; }, minutes(5)));
  run_for(minutes(5));
  const std::size_t with_few_nodes = series();
  nodes(1000);
  settle();
  run_for(minutes(65));  // the next cycle
  EXPECT_LE(series(), with_few_nodes + 40) << "no series of a node";

  for (std::size_t i = 1; i < kPolicies; ++i) policy(fmt::format("policy-{:03}", i), "DryRun");
  ASSERT_TRUE(run_until([&] { return cycles() == kPolicies; }, minutes(30)));
  const std::size_t all = series();
  RecordProperty("series", static_cast<int>(all));
  std::printf("series at 1000 nodes and %zu policies: %zu, %.1f a policy, %zu with one policy and 23 nodes\n",
              kPolicies, all, static_cast<double>(all - with_few_nodes) / (kPolicies - 1), with_few_nodes);
  EXPECT_LE(all, kPolicies * kMaxPerPolicy + kMaxOfOthers);

  for (std::size_t i = 1; i < kPolicies; ++i)
    server->handle(kube::delete_request(kube::kPolicies, {"", fmt::format("policy-{:03}", i)}, ""),
                   {"alice", {}, "kubectl"});
  settle();
  EXPECT_EQ(cycles(), 1U);
  EXPECT_LE(series(), with_few_nodes + 40) << "what told of policies goes with them";
}

}  // namespace cardinality_test
