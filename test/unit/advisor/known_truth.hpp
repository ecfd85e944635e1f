#pragma once

/// Workloads with known usage and exact statistics of it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "advisor/history.hpp"
#include "advisor/requests.hpp"

namespace advising_test {

inline const base::TimePoint kMonday = *base::parse_time("2026-11-02T00:00:00Z");
inline const advisor::WorkloadKey kWeb{"shop", "Deployment", "web"};
inline const advisor::ContainerKey kApp{kWeb, "app"};
inline constexpr int kSamplesADay = 288;  ///< One sample every five minutes
inline constexpr double kGiB = 1024.0 * 1024 * 1024;

/// Deterministic pseudorandom numbers from 0 to 1.
class Numbers {
 public:
  double next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state_ >> 11) / static_cast<double>(1ULL << 53);
  }

 private:
  std::uint64_t state_ = 18;
};

struct Truth {
  std::string name;
  /// CPU and memory of one pod at sample `i` of day `day`. `u` is uniformly distributed from 0 to 1.
  std::function<double(int day, int i, double u)> cpu;
  std::function<double(int day, int i)> memory;
};

/// Typical kinds of workloads.
inline std::vector<Truth> truths() {
  const auto wave = [](int i) { return std::sin(i * 2 * M_PI / kSamplesADay); };
  const auto steady = [](int, int) { return kGiB; };
  return {
      {"constant", [](int, int, double) { return 0.5; }, steady},
      {"daily wave", [=](int, int i, double u) { return 0.5 + 0.4 * wave(i) + 0.02 * u; },
       [=](int, int i) { return kGiB * (1 + 0.2 * wave(i)); }},
      {"bursts", [](int, int, double u) { return u < 0.02 ? 2.0 : 0.1 + 0.01 * u; }, steady},
      {"long tail", [](int, int, double u) { return 0.05 * std::exp(3 * u * u); }, steady},
      {"leak", [](int, int, double) { return 0.2; },
       [](int day, int i) { return kGiB * (1 + 0.05 * (day + i / double{kSamplesADay})); }},
      {"weekend off", [=](int day, int i, double) { return day % 7 >= 5 ? 0.01 : 0.6 + 0.3 * wave(i); }, steady},
  };
}

struct Point {
  base::TimePoint time{};
  double cpu = 0, memory = 0;
};

/// Returns `days` days of samples starting at kMonday.
inline std::vector<Point> series_of(const Truth& truth, int days) {
  Numbers numbers;
  std::vector<Point> points;
  for (int day = 0; day < days; ++day) {
    for (int i = 0; i < kSamplesADay; ++i)
      points.push_back({kMonday + std::chrono::hours(24 * day) + base::minutes(5) * i,
                        truth.cpu(day, i, numbers.next()), truth.memory(day, i)});
  }
  return points;
}

/// Quantile by nearest rank.
inline double exact_quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

/// Mean of the daily maxima.
inline double mean_of_peaks(const std::vector<Point>& points) {
  double sum = 0;
  int days = 0;
  for (std::size_t first = 0; first < points.size(); first += kSamplesADay, ++days) {
    double peak = 0;
    for (std::size_t i = first; i < first + kSamplesADay; ++i) peak = std::max(peak, points[i].cpu);
    sum += peak;
  }
  return sum / days;
}

inline std::vector<double> cpu_of(const std::vector<Point>& points) {
  std::vector<double> values;
  for (const Point& point : points) values.push_back(point.cpu);
  return values;
}

inline advisor::Owners web_owners() {
  advisor::Owners owners;
  owners.add_workload(kWeb, 1);
  return owners;
}

inline constexpr const char* kPod = "web-7d4b9c6f5-x2x9z";

/// Returns the history of one pod with these samples.
inline advisor::ContainerHistory history_of(const std::vector<Point>& points, base::Duration startup = {}) {
  const advisor::Owners owners = web_owners();
  advisor::SampleAggregator fold(owners, {kMonday, kMonday + std::chrono::hours(24 * 60), startup});
  for (const Point& point : points) fold.add({point.time, "shop", kPod, "app", point.cpu, point.memory});
  return std::move(fold).finish().containers[kApp];
}

inline advisor::Rules rules_of(advisor::Profile profile, int days = 14, double percentile = 95) {
  return {profile, percentile, advisor::day_of(kMonday), advisor::day_of(kMonday) + days};
}

}  // namespace advising_test
