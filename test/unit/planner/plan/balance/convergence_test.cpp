#include "planner/plan/balance/convergence.hpp"

#include <gtest/gtest.h>

#include "planner/strategies/strategy.hpp"

namespace planner {
namespace convergence_test {

constexpr api::ConvergenceSettings kThree{.patience = 3};

api::BalanceRow row(double before, double after) { return {"S", "cpu", {before, 1}, {after, 1}, "", 0, 0}; }

/// Sequence of cycles whose plans are all carried out.
class History {
 public:
  explicit History(api::ConvergenceSettings settings = kThree, std::string_view resource = "cpu")
      : settings_(settings), resource_(resource) {}
  std::string next(double before, double after, bool acted = true, bool reverses = false, bool repeats = true) {
    api::BalanceRow now = row(before, after);
    now.resource = resource_;
    last_ = next_balance_row({now, last_ ? &*last_ : nullptr, acted, reverses, repeats, before != after}, settings_);
    return last_->state;
  }
  const api::BalanceRow& last() const { return *last_; }

 private:
  api::ConvergenceSettings settings_;
  std::string resource_;
  std::optional<api::BalanceRow> last_;
};

TEST(Convergence, ImprovesUntilNothingNeedsToMove) {
  History history;
  EXPECT_EQ(history.next(20, 15), kImproving);
  EXPECT_EQ(history.next(15, 10), kImproving);
  EXPECT_EQ(history.next(10, 10), kConverged);
  EXPECT_EQ(history.last().best, 10);
  EXPECT_TRUE(may_balance(history.last()));
}

TEST(Convergence, StopsAfterCyclesWithoutGain) {
  History history;
  history.next(20, 15);
  EXPECT_EQ(history.next(20, 15), kImproving);
  EXPECT_EQ(history.next(20.2, 15), kImproving);
  EXPECT_EQ(history.next(19.9, 15), kNoProgress) << "less than half a point is no gain";
  EXPECT_EQ(history.last().without_gain, 3);
  EXPECT_FALSE(may_balance(history.last()));
}

TEST(Convergence, GainsIfEachPlanAchievesMostOfASmallPrediction) {
  History history;
  history.next(20, 19.9);
  for (int i = 1; i < 20; ++i) EXPECT_EQ(history.next(20 - 0.06 * i, 19.9 - 0.06 * i), kImproving) << i;
  History broken;
  broken.next(20, 19.9);
  broken.next(19.98, 19.88);
  broken.next(19.96, 19.86);
  EXPECT_EQ(broken.next(19.94, 19.84), kNoProgress) << "less than half of what was promised";
}

TEST(Convergence, CountsOnlyWhatWasCarriedOut) {
  History history;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(history.next(20, 15, false), kImproving) << "a dry run, or a gate";
}

TEST(Convergence, ContinuesWhileTheLoadChangesAndMovesRelieveNodes) {
  History history;
  for (int i = 0; i < 50; ++i) EXPECT_EQ(history.next(20, 19, true, false, false), kImproving) << i;
  EXPECT_EQ(history.last().without_gain, 0);
}

TEST(Convergence, LoadChangesAboveThePredictionAreNoEvidenceAboutMoves) {
  History history;
  for (int i = 0; i < 50; ++i) {
    const double load = i % 2 == 0 ? 7 : 7.3;
    history.next(load, load - 0.05);
    history.next(load + 0.2, load + 0.15);
    EXPECT_EQ(history.last().without_gain, 0) << i;
    EXPECT_EQ(history.next(load + 0.4, load + 0.35), kImproving) << i;
  }
  History steady;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(steady.next(7 + 0.04 * i, 6.95 + 0.04 * i), kImproving);
  EXPECT_EQ(steady.next(7.12, 7.07), kNoProgress) << "the moves could have made up for that";
  History back;
  back.next(7, 6.95);
  EXPECT_EQ(back.next(7.5, 7.45, true, true), kOscillating) << "moves that are taken back count in any case";
}

TEST(Convergence, CountsCyclesWithoutEffectBetweenGains) {
  History history;
  history.next(20, 15);
  history.next(20, 15);
  history.next(20, 15, true, false, false);
  history.next(20, 15);
  EXPECT_EQ(history.last().without_gain, 2);
  EXPECT_EQ(history.next(20, 15), kNoProgress);
}

TEST(Convergence, ResetsAfterAGain) {
  History history;
  history.next(20, 15);
  history.next(20, 15);
  history.next(20, 15);
  EXPECT_EQ(history.next(18, 15), kImproving);
  EXPECT_EQ(history.last().without_gain, 0);
}

TEST(Convergence, StaysStoppedUntilTheImbalanceChanges) {
  History history;
  for (int i = 0; i < 4; ++i) history.next(20, 15);
  EXPECT_EQ(history.next(24, 15), kNoProgress);
  EXPECT_EQ(history.next(20, 20), kNoProgress);
  EXPECT_EQ(history.next(26, 15), kImproving) << "more than a quarter worse";
  EXPECT_EQ(history.last().without_gain, 0);
}

TEST(Convergence, OfCountsStartsAgainWithOneMoreUnevenWorkload) {
  for (const auto counted : {strategies::kCountsByDomain, strategies::kCountsOfDuplicates}) {
    History history(kThree, counted);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(history.next(2, 1.8), kImproving);
    EXPECT_EQ(history.next(2, 1.8), kNoProgress);
    EXPECT_EQ(history.next(2.19, 1.8), kNoProgress);
    EXPECT_EQ(history.next(2.21, 1.8), kImproving) << "load would have to differ by a point";
    for (int i = 0; i < 3; ++i) history.next(2.21, 1.8);
    EXPECT_EQ(history.last().state, kNoProgress);
    EXPECT_EQ(history.next(0, 0), kConverged);
  }
}

TEST(Convergence, DetectsOscillation) {
  History history;
  history.next(20, 15);
  EXPECT_EQ(history.next(15, 12, true, true), kImproving) << "it gained";
  EXPECT_EQ(history.next(18, 12, true, true, false), kOscillating);
  EXPECT_FALSE(may_balance(history.last()));
}

TEST(Convergence, NeverStopsWithoutPatience) {
  History history(api::ConvergenceSettings{.patience = 0});
  for (int i = 0; i < 50; ++i) EXPECT_EQ(history.next(20, 15, true, true), kImproving);
}

api::PlannedMove move(const char* from, const char* to, const char* strategy = "S") {
  return {"ns", "p", "u", from, to, strategy, ""};
}

TEST(MovesBack, ComparesNodes) {
  const std::vector<api::PlannedMove> before = {move("a", "b"), move("c", "d", "T"), move("e", "")};
  EXPECT_TRUE(moves_back("S", before, std::vector{move("b", "a")}));
  EXPECT_TRUE(moves_back("S", before, std::vector{move("b", "a"), move("x", "y")}));
  EXPECT_FALSE(moves_back("S", before, std::vector{move("b", "a"), move("x", "y"), move("x", "z")}));
  EXPECT_FALSE(moves_back("S", before, std::vector{move("d", "c")})) << "another strategy's";
  EXPECT_FALSE(moves_back("S", before, {}));
}

TEST(RelievesAgain, ComparesTheNodesThatPodsLeave) {
  const std::vector<api::PlannedMove> before = {move("a", "b"), move("a", "c"), move("d", "e", "T")};
  EXPECT_TRUE(relieves_again("S", before, std::vector{move("a", "x")})) << "wherever they go";
  EXPECT_TRUE(relieves_again("S", before, std::vector{move("x", "y"), move("a", "")})) << "one of two";
  EXPECT_FALSE(relieves_again("S", before, std::vector{move("b", "a")}));
  EXPECT_FALSE(relieves_again("S", before, std::vector{move("d", "x")})) << "another strategy's";
  EXPECT_TRUE(relieves_again("S", before, std::vector{move("a", "x"), move("x", "y"), move("z", "y")}))
      << "the status shows the first moves only: as many are compared";
  EXPECT_FALSE(relieves_again("S", before, {}));
  EXPECT_FALSE(relieves_again("S", {}, std::vector{move("a", "b")}));
}

TEST(MovesAgain, ComparesWorkloadsByTheNamesOfTheirPods) {
  const auto of = [](const char* ns, const char* pod, const char* strategy = "S") {
    return api::PlannedMove{ns, pod, "u", "n1", "n2", strategy, ""};
  };
  const std::vector<api::PlannedMove> before = {of("shop", "web-5d9-abcde"), of("shop", "db-0"), of("shop", "x", "T")};
  EXPECT_TRUE(moves_again("S", before, std::vector{of("shop", "web-5d9-fghij")}));
  EXPECT_TRUE(moves_again("S", before, std::vector{of("shop", "db-1"), of("shop", "other-1")})) << "one of two";
  EXPECT_FALSE(moves_again("S", before, std::vector{of("shop", "web-777-abcde")})) << "another revision";
  EXPECT_FALSE(moves_again("S", before, std::vector{of("bank", "db-0")})) << "another namespace's";
  EXPECT_FALSE(moves_again("S", before, std::vector{of("shop", "x")})) << "another strategy's";
  EXPECT_FALSE(moves_again("S", before, {}));
  EXPECT_FALSE(moves_again("S", {}, before));
}

}  // namespace convergence_test
}  // namespace planner
