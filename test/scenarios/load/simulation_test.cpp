/// A small part of what load_proof compares (make proof).

#include "test/scenarios/load/simulation.hpp"

#include <gtest/gtest.h>

namespace load_simulation_test {

using load::Settings;

Settings day_and_a_half() {
  Settings settings;
  settings.parameters.nodes = 20;
  settings.seed = 5;
  settings.length = std::chrono::hours(36);
  return settings;
}

TEST(LoadSimulation, IsTheSameForTheSameSeed) {
  const auto one = load::simulate(load::small(3), {load::no_descheduling(), load::upstream_deviation()});
  const auto same = load::simulate(load::small(3), {load::no_descheduling(), load::upstream_deviation()});
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].hourly, same[i].hourly);
    EXPECT_EQ(one[i].moves, same[i].moves);
  }
}

TEST(LoadSimulation, IsUnevenWhereRequestsAreEven) {
  const auto outcomes = load::simulate(day_and_a_half(), {load::no_descheduling()});
  EXPECT_EQ(outcomes[0].moves, 0);
  EXPECT_GT(outcomes[0].deviation, 8);
}

TEST(LoadSimulation, LetsUpstreamsRulesJudge) {
  const auto outcomes = load::simulate(load::small(4), {load::upstream_static(), load::upstream_deviation()});
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome.problems.empty()) << outcome.problems.front();
  EXPECT_GT(outcomes[1].moves, 0);
}

}  // namespace load_simulation_test
