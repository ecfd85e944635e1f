#include "usage/sources/make_source.hpp"

#include <cstdlib>

#include "usage/sources/koordinator.hpp"
#include "usage/sources/load_watcher.hpp"
#include "usage/sources/metrics_server.hpp"
#include "usage/sources/prometheus.hpp"

namespace usage {

std::unique_ptr<Source> make_source(const api::UsageSource& source, const Dependencies& dependencies) {
  switch (source.type) {
    case api::UsageSourceType::kMetricsServer: return std::make_unique<MetricsServer>(*dependencies.api);
    case api::UsageSourceType::kPrometheus: return std::make_unique<Prometheus>(source, dependencies);
    case api::UsageSourceType::kLoadWatcher: return std::make_unique<LoadWatcher>(source, dependencies);
    case api::UsageSourceType::kKoordinator:
      return std::make_unique<Koordinator>(*dependencies.api, source.aggregation);
  }
  std::abort();
}

}  // namespace usage
