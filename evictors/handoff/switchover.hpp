#pragma once

/// What the PostgreSQL adapters share: a primary is switched over to a healthy replica on another node first, a replica
/// is evicted as it is.

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "evictors/handoff/adapter.hpp"

namespace evictors::handoff {

enum class InstanceRole { kPrimary, kReplica, kUnknown };

/// "primary", "master" and "leader" are one role; anything but "replica" beside them is unknown: wait.
InstanceRole role_of_label(std::string_view value);

/// A Ready pod of the list in `document` whose `role_label` says replica, on another node than ours and not leaving;
/// the first by name. Empty: there is none.
std::string switchover_candidate(const EvictorContext& context, const Document* document, std::string_view role_label);

/// A list of the pods with that label; `value` must be is_plain_name().
Read instances_read(const EvictorContext& context, std::string_view key, std::string_view value);
inline constexpr std::string_view kInstances = "instances";

class SwitchoverAdapter : public Adapter {
 public:
  std::vector<Read> reads(const EvictorContext& context) const final;
  Probe probe(const EvictorContext& context) const final;
  EvictionStep plan(const EvictorContext& context) const final;
  Observation observe(const EvictorContext& context) const final;
  Classification classify(const EvictorContext& context, const Action& action, const CallResult& answer) const final;

 protected:
  static constexpr std::string_view kRequestSwitchover = "RequestSwitchover";
  static bool opted_in(const EvictorContext& context) {
    return context.parameter(kSwitchoverParameter, "false") == "true";
  }

  virtual InstanceRole role(const api::Pod& pod) const = 0;
  virtual base::seconds total() const = 0;
  virtual std::string_view cluster_role() const = 0;  ///< optional ClusterRole that it needs
  virtual std::vector<Read> switchover_reads(const EvictorContext& context) const = 0;
  /// A switchover is under way or has been asked for in this attempt.
  virtual bool requested(const EvictorContext& context) const = 0;
  /// The role has moved for good, beside the pod's own label.
  virtual bool settled(const EvictorContext&) const { return true; }
  virtual std::string signs_of_life(const EvictorContext&) const { return {}; }
  /// The call that starts it, or why it cannot be made now; nullopt: not known yet, wait.
  using Request = std::variant<Action, RemoteFailure>;
  virtual std::optional<Request> switchover(const EvictorContext& context) const = 0;
  virtual Classification classify_switchover(const Action& action, const CallResult& answer) const = 0;
};

}  // namespace evictors::handoff
