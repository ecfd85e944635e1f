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

/// Returns true for the 404 of a server without our kinds, as opposed to the 404 of a missing object.
bool is_missing_kind(const base::Error& error, const kube::ResourceType& type);

/// Returns a hint for a name that does not exist: "There are: a, b, c". Empty if no names are known.
std::string other_names(std::string_view wanted, std::vector<std::string> known);

/// State of the operator according to its Lease.
enum class OperatorState { kRunning, kStale, kAbsent, kUnknown };
/// Derives the state from the result of reading the Lease. To allow for clock skew, a Lease is stale only after three
/// times its duration and at least one minute.
OperatorState operator_state(const base::Result<kube::LeaseRecord>& lease, base::TimePoint now);
/// Returns a warning, empty if the operator runs or its state is unknown.
std::string operator_warning(OperatorState state, const base::Result<kube::LeaseRecord>& lease,
                             const api::ObjectKey& lease_key, base::TimePoint now);

}  // namespace cmd::plugin
