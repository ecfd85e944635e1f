#pragma once

/// What the PostgreSQL adapters share: a primary is switched over to a healthy replica on another node first, a replica
/// is evicted while another member leads.

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
  /// A primary, and a member whose role is not known: the operator may be about to promote it.
  bool protects(const EvictorContext& context) const final;
  std::string advice(const EvictorContext& context) const final;
  /// A member serves once its operator has given it a role.
  bool is_in_service(const EvictorContext& context, const api::Pod& replacement) const final;

 protected:
  static constexpr std::string_view kRequestSwitchover = "RequestSwitchover";
  static bool opted_in(const EvictorContext& context) {
    return context.parameter(kSwitchoverParameter, "false") == "true";
  }
  /// The call of this attempt that starts the switchover, if it is the newest call that was written ahead.
  static const api::EvacuationIntent* request_intent(const EvictorContext& context);
  /// Its answer was lost, and it may still arrive.
  bool request_on_its_way(const EvictorContext& context) const;

  virtual InstanceRole role(const EvictorContext& context, const api::Pod& pod) const = 0;
  /// Carries the cluster's labels, but runs no database: a pooler, a Job.
  virtual bool is_helper(const api::Pod& pod) const { return belongs_to_job(pod); }
  virtual base::seconds total() const = 0;
  virtual std::string_view cluster_role() const = 0;  ///< optional ClusterRole that it needs
  /// What to add where a pod has no role: how to name the label of the role. Empty: it is fixed.
  virtual std::string role_hint() const { return {}; }
  /// Key and value of the label that all members carry; nullopt: not known. The value is_plain_name().
  virtual std::optional<std::pair<std::string, std::string>> cluster_label(const EvictorContext& context) const = 0;
  /// What is read beside the members and their nodes; only with the opt-in.
  virtual std::vector<Read> switchover_reads(const EvictorContext& context) const = 0;
  /// What is read of each candidate.
  virtual std::vector<Read> candidate_reads(const EvictorContext&, const api::Pod& /*candidate*/) const { return {}; }
  /// A switchover is under way or has been asked for in this attempt.
  virtual bool requested(const EvictorContext& context) const = 0;
  /// The operator's own record names `leader`, too.
  virtual bool confirms(const EvictorContext&, const api::Pod& /*leader*/) const { return true; }
  /// The operator is through with the switchover.
  virtual bool settled(const EvictorContext&) const { return true; }
  /// Why a Ready replica on another node cannot become leader; empty: it can, as far as is known.
  virtual std::string unfit(const EvictorContext&, const api::Pod&) const { return {}; }
  /// How much of the log the replica has. The candidate with the highest position is asked first.
  virtual std::int64_t position(const EvictorContext&, const api::Pod&) const { return 0; }
  /// The replica was asked for its status and gave no answer. It becomes leader only if all others are silent as well.
  virtual bool is_silent(const EvictorContext&, const api::Pod&) const { return false; }
  virtual std::string signs_of_life(const EvictorContext&) const { return {}; }
  /// A document whose absence, or refusal, holds nothing up.
  virtual bool may_be_missing(const EvictorContext&, const Document&) const { return false; }
  /// What has to be known once the pod is gone: stored before the switchover is asked for.
  virtual Refs facts(const EvictorContext&) const { return {}; }
  /// The call that starts it, or why it cannot be made now; nullopt: not known yet, wait.
  using Request = std::variant<Action, RemoteFailure>;
  virtual std::optional<Request> switchover(const EvictorContext& context) const = 0;
  /// What is to be tidied up once the role has moved and before the pod is evicted.
  virtual std::optional<Action> before_eviction(const EvictorContext&) const { return std::nullopt; }
  virtual Classification classify_switchover(const EvictorContext& context, const Action& action,
                                             const CallResult& answer) const = 0;

  /// Replicas that could take over, best first: those that answer, then those that no other Evacuation moves, by
  /// position(), then by name.
  std::vector<api::Pod> candidates(const EvictorContext& context) const;
  /// NoHealthyReplica, with the reason for each replica.
  RemoteFailure no_candidate(const EvictorContext& context) const;
  /// The member that leads instead of the pod: live, Ready, and confirmed. nullopt: none, or not known.
  std::optional<std::string> other_leader(const EvictorContext& context) const;

 private:
  std::optional<RemoteFailure> refused_read(const EvictorContext& context) const;
  std::string objection(const EvictorContext& context, const api::Pod& pod) const;
  std::vector<Read> reads_of_candidates(const EvictorContext& context) const;
  bool may_leave(const EvictorContext& context) const;
  std::string unread(const EvictorContext& context) const;
  std::string why_waiting(const EvictorContext& context, InstanceRole now) const;
  std::string hint() const;
};

}  // namespace evictors::handoff
