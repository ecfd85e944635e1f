#include "planner/strategies/eviction_order.hpp"

#include <gmock/gmock.h>

#include "test/builders/cluster.hpp"

namespace strategies {
namespace eviction_order_test {

using builders::PodBuilder;

struct Amounts {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
};

struct QosCase {
  std::string name;
  Amounts requests;
  Amounts limits;
  QosClass want;
};

void set(api::ResourceList& list, const Amounts& amounts) {
  if (amounts.cpu != 0) api::add_amount(list, "cpu", api::Quantity::from_milli(amounts.cpu));
  if (amounts.memory != 0) api::add_amount(list, "memory", api::Quantity::from_milli(amounts.memory));
}

class Qos : public testing::TestWithParam<QosCase> {};

TEST_P(Qos, FollowsRequestsAndLimits) {
  const auto pod = PodBuilder("p").with([](api::Pod& each) {
    set(each.containers[0].requests, GetParam().requests);
    set(each.containers[0].limits, GetParam().limits);
  });
  EXPECT_EQ(qos_of(pod.build()), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Containers, Qos,
                         testing::Values(QosCase{"NothingAtAll", {}, {}, QosClass::kBestEffort},
                                         QosCase{"NegativeAmountsOnly", {-1, -1}, {}, QosClass::kBestEffort},
                                         QosCase{"ARequestOnly", {1, 0}, {}, QosClass::kBurstable},
                                         QosCase{"ALimitOnly", {}, {1, 0}, QosClass::kBurstable},
                                         QosCase{"LimitsAboveRequests", {1, 1}, {2, 1}, QosClass::kBurstable},
                                         QosCase{"CpuAlone", {1, 0}, {1, 0}, QosClass::kBurstable},
                                         QosCase{"BothEqual", {1, 1}, {1, 1}, QosClass::kGuaranteed}),
                         [](const auto& test) { return test.param.name; });

TEST(Qos, ConsidersInitContainersToo) {
  const auto pod = PodBuilder("p").with([](api::Pod& each) {
    set(each.containers[0].requests, {1, 1});
    set(each.containers[0].limits, {1, 1});
    each.init_containers.push_back(each.containers[0]);
    each.init_containers[0].limits.clear();
  });
  EXPECT_EQ(qos_of(pod.build()), QosClass::kBurstable);
}

}  // namespace eviction_order_test
}  // namespace strategies
