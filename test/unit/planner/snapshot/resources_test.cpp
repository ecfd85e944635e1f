#include "planner/snapshot/resources.hpp"

#include <gmock/gmock.h>

#include <map>
#include <random>

#include "planner/scheduling/what_if.hpp"
#include "test/builders/cluster.hpp"

namespace scheduling {
namespace resources_test {

using builders::PodBuilder;

api::Container container(std::int64_t cpu, bool sidecar = false) {
  api::Container container;
  container.requests = {{"cpu", api::Quantity::from_milli(cpu)}};
  container.restart_always = sidecar;
  return container;
}

struct RequestCase {
  std::string name;
  PodBuilder pod;
  std::int64_t want_cpu;
};

class EffectiveRequestsTest : public testing::TestWithParam<RequestCase> {};

TEST_P(EffectiveRequestsTest, AddsUpCpu) {
  ResourceNames names;
  RequestSet requests;
  effective_requests(GetParam().pod.build(), names, requests);
  EXPECT_EQ(amount_of(requests, kCpuIndex), GetParam().want_cpu);
}

PodBuilder with_inits(std::int64_t main, std::vector<api::Container> inits) {
  return PodBuilder("p").cpu(main).with([&](api::Pod& pod) { pod.init_containers = std::move(inits); });
}

PodBuilder with_pod_level(std::int64_t main, std::int64_t pod_level, std::int64_t overhead) {
  return PodBuilder("p").cpu(main).with([&](api::Pod& pod) {
    pod.pod_requests = {{"cpu", api::Quantity::from_milli(pod_level)}};
    pod.overhead = {{"cpu", api::Quantity::from_milli(overhead)}};
  });
}

// --- requests used for scores

struct ScoredCase {
  std::string name;
  PodBuilder pod;
  std::int64_t cpu, memory_mi;
};

class ScoredRequestsTest : public testing::TestWithParam<ScoredCase> {};

TEST_P(ScoredRequestsTest, AssumesDefaultsForMissingRequests) {
  ResourceNames names;
  PodRequests requests;
  pod_requests(GetParam().pod.build(), names, requests);
  EXPECT_EQ(requests.scored, (ScoredRequests{GetParam().cpu, GetParam().memory_mi * 1024 * 1024 * 1000}));
}

PodBuilder with_second(PodBuilder pod, api::Container second) {
  return pod.with([&](api::Pod& each) { each.containers.push_back(std::move(second)); });
}

PodBuilder with_own_requests(PodBuilder pod, api::ResourceList requests) {
  return pod.with([&](api::Pod& each) { each.pod_requests = std::move(requests); });
}

constexpr std::int64_t kMi = 1024 * 1024;

INSTANTIATE_TEST_SUITE_P(
    Pods, ScoredRequestsTest,
    testing::Values(
        ScoredCase{"SaysAll", PodBuilder("p").cpu(30).memory(7 * kMi), 30, 7},
        ScoredCase{"SaysNothing", PodBuilder("p"), 100, 200},
        ScoredCase{"SaysZero", PodBuilder("p").cpu(0).memory(0), 0, 0},
        ScoredCase{"EachContainerForItself", with_second(PodBuilder("p").cpu(30).memory(7 * kMi), {}), 130, 207},
        ScoredCase{"EachResourceForItself", with_second(PodBuilder("p").memory(7 * kMi), container(40)), 140, 207},
        ScoredCase{"InitContainersToo", with_inits(10, {api::Container{}}), 100, 200},
        ScoredCase{"OwnRequestsReplaceThat",
                   with_own_requests(PodBuilder("p"), {{"cpu", api::Quantity::from_milli(50)},
                                                       {"memory", api::Quantity::from_units(kMi)}}),
                   50, 1},
        ScoredCase{"OwnRequestsForOneOfTwo",
                   with_own_requests(with_second(PodBuilder("p"), {}), {{"cpu", api::Quantity::from_milli(50)}}), 50,
                   400}),
    [](const auto& test) { return test.param.name; });

// --- requests of a pod that is being resized

TEST(HeldRequests, AreTheAllocatedResources) {
  const auto held =
      std::make_shared<const api::ResourceList>(api::ResourceList{{"cpu", api::Quantity::from_milli(900)}});
  const auto cluster =
      builders::ClusterBuilder()
          .add(builders::NodeBuilder("n1"))
          .add(builders::NodeBuilder("n2"))
          .add(PodBuilder("p").on("n1").cpu(300).with([&](api::Pod& pod) { pod.containers[0].held = held; }))
          .build();
  EXPECT_EQ(cluster->used().get(0, kCpuIndex), 900);
  EXPECT_EQ(cluster->scored().of(kCpuIndex)[0], 900);
  EXPECT_EQ(amount_of(cluster->requests(0), kCpuIndex), 300) << "its replacement asks for what the spec says";
  WhatIf what_if(*cluster);
  what_if.move(0, 1);
  EXPECT_EQ(what_if.used().get(0, kCpuIndex), 0);
  EXPECT_EQ(what_if.used().get(1, kCpuIndex), 300);
  what_if.restore(0);
  EXPECT_EQ(what_if.used().get(0, kCpuIndex), 900);
  EXPECT_EQ(what_if.used().get(1, kCpuIndex), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Pods, EffectiveRequestsTest,
    testing::Values(
        RequestCase{"SumsContainers",
                    PodBuilder("p").cpu(100).with([](api::Pod& pod) { pod.containers.push_back(container(50)); }), 150},
        RequestCase{"TakesALargerInitContainer", with_inits(100, {container(300)}), 300},
        RequestCase{"IgnoresASmallerInitContainer", with_inits(100, {container(60)}), 100},
        RequestCase{"AddsSidecarsToTheContainers", with_inits(100, {container(40, true)}), 140},
        RequestCase{"CountsSidecarsStartedBeforeAnInit", with_inits(10, {container(40, true), container(300)}), 340},
        RequestCase{"DoesNotCountSidecarsStartedAfterIt", with_inits(10, {container(300), container(40, true)}), 300},
        RequestCase{"SumsSidecarsStartedSoFar", with_inits(0, {container(40, true), container(50, true)}), 90},
        RequestCase{"LetsThePodLevelReplaceContainers", with_pod_level(100, 70, 0), 70},
        RequestCase{"AddsOverheadOnTop", with_pod_level(100, 70, 5), 75},
        RequestCase{"IsZeroWithoutRequests", PodBuilder("p"), 0}),
    [](const auto& test) { return test.param.name; });

TEST(EffectiveRequests, KeepsWhatPodLevelRequestsMayNotReplace) {
  ResourceNames names;
  RequestSet requests;
  const api::Pod pod = PodBuilder("p")
                           .request("x/gpu", 1000)
                           .with([](api::Pod& each) {
                             each.pod_requests = {{"hugepages-2Mi", api::Quantity::from_units(4)},
                                                  {"x/gpu", api::Quantity::from_units(9)}};
                           })
                           .build();
  effective_requests(pod, names, requests);
  EXPECT_EQ(amount_of(requests, names.find("x/gpu").value()), 1000);
  EXPECT_EQ(amount_of(requests, names.find("hugepages-2Mi").value()), 4000);
}

TEST(EffectiveRequests, KeepsAnExplicitZero) {
  ResourceNames names;
  RequestSet requests;
  effective_requests(PodBuilder("p").request("x/gpu", 0).build(), names, requests);
  EXPECT_EQ(requests, (RequestSet{{names.find("x/gpu").value(), 0}}));
}

// --- comparison with the sums of upstream-semantics.md, step by step

using Sums = std::map<std::string, std::int64_t>;

void add_to(Sums& sums, const api::ResourceList& list) {
  for (const auto& [name, quantity] : list) sums[name] += quantity.milli();
}

void raise_to(Sums& sums, const Sums& least) {
  for (const auto& [name, milli] : least) sums[name] = sums.contains(name) ? std::max(sums[name], milli) : milli;
}

Sums step_by_step(const api::Pod& pod) {
  Sums sums;
  for (const api::Container& container : pod.containers) add_to(sums, container.requests);
  Sums peak;
  Sums sidecars;
  for (const api::Container& container : pod.init_containers) {
    if (container.restart_always) {
      add_to(sums, container.requests);
      add_to(sidecars, container.requests);
      raise_to(peak, sidecars);
    } else {
      Sums step = sidecars;
      add_to(step, container.requests);
      raise_to(peak, step);
    }
  }
  raise_to(sums, peak);
  add_to(sums, pod.overhead);
  return sums;
}

/// Few and many resources, in separate and in shared lists.
TEST(EffectiveRequests, OfManyResourcesMatchTheStepwiseSums) {
  ResourceNames names;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto list = [&] {
      api::ResourceList resources;
      for (std::size_t i = random() % (seed % 3 == 0 ? 60 : 6); i > 0; --i)
        api::add_amount(resources, "x/r" + std::to_string(random() % 50), api::Quantity::from_milli(random() % 9));
      return resources;
    };
    api::Pod pod = PodBuilder("p").build();
    pod.containers.assign(random() % 4, {});
    for (api::Container& each : pod.containers) each.requests = list();
    pod.init_containers.assign(random() % 5, {});
    for (api::Container& each : pod.init_containers) each.requests = list(), each.restart_always = random() % 2 == 0;
    pod.overhead = list();
    RequestSet requests;
    effective_requests(pod, names, requests);
    Sums got;
    for (const auto& [resource, milli] : requests) got[std::string(names.name(resource))] = milli;
    ASSERT_EQ(got, step_by_step(pod)) << "seed " << seed;
    ASSERT_TRUE(std::ranges::is_sorted(requests)) << "seed " << seed;
    ASSERT_EQ(got.size(), requests.size()) << "seed " << seed;
  }
}

TEST(ResourceNames, KeepsPlacesOfTheBasicOnes) {
  ResourceNames names;
  EXPECT_EQ(names.intern("cpu"), kCpuIndex);
  EXPECT_EQ(names.intern("memory"), kMemoryIndex);
  EXPECT_EQ(names.intern("pods"), kPodsIndex);
  const ResourceIndex gpu = names.intern("x/gpu");
  EXPECT_EQ(names.intern("x/gpu"), gpu);
  EXPECT_EQ(names.name(gpu), "x/gpu");
  EXPECT_EQ(names.find("y"), std::nullopt);
}

TEST(NodeResources, DistinguishesAbsentFromZero) {
  ResourceNames names;
  const ResourceIndex gpu = names.intern("x/gpu");
  NodeResources amounts(2);
  amounts.add(0, gpu, 0);
  EXPECT_EQ(amounts.find(0, gpu), 0);
  EXPECT_EQ(amounts.find(1, gpu), std::nullopt);
  EXPECT_EQ(amounts.find(1, kCpuIndex), 0);
}

TEST(Comparable, RoundsUpAllButCpu) {
  EXPECT_EQ(comparable(kCpuIndex, 1500), 1500);
  EXPECT_EQ(comparable(kMemoryIndex, 1500), 2);
}

TEST(SaturatingArithmetic, StaysAtTheEnds) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(saturating_add(kMax, 1), kMax);
  EXPECT_EQ(saturating_add(kMin, -1), kMin);
  EXPECT_EQ(saturating_subtract(kMin, 1), kMin);
  EXPECT_EQ(saturating_subtract(0, kMin), kMax);
}

}  // namespace resources_test
}  // namespace scheduling
