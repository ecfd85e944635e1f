#pragma once

#include <map>
#include <string>

#include "api/descheduler_policy.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "controllers/policy/decide.hpp"
#include "kube/client.hpp"

namespace controllers {

/// The newest status of each policy (by UID) that we decided, and its way to the server: the cache lags behind, and a
/// cycle must not run twice for it. Not thread-safe.
class PolicyStatuses {
 public:
  PolicyStatuses(kube::Client& client, const base::Clock& clock) : client_(client), clock_(clock) {}

  /// The policy, with our status where that is newer than the cached one.
  api::DeschedulerPolicy with_own_writes(api::DeschedulerPolicy policy) const;

  /// `next` is not on the server, as far as is known. `known` is what it was decided on: the cached status, or our own
  /// newer one that the cache does not show yet.
  bool must_write(const ObservedPolicy& seen, const api::DeschedulerPolicyStatus& known,
                  const api::DeschedulerPolicyStatus& next) const;
  /// Writes it onto the version that was seen. `next` is remembered even if that fails: the cycle has run whether or
  /// not its report could be written. kConflict: the policy has changed since.
  base::Status write(const ObservedPolicy& seen, const api::DeschedulerPolicyStatus& next);

  void forget(const std::string& uid) { own_.erase(uid); }

 private:
  struct Own {
    api::DeschedulerPolicyStatus status;
    bool stored = false;  ///< false: the write failed
  };

  kube::Client& client_;
  const base::Clock& clock_;
  std::map<std::string, Own> own_;
};

}  // namespace controllers
