#pragma once

#include "kube/client.hpp"
#include "usage/parse/metrics_server.hpp"
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

/// What every container uses now, by metrics.k8s.io, page by page; returns what could not be used, for people. An
/// error: the answer ends there, and what was told before it holds.
base::Result<std::vector<std::string>> sample_containers(kube::Client& client, const EachContainer& each);

}  // namespace usage
