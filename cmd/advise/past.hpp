#pragma once

/// The history that `advise requests` works with, from wherever the flags say.

#include "advisor/history.hpp"
#include "advisor/requests.hpp"
#include "base/result.hpp"
#include "cmd/advise/commands.hpp"
#include "cmd/advise/prometheus.hpp"

namespace cmd::advise {

struct Past {
  advising::Histories histories;
  advising::Rules rules;              ///< with the days that were looked at
  std::vector<std::string> problems;  ///< for people
  std::size_t queries = 0;            ///< that Prometheus was asked
};

/// Reads logs, files and Prometheus. An error is complete for the user; with --cache, days that were told before it are
/// kept.
base::Result<Past> read_past(const RequestsOptions& options, const advising::Inventory& inventory, plugin::Io& io,
                             usage::Connect connect = usage::connect_http);

}  // namespace cmd::advise
