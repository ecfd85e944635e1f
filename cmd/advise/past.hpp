#pragma once

/// Usage history for `advise requests`, read from the sources that the flags name.

#include "advisor/history.hpp"
#include "advisor/requests.hpp"
#include "base/result.hpp"
#include "cmd/advise/commands.hpp"
#include "cmd/advise/prometheus.hpp"

namespace cmd::advise {

struct Past {
  advisor::Histories histories;
  advisor::Rules rules;               ///< includes the days that were read
  std::vector<std::string> problems;  ///< human-readable
  std::size_t queries = 0;            ///< number of Prometheus queries
};

/// Reads logs, CSV files and Prometheus. Error messages are complete for the user. With --cache, days that were read
/// before an error remain in the cache.
base::Result<Past> read_past(const RequestsOptions& options, const advisor::Inventory& inventory, plugin::Io& io,
                             usage::Connect connect = usage::connect_http);

}  // namespace cmd::advise
