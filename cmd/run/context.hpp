#pragma once

#include <string>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "controllers/operator/operator_config.hpp"

namespace cmd {

/// What all components of the operator process use. The references must outlive the components.
struct ProcessContext {
  const controllers::OperatorConfig& config;
  const std::string& identity;  ///< identity of this replica
  const base::Clock& clock;
  const base::Clock& steady;
  base::Metrics& metrics;
  base::Log log;
};

}  // namespace cmd
