#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "base/result.hpp"
#include "cmd/run/context.hpp"
#include "controllers/operator/cluster_claim.hpp"
#include "kube/client.hpp"
#include "kube/runtime/event.hpp"
#include "kube/runtime/leader_election.hpp"

namespace cmd {

/// Decides whether this replica acts. The Lease selects one replica of this installation. If the configuration names a
/// namespace for it, the installation lease selects one installation of the cluster. REQUIRES: leader election is
/// enabled.
class Leadership {
 public:
  /// `client` can write while this replica does not lead. All references must outlive this object.
  Leadership(ProcessContext context, kube::Client& client, kube::EventSink& events);

  void start();
  /// Releases the Lease. REQUIRES: no thread acts anymore.
  void end();

  /// Returns true if this replica may act. Cheap; call it before each write. This and the following functions are
  /// thread-safe.
  bool may_act() const { return elector_.is_leading() && owns_cluster(); }
  /// Returns false if another installation serves the cluster.
  bool owns_cluster() const { return !installation_lease_ || installation_lease_->may_act(); }
  /// Returns true if another installation is known to serve the cluster.
  bool other_installation_active() const {
    return installation_lease_ && installation_lease_->state() == controllers::ClusterClaim::State::kOthers;
  }
  bool is_lost() const { return lost_; }
  /// Returns OK if this installation serves the cluster. The error names the other installation, or reports that it is
  /// unknown.
  base::Status installation_status() const {
    return installation_lease_ ? installation_lease_->ready() : base::Status(base::Done{});
  }
  /// Returns the last known holder of the Lease, empty if there is none.
  std::string holder() const { return elector_.leader(); }

 private:
  ProcessContext context_;
  std::atomic<bool> lost_ = false;
  kube::LeaderElector elector_;
  std::unique_ptr<controllers::ClusterClaim> installation_lease_;  ///< nullptr if no namespace is configured for it
  std::jthread installation_lease_thread_;
  std::jthread electing_;
};

}  // namespace cmd
