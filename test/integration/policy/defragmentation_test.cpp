#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/meta/condition.hpp"
#include "api/meta/well_known.hpp"
#include "simulator/objects.hpp"
#include "test/integration/rig/rig.hpp"

/// Half of the nodes are full of ordinary pods. The others are held open by one pod each of a set that repel one
/// another.
namespace defragmentation_test {

using api::Json;
using base::minutes;

constexpr int kFull = 3;
constexpr int kHeld = 3;
constexpr int kBound = 2;  ///< nodes that can be freed: 13.5 cores need four of six nodes

class Defragmented : public integration::Rig {
 protected:
  void begin() {
    add(simulator::objects::name_space("shop"));
    add_nodes("full", kFull);
    deploy(simulator::objects::deployment("shop", "web", 4 * kFull, "1", "64Mi"), "web", 4 * kFull);
    add_nodes("held", kHeld);
    deploy(quorum(), "quorum", kHeld);
    start_operator();
    add({{"apiVersion", "evacuator.dev/v1alpha1"},
         {"kind", "DeschedulerPolicy"},
         {"metadata", {{"name", "defragment"}}},
         {"spec",
          {{"mode", "Automatic"},
           {"schedule", {{"interval", "30m"}}},
           {"strategies", Json::array({{{"name", "Defragmentation"}}})}}}});
  }
  void add_nodes(const std::string& prefix, int count) {
    for (int i = 0; i < count; ++i) add(simulator::objects::node(prefix + "-" + std::to_string(i), "4", "16Gi"));
  }
  static Json quorum() {
    Json object = simulator::objects::deployment("shop", "quorum", kHeld, "500m", "64Mi");
    const Json term = {{"topologyKey", "kubernetes.io/hostname"},
                       {"labelSelector", {{"matchLabels", {{"app", "quorum"}}}}}};
    object["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"]
          ["requiredDuringSchedulingIgnoredDuringExecution"] = Json::array({term});
    return object;
  }
  void deploy(const Json& object, const std::string& app, int replicas) {
    add(object);
    ASSERT_TRUE(run_until(
        [&] { return running().size() > 0 && pods(app).size() == static_cast<std::size_t>(replicas); }, minutes(5)));
    run_for(minutes(1));
  }
  /// How many pods run on each node that has some.
  std::map<std::string, int> running() const {
    std::map<std::string, int> count;
    for (const auto& object : cluster->store().list(kube::kPods, "shop")) {
      if ((*object)["status"].value("phase", "") == "Running") ++count[(*object)["spec"].value("nodeName", "")];
    }
    return count;
  }
  bool all_run() const {
    int sum = 0;
    for (const auto& [node, count] : running()) sum += count;
    return sum == 4 * kFull + kHeld;
  }
  int tainted() const {
    int count = 0;
    for (const auto& node : cluster->store().list(kube::kNodes, "")) {
      for (const Json& taint : (*node)["spec"].value("taints", Json::array()))
        count += taint.value("key", "") == api::well_known::kEmptyingTaint ? 1 : 0;
    }
    return count;
  }
  api::DeschedulerPolicyStatus status() const {
    const auto policy = api::decode_descheduler_policy(*cluster->store().get(kube::kPolicies, {"", "defragment"}));
    EXPECT_TRUE(policy) << policy.error().message;
    return policy->status;
  }
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

}  // namespace defragmentation_test
