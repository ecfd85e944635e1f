#include "advisor/nodes.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "api/json/yaml.hpp"
#include "test/unit/advisor/known_truth.hpp"

namespace advising_nodes_test {

using namespace advisor;
using advising_test::kGiB;
using testing::HasSubstr;

constexpr double kMiB = 1024.0 * 1024;
constexpr double kADay = 288;

NodeSpec node_of(const std::string& name) { return {name, "large", 4, 3.8, 16 * kGiB, 15 * kGiB}; }

NodeDay quiet_day() {
  NodeDay day;
  day.at(NodeMetric::kSamples) = kADay;
  day.at(NodeMetric::kRootCpu) = 2.5;
  day.at(NodeMetric::kPodsCpu) = 2;
  day.at(NodeMetric::kAgentsCpu) = 0.2;
  day.at(NodeMetric::kRootMemory) = 10 * kGiB;
  day.at(NodeMetric::kPodsMemory) = 9 * kGiB;
  day.at(NodeMetric::kAgentsMemory) = 200 * kMiB;
  day.at(NodeMetric::kMemoryGrowth) = 300 * kMiB;
  return day;
}
NodeDays days_of(const std::string& node, const NodeDay& day, int count) {
  NodeDays days;
  for (int i = 0; i < count; ++i) days[node][i] = day;
  return days;
}

TEST(NodeAdvice, ReservesUsageOutsideOfPods) {
  const auto advice = advise_nodes({node_of("n1"), node_of("n2")}, days_of("n1", quiet_day(), 3), kADay);
  ASSERT_EQ(advice.reservations.size(), 1U);
  const Reservation& large = advice.reservations[0];
  EXPECT_EQ(large.no_advice_reason, "");
  EXPECT_EQ(large.nodes, 2);
  EXPECT_TRUE(large.is_split);
  EXPECT_NEAR(large.kube_cpu, 0.2, 1e-9);
  EXPECT_NEAR(large.system_cpu, 0.3, 1e-9);
  EXPECT_EQ(large.kube_memory, 256 * kMiB) << "200 MiB + 15 %, in steps of 64 MiB";
  EXPECT_EQ(large.system_memory, 960 * kMiB);
  EXPECT_EQ(large.eviction_memory, 300 * kMiB);
  EXPECT_NEAR(large.reserved_cpu, 0.2, 1e-9);
  EXPECT_EQ(large.reserved_memory, kGiB);
  const auto yaml = (*api::parse_yaml(kubelet_configuration(large)))[0];
  EXPECT_EQ(yaml["kind"], "KubeletConfiguration");
  EXPECT_EQ(yaml["kubeReserved"].dump(), R"({"cpu":"200m","memory":"256Mi"})");
  EXPECT_EQ(yaml["evictionHard"]["memory.available"], "300Mi");
  EXPECT_EQ(yaml["evictionHard"]["imagefs.available"], "15%") << "one of them replaces all defaults";
  EXPECT_TRUE(advice.findings.empty());
}

TEST(NodeAdvice, UsesOnlySystemReservedIfAgentsAreUnknown) {
  NodeDay day = quiet_day();
  day.at(NodeMetric::kAgentsCpu) = day.at(NodeMetric::kAgentsMemory) = kUnknown;
  day.at(NodeMetric::kMemoryGrowth) = 900 * kGiB;
  const auto advice = advise_nodes({node_of("n1")}, days_of("n1", day, 3), kADay);
  EXPECT_FALSE(advice.reservations[0].is_split);
  EXPECT_NEAR(advice.reservations[0].system_cpu, 0.5, 1e-9);
  EXPECT_NEAR(advice.reservations[0].eviction_memory, 1.6 * kGiB, kMiB) << "at most a tenth";
  EXPECT_THAT(kubelet_configuration(advice.reservations[0]), Not(HasSubstr("kubeReserved")));
}

TEST(NodeAdvice, IgnoresImpossibleDays) {
  for (const auto& [metric, value] :
       {std::pair(NodeMetric::kRootMemory, double{INFINITY}), std::pair(NodeMetric::kRootMemory, 20 * kGiB),
        std::pair(NodeMetric::kPodsCpu, -1.0), std::pair(NodeMetric::kRootCpu, 5.0),
        std::pair(NodeMetric::kAgentsMemory, double{INFINITY}), std::pair(NodeMetric::kMemoryGrowth, double{INFINITY}),
        std::pair(NodeMetric::kPressureIo, 30.0), std::pair(NodeMetric::kSamples, double{INFINITY})}) {
    NodeDays days = days_of("n1", quiet_day(), 4);
    days["n1"][1].at(metric) = value;
    const auto advice = advise_nodes({node_of("n1")}, days, kADay);
    EXPECT_EQ(advice.odd_days, 1) << value;
    EXPECT_EQ(advice.reservations[0].days, 3) << value;
    EXPECT_EQ(advice.reservations[0].system_memory, 960 * kMiB) << value;
    EXPECT_TRUE(advice.findings.empty()) << value;
    days["n1"][2].at(metric) = value;
    EXPECT_EQ(advise_nodes({node_of("n1")}, days, kADay).reservations[0].no_advice_reason.substr(0, 36),
              "2 days of history, 3 are needed (576")
        << value;
  }
}

TEST(NodeAdvice, RequiresThreeDays) {
  NodeDays days = days_of("n1", quiet_day(), 3);
  days["n1"][0].at(NodeMetric::kSamples) = 100;
  const auto advice = advise_nodes({node_of("n1")}, days, kADay);
  EXPECT_EQ(advice.reservations[0].no_advice_reason, "2 days of history, 3 are needed (676 samples)");
  EXPECT_EQ(advise_nodes({node_of("n1")}, {}, kADay).reservations[0].no_advice_reason,
            "0 days of history, 3 are needed (0 samples)");
  NodeDay blind = quiet_day();
  blind.at(NodeMetric::kPodsMemory) = kUnknown;
  EXPECT_THAT(advise_nodes({node_of("n1")}, days_of("n1", blind, 3), kADay).reservations[0].no_advice_reason,
              HasSubstr("no samples of the root cgroup"));
}

TEST(NodeAdvice, FindsOvercommittedNodesAndHotSpots) {
  NodeDay day = quiet_day();
  day.at(NodeMetric::kRootCpu) = 3.95;
  day.at(NodeMetric::kPodsCpu) = 3.9;
  day.at(NodeMetric::kRootMemory) = 15.5 * kGiB;
  day.at(NodeMetric::kPressureCpu) = 0.3;
  day.at(NodeMetric::kPressureMemory) = 0.04;
  day.at(NodeMetric::kPressureIo) = 0.11;
  std::string reasons;
  for (const NodeFinding& finding : advise_nodes({node_of("n1")}, days_of("n1", day, 1), kADay).findings)
    reasons += finding.node + " " + finding.reason + "; ";
  EXPECT_EQ(reasons,
            "n1 PodsAboveAllocatableCPU; n1 NodeAboveAllocatableCPU; n1 NodeAboveAllocatableMemory; n1 CPUPressure; "
            "n1 IOPressure; ");
}

TEST(NodeSpec, GroupsByInstanceTypeOrSize) {
  const auto spec = [](const char* json) { return node_spec_of(*api::parse_json(json)); };
  EXPECT_EQ(spec(R"({"metadata":{"name":"n","labels":{"node.kubernetes.io/instance-type":"m5"}}})").group, "m5");
  const NodeSpec plain = spec(R"({"metadata":{"name":"n"},"status":{"capacity":{"cpu":"4","memory":"16Gi"},
    "allocatable":{"cpu":"3900m","memory":"x"}}})");
  EXPECT_EQ(plain.group, "4 cores, 16Gi");
  EXPECT_EQ(plain.cpu_allocatable, 3.9);
  EXPECT_EQ(plain.memory_allocatable, 0);
}

}  // namespace advising_nodes_test
