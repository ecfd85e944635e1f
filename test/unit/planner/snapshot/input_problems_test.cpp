#include "planner/snapshot/input_problems.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "api/core/codec.hpp"
#include "planner/scheduling/predicates.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/snapshot/snapshot_cache.hpp"
#include "test/builders/cluster.hpp"
#include "test/builders/first_refusal.hpp"

namespace scheduling {
namespace input_problems_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> words_of(const ClusterSnapshot& cluster) {
  std::vector<std::string> words;
  for (const InputProblem& problem : cluster.problems().rows()) words.push_back(problem.to_string());
  return words;
}

SnapshotInput with_text(const std::string& node_status, const std::string& pod_spec) {
  auto node = api::decode_node(R"({"metadata":{"name":"n1"},"status":)" + node_status + "}");
  auto pod = api::decode_pod(R"({"metadata":{"namespace":"shop","name":"web"},"spec":)" + pod_spec + "}");
  EXPECT_TRUE(node && pod) << node_status << pod_spec;
  SnapshotInput input;
  input.nodes.push_back(std::make_shared<const api::Node>(*std::move(node)));
  input.pods.push_back(std::make_shared<const api::Pod>(*std::move(pod)));
  return input;
}

constexpr const char* kPlainNode = R"({"allocatable":{"cpu":"4","memory":"8Gi","pods":"10"}})";

struct StrangeCase {
  std::string name;
  std::string node_status;
  std::string pod_spec;
  std::vector<std::string> want;
  std::int64_t want_used_bytes = 0;
  std::int64_t want_allocatable_bytes = std::int64_t{8} << 30;
};

class StrangeInput : public testing::TestWithParam<StrangeCase> {};

TEST_P(StrangeInput, IsReportedWithItsFieldAndAddsNoCapacity) {
  const ClusterSnapshot cluster(with_text(GetParam().node_status, GetParam().pod_spec));
  EXPECT_EQ(words_of(cluster), GetParam().want);
  EXPECT_EQ(cluster.used().get(0, kMemoryIndex) / 1000, GetParam().want_used_bytes);
  EXPECT_EQ(cluster.allocatable().get(0, kMemoryIndex) / 1000, GetParam().want_allocatable_bytes);
}

std::string asking(const std::string& memory) {
  return R"({"nodeName":"n1","containers":[{"name":"a"},{"name":"c","resources":{"requests":{"memory":)" + memory +
         "}}}]}";
}

INSTANTIATE_TEST_SUITE_P(
    Objects, StrangeInput,
    testing::Values(
        StrangeCase{"NothingStrange", kPlainNode, asking("\"1Gi\""), {}, std::int64_t{1} << 30},
        StrangeCase{"NegativeRequest",
                    kPlainNode,
                    asking("\"-5Gi\""),
                    {"Pod shop/web: spec.containers[1].resources.requests.memory: -5Gi is negative, treated as 0"}},
        StrangeCase{"BoundlessRequest",
                    kPlainNode,
                    asking("\"1e400\""),
                    {"Pod shop/web: spec.containers[1].resources.requests.memory: exceeds the maximum value, treated "
                     "as larger than any node"},
                    kBoundlessMilli / 1000},
        StrangeCase{
            "TextThatIsNoQuantity",
            kPlainNode,
            asking("\"plenty\""),
            {"Pod shop/web: spec.containers[1].resources.requests.memory: \"plenty\" is not a quantity, ignored"}},
        StrangeCase{
            "NumberThatIsNoQuantity",
            kPlainNode,
            asking("[]"),
            {"Pod shop/web: spec.containers[1].resources.requests.memory: \"no number\" is not a quantity, ignored"}},
        StrangeCase{"NullIsLeftOut", kPlainNode, asking("null"), {}},
        StrangeCase{"InitContainerOverheadAndPodLevel",
                    kPlainNode,
                    R"({"nodeName":"n1","initContainers":[{"resources":{"limits":{"cpu":"x"}}}],
                        "overhead":{"cpu":"-1m"},"resources":{"requests":{"memory":"y"}}})",
                    {"Pod shop/web: spec.initContainers[0].resources.limits.cpu: \"x\" is not a quantity, ignored",
                     "Pod shop/web: spec.resources.requests.memory: \"y\" is not a quantity, ignored",
                     "Pod shop/web: spec.overhead.cpu: -1m is negative, treated as 0"}},
        StrangeCase{"NegativeAllocatable",
                    R"({"allocatable":{"cpu":"4","memory":"-8Gi","pods":"10"}})",
                    asking("\"0\""),
                    {"Node n1: status.allocatable.memory: -8Gi is negative, treated as 0"},
                    0,
                    0},
        StrangeCase{"BoundlessAllocatable",
                    R"({"allocatable":{"cpu":"4","memory":"1e400","pods":"10"}})",
                    asking("\"0\""),
                    {"Node n1: status.allocatable.memory: exceeds the maximum value, treated as 0"},
                    0,
                    0},
        StrangeCase{"UnreadableAllocatable",
                    R"({"allocatable":{"cpu":"4","memory":"lots","pods":"10"}})",
                    asking("\"0\""),
                    {"Node n1: status.allocatable.memory: \"lots\" is not a quantity, ignored"},
                    0,
                    0},
        StrangeCase{"NoAllocatable",
                    "{}",
                    asking("\"0\""),
                    {"Node n1: status.allocatable: is missing: no pod fits on the node"},
                    0,
                    0},
        StrangeCase{
            "UnknownNode",
            kPlainNode,
            R"({"nodeName":"gone"})",
            {"Pod shop/web: spec.nodeName: names the node \"gone\", which does not exist: the pod is ignored"}}),
    [](const auto& test) { return test.param.name; });

