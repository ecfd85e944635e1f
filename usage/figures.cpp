#include "usage/figures.hpp"

#include <algorithm>
#include <cmath>

namespace usage {
namespace {

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double deviation_of(const std::vector<double>& values, double mean) {
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

double ewma_of(const std::vector<double>& values, double alpha) {
  double average = values.front();
  for (const double value : values) average += alpha * (value - average);
  return average;
}

double percentile_of(std::vector<double> values, double percentile) {
  const auto rank = static_cast<std::size_t>(std::ceil(percentile / 100 * static_cast<double>(values.size())));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::ranges::nth_element(values, at);
  return *at;
}

}  // namespace

double smooth(const std::vector<double>& values, const api::UsageSmoothing& settings) {
  std::vector<double> known;
  std::ranges::copy_if(values, std::back_inserter(known), [](double value) { return std::isfinite(value); });
  if (known.empty()) return kUnknown;
  switch (settings.method) {
    case api::SmoothingMethod::kLatest: return known.back();
    case api::SmoothingMethod::kMean: return mean_of(known);
    case api::SmoothingMethod::kEwma: return ewma_of(known, settings.alpha);
    case api::SmoothingMethod::kPercentile: return percentile_of(std::move(known), settings.percentile);
    case api::SmoothingMethod::kMeanPlusSigma: {
      const double mean = mean_of(known);
      return mean + settings.sigmas * deviation_of(known, mean);
    }
  }
  return kUnknown;
}

}  // namespace usage
