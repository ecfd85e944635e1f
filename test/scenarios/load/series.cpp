#include "test/scenarios/load/series.hpp"

#include <algorithm>

#include "test/scenarios/load/load_model.hpp"

namespace load {
namespace {

constexpr int kPerDay = 288;
const base::TimePoint kMonday = base::parse_time("2026-06-01T00:00:00Z").value();

template <typename Next>
std::vector<usage::Series> make_series(int count, int days, std::uint64_t seed, Next&& begin) {
  std::vector<usage::Series> all;
  for (int i = 0; i < count; ++i) {
    Chance chance(seed * 1000 + static_cast<std::uint64_t>(i));
    usage::Series& series =
        all.emplace_back(usage::Series{"n" + std::to_string(i), "cpu", kMonday, base::minutes(5), {}});
    auto next = begin(chance);
    for (int t = 0; t < days * kPerDay; ++t) {
      series.values.push_back(static_cast<float>(std::clamp(next(chance), 0.0, 100.0)));
    }
  }
  return all;
}

}  // namespace

std::vector<usage::Series> node_series(int nodes, int days, std::uint64_t seed) {
  Parameters parameters;
  parameters.nodes = nodes;
  Model model(parameters, seed);
  const std::vector<int> placed = place_by_requests(model, seed);
  std::vector<usage::Series> all;
  for (int i = 0; i < nodes; ++i) all.push_back({"n" + std::to_string(i), "cpu", kMonday, base::minutes(5), {}});
  constexpr int kStepsEach = 10;
  for (int t = 0; t < days * kPerDay; ++t) {
    std::vector<double> sums(all.size());
    for (int step = 0; step < kStepsEach; ++step) {
      for (std::size_t pod = 0; pod < placed.size(); ++pod)
        sums[static_cast<std::size_t>(placed[pod])] += model.use()[pod];
      model.step();
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double share = sums[i] / kStepsEach / parameters.node_cores;
      all[i].values.push_back(static_cast<float>(std::min(100 * share, 100.0)));
    }
  }
  return all;
}

std::vector<usage::Series> steps(int count, int days, std::uint64_t seed) {
  return make_series(count, days, seed, [](Chance& first) {
    return [level = first.between(20, 80)](Chance& chance) mutable {
      if (chance.uniform() < 1.0 / 96) level = chance.between(20, 80);
      return level + chance.normal();
    };
  });
}

std::vector<usage::Series> random_walks(int count, int days, std::uint64_t seed) {
  return make_series(count, days, seed, [](Chance& first) {
    return [level = first.between(30, 70)](Chance& chance) mutable {
      level += chance.normal();
      if (level < 0 || level > 100) level = std::clamp(level, 0.0, 100.0);
      return level;
    };
  });
}

std::vector<usage::Series> repeating(int count, int days, std::uint64_t seed) {
  return make_series(count, days, seed, [](Chance& first) {
    std::vector<double> day;  // the levels change at random times
    for (int t = 0; t < kPerDay; ++t)
      day.push_back(day.empty() || first.uniform() < 1.0 / 12 ? first.between(20, 80) : day.back());
    return [day, t = std::size_t{0}](Chance&) mutable { return day[t++ % day.size()]; };
  });
}

std::vector<usage::Series> pure_noise(int count, int days, std::uint64_t seed) {
  return make_series(count, days, seed, [](Chance& first) {
    return [level = first.between(30, 70)](Chance& chance) { return level + 5 * chance.normal(); };
  });
}

}  // namespace load
