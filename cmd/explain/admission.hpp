#pragma once

/// What an Evacuation made now would wait for: in-flight limits, cooldowns, rate, its group. Pure; the operator's own
/// admission queue judges, on what the cluster shows.

#include <optional>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "api/limits.hpp"
#include "base/clock.hpp"

namespace cmd::plugin {

struct AdmissionWorld {
  api::AdmissionLimits cluster;  ///< of the operator's configuration
  bool cluster_known = false;    ///< false: `cluster` is what an operator without configuration does
  std::vector<api::DeschedulerPolicy> policies;
  std::vector<api::Node> nodes;
  std::vector<api::Evacuation> evacuations;
};

/// The limits of an operator that was told nothing.
api::AdmissionLimits default_cluster_limits();
/// limits of the text of the operator's --config; nullopt: it does not parse.
std::optional<api::AdmissionLimits> cluster_limits_of(std::string_view config);

struct AdmissionFact {
  bool at_once = true;
  std::string limit;                     ///< name of what it would wait for: "node", "policy tidy total", "cooldown"
  std::string message;                   ///< with the numbers
  std::optional<base::TimePoint> until;  ///< when it may ask again, where that is known
  std::vector<std::string> notes;        ///< what else is to be known
  friend bool operator==(const AdmissionFact&, const AdmissionFact&) = default;
};

/// For an Evacuation of `pod` that `policy` (nullptr: a person) makes now, towards `target` ("": not known).
AdmissionFact admission_of(const api::Pod& pod, const api::DeschedulerPolicy* policy, const std::string& target,
                           const AdmissionWorld& world, base::TimePoint now);

}  // namespace cmd::plugin
