#pragma once

#include <memory>
#include <vector>

#include "api/policy/usage_source.hpp"
#include "usage/samples.hpp"

namespace usage {

/// Source of usage measurements. Call from one thread at a time. Calls block, limited by the source's timeouts. A
/// source does not retry and keeps no samples.
class Source {
 public:
  virtual ~Source() = default;

  /// Returns the current samples. An error means that nothing of the answer is usable. Its message is human-readable
  /// and contains no secrets. On kUnauthorized, the next call reads the credentials again.
  virtual base::Result<Samples> sample() = 0;

  /// Returns the nodes' past with a fixed step, for forecasts. Returns kUnsupported if the source has no history.
  virtual base::Result<std::vector<Series>> history(base::TimePoint from, base::TimePoint to, base::Duration step) = 0;
};

}  // namespace usage
