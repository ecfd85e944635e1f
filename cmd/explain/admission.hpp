#pragma once

/// Predicts what an Evacuation created now would wait for: in-flight limits, cooldowns, rate, its pod group. Runs the
/// operator's admission queue on the visible state of the cluster. Pure.

#include <optional>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "api/limits.hpp"
#include "base/clock.hpp"

namespace cmd::plugin {

struct AdmissionInput {
  api::AdmissionLimits cluster;  ///< limits in the operator's configuration
  bool cluster_known = false;    ///< false if `cluster` contains the defaults of an unconfigured operator
  std::vector<api::DeschedulerPolicy> policies;
  std::vector<api::Node> nodes;
  std::vector<api::Evacuation> evacuations;
};

/// Returns the limits of an operator without configuration.
api::AdmissionLimits default_cluster_limits();
/// Parses the limits of the operator's --config file. Returns nullopt if it is invalid.
std::optional<api::AdmissionLimits> cluster_limits_of(std::string_view config);

struct AdmissionFact {
  bool immediately = true;
  std::string limit;    ///< name of the limit it would wait for, such as "node", "policy tidy total", "cooldown"
  std::string message;  ///< human-readable, with numbers
  std::optional<base::TimePoint> until;  ///< earliest time of the next admission attempt, if known
  std::vector<std::string> notes;        ///< further human-readable facts
  friend bool operator==(const AdmissionFact&, const AdmissionFact&) = default;
};

/// Returns the admission of an Evacuation of `pod` that `policy` creates now towards `target`. `policy` is nullptr for
/// a manual Evacuation; `target` is empty if unknown.
AdmissionFact admission_of(const api::Pod& pod, const api::DeschedulerPolicy* policy, const std::string& target,
                           const AdmissionInput& world, base::TimePoint now);

}  // namespace cmd::plugin
