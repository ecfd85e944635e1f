#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/policy/schedule.hpp"
#include "base/clock.hpp"

namespace controllers {

/// spec.schedule.triggers: policies that want a cycle before its time because of what happened. The cycle is due
/// `debounce` after the first event, however many follow. What is pending is lost with the process: the next cycle by
/// the schedule makes up for it. Thread-safe. An event that nobody waits for costs a comparison or two; one that
/// somebody waits for, a walk over the policies.
class Triggers {
 public:
  /// Told once for each cycle that becomes due, without a lock held.
  using Wake = std::function<void(const std::string& policy, base::Duration after)>;

  /// `clock` should be a steady one and must outlive it. While `active` is false events count for nothing: this replica
  /// does not lead, or its caches are being filled.
  Triggers(const base::Clock& clock, Wake wake, std::function<bool()> active)
      : clock_(clock), wake_(std::move(wake)), active_(std::move(active)) {}

  /// The policy's triggers from now on; what is pending stays if it has any.
  void follow(const std::string& policy, const std::vector<api::ScheduleTrigger>& triggers);
  void forget(const std::string& policy) { follow(policy, {}); }

  /// As informers tell: nullptr for what was not there, or is not there any more.
  void on_node(const api::Node* before, const api::Node* after);
  void on_pod(const api::Pod* before, const api::Pod* after);
  /// One sample of a policy's usage source: `percent` of allocatable that the node uses that uses most of `resource`.
  /// Counts as a spike when it passes the trigger's threshold, not while it stays above.
  void on_usage(const std::string& policy, std::string_view source, std::string_view resource, double percent);

  /// How long until the policy's cycle is due; 0: now; nullopt: nothing happened.
  std::optional<base::Duration> due_in(const std::string& policy) const;
  /// A cycle begins, or is not allowed: nothing is pending any more. The trigger that was; nullopt: none.
  std::optional<api::TriggerKind> take(const std::string& policy);
  /// The cycle that took it was given up: it is due again at once, if the policy has such a trigger still. Wakes
  /// nobody.
  void give_back(const std::string& policy, api::TriggerKind kind);

 private:
  struct Trigger {
    api::ScheduleTrigger spec;
    bool is_above = false;  ///< kUsageSpike: the last sample was
  };
  struct Pending {
    base::TimePoint due;
    api::TriggerKind kind;
  };
  struct Entry {
    std::vector<Trigger> triggers;
    std::optional<Pending> pending;
  };

  bool is_wanted(api::TriggerKind kind) const;
  void happened(api::TriggerKind kind);
  /// REQUIRES: mutex_ held. True: the policy has to be woken.
  static bool start(Entry& entry, const api::ScheduleTrigger& trigger, base::TimePoint now);
  void count_wanted();

  const base::Clock& clock_;
  Wake wake_;
  std::function<bool()> active_;
  std::atomic<unsigned> wanted_{0};  ///< kinds that some policy has, as bits
  mutable std::mutex mutex_;
  std::map<std::string, Entry> policies_;
};

/// What NodeChanged is about: labels, taints but for the soft ones of policies, cordon, allocatable, readiness.
bool differs_for_placement(const api::Node& before, const api::Node& after);

}  // namespace controllers
