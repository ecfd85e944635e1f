#pragma once

#include <memory>
#include <vector>

#include "api/policy/usage_source.hpp"
#include "usage/samples.hpp"

namespace usage {

/// Somebody who measures. It is asked by one thread at a time; it blocks for as long as its timeouts say. It never
/// retries and keeps no samples.
class Source {
 public:
  virtual ~Source() = default;

  /// What it says now. An error means that nothing of the answer is usable; its message is for people and shows no
  /// secret. kUnauthorized: the credentials are looked up again for the next call.
  virtual base::Result<Samples> sample() = 0;

  /// The nodes' past in even steps, for forecasts. kUnsupported: it keeps none.
  virtual base::Result<std::vector<Series>> history(base::TimePoint from, base::TimePoint to, base::Duration step) = 0;
};

}  // namespace usage
