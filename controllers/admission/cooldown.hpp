#pragma once

/// Cooldowns: how long evacuated pods and workloads are excluded (cooling down) (docs/concepts/limits.md, ADR 6).

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "api/limits.hpp"

namespace controllers {

/// Returns the cooldown subjects of a pod: "vm/<ns>/<name>" for a pod of a VirtualMachineInstance, otherwise
/// "pod/<ns>/<name>"; and "workload/<ns>/<group>" if it has a controller or concurrency group.
std::vector<std::string> cooldown_subjects(const api::Pod& pod);
std::vector<std::string> cooldown_subjects(const api::Evacuation& evacuation, const api::Pod* pod);

/// Whether this finished Evacuation starts a cooldown. True only if it moved its pod, or failed after it sent a
/// request.
bool starts_cooldown(const api::Evacuation& evacuation);

/// Returns when the subject may be evacuated again; nullopt if there is no cooldown. REQUIRES: `times` is sorted.
std::optional<base::TimePoint> cooldown_end(const std::string& subject, const std::vector<base::TimePoint>& times,
                                            const api::CooldownLimits& limits);

/// Recent evacuations by subject. Rebuilt from finished Evacuations while they exist, and from the records in the
/// policies' status for older ones. Thread-safe.
class CooldownLedger {
 public:
  explicit CooldownLedger(api::CooldownLimits cluster) : cluster_(cluster) {}

  void set_cluster_limits(const api::CooldownLimits& limits) {
    const std::scoped_lock lock(mutex_);
    cluster_ = limits;
  }
  /// `limits` is nullopt if the policy is gone.
  void set_policy_limits(const std::string& policy, const std::optional<api::CooldownLimits>& limits);

  /// Records a finished Evacuation; ignores others, and those that start no cooldown. Idempotent.
  void note(const api::Evacuation& evacuation);
  /// Adds the records of a policy's status. Idempotent.
  void restore(const std::string& policy, const std::vector<api::CooldownRecord>& records);

  /// Returns the records to store in a policy's status at `now`: its own evacuations and manual ones, as far as a limit
  /// needs them. Contains the kMaxCooldowns subjects evacuated last, sorted by name.
  std::vector<api::CooldownRecord> records(const std::string& policy, base::TimePoint now) const;

  struct Cooling {
    std::string subject;
    std::size_t count = 0;  ///< number of evacuations within the window
    base::TimePoint until;
  };
  /// Returns the longest cooldown of `subjects` that lasts beyond `now`, by the limits of the cluster and of the
  /// policy.
  std::optional<Cooling> cooling(const std::vector<std::string>& subjects, const std::string& policy,
                                 base::TimePoint now) const;
  bool empty() const {
    const std::scoped_lock lock(mutex_);
    return history_.empty();
  }

 private:
  using Times = std::map<base::TimePoint, std::string>;  ///< time to policy; "" for manual
  /// Times of a subject that were stored while the clock was ahead, and the time that replaced them.
  struct Correction {
    std::set<base::TimePoint> wrong;
    base::TimePoint at{};
  };

  void add(const std::string& subject, base::TimePoint time, const std::string& policy);
  bool is_corrected(const std::string& subject, base::TimePoint time) const;
  /// Corrects each future time once. A time that was moved to `now` by each call would never pass.
  void correct(const std::string& subject, Times& times, base::TimePoint now) const;
  void drop_oldest();
  bool matters(const std::string& subject, base::TimePoint last, const std::string& policy, base::TimePoint now) const;

  mutable std::mutex mutex_;
  api::CooldownLimits cluster_;
  std::unordered_map<std::string, api::CooldownLimits> policies_;
  mutable std::unordered_map<std::string, Times> history_;  ///< corrected lazily, when read
  mutable std::unordered_map<std::string, Correction> corrections_;
};

}  // namespace controllers
