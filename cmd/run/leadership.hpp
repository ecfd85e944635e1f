#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "base/result.hpp"
#include "controllers/operator/cluster_claim.hpp"
#include "controllers/operator/operator_config.hpp"
#include "kube/client.hpp"
#include "kube/runtime/event.hpp"
#include "kube/runtime/leader_election.hpp"

namespace cmd {

/// Whether this replica acts: of the replicas of this installation by the Lease, and this installation of those on the
/// cluster by its claim, where the configuration names a namespace for it. REQUIRES: leader election is on.
class Leadership {
 public:
  struct Dependencies {
    const controllers::OperatorConfig& config;
    const std::string& identity;  ///< of this replica
    kube::Client& client;         ///< one that writes also while this replica does not lead
    const base::Clock& clock;
    kube::EventSink& events;
    base::Metrics& metrics;
    base::Log log;
  };
  /// All references must outlive it.
  explicit Leadership(Dependencies dependencies);

  void start();
  /// Gives the Lease back. REQUIRES: nobody acts any more.
  void end();

  /// Cheap; ask right before each write. Thread-safe, and so is what follows.
  bool may_act() const { return elector_.is_leading() && owns_cluster(); }
  /// Another installation serves the cluster: false.
  bool owns_cluster() const { return !claim_ || claim_->may_act(); }
  /// It is known that another installation serves the cluster.
  bool stays_out() const { return claim_ && claim_->state() == controllers::ClusterClaim::State::kOthers; }
  /// The Lease was lost.
  bool is_lost() const { return lost_; }
  /// An error names the installation that serves the cluster, or says that it is not known.
  base::Status claimed() const { return claim_ ? claim_->ready() : base::Status(base::Done{}); }
  /// Who holds the Lease, as far as is known; "": nobody.
  std::string holder() const { return elector_.leader(); }

 private:
  void make_claim();

  Dependencies deps_;
  std::atomic<bool> lost_ = false;
  kube::LeaderElector elector_;
  std::unique_ptr<controllers::ClusterClaim> claim_;  ///< nullptr: the configuration names no namespace for it
  std::jthread claiming_;
  std::jthread electing_;
};

}  // namespace cmd
