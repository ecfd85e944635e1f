#include "controllers/policy/taints/claims.hpp"

#include <gmock/gmock.h>

#include <map>

namespace controllers {
namespace taint_pledges_test {

using base::minutes;
using testing::ElementsAre;
using testing::IsEmpty;
using enum TaintPledges::Progress;

const base::TimePoint kNoon = base::parse_time("2026-11-21T12:00:00Z").value();

class TaintPledgesTest : public testing::Test {
 protected:
  void pledge(std::vector<std::string> nodes, const std::vector<std::string>& evacuations) {
    TaintPledge pledge{std::move(nodes), {}, now};
    for (const std::string& name : evacuations) pledge.evacuations.push_back({"shop", name});
    pledges.add("level", std::move(pledge));
  }
  std::vector<std::string> nodes() {
    const auto look = [&](const api::ObjectKey& key) {
      const auto at = progress.find(key.name);
      return at == progress.end() ? kNotSeen : at->second;
    };
    return pledges.nodes_of("level", look, now);
  }

  TaintPledges pledges;
  std::map<std::string, TaintPledges::Progress> progress;
  base::TimePoint now = kNoon;
};

TEST_F(TaintPledgesTest, LastUntilTheLastMoveOfTheirPlanIsDone) {
  pledge({"n2", "n1"}, {"a", "b"});
  progress = {{"a", kUnfinished}, {"b", kUnfinished}};
  EXPECT_THAT(nodes(), ElementsAre("n1", "n2"));
  progress["a"] = kFinished;
  EXPECT_THAT(nodes(), ElementsAre("n1", "n2"));
  progress["b"] = kFinished;
  EXPECT_THAT(nodes(), IsEmpty());
}

TEST_F(TaintPledgesTest, OfSeveralPlansEachGoesByItself) {
  pledge({"n1"}, {"a"});
  pledge({"n1", "n2"}, {"b"});
  progress = {{"a", kUnfinished}, {"b", kFinished}};
  EXPECT_THAT(nodes(), ElementsAre("n1"));
}

TEST_F(TaintPledgesTest, DoNotComeBackWithAnotherEvacuationOfThatName) {
  pledge({"n1"}, {"a"});
  progress = {{"a", kFinished}};
  EXPECT_THAT(nodes(), IsEmpty());
  progress = {{"a", kUnfinished}};
  EXPECT_THAT(nodes(), IsEmpty());
}

TEST_F(TaintPledgesTest, IncludeAnEvacuationThatIsInvisibleForAMinute) {
  pledge({"n1"}, {"a"});
  now += TaintPledges::kUnseen;
  EXPECT_THAT(nodes(), ElementsAre("n1")) << "the cache lags";
  now += base::seconds(1);
  EXPECT_THAT(nodes(), IsEmpty()) << "it was never made, or is gone";
}

TEST_F(TaintPledgesTest, AreEmptyWithoutMoves) {
  pledge({"n1"}, {});
  EXPECT_THAT(nodes(), IsEmpty());
}

TEST_F(TaintPledgesTest, GoWithTheirPolicy) {
  pledge({"n1"}, {"a"});
  pledges.drop("another");
  EXPECT_THAT(nodes(), ElementsAre("n1"));
  pledges.drop("level");
  EXPECT_THAT(nodes(), IsEmpty());
}

}  // namespace taint_pledges_test
}  // namespace controllers
