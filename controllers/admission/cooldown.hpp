#pragma once

/// How long what was evacuated is excluded (cooling down) (docs/concepts/limits.md, ADR 6).

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

/// What a cooldown is about, of one pod: "vm/<ns>/<name>" for a pod of a VirtualMachineInstance, else
/// "pod/<ns>/<name>"; and "workload/<ns>/<group>" if it has a controller or concurrency group.
std::vector<std::string> cooldown_subjects(const api::Pod& pod);
std::vector<std::string> cooldown_subjects(const api::Evacuation& evacuation, const api::Pod* pod);

/// Does this finished Evacuation start a cooldown? Only one that moved its pod, or failed after it had asked somebody
/// to.
bool starts_cooldown(const api::Evacuation& evacuation);

/// When the subject may be evacuated again; nullopt: no cooldown. `times` sorted.
std::optional<base::TimePoint> cooled_at(const std::string& subject, const std::vector<base::TimePoint>& times,
                                         const api::CooldownLimits& limits);

/// The evacuations of the last days by subject. Memory is rebuilt from finished Evacuations as long as they exist, and
/// from the records in the policies' status beyond that. Thread-safe.
class CooldownLedger {
 public:
  explicit CooldownLedger(api::CooldownLimits cluster) : cluster_(cluster) {}

  void set_cluster_limits(const api::CooldownLimits& limits);
  /// nullopt: the policy is gone.
  void set_policy_limits(const std::string& policy, const std::optional<api::CooldownLimits>& limits);

  /// Takes note of a finished Evacuation; others and those that do not count are ignored. Idempotent.
  void note(const api::Evacuation& evacuation);
  /// Takes over what a policy's status remembers. Idempotent.
  void restore(const std::string& policy, const std::vector<api::CooldownRecord>& records);

  /// What a policy's status has to remember at `now`: its own evacuations and manual ones, as far as a limit asks
  /// for them. The kMaxCooldowns subjects that were evacuated last, sorted by name.
  std::vector<api::CooldownRecord> records(const std::string& policy, base::TimePoint now) const;

  struct Cooling {
    std::string subject;
    std::size_t count = 0;  ///< evacuations that it is about
    base::TimePoint until;
  };
  /// The longest cooldown of these subjects that lasts beyond `now`, by the cluster's limits and the policy's.
  std::optional<Cooling> cooling(const std::vector<std::string>& subjects, const std::string& policy,
                                 base::TimePoint now) const;
  bool empty() const;

 private:
  using Times = std::map<base::TimePoint, std::string>;  ///< → policy; "": manual
  /// Times of a subject that were stored while the clock was ahead, and when they were corrected.
  struct Correction {
    std::set<base::TimePoint> wrong;
    base::TimePoint at{};
  };

  void add(const std::string& subject, base::TimePoint time, const std::string& policy);
  bool is_corrected(const std::string& subject, base::TimePoint time) const;
  /// Corrects each time once: a time that follows `now` at each call would never pass.
  void correct(const std::string& subject, Times& times, base::TimePoint now) const;
  void forget_the_oldest();
  bool matters(const std::string& subject, base::TimePoint last, const std::string& policy, base::TimePoint now) const;

  mutable std::mutex mutex_;
  api::CooldownLimits cluster_;
  std::unordered_map<std::string, api::CooldownLimits> policies_;
  mutable std::unordered_map<std::string, Times> history_;  ///< corrected when it is looked at
  mutable std::unordered_map<std::string, Correction> corrections_;
};

}  // namespace controllers
