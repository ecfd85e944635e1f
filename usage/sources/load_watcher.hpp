#pragma once

#include "api/policy/usage_source.hpp"
#include "usage/source.hpp"
#include "usage/sources/endpoint_client.hpp"

namespace usage {

/// load-watcher (also Trimaran's): cpu and memory of nodes in percent, from its GET /watcher. Has no history.
class LoadWatcher final : public Source {
 public:
  LoadWatcher(const api::UsageSource& source, Dependencies dependencies)
      : client_(source.endpoint, std::move(dependencies)) {}
  base::Result<Samples> sample() override;
  base::Result<std::vector<Series>> history(base::TimePoint from, base::TimePoint to, base::Duration step) override;

 private:
  base::Result<Samples> ask();

  EndpointClient client_;
};

}  // namespace usage
