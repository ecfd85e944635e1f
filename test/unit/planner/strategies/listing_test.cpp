#include "planner/strategies/listing.hpp"

#include <gmock/gmock.h>

#include "test/builders/cluster.hpp"
#include "test/builders/strategy_run.hpp"

namespace strategies {
namespace listing_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;

struct OfferCase {
  std::string name;
  NominationResult result;  ///< Result of offering pod "b"
  std::vector<std::string> offered;
  bool goes_on;  ///< Whether the strategy continues with the next node
};

class Offers : public testing::TestWithParam<OfferCase> {};

TEST_P(Offers, GoOnOrStop) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n1"))
                           .add(PodBuilder("a").on("n1"))
                           .add(PodBuilder("b").on("n1"))
                           .add(PodBuilder("c").on("n1"))
                           .build();
  builders::RecordingSink sink(*cluster);
  sink.answer = [](const api::Pod& pod) {
    return pod.meta.name == "b" ? GetParam().result : NominationResult::kAccepted;
  };
  EXPECT_EQ(offer_all(sink, {0, 1, 2}, [](PodIndex) { return "why"; }), GetParam().goes_on);
  EXPECT_EQ(sink.offered, GetParam().offered);
}

INSTANTIATE_TEST_SUITE_P(
    Results, Offers,
    testing::Values(OfferCase{"Accepted", NominationResult::kAccepted, {"a", "b", "c"}, true},
                    OfferCase{"Refused", NominationResult::kRefused, {"a", "b", "c"}, true},
                    OfferCase{"NamespaceLimit", NominationResult::kNamespaceLimit, {"a", "b", "c"}, true},
                    OfferCase{"NodeLimit", NominationResult::kNodeLimit, {"a", "b"}, true},
                    OfferCase{"TotalLimit", NominationResult::kTotalLimit, {"a", "b"}, false}),
    [](const auto& test) { return test.param.name; });

}  // namespace listing_test
}  // namespace strategies
