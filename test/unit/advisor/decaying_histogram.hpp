#pragma once

/// The Vertical Pod Autoscaler's algorithm by its public description: histograms whose buckets grow by 5 %, samples
/// that lose half of their weight in 24 hours, the 90th percentile, and a margin of 15 %. Written from that
/// description, for comparisons only. Its lower limits (25m, 250 MB per pod) are omitted.

#include <cmath>
#include <map>

#include "test/unit/advisor/known_truth.hpp"

namespace advising_test {

class DecayingHistogram {
 public:
  explicit DecayingHistogram(double first_bucket) : first_(first_bucket) {}

  void add(base::TimePoint time, double value) {
    constexpr double kHalfLife = 24;
    const double hours = std::chrono::duration<double, std::ratio<3600>>(time - kMonday).count();
    const double weight = std::exp2(hours / kHalfLife);
    weights_[bucket_of(value)] += weight;
    total_ += weight;
  }
  /// Returns the end of the bucket in which the share of the weight is reached.
  double percentile(double share) const {
    double sum = 0;
    for (const auto& [bucket, weight] : weights_) {
      sum += weight;
      if (sum >= share * total_) return start_of(bucket + 1);
    }
    return 0;
  }

 private:
  static constexpr double kRatio = 1.05;
  int bucket_of(double value) const {
    if (value < first_) return 0;
    return static_cast<int>(std::log(value / first_ * (kRatio - 1) + 1) / std::log(kRatio));
  }
  double start_of(int bucket) const { return first_ * (std::pow(kRatio, bucket) - 1) / (kRatio - 1); }

  double first_;
  double total_ = 0;
  std::map<int, double> weights_;
};

struct VpaTarget {
  double cpu = 0, memory = 0;
};

/// CPU by every sample, memory by the peak of every day.
inline VpaTarget vpa_target(const std::vector<Point>& points) {
  constexpr double kMargin = 1.15;
  constexpr double kShare = 0.9;
  DecayingHistogram cpu(0.01), memory(1e7);
  double peak = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    cpu.add(points[i].time, points[i].cpu);
    peak = std::max(peak, points[i].memory);
    if ((i + 1) % kSamplesADay != 0) continue;
    memory.add(points[i].time, peak);
    peak = 0;
  }
  return {cpu.percentile(kShare) * kMargin, memory.percentile(kShare) * kMargin};
}

}  // namespace advising_test
