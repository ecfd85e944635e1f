#pragma once

/// Common part of the PostgreSQL adapters. A primary is first switched over to a healthy replica on another node. A
/// replica is evicted while another member leads.

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "evictors/handoff/adapter.hpp"
#include "evictors/handoff/switchover/members.hpp"

namespace evictors::handoff {

class SwitchoverAdapter : public Adapter {
 public:
  std::vector<Read> reads(const EvictorContext& context) const final;
  Probe probe(const EvictorContext& context) const final;
  EvictionStep plan(const EvictorContext& context) const final;
  Observation observe(const EvictorContext& context) const final;
  Classification classify(const EvictorContext& context, const Action& action, const CallResult& answer) const final;
  /// Protects primaries and members with an unknown role, because the operator may be about to promote them.
  bool protects(const EvictorContext& context) const final {
    return role(context, *context.pod) != InstanceRole::kReplica;
  }
  std::string advice(const EvictorContext& context) const final;
  /// A member is in service once its operator has given it a role.
  bool is_in_service(const EvictorContext& context, const api::Pod& replacement) const final {
    return role(context, replacement) != InstanceRole::kUnknown;
  }

 protected:
  static constexpr std::string_view kRequestSwitchover = "RequestSwitchover";
  static bool opted_in(const EvictorContext& context) {
    return context.parameter(kSwitchoverParameter, "false") == "true";
  }
  /// See EvictorContext::intent().
  static const api::EvacuationIntent* request_intent(const EvictorContext& context) {
    return context.intent(kRequestSwitchover);
  }
  /// Returns true if the call was sent, has no answer yet, and may still arrive.
  bool request_on_its_way(const EvictorContext& context) const {
    const api::EvacuationIntent* intent = request_intent(context);
    return intent && !intent->resolved && context.now < intent->time + call_timeout(context);
  }

  virtual InstanceRole role(const EvictorContext& context, const api::Pod& pod) const = 0;
  /// Returns true for a pod with the cluster's labels that runs no database: a pooler, a Job.
  virtual bool is_helper(const api::Pod& pod) const { return belongs_to_job(pod); }
  virtual base::seconds total() const = 0;
  virtual std::string_view cluster_role() const = 0;  ///< optional ClusterRole that the adapter needs
  /// Returns a hint for pods without a role on how to configure the role label. Empty if the label is fixed.
  virtual std::string role_hint() const { return {}; }
  /// Returns key and value of the label that all members have, or nullopt if unknown. The value must be
  /// is_plain_name().
  virtual std::optional<std::pair<std::string, std::string>> cluster_label(const EvictorContext& context) const = 0;
  /// Returns the reads in addition to the members and their nodes. Called only with the opt-in.
  virtual std::vector<Read> switchover_reads(const EvictorContext& context) const = 0;
  /// Returns the reads for one candidate.
  virtual std::vector<Read> candidate_reads(const EvictorContext&, const api::Pod& /*candidate*/) const { return {}; }
  /// Returns true if a switchover is running or was requested in this attempt.
  virtual bool requested(const EvictorContext& context) const = 0;
  /// Returns true if the operator's own record also names `leader`.
  virtual bool confirms(const EvictorContext&, const api::Pod& /*leader*/) const { return true; }
  /// Returns true if the operator has completed the switchover.
  virtual bool settled(const EvictorContext&) const { return true; }
  /// Returns why a Ready replica on another node cannot become leader, empty if no reason is known.
  virtual std::string unfit(const EvictorContext&, const api::Pod&) const { return {}; }
  /// Returns how much of the log the replica has. Candidates with a higher position are preferred.
  virtual std::int64_t position(const EvictorContext&, const api::Pod&) const { return 0; }
  /// Returns true if the replica did not answer a read of its status. It becomes leader only if all others are silent
  /// too.
  virtual bool is_silent(const EvictorContext&, const api::Pod&) const { return false; }
  virtual std::string heartbeat_signs(const EvictorContext&) const { return {}; }
  /// Returns true for a document whose absence or refusal does not block the switchover.
  virtual bool may_be_missing(const EvictorContext&, const Document&) const { return false; }
  /// Returns refs that are needed once the pod is gone. Stored before the switchover is requested.
  virtual Refs facts(const EvictorContext&) const { return {}; }
  /// Call that starts the switchover, or the reason why it is impossible. switchover() returns nullopt while this is
  /// unknown.
  using Request = std::variant<Action, RemoteFailure>;
  virtual std::optional<Request> switchover(const EvictorContext& context) const = 0;
  /// Returns a cleanup call to send after the role has moved and before the pod is evicted.
  virtual std::optional<Action> before_eviction(const EvictorContext&) const { return std::nullopt; }
  virtual Classification classify_switchover(const EvictorContext& context, const Action& action,
                                             const CallResult& answer) const = 0;

  /// Returns the replicas that could take over, best first: responsive before silent ones, those that no other
  /// Evacuation moves before others, then by position() and name.
  std::vector<api::Pod> candidates(const EvictorContext& context) const;
  /// Returns NoHealthyReplica with the reason for each replica.
  RemoteFailure no_candidate(const EvictorContext& context) const;
  /// Returns the confirmed, live and Ready member that leads instead of the pod. Returns nullopt if none exists or it
  /// is unknown.
  std::optional<std::string> other_leader(const EvictorContext& context) const;

 private:
  std::optional<RemoteFailure> refused_read(const EvictorContext& context) const;
  std::string reason_not_candidate(const EvictorContext& context, const api::Pod& pod) const;
  std::vector<Read> reads_of_candidates(const EvictorContext& context) const;
  bool may_leave(const EvictorContext& context) const;
  std::string unread(const EvictorContext& context) const;
  std::string why_waiting(const EvictorContext& context, InstanceRole now) const;
  std::string hint() const;
};

}  // namespace evictors::handoff
