#pragma once

#include "kube/client.hpp"
#include "usage/parse/metrics_server.hpp"
#include "usage/source.hpp"

namespace usage {

/// metrics.k8s.io: cpu and memory of nodes and pods, as amounts. If the server has no pods, the samples have none and a
/// problem. Has no history. `client` must outlive the source.
class MetricsServer final : public Source {
 public:
  explicit MetricsServer(kube::Client& client) : client_(client) {}
  base::Result<Samples> sample() override;
  base::Result<std::vector<Series>> history(base::TimePoint from, base::TimePoint to, base::Duration step) override;

 private:
  kube::Client& client_;
};

/// Reads the current usage of every container from metrics.k8s.io, page by page, and passes it to `each`. Returns
/// human-readable problems. After an error, the containers passed so far are valid.
base::Result<std::vector<std::string>> sample_containers(kube::Client& client, const EachContainer& each);

}  // namespace usage
