#include "test/scenarios/load/load_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace load_model_test {

using load::Model;
using load::Parameters;

double total(const Model& model) { return std::accumulate(model.use().begin(), model.use().end(), 0.0); }

std::vector<double> hourly_totals(Model& model, int count) {
  std::vector<double> totals;
  for (int hour = 0; hour < count; ++hour) {
    totals.push_back(total(model));
    for (int i = 0; i < 120; ++i) model.step();
  }
  return totals;
}

TEST(LoadModel, IsTheSameForTheSameSeed) {
  Model one({}, 7);
  Model same({}, 7);
  Model other({}, 8);
  for (int i = 0; i < 10; ++i) one.step(), same.step(), other.step();
  EXPECT_EQ(one.use(), same.use());
  EXPECT_NE(one.use(), other.use());
  EXPECT_EQ(load::place_by_requests(one, 3), load::place_by_requests(same, 3));
}

TEST(LoadModel, HasADailyWaveAboutItsMean) {
  Model model({}, 1);
  const auto totals = hourly_totals(model, 48);
  const double mean = std::accumulate(totals.begin(), totals.end(), 0.0) / 48 / (100 * 16);
  EXPECT_GT(mean, 0.42);
  EXPECT_LT(mean, 0.60);  // bursts increase the mean load
  EXPECT_GT(*std::ranges::max_element(totals), 1.3 * *std::ranges::min_element(totals));
}

TEST(LoadModel, RestsAtTheWeekend) {
  Model model({}, 2);
  const auto totals = hourly_totals(model, 7 * 24);
  const double working = std::accumulate(totals.begin(), totals.begin() + 120, 0.0) / 120;
  const double weekend = std::accumulate(totals.begin() + 120, totals.end(), 0.0) / 48;
  EXPECT_NEAR(weekend / working, 0.7, 0.05);
}

TEST(LoadModel, HasAFewWhales) {
  const Model model({}, 3);
  const auto whales = std::ranges::count_if(model.use(), [](double cores) { return cores > 2.5; });
  EXPECT_GE(whales, 2);
  EXPECT_LE(whales, 40);  // of 3000
}

TEST(LoadModel, HasRequestsUnrelatedToItsUsage) {
  const Model model({}, 4);
  const auto n = static_cast<double>(model.pods().size());
  double use = 0, asked = 0, both = 0, uses = 0, askeds = 0;
  for (std::size_t i = 0; i < model.pods().size(); ++i) {
    const double x = model.use()[i], y = model.pods()[i].request;
    use += x, asked += y, both += x * y, uses += x * x, askeds += y * y;
  }
  const double covariance = both / n - use / n * asked / n;
  const double r = covariance / std::sqrt((uses / n - use / n * use / n) * (askeds / n - asked / n * asked / n));
  EXPECT_LT(std::abs(r), 0.15);
}

TEST(LoadModel, BeginsWithRequestsBalanced) {
  const Model model({}, 5);
  const auto placed = load::place_by_requests(model, 5);
  std::vector<int> requested(100);
  for (std::size_t i = 0; i < placed.size(); ++i) {
    requested[static_cast<std::size_t>(placed[i])] += model.pods()[i].request;
  }
  const auto [least, most] = std::ranges::minmax(requested);
  EXPECT_LE(most - least, 1000);
  EXPECT_LT(most, 16000);
}

}  // namespace load_model_test
