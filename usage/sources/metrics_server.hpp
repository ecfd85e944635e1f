#pragma once

#include "kube/client.hpp"
#include "usage/source.hpp"

namespace usage {

/// metrics.k8s.io: cpu and memory of nodes and pods, as amounts. Without pods there are no pods and a problem.
/// Keeps no history. `client` must outlive it.
class MetricsServer final : public Source {
 public:
  explicit MetricsServer(kube::Client& client) : client_(client) {}
  base::Result<Samples> sample() override;
  base::Result<std::vector<Series>> history(base::TimePoint from, base::TimePoint to, base::Duration step) override;

 private:
  kube::Client& client_;
};

}  // namespace usage
