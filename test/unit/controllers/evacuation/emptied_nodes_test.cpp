#include "controllers/evacuation/emptied_nodes.hpp"

#include <gmock/gmock.h>

#include "api/meta/well_known.hpp"
#include "planner/strategies/catalog.hpp"
#include "planner/strategies/utilization/consolidation.hpp"
#include "test/builders/cluster.hpp"

namespace emptied_nodes_test {

using builders::kNoon;
using controllers::evacuation::emptied_nodes;
using testing::ElementsAre;

using Plan = std::vector<std::shared_ptr<const api::Evacuation>>;

api::Evacuation leaving(const std::string& node, base::Duration age = {}) {
  api::Evacuation evacuation;
  evacuation.meta.creation_timestamp = kNoon - age;
  evacuation.spec.node_name = {node};
  evacuation.spec.source = {"pack", "Defragmentation", "evacuator"};
  return evacuation;
}

void add(Plan& plan, const api::Evacuation& evacuation) {
  plan.push_back(std::make_shared<const api::Evacuation>(evacuation));
}

TEST(EmptiedNodes, AreThoseOfTheWave) {
  Plan plan;
  for (const char* node : {"n1", "n2", "n2"}) add(plan, leaving(node));
  EXPECT_THAT(emptied_nodes(*plan.front(), plan, {}), ElementsAre("n1", "n2"));
}

TEST(EmptiedNodes, IncludeMovesFinishedDuringTheWaveAndJustBefore) {
  Plan plan;
  for (const auto& [node, minutes_before] : {std::pair{"during", -5}, {"before", 1}, {"earlier", 10}}) {
    api::Evacuation finished = leaving(node, base::minutes(60));
    finished.status.finished_at = kNoon - base::minutes(minutes_before);
    add(plan, finished);
  }
  EXPECT_THAT(emptied_nodes(leaving("own"), plan, {}), ElementsAre("before", "during", "own"));
}

TEST(EmptiedNodes, AreNotThoseThatPodsAreExpectedOn) {
  Plan plan;
  api::Evacuation filled = leaving("n1");
  filled.meta.annotations = api::StringMap{{std::string(api::well_known::kPredictedTargetAnnotation), "n2"}};
  add(plan, filled);
  add(plan, leaving("n2"));
  EXPECT_THAT(emptied_nodes(*plan.front(), plan, {}), ElementsAre("n1"));
}

TEST(EmptiedNodes, IncludeThoseOfLaterWaves) {
  api::PlannedMove second;
  second.strategy = "Defragmentation";
  second.from = "later";
  second.to = "stays";
  second.wave = 2;
  api::PlannedMove of_another = second;
  of_another.strategy = "LowNodeUtilization";
  of_another.from = "hot";
  api::PlannedMove relieves = second;
  relieves.from = "loaded";
  relieves.reason = "too hot";
  const auto empties_node = [](const std::string&, const std::string& reason) { return reason.empty(); };
  const auto planned =
      controllers::evacuation::planned_nodes({second, of_another, relieves}, "Defragmentation", empties_node);
  EXPECT_THAT(emptied_nodes(leaving("own"), {}, planned), ElementsAre("later", "own"));
}

TEST(EmptiedNodes, IncludeATargetOfTheWaveBeforeThatIsEmptiedNow) {
  Plan plan;
  api::Evacuation finished = leaving("n1", base::minutes(60));
  finished.meta.annotations = api::StringMap{{std::string(api::well_known::kPredictedTargetAnnotation), "n2"}};
  finished.status.finished_at = kNoon - base::minutes(1);
  add(plan, finished);
  EXPECT_THAT(emptied_nodes(leaving("own"), plan, {}), ElementsAre("n1", "own"));
  EXPECT_THAT(emptied_nodes(leaving("own"), plan, {{"n2"}, {}}), ElementsAre("n1", "n2", "own"));
  EXPECT_THAT(emptied_nodes(leaving("own"), plan, {{"n2"}, {"n2"}}), ElementsAre("n1", "own")) << "pods are to come";
  add(plan, leaving("n2"));
  EXPECT_THAT(emptied_nodes(leaving("own"), plan, {}), ElementsAre("n1", "n2", "own"));
}

TEST(EmptiedNodes, AreThoseOfStrategiesThatEmptyNodes) {
  EXPECT_TRUE(strategies::empties_node("Defragmentation", "whatever it says"));
  for (const char* strategy : {"HighNodeUtilization", "TargetLoadPacking", "AlternatingUtilization"}) {
    EXPECT_TRUE(strategies::empties_node(strategy, strategies::kEmptiedWhole)) << strategy;
    EXPECT_TRUE(strategies::empties_node(strategy, strategies::kToBeEmptied)) << strategy;
    EXPECT_FALSE(strategies::empties_node(strategy, "its node is above the target")) << strategy << " relieves it";
  }
}

TEST(EmptiedNodes, BelongToAPlanOnlyIfThePolicyMadeIt) {
  EXPECT_EQ(controllers::evacuation::plan_index_key(leaving("n1")), "") << "manual: its source is a claim";
}

}  // namespace emptied_nodes_test
