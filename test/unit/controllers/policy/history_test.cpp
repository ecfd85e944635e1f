#include "controllers/policy/history.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace controllers {
namespace policy_history_test {

using testing::ElementsAre;
using testing::SizeIs;

const base::TimePoint kNoon = *base::parse_time("2026-11-21T12:00:00Z");

api::PlannedMove move_of(const std::string& pod, const std::string& reason = "too old") {
  return {"shop", pod, "u-" + pod, "n1", "n2", "PodLifeTime", reason};
}

api::RefusedPod refusal_of(const std::string& pod, std::int64_t wanted) {
  return {"shop", pod, "u-" + pod, "n1", "PodLifeTime", "NodeLimit", std::to_string(wanted) + " of 1", "n1", wanted, 1};
}

CycleOutcome cycle(int minute, std::vector<api::PlannedMove> moves, std::vector<api::RefusedPod> refusals = {}) {
  CycleOutcome outcome;
  outcome.summary.start = kNoon + base::minutes(minute);
  outcome.summary.nominated = static_cast<std::int32_t>(moves.size());
  if (!refusals.empty()) outcome.summary.refused = {{"NodeLimit", static_cast<std::int32_t>(refusals.size())}};
  outcome.moves = std::move(moves);
  outcome.refusals = std::move(refusals);
  return outcome;
}

api::PolicyHistory after(const std::vector<CycleOutcome>& cycles, std::int32_t keep = 10) {
  api::PolicyHistory history;
  for (const CycleOutcome& each : cycles) history = next_history(std::move(history), each, keep);
  return history;
}

TEST(PolicyHistory, GivesCyclesThatSaidTheSameOneRow) {
  const auto history = after({cycle(0, {move_of("a")}), cycle(5, {move_of("a")}), cycle(10, {})});
  EXPECT_THAT(history.cycles, SizeIs(3));
  ASSERT_THAT(history.decisions, SizeIs(1));
  EXPECT_THAT(history.decisions[0].cycles, ElementsAre(1, 2));
  EXPECT_TRUE(history.decisions[0].nominated);
  EXPECT_EQ(history.cycles[1].start, kNoon + base::minutes(5));
  EXPECT_EQ(history.cycles[1].nominated, 1);
}

TEST(PolicyHistory, KeepsOtherNumbersApart) {
  const auto history = after({cycle(0, {}, {refusal_of("a", 2)}), cycle(5, {}, {refusal_of("a", 3)})});
  ASSERT_THAT(history.decisions, SizeIs(2));
  EXPECT_EQ(history.decisions[0].message, "3 of 1") << "the newest first";
  EXPECT_EQ(history.decisions[0].wanted, 3);
  EXPECT_EQ(history.decisions[1].message, "2 of 1");
}

TEST(PolicyHistory, ForgetsTheOldestCycles) {
  const auto history = after({cycle(0, {move_of("a")}), cycle(5, {move_of("b")}), cycle(10, {move_of("b")})}, 2);
  ASSERT_THAT(history.cycles, SizeIs(2));
  EXPECT_EQ(history.cycles.front().number, 2);
  ASSERT_THAT(history.decisions, SizeIs(1));
  EXPECT_EQ(history.decisions[0].pod, "b");
}

TEST(PolicyHistory, KeepsNothingWhenItIsSwitchedOff) {
  EXPECT_EQ(next_history(after({cycle(0, {move_of("a")})}), cycle(5, {move_of("a")}), 0), api::PolicyHistory());
}

TEST(PolicyHistory, SaysHowManyDecisionsOfACycleItLeavesOut) {
  CycleOutcome much = cycle(0, std::vector<api::PlannedMove>(150, move_of("a")));
  much.summary.refused = {{"NodeLimit", 7}};  // refusals that are not in the list
  const auto history = after({much});
  EXPECT_EQ(history.cycles[0].left_out, 150 - 100 + 7);
}

std::vector<api::PlannedMove> hundred(const std::string& prefix, const std::string& reason) {
  std::vector<api::PlannedMove> moves;
  for (int i = 0; i < 100; ++i) moves.push_back(move_of(prefix + std::to_string(i), reason));
  return moves;
}

TEST(PolicyHistory, JoinsRowsThatDifferInNumbersOnlyBeforeItForgetsAny) {
  std::vector<CycleOutcome> cycles;
  for (int i = 0; i < 8; ++i) cycles.push_back(cycle(i, hundred("p", "age " + std::to_string(i))));
  const auto history = after(cycles);
  EXPECT_LE(history.decisions.size(), api::kMaxPastDecisions);
  EXPECT_EQ(history.decisions[0].message, "age 7");
  for (const api::PastCycle& each : history.cycles) EXPECT_EQ(each.left_out, 0) << each.number;
}

TEST(PolicyHistory, IsBoundedAndCountsDroppedEntries) {
  std::vector<CycleOutcome> cycles;
  for (int i = 0; i < 10; ++i)
    cycles.push_back(cycle(i, hundred("c" + std::to_string(i) + "-", std::string(5000, 'x'))));
  const auto history = after(cycles);
  EXPECT_EQ(history.decisions.size(), api::kMaxPastDecisions);
  EXPECT_EQ(history.cycles.back().left_out, 0);
  EXPECT_EQ(history.cycles.front().left_out, 100) << "the oldest cycle pays";
  api::DeschedulerPolicyStatus status;
  status.history = history;
  EXPECT_LT(api::encode_status(status).dump().size(), 150'000U) << "etcd takes 1.5 MB";
}

}  // namespace policy_history_test
}  // namespace controllers