TEST(InputProblems, UpstreamUsesQuantitiesAsWritten) {
  const ClusterSnapshot cluster(with_text(kPlainNode, asking("\"-5Gi\"")), Quantities::kAsWritten);
  EXPECT_EQ(cluster.used().get(0, kMemoryIndex) / 1000, -(std::int64_t{5} << 30));
  EXPECT_THAT(words_of(cluster), ElementsAre("Pod shop/web: spec.containers[1].resources.requests.memory: -5Gi is "
                                             "negative, used as it is (compatibility: Upstream)"));
  EXPECT_FALSE(cluster.fixed_quantities());
}

/// n1 has 4000 bytes. A pod that requests -2000 must not make room for a pod that requests 5000.
TEST(InputProblems, ANegativeRequestMakesNoCapacityForOthers) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  builder.add(PodBuilder("evil").on("n1").memory(-2000)).add(PodBuilder("big").on("n2").memory(5000));
  const auto refused = [&](Quantities quantities) {
    const ClusterSnapshot cluster(builder.input(), quantities);
    return first_refusal(WhatIf(cluster), *cluster.find_pod("default", "big"), 0, FitLevel::kScheduler).has_value();
  };
  EXPECT_TRUE(refused(Quantities::kSound));
  EXPECT_FALSE(refused(Quantities::kAsWritten));
}

TEST(InputProblems, AHugeRequestDoesNotSaturateTheSumsOfItsNode) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n1"))
                           .add(PodBuilder("evil").on("n1").request("memory", std::numeric_limits<std::int64_t>::max()))
                           .add(PodBuilder("web").on("n1").memory(1000))
                           .build();
  WhatIf what_if(*cluster);
  what_if.move(*cluster->find_pod("default", "evil"), kNoNode);
  EXPECT_EQ(what_if.used().get(0, kMemoryIndex), 1'000'000);
}

TEST(InputProblems, KeepsTheFirstAndCountsAll) {
  ClusterBuilder builder;
  for (int i = 0; i < 150; ++i) builder.add(PodBuilder("p" + std::to_string(i)).on("gone"));
  const auto cluster = builder.build();
  EXPECT_EQ(cluster->problems().rows().size(), InputProblems::kMax);
  EXPECT_EQ(cluster->problems().total(), 150);
}

TEST(InputProblems, TerminalPodsOnDeletedNodesAreNotReported) {
  const auto cluster = ClusterBuilder().add(PodBuilder("p").on("gone").phase(api::PodPhase::kSucceeded)).build();
  EXPECT_THAT(words_of(*cluster), IsEmpty());
}

TEST(InputProblems, OwnerCyclesAreReportedOnce) {
  const auto owned = [](const char* name, const char* owner) {
    api::Workload workload;
    workload.kind = "Job";
    workload.meta.ns = "shop";
    workload.meta.name = name;
    workload.meta.uid = std::string("uid-of-") + name;
    workload.meta.owner_references.push_back({"batch/v1", "Job", owner, std::string("uid-of-") + owner, true});
    return workload;
  };
  const auto cluster = ClusterBuilder()
                           .add(owned("a", "b"))
                           .add(owned("b", "a"))
                           .add(owned("c", "a"))
                           .add(owned("self", "self"))
                           .build();
  const std::string what =
      ": metadata.ownerReferences: lead back to the object itself, only the first step is followed";
  EXPECT_THAT(words_of(*cluster), ElementsAre("Job shop/a" + what, "Job shop/b" + what, "Job shop/self" + what));
}

TEST(InputProblems, ChangesOfAMalformedPodAreReportedByTheNextSnapshot) {
  SnapshotCache keeper;
  SnapshotInput input = with_text(kPlainNode, asking("\"-5Gi\""));
  EXPECT_EQ(words_of(keeper.at(input)).size(), 1U);
  input.pods = with_text(kPlainNode, asking("\"1Gi\"")).pods;
  EXPECT_THAT(words_of(keeper.at(input)), IsEmpty());
  input.pods = with_text(kPlainNode, asking("\"-1Gi\"")).pods;
  EXPECT_EQ(words_of(keeper.at(input)).size(), 1U);
  EXPECT_EQ(keeper.at(input, Quantities::kAsWritten).used().get(0, kMemoryIndex) / 1000, -(std::int64_t{1} << 30));
  EXPECT_EQ(keeper.at(input).used().get(0, kMemoryIndex), 0) << "the kept one is the sound one";
}

}  // namespace input_problems_test
}  // namespace scheduling
