#pragma once

/// Error messages in kubectl's format, with advice. Pure.

#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/resource.hpp"
#include "kube/runtime/leader_election.hpp"

namespace cmd::plugin {

struct Attempt {
  std::string verb;  ///< RBAC verb: get, list, create, patch
  kube::ResourceType type;
  api::ObjectKey key;  ///< the name is empty for list and create
};

/// Returns "Error from server (NotFound): nodes "x" not found" and, if there is advice, a second line. `server` is the
/// address of the API server and `source` the kubeconfig that it comes from.
std::string advise(const base::Error& error, const Attempt& attempt, const std::string& server,
                   const std::string& source);

/// Returns a hint for a name that does not exist: "There are: a, b, c". Empty if no names are known.
std::string other_names(std::string_view wanted, std::vector<std::string> known);

/// Returns a warning if no operator runs according to the result of reading its Lease, empty if one runs or that is
/// unknown. To allow for clock skew, a Lease is stale only after three times its duration and at least one minute.
std::string operator_warning(const base::Result<kube::LeaseRecord>& lease, const api::ObjectKey& lease_key,
                             base::TimePoint now);

}  // namespace cmd::plugin
