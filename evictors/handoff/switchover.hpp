#pragma once

/// What the PostgreSQL adapters share: a primary is switched over to a healthy replica on another node first, a replica
/// is evicted as it is.

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "evictors/handoff/adapter.hpp"

namespace evictors::handoff {

enum class InstanceRole { kPrimary, kReplica, kUnknown };

/// "primary", "master" and "leader" are one role; anything but "replica" beside them is unknown: wait.
InstanceRole role_of_label(std::string_view value);

/// The Ready pods of the list in `document` whose `role_label` says replica, on another node than ours and not leaving.
std::vector<api::Pod> switchover_candidates(const EvictorContext& context, const Document* document,
                                            std::string_view role_label);
/// The first of them by name. Empty: there is none.
std::string switchover_candidate(const EvictorContext& context, const Document* document, std::string_view role_label);

/// The object that was to be read is not there.
bool is_gone(const Document* document);

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
  /// The call of this attempt that starts the switchover, if it is the newest call that was written ahead.
  static const api::EvacuationIntent* request_intent(const EvictorContext& context);
  /// Its answer was lost, and it may still arrive.
  static bool request_on_its_way(const EvictorContext& context);

  virtual InstanceRole role(const api::Pod& pod) const = 0;
  virtual base::seconds total() const = 0;
  virtual std::string_view cluster_role() const = 0;  ///< optional ClusterRole that it needs
  virtual std::vector<Read> switchover_reads(const EvictorContext& context) const = 0;
  /// A switchover is under way or has been asked for in this attempt.
  virtual bool requested(const EvictorContext& context) const = 0;
  /// The role has moved for good, beside the pod's own label.
  virtual bool settled(const EvictorContext&) const { return true; }
  virtual std::string signs_of_life(const EvictorContext&) const { return {}; }
  /// A 404 that only means that another object has to be looked for.
  virtual bool may_be_missing(const EvictorContext&, const Document&) const { return false; }
  /// What has to be known once the pod is gone: stored before the switchover is asked for.
  virtual Refs facts(const EvictorContext&) const { return {}; }
  /// The call that starts it, or why it cannot be made now; nullopt: not known yet, wait.
  using Request = std::variant<Action, RemoteFailure>;
  virtual std::optional<Request> switchover(const EvictorContext& context) const = 0;
  /// What is to be tidied up once the role has moved and before the pod is evicted.
  virtual std::optional<Action> before_eviction(const EvictorContext&) const { return std::nullopt; }
  virtual Classification classify_switchover(const Action& action, const CallResult& answer) const = 0;

 private:
  std::optional<RemoteFailure> refused_read(const EvictorContext& context) const;
};

}  // namespace evictors::handoff
