#pragma once

#include <string>

#include "kube/client.hpp"
#include "usage/source.hpp"

namespace usage {

/// Koordinator's NodeMetrics: cpu and memory of nodes and their pods, as amounts. Has no history. `client` must outlive
/// the source.
class Koordinator final : public Source {
 public:
  /// `aggregation` is "" for the current value, or avg, p50, p90, p95, p99.
  Koordinator(kube::Client& client, std::string aggregation) : client_(client), aggregation_(std::move(aggregation)) {}
  base::Result<Samples> sample() override;
  base::Result<std::vector<Series>> history(base::TimePoint from, base::TimePoint to, base::Duration step) override;

 private:
  kube::Client& client_;
  const std::string aggregation_;
};

}  // namespace usage
