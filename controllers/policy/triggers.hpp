#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/policy/schedule.hpp"
#include "base/clock.hpp"
#include "planner/snapshot/measured_usage.hpp"

namespace controllers {

/// Implements spec.schedule.triggers: starts a cycle ahead of schedule because of an event. The cycle is due `debounce`
/// after the first event, regardless of further ones. Pending triggers are lost with the process; the next scheduled
/// cycle makes up for them. An event without a matching trigger costs a comparison or two, others a loop over the
/// policies. Thread-safe.
class Triggers {
 public:
  /// Called once for each cycle that becomes due, without holding a lock.
  using Wake = std::function<void(const std::string& policy, base::Duration after)>;

  /// `clock` must outlive the object and should be steady. Events are ignored while `active` returns false, i.e. this
  /// replica does not lead or its caches are being filled.
  Triggers(const base::Clock& clock, Wake wake, std::function<bool()> active)
      : clock_(clock), wake_(std::move(wake)), active_(std::move(active)) {}

  /// Sets the policy's triggers. A pending cycle is kept if there are any.
  void follow(const std::string& policy, const std::vector<api::ScheduleTrigger>& triggers);
  void forget(const std::string& policy) { follow(policy, {}); }

  /// Informer events; nullptr for an object that did not exist before or does not exist any more.
  void on_node(const api::Node* before, const api::Node* after);
  void on_pod(const api::Pod* before, const api::Pod* after);
  /// Reports a sample of a policy's usage source: `percent` of allocatable used on the node that uses most of
  /// `resource`. A spike is a sample above the trigger's threshold after one that was not.
  void on_usage(const std::string& policy, std::string_view source, std::string_view resource, double percent);

  /// Time until the policy's cycle is due; 0 for now, nullopt if no event is pending.
  std::optional<base::Duration> due_in(const std::string& policy) const;
  /// Call when a cycle begins or is not allowed. Clears and returns the pending trigger; nullopt if there was none.
  std::optional<api::TriggerKind> take(const std::string& policy);
  /// Call when the cycle that took the trigger failed. Makes it due at once if the policy still has it. Does not wake.
  void give_back(const std::string& policy, api::TriggerKind kind);

 private:
  struct Trigger {
    api::ScheduleTrigger spec;
    bool is_above = false;  ///< kUsageSpike: whether the last sample was above the threshold
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
  /// Returns whether the policy must be woken. REQUIRES: mutex_ is held.
  static bool start(Entry& entry, const api::ScheduleTrigger& trigger, base::TimePoint now);
  void count_wanted();

  const base::Clock& clock_;
  Wake wake_;
  std::function<bool()> active_;
  std::atomic<unsigned> wanted_{0};  ///< bit set of the kinds that any policy has
  mutable std::mutex mutex_;
  std::map<std::string, Entry> policies_;
};

/// Whether the change matters for NodeChanged: labels, taints except soft taints of policies, cordon, allocatable,
/// readiness.
bool differs_for_placement(const api::Node& before, const api::Node& after);

using NodeLookup = std::function<std::shared_ptr<const api::Node>(const std::string& name)>;

/// Returns the maximum usage of `resource` over nodes, in percent of allocatable. Ignores nodes without a good sample
/// and unknown nodes. NaN if none remains or the source does not know the resource.
double highest_percent(const scheduling::MeasuredUsage& measured, std::string_view resource, const NodeLookup& node);

}  // namespace controllers
