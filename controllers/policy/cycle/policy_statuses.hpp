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

/// Newest status of each policy (by UID) decided by this process, and its writes. Needed because the cache lags, and a
/// cycle must not run twice for that reason. Not thread-safe.
class PolicyStatuses {
 public:
  PolicyStatuses(kube::Client& client, const base::Clock& clock) : client_(client), clock_(clock) {}

  /// Returns the policy as stored by the server, as far as known. If our writes have replaced the cached version, it
  /// has their status and version, so that the next write does not conflict with them.
  std::shared_ptr<const ObservedPolicy> as_stored(std::shared_ptr<const ObservedPolicy> cached);

  /// Returns the policy with our status if that is newer than the cached one.
  api::DeschedulerPolicy with_own_writes(api::DeschedulerPolicy policy) const;

  /// Whether `next` is not known to be on the server. `known` is the status on which `next` is based: the cached one,
  /// or our newer one that the cache does not show yet.
  bool must_write(const ObservedPolicy& seen, const api::DeschedulerPolicyStatus& known,
                  const api::DeschedulerPolicyStatus& next) const;
  /// Writes `next` onto the version in `seen`. Remembers `next` even if the write fails, because the cycle has run in
  /// any case. Returns kConflict if another client changed the policy. REQUIRES: `seen` is from as_stored().
  base::Status write(const ObservedPolicy& seen, const api::DeschedulerPolicyStatus& next);

  void forget(const std::string& uid) { own_.erase(uid); }

 private:
  struct SavedStatus {
    api::DeschedulerPolicyStatus status;
    bool stored = false;                ///< false if the write failed
    std::string version;                ///< resourceVersion of the written object
    std::vector<std::string> replaced;  ///< earlier versions that the cache may still show, oldest first
  };

  kube::Client& client_;
  const base::Clock& clock_;
  std::map<std::string, SavedStatus> own_;
};

}  // namespace controllers
