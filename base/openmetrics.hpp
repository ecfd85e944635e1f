#pragma once

/// The OpenMetrics text format, version 1.0.0. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/metrics.hpp"

namespace base {

/// The newest observation of one bucket that said to which trace it belongs.
struct BucketExemplar {
  double value = 0;
  Exemplar exemplar;
};

/// One family of series, as it stands at this moment.
struct MetricFamily {
  enum class Kind { kCounter, kGauge, kHistogram };
  struct Bucket {
    double bound = 0;         ///< the last one's is infinite
    std::uint64_t count = 0;  ///< of all up to here
    std::optional<BucketExemplar> exemplar{};
  };
  struct Series {
    std::vector<std::pair<std::string, std::string>> labels;
    double value = 0;               ///< a histogram's: the sum
    std::uint64_t count = 0;        ///< of a histogram
    std::vector<Bucket> buckets{};  ///< of a histogram
  };
  std::string name;
  std::string help;
  Kind kind = Kind::kGauge;
  std::vector<Series> series;
};

/// A counter whose name does not end in _total has no name in this format: it is told as of unknown type.
std::string render_openmetrics(const std::vector<MetricFamily>& families);

}  // namespace base
