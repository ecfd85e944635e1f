#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

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

  /// The policy as the server holds it, as far as is known: one that our writes have replaced since it was cached comes
  /// with their status and version, so that the next write does not collide with them.
  std::shared_ptr<const ObservedPolicy> as_stored(std::shared_ptr<const ObservedPolicy> cached);

  /// The policy, with our status where that is newer than the cached one.
  api::DeschedulerPolicy with_own_writes(api::DeschedulerPolicy policy) const;

  /// `next` is not on the server, as far as is known. `known` is what it was decided on: the cached status, or our own
  /// newer one that the cache does not show yet.
  bool must_write(const ObservedPolicy& seen, const api::DeschedulerPolicyStatus& known,
                  const api::DeschedulerPolicyStatus& next) const;
  /// Writes it onto the version that was seen. `next` is remembered even if that fails: the cycle has run whether or
  /// not its report could be written. kConflict: somebody else has changed the policy since. REQUIRES: `seen` came from
  /// as_stored().
  base::Status write(const ObservedPolicy& seen, const api::DeschedulerPolicyStatus& next);

  void forget(const std::string& uid) { own_.erase(uid); }

 private:
  struct SavedStatus {
    api::DeschedulerPolicyStatus status;
    bool stored = false;                ///< false: the write failed
    std::string version;                ///< resourceVersion that the server gave to it
    std::vector<std::string> replaced;  ///< those before it, oldest first, that the cache may still show
  };
  static void note_answer(SavedStatus& own, const std::string& replaced, const base::Result<std::string>& answer);

  kube::Client& client_;
  const base::Clock& clock_;
  std::map<std::string, SavedStatus> own_;
};

}  // namespace controllers
