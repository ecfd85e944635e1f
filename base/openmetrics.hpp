#pragma once

/// The OpenMetrics text format, version 1.0.0. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/metrics.hpp"

namespace base {

/// Newest observation of one bucket that has a trace.
struct BucketExemplar {
  double value = 0;
  Exemplar exemplar;
};

struct MetricFamily {
  enum class Kind { kCounter, kGauge, kHistogram };
  struct Bucket {
    double bound = 0;         ///< upper bound, infinite for the last bucket
    std::uint64_t count = 0;  ///< number of observations up to `bound`
    std::optional<BucketExemplar> exemplar{};
  };
  struct Series {
    std::vector<std::pair<std::string, std::string>> labels;
    double value = 0;               ///< value, or sum of a histogram
    std::uint64_t count = 0;        ///< number of observations, histograms only
    std::vector<Bucket> buckets{};  ///< histograms only
  };
  std::string name;
  std::string help;
  Kind kind = Kind::kGauge;
  std::vector<Series> series;
};

/// Renders the text format. A counter whose name does not end in _total is invalid in this format and gets type
/// "unknown".
std::string render_openmetrics(const std::vector<MetricFamily>& families);

}  // namespace base
