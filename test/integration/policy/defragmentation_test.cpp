#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/meta/condition.hpp"
#include "api/meta/well_known.hpp"
#include "simulator/objects.hpp"
#include "test/integration/rig/fragmented_stage.hpp"

/// Half of the nodes are full of ordinary pods. Each of the others is kept in use by one pod of a set with
/// anti-affinity.
namespace defragmentation_test {

using api::Json;
using base::minutes;

constexpr int kBound = 2;  ///< number of nodes that can be freed: 13.5 cores need four of six nodes

class Defragmented : public integration::FragmentedStage {
 protected:
  void begin() {
    prepare();
    start_operator();
    add_policy("30m");
  }
  void prepare() { add_classic(4, "1"); }
  void add_policy(const std::string& interval) {
    add_automatic_policy("defragment", interval, {{"name", "Defragmentation"}});
  }
  bool all_run() const {
    int sum = 0;
    for (const auto& [node, count] : running()) sum += count;
    return sum == 4 * kFull + kHeld;
  }
  api::DeschedulerPolicyStatus status() const { return policy_status("defragment"); }
  bool is_done() const { return all_run() && running().size() == kFull + kHeld - kBound; }
};

TEST_F(Defragmented, BySwapsInTwoWavesAndThenNothingMoves) {
  begin();
  ASSERT_EQ(running().size(), std::size_t{kFull + kHeld});
  ASSERT_TRUE(run_until([&] { return tainted() == kBound; }, minutes(10))) << "while it is under way";
  ASSERT_TRUE(run_until([&] { return is_done(); }, minutes(25))) << "the second wave waits for no interval";
  run_for(minutes(10));
  const std::int64_t moved = status().evicted;
  EXPECT_LE(moved, 2 * kBound);
  EXPECT_EQ(tainted(), 0) << "they go with the last wave";
  run_for(minutes(120));
  EXPECT_EQ(status().evicted, moved);
  EXPECT_TRUE(is_done());
  EXPECT_EQ(tainted(), 0);
}

TEST_F(Defragmented, ThoughTheOperatorDiesInTheMiddleOfTheWaves) {
  begin();
  ASSERT_TRUE(run_until([&] { return status().evicted > 0; }, minutes(10)));
  stop_operator();
  run_for(minutes(5));
  start_operator("replica-2");
  ASSERT_TRUE(run_until([&] { return is_done(); }, minutes(120)));
  run_for(minutes(60));
  EXPECT_LE(status().evicted, 2 * kBound + 1);
  EXPECT_EQ(tainted(), 0);
}

TEST_F(Defragmented, LeavesNoTaintWhenItsPolicyIsDeletedInTheMiddle) {
  begin();
  ASSERT_TRUE(run_until([&] { return tainted() > 0; }, minutes(10)));
  const auto gone =
      server->handle(kube::delete_request(kube::kPolicies, {"", "defragment"}, ""), {"admin", {}, "kubectl"});
  ASSERT_EQ(gone.status, 200) << gone.body;
  ASSERT_TRUE(run_until([&] { return tainted() == 0; }, minutes(10)));
  run_for(minutes(30));
  EXPECT_EQ(tainted(), 0);
  EXPECT_TRUE(all_run());
}

TEST_F(Defragmented, ThoughPodsVanishBetweenThePlanAndTheirEvacuations) {
  prepare();
  start_operator();
  int vanished = 0;
  replica->transport.lie = [&](const kube::Request& request) -> std::optional<kube::Response> {
    if (request.method != "POST" || !request.path.ends_with("/evacuations") || vanished == 2) return std::nullopt;
    const std::string pod = Json::parse(request.body)["spec"]["podRef"]["name"];
    const auto gone = server->handle(kube::delete_request(kube::kPods, {"shop", pod}, ""), {"admin", {}, "kubectl"});
    EXPECT_EQ(gone.status, 200) << gone.body;
    ++vanished;
    return std::nullopt;
  };
  add_policy("30m");
  ASSERT_TRUE(run_until([&] { return vanished == 2; }, minutes(10)));
  ASSERT_TRUE(run_until([&] { return is_done(); }, minutes(120)));
  run_for(minutes(60));
  EXPECT_TRUE(is_done());
  EXPECT_EQ(tainted(), 0);
}

constexpr const char* kMayNotPatch =
    R"({"kind":"Status","code":403,"reason":"Forbidden","message":"cannot patch resource \"nodes\" at the cluster scope"})";

/// Without the right to taint nodes, only placement hints direct the moves.
class DefragmentedByHints : public Defragmented {
 protected:
  void begin(bool webhook_is_reached) {
    places_pods = true;
    install_placement_webhook();
    webhook_answers = webhook_is_reached;
    prepare();
    start_operator();
    replica->transport.lie = [](const kube::Request& request) -> std::optional<kube::Response> {
      if (request.method != "PATCH" || request.path.find("/nodes/") == std::string::npos) return std::nullopt;
      return kube::Response{403, kMayNotPatch, {}, {}};
    };
    add_policy("5m");
  }
  std::string warnings() const {
    const api::DeschedulerPolicyStatus now = status();
    const auto* told = api::find_condition(now.conditions, "Warnings");
    return told ? told->message : "";
  }
};

TEST_F(DefragmentedByHints, ThatThePodsTake) {
  begin(true);
  ASSERT_TRUE(run_until([&] { return is_done(); }, minutes(60)));
  EXPECT_THAT(warnings(), testing::Not(testing::HasSubstr("placement hints")));
}

TEST_F(DefragmentedByHints, WastesNoMoreMovesThanOnePlanWhenTheWebhookIsNotCalled) {
  begin(false);
  ASSERT_TRUE(run_until([&] { return status().last_cycle.has_value(); }, minutes(10)));
  const auto planned = static_cast<std::size_t>(status().last_cycle->nominated);
  ASSERT_GT(planned, 0U);
  ASSERT_TRUE(std::ranges::any_of(status().plan, [](const auto& move) { return !move.hint.empty(); }));
  run_for(minutes(50));
  EXPECT_LE(granted(), planned);
  EXPECT_THAT(warnings(), testing::HasSubstr("plans do not rely on hints until"));
  for (const api::PlannedMove& move : status().plan) EXPECT_EQ(move.hint, "") << move.pod;
  webhook_answers = true;
  EXPECT_TRUE(run_until([&] { return is_done(); }, minutes(90))) << "an hour later they are tried again";
}

}  // namespace defragmentation_test
