/// How the operator's caches are filled: by a watch list in protobuf (like in all other tests), and by the fallbacks
/// when the server does not support it or aborts.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "test/integration/rig/rig.hpp"

namespace lists_test {

using base::seconds;
using simulator::FaultEffect;
using simulator::FaultRule;
using testing::HasSubstr;

class Lists : public integration::Rig {
 protected:
  /// Returns a rule that counts requests without an effect.
  static FaultRule counter(const char* verb) {
    return {.effect = FaultEffect::kDelay, .verb = verb, .resource = "pods", .delay = base::milliseconds(0)};
  }
  void count_requests() { server->faults().set({counter("list"), counter("watch")}); }
  std::int64_t lists() const { return server->faults().rules().at(0).hits; }
  std::int64_t watches() const { return server->faults().rules().at(1).hits; }

  void strike(FaultEffect effect, std::int64_t after = 0) {
    server->faults().add({.effect = effect, .resource = "pods", .count = 1, .after = after});
  }
  /// Expects that the caches are complete by evicting a pod, which requires all of them.
  void expect_an_evacuation_to_succeed() {
    const std::string name = evacuate(pods().front());
    ASSERT_TRUE(run_to_end(name));
    EXPECT_EQ(phase(name), api::EvacuationPhase::kSucceeded) << get(name).status.message;
  }
};

struct Way {
  const char* name;
  bool protobuf;
  bool streamed;
  std::int64_t lists;  ///< number of lists of pods
  std::int64_t watches;
};
class ListWays : public Lists, public testing::WithParamInterface<Way> {};

TEST_P(ListWays, FillTheCaches) {
  server->abilities().protobuf = GetParam().protobuf;
  server->abilities().streamed_lists = GetParam().streamed;
  stage();
  count_requests();
  start_operator();
  ASSERT_TRUE(replica->ready()) << replica->ready().error().message;
  EXPECT_EQ(lists(), GetParam().lists);
  EXPECT_EQ(watches(), GetParam().watches);
  expect_an_evacuation_to_succeed();
}

// A watch list in JSON is abandoned unread, and pages follow. The refusal of the first kind, pods, applies to all
// kinds.
INSTANTIATE_TEST_SUITE_P(Lists, ListWays,
                         testing::Values(Way{"ByAWatchInProtobuf", true, true, 0, 1},
                                         Way{"ByAWatchInJson", false, true, 0, 1},
                                         Way{"FromTheCacheInProtobuf", true, false, 1, 2},
                                         Way{"PageByPageInJson", false, false, 2, 2}),
                         [](const auto& test) { return test.param.name; });

TEST_F(Lists, ARefusalIsRememberedForAllKinds) {
  stage();
  const auto watches_of_a_start = [this] {
    server->faults().set({{.effect = FaultEffect::kDelay, .verb = "watch", .delay = base::milliseconds(0)}});
    start_operator();
    EXPECT_TRUE(replica->ready());
    return server->faults().rules().at(0).hits;
  };
  const std::int64_t one_for_each_cache = watches_of_a_start();
  server->abilities().streamed_lists = false;
  EXPECT_EQ(watches_of_a_start(), one_for_each_cache + 1) << "and one was refused";
}

TEST_F(Lists, AListCutAtAnyEventIsRepeated) {
  stage();
  for (std::int64_t after = 0; after < 6; ++after) {  // three pods and the bookmark after them
    SCOPED_TRACE(after);
    server->faults().clear();
    strike(FaultEffect::kCutWatch, after);
    start_operator();
    EXPECT_EQ(replica->ready().ok(), after > 3) << "half a list is none";
    run_for(seconds(2));
    ASSERT_TRUE(replica->ready()) << replica->ready().error().message;
  }
  expect_an_evacuation_to_succeed();
}

TEST_F(Lists, AListCutAtAnyByteIsRepeated) {
  server->abilities().streamed_lists = false;
  stage();
  for (int part = 0; part < 10; ++part) {
    SCOPED_TRACE(part);
    server->faults().set({{.effect = FaultEffect::kCutAnswer,
                           .verb = "list",
                           .resource = "pods",
                           .count = 1,
                           .at = static_cast<double>(part) / 10}});
    start_operator();
    EXPECT_FALSE(replica->ready()) << "half a list is none";
    run_for(seconds(2));
    ASSERT_TRUE(replica->ready()) << replica->ready().error().message;
  }
  expect_an_evacuation_to_succeed();
}

TEST_F(Lists, AListWithoutItsBookmarkIsAbandonedWithoutAction) {
  stage();
  const std::string name = evacuate(pods().front());
  strike(FaultEffect::kHoldBookmark);
  start_operator();
  run_for(seconds(8));
  ASSERT_FALSE(replica->ready());
  EXPECT_THAT(replica->ready().error().message, HasSubstr("pods: not listed yet"));
  EXPECT_TRUE(evictions().empty()) << "nothing is done on half a cache";
  run_for(seconds(3));
  EXPECT_FALSE(replica->ready()) << "it was given up, and the list that follows waits for its back-off";
  run_for(seconds(1));
  ASSERT_TRUE(replica->ready()) << replica->ready().error().message;
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(phase(name), api::EvacuationPhase::kSucceeded);
}

TEST_F(Lists, AStalledListIsAbandoned) {
  stage();
  strike(FaultEffect::kStallWatch, 2);
  start_operator();
  EXPECT_FALSE(replica->ready());
  run_for(seconds(15));
  ASSERT_TRUE(replica->ready()) << replica->ready().error().message;
  expect_an_evacuation_to_succeed();
}

/// A load balancer while servers are downgraded one after the other.
TEST_F(Lists, AServerThatLosesAbilitiesIsFollowed) {
  stage();
  start_operator();
  ASSERT_TRUE(replica->ready());
  server->abilities().protobuf = false;
  server->abilities().streamed_lists = false;
  strike(FaultEffect::kCutWatch);
  cluster->store().compact();
  expect_an_evacuation_to_succeed();
  server->abilities().protobuf = true;
  strike(FaultEffect::kCutWatch);
  cluster->store().compact();
  expect_an_evacuation_to_succeed();
}

}  // namespace lists_test
