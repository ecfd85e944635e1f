#pragma once

/// What went wrong, in kubectl's form and with the way out. Pure.

#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/resource.hpp"
#include "kube/runtime/leader_election.hpp"

namespace cmd::plugin {

/// The call that failed.
struct Attempt {
  std::string verb;  ///< RBAC's: get, list, create, patch
  kube::ResourceType type;
  api::ObjectKey key;  ///< the name is empty for lists and creates
};

/// "Error from server (NotFound): nodes "x" not found" and a second line with the fix, where there is one. `server` is
/// where the call went and `source` which kubeconfig said so.
std::string advise(const base::Error& error, const Attempt& attempt, const std::string& server,
                   const std::string& source);

/// True for the 404 of a server without our kinds, as opposed to the 404 of a missing object.
bool is_missing_kind(const base::Error& error, const kube::ResourceType& type);

/// A second line for a name that does not exist: "there are: a, b, c"; empty when nothing is known.
std::string other_names(std::string_view wanted, std::vector<std::string> known);

/// What the operator's Lease tells about it.
enum class OperatorState { kRunning, kStale, kAbsent, kUnknown };
/// `lease`: what reading it brought. A Lease counts as stale after three times its duration and at least a minute,
/// since clocks differ.
OperatorState operator_state(const base::Result<kube::LeaseRecord>& lease, base::TimePoint now);
/// A warning; empty when it runs or nothing is known.
std::string operator_warning(OperatorState state, const base::Result<kube::LeaseRecord>& lease,
                             const api::ObjectKey& lease_key, base::TimePoint now);

}  // namespace cmd::plugin
